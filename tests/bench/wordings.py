"""What one change does to several wordings of one fact, and to what only shares words with them.

    python tests/bench/wordings.py [dev|apart|all] [--together] [--show]

tests/evals/data/wordings.json holds 60 facts, written blind, each in four wordings noted weeks
apart, with two or three bystanders that share words with them and stay true, and one text that
tells the change. Rules were made by those with an odd number (dev), the others are apart. Printed
is how many wordings and how many bystanders were superseded or in doubt afterwards, how often the
change comes before all the wordings, and how often a bystander comes first for a question of its
own. Each fact has a memory of its own with ten notes of others, or all share one. Nothing is drawn
at random but these ten, by the number of the fact.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
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

Fact = Mapping[str, Any]
PARTS = ("wordings", "bystanders")


def tell(told: Told, fact: Fact, after: float) -> None:
    """Tell the wordings of *fact*, its bystanders between them, *after* so many seconds each."""
    texts = [
        (f"{part} {n}", text) for n in range(4) for part in PARTS for text in fact[part][n : n + 1]
    ]
    for which, text in texts:
        told.tell({"id": fact["id"], which: text}, which, after)


def judged(told: Told, fact: Fact, show: bool) -> Counter[str]:
    """What is counted of *fact*, whose change was told."""
    doubts, change = told.memory.doubts(ME), told.ids[fact["id"], "change"]
    doubted = {doubt.older.id for doubt in doubts if doubt.newer.id == change}
    own = {id for (of, _), id in told.ids.items() if of == fact["id"]}
    astray = [doubt for doubt in doubts if doubt.older.id in own and doubt.newer.id != change]
    found = Counter(facts=1, astray=len(astray))
    if show:
        for doubt in astray:
            print(fact["id"], "astray", doubt.older.text, "<<", doubt.newer.text, sep=" | ")
    for part in PARTS:
        for n, text in enumerate(fact[part]):
            id = told.ids[fact["id"], f"{part} {n}"]
            over = bool(told.memory.get(ME, id).superseded_by)
            found.update({part: 1, f"{part} superseded": over, f"{part} doubted": id in doubted})
            if show and (over or id in doubted) == (part == "bystanders"):
                print(fact["id"], part, text, "<<", fact["change"], sep=" | ")
    wordings = [told.ids[fact["id"], f"wordings {n}"] for n in range(len(fact["wordings"]))]
    first = order(told, fact["question"], [change, *wordings])[:1] == [change]
    found.update(first=first)
    if show and not first:
        print(fact["id"], "not first", fact["change"], "<<", fact["question"], sep=" | ")
    for n, question in enumerate(fact["still"]):
        id = told.ids[fact["id"], f"bystanders {n}"]
        found.update(still=1, kept=order(told, question)[:1] == [id])
    return found


def order(told: Told, question: str, ids: Sequence[str] = ()) -> list[str]:
    """What is found first, of *ids* alone where there are any."""
    hits = told.memory.recall(ME, RecallRequest(question, k=FIRST, rehearse=False)).hits
    return [hit.memory.id for hit in hits if not ids or hit.memory.id in ids]


def alone(
    facts: Sequence[Fact], every: Sequence[Fact], embedder: Embedder, show: bool
) -> Counter[str]:
    """What is counted of *facts*, each with ten older notes of others beside it."""
    found = Counter[str]()
    for fact in facts:
        others = [other for other in every if other["id"] != fact["id"]]
        with ExitStack() as stack:
            told = Told(embedder, stack)
            for other in random.Random(fact["id"]).sample(others, BESIDE):
                told.tell({"id": other["id"], "note": other["wordings"][0]}, "note", DAY)
            tell(told, fact, 6 * DAY)
            told.tell(fact, "change", 30 * DAY)
            told.clock.pass_by(3 * DAY)
            found += judged(told, fact, show)
    return found


def together(facts: Sequence[Fact], embedder: Embedder, show: bool) -> Counter[str]:
    """The same of all in one memory: first all that is older, then all changes."""
    with ExitStack() as stack:
        told = Told(embedder, stack)
        for fact in facts:
            tell(told, fact, 3_600.0)
        told.clock.pass_by(20 * DAY)
        for fact in facts:
            told.tell(fact, "change", 3_600.0)
        told.clock.pass_by(3 * DAY)
        return sum((judged(told, fact, show) for fact in facts), Counter[str]())


def main() -> None:
    """Print the counts of one half."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("half", nargs="?", choices=("dev", "apart", "all"), default="apart")
    parser.add_argument("--together", action="store_true", help="all in one memory")
    parser.add_argument("--show", action="store_true", help="those that are wrong")
    given = parser.parse_args()
    every: list[Fact] = json.loads((DATA / "wordings.json").read_text("utf-8"))
    odd = {"dev": (1,), "apart": (0,), "all": (0, 1)}[given.half]
    half = [each for each in every if int(each["id"][1:]) % 2 in odd]
    embedder = choose(Settings())
    if given.together:
        found = together(half, embedder, given.show)
    else:
        found = alone(half, every, embedder, given.show)
    print(f"{given.half}, {'together' if given.together else 'alone'}")
    print(machine(0))
    for part in PARTS:
        print(
            f"{part:10} {found[part]:3}: superseded {found[f'{part} superseded']}, "
            f"in doubt {found[f'{part} doubted']}"
        )
    print(f"doubts that something else than the change raises {found['astray']}")
    print(f"the change before all wordings {found['first']} of {found['facts']}")
    print(f"a bystander first when asked for {found['kept']} of {found['still']}")


if __name__ == "__main__":
    main()
