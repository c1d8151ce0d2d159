"""How many pairs of two forms that put nothing in doubt are corrections, and how many both true.

    python tests/bench/told_apart.py FILE [FILE ...]

Each file holds cases of beliefs (docs/internals/evaluation.md). Of its corrections that hold for
good, and of its pairs that are both true, those without a word of change are counted that differ in
two places (`shared.differ_twice`), those with two names in other roles (`shared.crossed`), and
those of which one alone goes on with a preposition (`shared.other_complement`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import machine

from memory_core.beliefs.change import PRESUMED, change
from memory_core.beliefs.shared import crossed, differ_twice, other_complement

SORTS = {"corrections": ("old", "new"), "non_corrections": ("a", "b"), "near": ("a", "b")}
FORMS = {
    "differ in two places": differ_twice,
    "names in other roles": crossed,
    "another complement": other_complement,
}


def main() -> None:
    """Count the pairs of all files together."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    found: Counter[tuple[str, bool]] = Counter()
    for file in parser.parse_args().files:
        data = json.loads(file.read_text("utf-8"))
        for sort, (older, newer) in SORTS.items():
            for case in data.get(sort, ()):
                one, two = case[older], case[newer]
                told = change(one, two)
                if case.get("kind") == "temporary" or told is None or told.kind != PRESUMED:
                    continue
                for form, has in FORMS.items():
                    found[form, sort == "corrections"] += has(one, two)
    print(machine(0))
    for form in FORMS:
        print(f"{form}: {found[form, False]} both true, {found[form, True]} corrections")


if __name__ == "__main__":
    main()
