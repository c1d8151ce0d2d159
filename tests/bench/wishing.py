"""How well a briefing tells standing wishes from what else one person says, and the weights of it.

    python tests/bench/wishing.py [--show]

tests/evals/data/wishes.json holds 360 messages, written blind: standing wishes, what somebody says
of themselves, habits, rules, reminders, corrections and requests. Rules and weights were made by
those with "b" and by the "w" of odd numbers; the "w" of even numbers are apart. Notes of pairs.json
(none of them a wish) stand for all the rest, every second pair to fit and the others apart. Printed
are what a logistic regression fits, and by kind how many are told as wishes, by the weights of the
program and by the importance of their wording alone. Nothing is drawn at random.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import logistic
from material import machine

from memory_core.beliefs import wishes
from memory_core.beliefs.importance import INSTRUCTION, salience

DATA = Path(__file__).parents[1] / "evals" / "data"
RIDGE = 1.0
NOTE = 0.25
"""Weight of a note: there are four times as many as messages."""

Said = Mapping[str, str]


def material() -> tuple[list[Said], list[Said]]:
    """What is fitted to, and what is apart."""
    said: list[Said] = json.loads((DATA / "wishes.json").read_text("utf-8"))
    pairs = json.loads((DATA / "pairs.json").read_text("utf-8"))
    for pair in pairs:
        number = pair["id"].replace("p", "n")
        said += [{"id": number, "kind": "note", "text": pair[name]} for name in ("older", "newer")]
    apart = [each for each in said if each["id"][0] != "b" and int(each["id"][1:]) % 2 == 0]
    return [each for each in said if each not in apart], apart


def fitted(said: Iterable[Said]) -> Mapping[str, float]:
    """The weights of the signs and the bias that fit *said* best."""
    kinds = [each["kind"] for each in said]
    signs = np.array([list(wishes.signs(each["text"]).values()) for each in said], np.float64)
    true = np.array([kind == "wish" for kind in kinds], np.float64)
    counted = np.array([NOTE if kind == "note" else 1.0 for kind in kinds])
    found = logistic.fit(signs, true, RIDGE, counted)
    return dict(zip((*wishes.WEIGHTS, "bias"), found.tolist(), strict=True))


def told(said: Iterable[Said], is_told: Callable[[str], bool]) -> str:
    """How many of each kind of *said* are told."""
    total, count = Counter[str](), Counter[str]()
    for each in said:
        total[each["kind"]] += 1
        count[each["kind"]] += is_told(each["text"])
    return ", ".join(f"{kind} {count[kind]} of {total[kind]}" for kind in sorted(total))


def main() -> None:
    """Fit, count and print."""
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS)
    parser.add_argument(
        "--show", action="store_true", help="what is told wrongly, of the half fitted"
    )
    arguments = parser.parse_args()
    tuned, apart = material()
    print(machine(None))
    print("fitted:", ", ".join(f"{name} {weight:.1f}" for name, weight in fitted(tuned).items()))
    ways: dict[str, Callable[[str], bool]] = {
        "importance": lambda text: salience(text)[0] >= INSTRUCTION,
        "a rule": lambda text: wishes.signs(text)["standing"],
        "signs, in a talk": lambda text: wishes.likelihood(text) >= wishes.LIKELY,
        "signs, as a note": lambda text: wishes.likelihood(text, note=True) >= wishes.LIKELY,
    }
    for half, said in (("fitted to", tuned), ("apart", apart)):
        for name, is_told in ways.items():
            print(f"{half}, by {name}: {told(said, is_told)}")
    if arguments.show:
        for each in tuned:
            likelihood = wishes.likelihood(each["text"])
            if (likelihood >= wishes.LIKELY) != (each["kind"] == "wish"):
                print(f"{likelihood:.2f} {each['kind']}: {each['text']}")


if __name__ == "__main__":
    main()
