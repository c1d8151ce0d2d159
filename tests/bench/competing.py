"""The weights by which a later text may put an earlier one out of date, fitted to cases.

    python tests/bench/competing.py FILE [FILE ...] [--free FILE ...] [--report FILE ...]

Each file holds cases of beliefs (docs/internals/evaluation.md). Its texts are remembered twice:
each case alone with the file's background, and all of them in one store. Every pair that a write
compares is looked at: of a correction the older text should be doubted, of all other pairs it
should not; exceptions for a while are left out. The files after --free hold conversations or a note
a line, in which nothing is taken for a correction; they weigh a third. A logistic regression is
fitted to the signs of the pairs of all files but one and reported on that one; then to all of them,
for the weights that are printed, and reported on the files after --report, which nothing is fitted
to. Nothing is drawn at random.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import logistic
from material import machine

from memory_core.beliefs import change, competing
from memory_core.beliefs.competing import WEIGHTS, Nearness
from memory_core.config import ConsolidationSettings, Settings
from memory_core.evaluation.beliefs import BACKGROUND_DAYS, BACKGROUND_STEP
from memory_core.evaluation.readers import read
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

NOW, DAY = 1_795_600_000.0, 86_400.0
RIDGE = 3.0
"""Weight of the squares of the weights, in pairs."""
FREE = 0.3
"""Weight of a pair of free text, which may be a correction that nobody marked."""
CONVERSATIONS = 2
"""Of a file of conversations; a speaker's turns are one store."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Story:
    """Texts with their ages in days, and the (older, newer) pairs of which the older one changed.

    *left* are pairs that are not looked at.
    """

    texts: Sequence[tuple[str, float]]
    changed: frozenset[tuple[str, str]] = frozenset()
    left: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Seen:
    """One pair that a write compared: its signs, whether the older text changed, and of which set.

    *together*: among all cases of its file.
    """

    signs: tuple[float, ...]
    changed: bool
    together: bool
    texts: tuple[str, str]


def stories(file: Path) -> tuple[list[Story], Story]:
    """The cases of *file* alone with its background, and all of them as one story."""
    data: dict[str, Any] = json.loads(file.read_text("utf-8"))
    background = [
        (text, float(BACKGROUND_DAYS + BACKGROUND_STEP * place))
        for place, text in enumerate(data.get("background", ()))
    ]
    found = [
        Story([(case["a"], case["a_days"]), (case["b"], case["b_days"])])
        for part in ("non_corrections", "near")
        for case in data.get(part, ())
    ]
    for case in data.get("series", ()):
        ages = range(len(case["members"]) - 1, -1, -1)
        found.append(
            Story(
                [
                    (text, 1.0 + case["step_days"] * age)
                    for text, age in zip(case["members"], ages, strict=True)
                ]
            )
        )
    for part in ("corrections", "reversals"):
        for case in data.get(part, ()):
            pair = frozenset({(case["old"], case["new"])})
            texts = [(case["old"], case["old_days"]), (case["new"], case["new_days"])]
            passing = case.get("kind") == "temporary"
            found.append(Story(texts, left=pair) if passing else Story(texts, pair))
    whole = Story(
        [*background, *(text for each in found for text in each.texts)],
        frozenset().union(*(each.changed for each in found)),
        frozenset().union(*(each.left for each in found)),
    )
    return [Story([*background, *each.texts], each.changed, each.left) for each in found], whole


def free(file: Path) -> list[Story]:
    """What each speaker of the first conversations of *file* says, or its lines, as stories."""
    if file.suffix == ".txt":
        lines = [line for line in file.read_text("utf-8").splitlines() if line.strip()]
        return [Story([(line, float(len(lines) - n)) for n, line in enumerate(lines)])]
    found = []
    for conversation in list(read(file))[:CONVERSATIONS]:
        for speaker in dict.fromkeys(turn.speaker for turn in conversation.turns):
            said = [turn.text for turn in conversation.turns if turn.speaker == speaker]
            found.append(Story([(text, float(len(said) - n)) for n, text in enumerate(said)]))
    return found


def seen(told: Sequence[tuple[Story, bool]], folder: Path) -> Iterator[Seen]:
    """The pairs that are compared when the texts of each story are remembered in their order."""
    compared: list[tuple[str, str, Nearness]] = []

    def recorded(older: str, newer: str, near: Nearness, **_: object) -> float:
        compared.append((older, newer, near))
        return 0.0

    def silent(*_: object) -> change.Found:
        """No word of change is looked for: every pair is weighed."""
        return change.Found(change.PRESUMED)

    settings = Settings(
        data_dir=folder, offline=True, consolidation=ConsolidationSettings(automatic=False)
    )
    with Memory(settings, clock=lambda: NOW) as memory:
        assert memory.wait_ready(60)
        for number, (story, together) in enumerate(told):
            compared.clear()
            with (
                patch.object(competing, "likelihood", recorded),
                patch.object(change, "change", silent),
            ):
                for text, days in sorted(story.texts, key=lambda each: -each[1]):
                    request = RememberRequest(text, when=NOW - days * DAY)
                    memory.remember(Identity(f"story-{number}"), request)
            for older, newer, near in dict.fromkeys(compared):
                pair = (older, newer)
                if pair not in story.left and weighed(older, newer, near):
                    signs = competing.signs(older, newer, near)
                    values = tuple(signs[name] for name in WEIGHTS)
                    yield Seen(values, pair in story.changed, together, pair)


def weighed(older: str, newer: str, near: Nearness) -> bool:
    """True for a pair that the likelihood decides."""
    return competing.weighable(older, newer, near) and change.change(older, newer) is not None


def report(name: str, pairs: Sequence[Seen], found: Floats, show: bool = False) -> None:
    """Print how many of the changed pairs are likely, and how many of the likely ones changed."""
    for together in (False, True):
        some = [each for each in pairs if each.together == together]
        if not some:
            continue
        p = logistic.chances(np.array([each.signs for each in some]), found)
        changed = np.array([each.changed for each in some])
        cells = [
            f"{least}: {int((changed & (p >= least)).sum())}/{int((p >= least).sum())}"
            for least in (competing.LIKELY_WORDED, 0.5, 0.6, competing.LIKELY, 0.8)
        ]
        where = "in one store" if together else "alone"
        print(f"{name:24} {where:12} of {int(changed.sum()):3}  " + "  ".join(cells))
        for at in np.argsort(-p) if show else ():
            if p[at] >= competing.LIKELY and not changed[at]:
                print(f"    {p[at]:.2f} {some[at].texts[0]!r} <- {some[at].texts[1]!r}")


def main() -> None:
    """Fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--free", nargs="*", type=Path, default=[])
    parser.add_argument("--report", nargs="*", type=Path, default=[])
    parser.add_argument("--show", action="store_true", help="false ones of the files fitted to")
    args = parser.parse_args()
    print(machine(0))
    pairs: dict[str, list[Seen]] = {}
    for file in [*args.files, *args.report]:
        alone, whole = stories(file)
        with tempfile.TemporaryDirectory() as folder:
            told = [*((each, False) for each in alone), (whole, True)]
            pairs[file.stem] = list(seen(told, Path(folder)))
        print(f"{file.stem}: {len(pairs[file.stem])} pairs", file=sys.stderr, flush=True)
    loose: dict[str, list[Seen]] = {}
    for file in args.free:
        with tempfile.TemporaryDirectory() as folder:
            loose[file.stem] = list(seen([(each, True) for each in free(file)], Path(folder)))

    def fitted(names: Sequence[str]) -> Floats:
        known = [each for name in names for each in pairs[name]]
        others = [each for some in loose.values() for each in some]
        signs = np.array([each.signs for each in [*known, *others]])
        changed = np.array([each.changed for each in [*known, *others]], dtype=np.float64)
        often = np.repeat([1.0, FREE], [len(known), len(others)])
        return logistic.fit(signs, changed, RIDGE, often)

    names = [file.stem for file in args.files]
    print("pairs right / likely from a likelihood on; each file by weights fitted to the others")
    for name in names if len(names) > 1 else ():
        report(name, pairs[name], fitted([each for each in names if each != name]), args.show)
    found = fitted(names)
    print("fitted to all")
    for name in names:
        report(name, pairs[name], found)
    for name, some in loose.items():
        report(name, some, found, args.show)
    for file in args.report:
        report(file.stem, pairs[file.stem], found)
    print("BIAS", round(float(found[-1]), 2))
    print(json.dumps(dict(zip(WEIGHTS, [round(float(w), 2) for w in found[:-1]], strict=True))))


if __name__ == "__main__":
    main()
