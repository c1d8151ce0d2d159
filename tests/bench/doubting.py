"""What looking for doubts costs a `remember` in a store of 10,000 memories.

Run: python tests/bench/doubting.py [--memories 10000] [--writes 400] [--seed 7]. The turns of the
project's dialogue, new notes, and corrections of stored ones are remembered with the packaged
model; of each call the time spent on doubts is measured too. Printed is the median of whole calls
in milliseconds, and by how much that without the time for doubts is less: of the clock, which
counts the disk and other processes too, and of the CPU time of the calling thread.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import MONTHS, PLACES, Prepared, fill, machine, notes, settled

from memory_core.config import ConsolidationSettings, Settings
from memory_core.evaluation import readers
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember import relate
from memory_core.remember.request import RememberRequest

ME = Identity("me")
LIMIT = 3.0
"""Milliseconds that doubts may add to the median at 10,000 memories."""

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
    """Calls `relate._doubts` and keeps what the last call took."""

    def __init__(self) -> None:
        self.took: Times = (0.0, 0.0)
        self._looks = relate._doubts

    def __call__(self, *args: Any) -> Any:
        before = now()
        found = self._looks(*args)
        self.took = since(before)
        return found


def now() -> Times:
    return time.perf_counter(), time.thread_time()


def since(before: Times) -> Times:
    return time.perf_counter() - before[0], time.thread_time() - before[1]


def cost(memory: Memory, text: str) -> tuple[Times, Times]:
    """What one remember of *text* takes, and what it would take without looking for doubts."""
    with patch.object(relate, "_doubts", Stopwatch()) as watch:
        before = now()
        receipt = memory.remember(ME, RememberRequest(text))
        clock, cpu = since(before)
    assert receipt.status == "stored", receipt
    return (clock, cpu), (clock - watch.took[0], cpu - watch.took[1])


def compare(memory: Memory, texts: Sequence[str]) -> str:
    """The medians of remembering *texts*, with doubts and without, and what doubts add."""
    both = zip(*(cost(memory, text) for text in texts), strict=True)
    whole, bare = (
        [statistics.median(times) * 1e3 for times in zip(*side, strict=True)] for side in both
    )
    shown = [
        f"{name} {whole[place]:.2f} with, {bare[place]:.2f} without, "
        f"added {whole[place] - bare[place]:.2f}"
        for place, name in enumerate(("p50", "CPU"))
    ]
    return "; ".join([*shown, f"{len(texts)} written"])


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
        print(f"{args.memories} memories, ms (limit {LIMIT:.0f})")
        print(f"turns: {compare(memory, said)}")
        print(f"notes: {compare(memory, new)}")
        print(f"corrections: {compare(memory, changed)}")


if __name__ == "__main__":
    main()
