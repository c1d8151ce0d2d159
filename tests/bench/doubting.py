"""What beliefs cost in a store of 10,000 memories: doubts a `remember`, rivals a `recall`.

Run: python tests/bench/doubting.py [--memories 10000] [--writes 400] [--seed 7]. The turns of the
project's dialogue, new notes, and corrections of stored ones are remembered with the packaged
model; of each call the time spent on doubts is measured too. So is that spent on rivals by recalls
for notes, and by those for what was said of one thing twice (the corrections of beliefs_wild.json,
stored with the day of each). Printed is the median of whole calls in milliseconds, and by how much
that without the time for doubts or rivals is less: of the clock, which counts the disk and other
processes too, and of the CPU time of the calling thread.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import MONTHS, PLACES, Prepared, fill, machine, notes, questions, settled

from memory_core.config import ConsolidationSettings, Settings
from memory_core.evaluation import readers
from memory_core.memory import Memory
from memory_core.recall import rivals
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember import relate
from memory_core.remember.request import RememberRequest

ME = Identity("me")
SAID_TWICE = Path(__file__).parents[1] / "evals" / "data" / "beliefs_wild.json"
LIMITS = 3.0, 2.0
"""Milliseconds that doubts may add to the median of a `remember`, and rivals to a `recall`."""
DAY = 86_400.0

Times = tuple[float, float]
"""Seconds of the clock and of CPU."""


def corrections(stored: Sequence[str], count: int, seed: int) -> list[str]:
    """*count* different corrections of *stored* notes: another place or month, said as such."""
    rng = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        note = rng.choice(stored)
        for some in (PLACES, MONTHS):
            for word in some:
                if word in note:
                    note = note.replace(word, rng.choice([each for each in some if each != word]))
                    break
        made[f"Correction: {note[:-1]} now."] = None
    return list(made)


class Stopwatch:
    """Calls a function and adds up what its calls took."""

    def __init__(self, measured: Callable[..., Any]) -> None:
        self.took: Times = (0.0, 0.0)
        self._measured = measured

    def __call__(self, *args: Any) -> Any:
        before = now()
        found = self._measured(*args)
        clock, cpu = since(before)
        self.took = self.took[0] + clock, self.took[1] + cpu
        return found


def now() -> Times:
    return time.perf_counter(), time.thread_time()


def since(before: Times) -> Times:
    return time.perf_counter() - before[0], time.thread_time() - before[1]


def cost(call: Callable[[], object], where: Any, name: str) -> tuple[Times, Times]:
    """What *call* takes, and what it would take without the function *name* of *where*."""
    with patch.object(where, name, Stopwatch(getattr(where, name))) as watch:
        before = now()
        call()
        clock, cpu = since(before)
    return (clock, cpu), (clock - watch.took[0], cpu - watch.took[1])


def compare(calls: Sequence[Callable[[], object]], where: Any, name: str) -> str:
    """The medians of *calls*, with the function *name* of *where* and without, and what it adds."""
    both = zip(*(cost(call, where, name) for call in calls), strict=True)
    whole, bare = (
        [statistics.median(times) * 1e3 for times in zip(*side, strict=True)] for side in both
    )
    shown = [
        f"{name} {whole[place]:.2f} with, {bare[place]:.2f} without, "
        f"added {whole[place] - bare[place]:.2f}"
        for place, name in enumerate(("p50", "CPU"))
    ]
    return "; ".join([*shown, f"{len(calls)} calls"])


def written(memory: Memory, texts: Sequence[str]) -> str:
    """What remembering *texts* takes."""

    def remember(text: str) -> None:
        receipt = memory.remember(ME, RememberRequest(text))
        assert receipt.status == "stored", receipt

    return compare([partial(remember, text) for text in texts], relate, "_doubts")


def recalled(memory: Memory, asked: Sequence[str]) -> str:
    """What recalling *asked* takes, and how often rivals changed what comes first."""

    def recall(question: str, explain: bool = False) -> bool:
        request = RecallRequest(question, explain=explain, rehearse=False)
        return any(rivals.NAME in hit.why for hit in memory.recall(ME, request).hits[:1])

    ahead = sum(recall(question, explain=True) for question in asked)
    said = compare([partial(recall, question) for question in asked], rivals, "newest_first")
    return f"{said}, {ahead} with the newer one first"


def said_twice(memory: Memory) -> list[str]:
    """Questions about what the memory was told twice, after it was told."""
    at, asked = time.time(), []
    for case in json.loads(SAID_TWICE.read_text("utf-8"))["corrections"]:
        for text, days in ((case["old"], case["old_days"]), (case["new"], case["new_days"])):
            memory.remember(ME, RememberRequest(text, when=at - days * DAY))
        asked.append(case["question"])
    return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--writes", type=int, default=400)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    print(machine(args.seed))
    made = notes(args.memories + args.writes, args.seed)
    stored, new = made[: args.memories], made[args.memories :]
    changed = corrections(stored, args.writes, args.seed)
    said = [turn.text for turn in readers.read(readers.DIALOGUE)[0].turns][: args.writes]
    embedder = Prepared()
    still = ConsolidationSettings(automatic=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Settings(data_dir=Path(folder), consolidation=still), embedder=embedder) as memory,
    ):
        memory.wait_ready(60)
        fill(memory, embedder, stored)
        settled(memory)
        remembers, recalls = LIMITS
        twice = said_twice(memory)
        settled(memory)
        print(f"{args.memories} memories; rivals at a recall, ms (limit {recalls:.0f})")
        print(f"of notes: {recalled(memory, questions(args.writes, args.seed))}")
        print(f"of what was said twice: {recalled(memory, twice * 4)}")
        print(f"doubts at a remember, ms (limit {remembers:.0f})")
        print(f"turns: {written(memory, said)}")
        print(f"notes: {written(memory, new)}")
        print(f"corrections: {written(memory, changed)}")


if __name__ == "__main__":
    main()
