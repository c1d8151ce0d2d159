"""Which of two notes of one person comes first: 280 pairs, some corrections and most not.

    python tests/bench/pairs.py [dev|apart|all] [--of SET] [--together] [--show]

tests/evals/data/pairs.json holds them, with the question that is asked afterwards and which of both
answers it: *twin* tells a change of another person or thing, *twin_newer* too, and that is asked
for; *followup* goes on about the older note; *contrast*, *change* and *silent* are corrections.
--of corrections are 120 corrections in ten shapes (tests/evals/data/corrections.json), all answered
by the newer note; --of people 21 pairs of a user's report, seen while the rules were made, in which
the newer note speaks of somebody else, or of another matter of the same person; --of replaced 3,260
pairs, half of which both hold, as near to each other as whoever wrote them could make them. The
others were written blind. Rules were made by those with an odd number (dev), the others are apart.
Printed is, by class, how often the right one comes before the other, and how many older notes were
superseded or in doubt. Each pair has a memory of its own with ten others, or all share one. Nothing
is drawn at random but these ten, by the number of the pair.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import machine

from memory_core.config import ConsolidationSettings, Settings
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import choose
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest

DATA = Path(__file__).parents[1] / "evals" / "data"
ME = Identity("me")
DAY = 86_400.0
BESIDE = 10
OF = ("pairs", "corrections", "people", "changes", "replaced")
FIRST = 5
"""Places that are looked at."""

Pair = Mapping[str, str]


class Clock:
    """The time of what is told."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


class Told:
    """A memory, and which notes of which pair it was told."""

    def __init__(self, embedder: Embedder, stack: ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = Settings(data_dir=folder, consolidation=ConsolidationSettings(automatic=False))
        self.clock = Clock()
        self.memory = stack.enter_context(Memory(settings, embedder=embedder, clock=self.clock))
        self.ids: dict[tuple[str, str], str] = {}

    def tell(self, pair: Pair, which: str, after: float) -> None:
        self.clock.pass_by(after)
        if pair.get(f"{which}_as") == "prompt":
            turn = ConversationTurn("user", pair[which], session=f"{pair['id']} {which}")
            stored = self.memory.observe(ME, turn).receipt
        else:
            stored = self.memory.remember(ME, RememberRequest(pair[which]))
        self.ids[pair["id"], which] = stored.id if stored else ""

    def judged(self, pair: Pair) -> Counter[str]:
        """What is counted of *pair*."""
        older, newer = (self.ids[pair["id"], which] for which in ("older", "newer"))
        right = self.ids[pair["id"], pair["first"]]
        doubts = {(each.older.id, each.newer.id) for each in self.memory.doubts(ME)}
        found = Counter(
            pairs=1,
            right=self._order(pair["question"], (older, newer))[:1] == [right],
            superseded=bool(older and self.memory.get(ME, older).superseded_by),
            doubted=(older, newer) in doubts,
            lost=(older, newer).count(""),
        )
        if rest := pair.get("rest"):
            found.update(rests=1, rest=self._order(rest, (older, newer))[:1] == [older])
        return found

    def _order(self, question: str, ids: Sequence[str]) -> list[str]:
        """Those of *ids* that are found first, in their order."""
        found = self.memory.recall(ME, RecallRequest(question, k=FIRST, rehearse=False))
        return [hit.memory.id for hit in found.hits if hit.memory.id in ids]


def alone(pairs: Iterable[Pair], every: list[Pair], embedder: Embedder) -> dict[str, Counter[str]]:
    """What is counted of each pair, with ten older notes of others beside it."""
    counts = {}
    for pair in pairs:
        others = [other for other in every if other["id"] != pair["id"]]
        with ExitStack() as stack:
            told = Told(embedder, stack)
            for other in random.Random(pair["id"]).sample(others, BESIDE):
                told.tell(other, "older", DAY)
            told.tell(pair, "older", DAY)
            told.tell(pair, "newer", 40 * DAY)
            told.clock.pass_by(3 * DAY)
            counts[pair["id"]] = told.judged(pair)
    return counts


def together(pairs: list[Pair], embedder: Embedder) -> dict[str, Counter[str]]:
    """The same of all pairs in one memory: first all older notes, then all newer ones."""
    with ExitStack() as stack:
        told = Told(embedder, stack)
        for which in ("older", "newer"):
            told.clock.pass_by(20 * DAY)
            for pair in pairs:
                told.tell(pair, which, 3_600.0)
        told.clock.pass_by(3 * DAY)
        return {pair["id"]: told.judged(pair) for pair in pairs}


def main() -> None:
    """Print the counts of one half."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("half", nargs="?", choices=("dev", "apart", "all"), default="apart")
    parser.add_argument("--of", choices=OF, default="pairs")
    parser.add_argument("--together", action="store_true", help="all in one memory")
    parser.add_argument("--show", action="store_true", help="those that are wrong")
    given = parser.parse_args()
    every: list[Pair] = json.loads((DATA / f"{given.of}.json").read_text("utf-8"))
    odd = {"dev": (1,), "apart": (0,), "all": (0, 1)}[given.half]
    half = [each for each in every if int(each["id"][1:]) % 2 in odd]
    embedder = choose(Settings())
    found = together(half, embedder) if given.together else alone(half, every, embedder)
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair in half:
        sums[pair["class"]] += found[pair["id"]]
        if given.show and not found[pair["id"]]["right"]:
            print(pair["id"], *(pair[part] for part in ("older", "newer", "question")), sep="\n  ")
    print(f"{given.half}, {'together' if given.together else 'alone'}")
    print(machine(0))
    sums["all"] = sum(found.values(), Counter())
    for name, count in sums.items():
        print(
            f"{name:11} right {count['right']:2} of {count['pairs']}, older note superseded "
            f"{count['superseded']}, in doubt {count['doubted']}"
            + f", not kept {count['lost']}" * bool(count["lost"])
            + f", the rest first {count['rest']} of {count['rests']}" * bool(count["rests"])
        )


if __name__ == "__main__":
    main()
