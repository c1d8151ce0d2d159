"""The weights of the rule by which a hook tells a prompt what the memory knows, fitted to cases.

    python tests/bench/reminding.py FILE [FILE ...] [--report FILE ...]

Each file holds cases of beliefs with prompts (docs/internals/evaluation.md). Every prompt is asked
twice: over the memories of its own case, and over those of all files in one store, where it counts
half. A prompt helps where what stands near the best hit holds what the case says is of use. A
logistic regression is fitted to the signs of the prompts of all files but one, and reported on that
one; then to all of them, for the weights that are printed, and reported on the files after
--report, which nothing is fitted to. Nothing is drawn at random.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import logistic
from material import machine

from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.hooks import reminder

NOW, DAY = 1_795_600_000.0, 86_400.0
RIDGE = 1.0
"""Weight of the squares of the weights, in prompts."""
TOGETHER = 0.5
"""Weight of a prompt over the memories of all files."""
ME = Identity("me")

Floats = NDArray[np.float64]
Case = Mapping[str, Any]


@dataclass(frozen=True)
class Seen:
    """What a prompt would be told, whether it has something, and by which signs it is judged.

    No *signs* where it asks the memory nothing, or nothing is near.
    """

    wanted: bool
    helps: bool
    signs: tuple[float, ...] | None
    weight: float


def cases(file: Path) -> list[Case]:
    """The memories with their prompts in *file*."""
    found = json.loads(file.read_text("utf-8"))["hooks"]
    return [found] if isinstance(found, dict) else list(found)


def seen(told: Iterable[Case], asked: Iterable[Case], weight: float) -> list[Seen]:
    """What the prompts of *asked* bring in a store with the memories of *told*."""
    still = ConsolidationSettings(automatic=False)
    signs: list[Mapping[str, float]] = []

    def recorded(found: Mapping[str, float]) -> float:
        signs.append(found)
        return 1.0

    rule, reminder.likelihood = reminder.likelihood, recorded
    try:
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(data_dir=Path(folder), offline=True, consolidation=still)
            with Memory(settings, clock=lambda: NOW) as memory:
                assert memory.wait_ready(60)
                for case in told:
                    for each in case["corpus"]:
                        said = NOW - each["days"] * DAY
                        memory.remember(ME, RememberRequest(each["text"], kind="fact", when=said))
                found = []
                for each in (prompt for case in asked for prompt in case["prompts"]):
                    signs.clear()
                    brought = reminder.remind(memory, ME, each["prompt"], "s", frozenset())
                    texts = (
                        [hit.memory.text for hit in brought.hits[: reminder.HITS]]
                        if brought
                        else []
                    )
                    helps = any(part in text for part in each["relevant"] for text in texts)
                    sign = tuple(signs[0][name] for name in reminder.WEIGHTS) if texts else None
                    found.append(Seen(bool(each["relevant"]), helps, sign, weight))
                return found
    finally:
        reminder.likelihood = rule


def fitted(prompts: Sequence[Seen]) -> tuple[Floats, float]:
    """The weights of the signs and the bias of a logistic regression, in units of the signs."""
    weighed = [prompt for prompt in prompts if prompt.signs is not None]
    signs = np.array([prompt.signs for prompt in weighed], float)
    helps = np.array([prompt.helps for prompt in weighed], float)
    often = np.array([prompt.weight for prompt in weighed])
    found = logistic.fit(signs, helps, RIDGE, often)
    return found[:-1], float(found[-1])


def shares(prompts: Sequence[Seen], weights: Floats, bias: float) -> str:
    """How many of *prompts* with something are told it, and how many are told what is of no use."""
    told = [
        prompt.signs is not None
        and 1 / (1 + np.exp(-bias - weights @ np.array(prompt.signs))) >= reminder.LIKELY
        for prompt in prompts
    ]
    pairs = list(zip(prompts, told, strict=True))
    useful = sum(said and prompt.helps for prompt, said in pairs)
    wanted = sum(prompt.wanted for prompt in prompts)
    noise = sum(said and not prompt.helps for prompt, said in pairs)
    return f"useful {useful:3d} of {wanted:3d}   of no use {noise:3d} of {len(prompts):3d}"


def main() -> None:
    """Fit, and print what comes of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--report", nargs="*", default=[], type=Path)
    parser.add_argument("--likely", type=float, default=reminder.LIKELY)
    given = parser.parse_args()
    reminder.LIKELY = given.likely
    print(machine(0))
    read = {file: cases(file) for file in (*given.files, *given.report)}
    every = [case for known in read.values() for case in known]
    alone, beside = dict[Path, list[Seen]](), dict[Path, list[Seen]]()
    for file, known in read.items():
        alone[file] = [each for case in known for each in seen([case], [case], 1.0)]
        beside[file] = seen(every, known, TOGETHER)
    print("\nfitted to the other files")
    for file in given.files if len(given.files) > 1 else []:
        rest = [other for other in given.files if other != file]
        found = fitted([each for other in rest for each in (*alone[other], *beside[other])])
        print(f"  {file.stem:20} alone {shares(alone[file], *found)}")
        print(f"  {'':20} all   {shares(beside[file], *found)}")
    weights, bias = fitted([x for file in given.files for x in (*alone[file], *beside[file])])
    print("\nfitted to these files")
    for name, weight in zip(reminder.WEIGHTS, weights, strict=True):
        print(f"  {name:14} {weight:6.2f}")
    print(f"  {'bias':14} {bias:6.2f}\n\nwith these weights, and with those in use")
    used = np.array(list(reminder.WEIGHTS.values()))
    for file in read:
        for place, by in (("alone", alone), ("all", beside)):
            print(f"  {file.stem:20} {place:5} {shares(by[file], weights, bias)}")
            print(f"  {'':20} {'':5} {shares(by[file], used, reminder.BIAS)}")


if __name__ == "__main__":
    main()
