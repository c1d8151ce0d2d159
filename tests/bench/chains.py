"""Which note of a chain of them comes first: values that change several times, and what is near.

    python tests/bench/chains.py [dev|apart|all] [--show]

tests/evals/data/chains.json holds 60 chains of three to seven notes over months, written blind,
with the question asked afterwards, which of them may answer it and which must not stand before
it: *returns* (a value goes and comes back), *steps* (it changes three or four times; asked is what
holds and what held at an earlier time), *related* (notes of the same thing between the value and
its change), *elsewhere* (other people's values and plans after mine), *withdrawn* (a rule or a wish
is taken back). Rules were made by those with an odd number (dev), the others are apart. Printed is,
by kind and by time asked about, of how many questions a right one is among the first five and
before all the wrong ones. Each chain has a memory of its own with ten notes of others. Nothing is
drawn at random but these ten, by the number of the chain.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import machine
from pairs import BESIDE, DATA, DAY, FIRST, ME, Told

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import choose
from memory_core.recall.request import RecallRequest

BEGIN = 1_769_990_400.0
"""2 February 2026, the day 0 of each chain."""

Chain = Mapping[str, Any]


def answered(chain: Chain, every: list[Chain], embedder: Embedder) -> Iterable[tuple[Any, bool]]:
    """Each question of the *chain*, and whether a right note comes before all the wrong ones."""
    others = [other for other in every if other["id"] != chain["id"]]
    with ExitStack() as stack:
        told = Told(embedder, stack)
        told.clock.now = BEGIN - (BESIDE + 1) * DAY
        for other in random.Random(chain["id"]).sample(others, BESIDE):
            told.tell({"id": other["id"], "note": other["notes"][0]["text"]}, "note", DAY)
        for number, note in enumerate(chain["notes"]):
            after = BEGIN + note["day"] * DAY - told.clock.now
            told.tell({"id": chain["id"], str(number): note["text"]}, str(number), after)
        told.clock.pass_by(7 * DAY)
        numbers = {told.ids[chain["id"], str(n)]: n for n in range(len(chain["notes"]))}
        for asked in chain["questions"]:
            request = RecallRequest(asked["q"], k=FIRST, rehearse=False)
            hits = [hit.memory.id for hit in told.memory.recall(ME, request).hits]
            judged = {*asked["right"], *asked["wrong"]}
            order = [numbers[hit] for hit in hits if numbers.get(hit) in judged]
            yield asked, bool(order) and order[0] in asked["right"]


def main() -> None:
    """Print the counts of one half."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("half", nargs="?", choices=("dev", "apart", "all"), default="apart")
    parser.add_argument("--show", action="store_true", help="those that are wrong")
    given = parser.parse_args()
    every: list[Chain] = json.loads((DATA / "chains.json").read_text("utf-8"))
    odd = {"dev": (1,), "apart": (0,), "all": (0, 1)}[given.half]
    embedder, sums = choose(Settings()), defaultdict[str, Counter[str]](Counter)
    for chain in every:
        if int(chain["id"][1:]) % 2 not in odd:
            continue
        for asked, right in answered(chain, every, embedder):
            name = chain["kind"] if asked["now"] else f"{chain['kind']}, then"
            for each in (name, "all"):
                sums[each].update(asked=1, right=right)
            if given.show and not right:
                notes = (f"{note['day']:3} {note['text']}" for note in chain["notes"])
                print(f"{chain['id']} {asked['q']} {asked['right']}", *notes, sep="\n  ")
    print(given.half)
    print(machine(0))
    for name, count in sums.items():
        print(f"{name:12} right {count['right']:2} of {count['asked']}")


if __name__ == "__main__":
    main()
