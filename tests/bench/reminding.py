"""The weights of the rule by which a hook tells a prompt what the memory knows, fitted to cases.

    python tests/bench/reminding.py FILE [FILE ...] [--report FILE ...]

Each file holds cases of beliefs with prompts (docs/internals/evaluation.md). Every prompt is asked
twice: over the memories of its own case, and over those of all files in one store, where it counts
half. A prompt helps where what stands near the best hit holds what the case says is of use. Two
logistic regressions are fitted: to the words of grammar of the prompts, whether a memory has
something for them, and to the signs, whether what is brought helps; the sign of the words is that
of other users there. They are fitted to all files but one, and reported on that one; then to all of
them, for the weights that are printed, and reported on the files after --report, which nothing is
fitted to. Nothing is drawn at random.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import textwrap
from collections import Counter, defaultdict
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
from server.hooks import leaning, reminder

NOW, DAY = 1_795_600_000.0, 86_400.0
RIDGE = 1.0
"""Weight of the squares of the weights, in prompts."""
WORD_RIDGE = 2.0
"""The same of the weights of words."""
LEAST_PROMPTS, LEAST_USERS = 5, 3
"""Prompts, and users, that a word must have to get a weight."""
FOLDS = 5
"""Parts of the users, of which each is given the words of the others."""
OWN = list(reminder.WEIGHTS).index("own")
TOGETHER = 0.5
"""Weight of a prompt over the memories of all files."""
ME = Identity("me")

Floats = NDArray[np.float64]
Case = Mapping[str, Any]


@dataclass(frozen=True)
class Seen:
    """What a prompt of a *user* would be told, whether it has something, and by which signs.

    *said* are its words of grammar. No *signs* where it asks the memory nothing, or nothing is
    near.
    """

    user: str
    wanted: bool
    helps: bool
    said: frozenset[str]
    signs: tuple[float, ...] | None
    weight: float


@dataclass(frozen=True)
class Rule:
    """What is fitted: the weights of words and of signs, each with its bias."""

    words: Mapping[str, float]
    words_bias: float
    signs: Floats
    bias: float

    def own(self, prompt: Seen) -> float:
        """How far *prompt* leans to something of one's own."""
        return self.words_bias + sum(self.words.get(word, 0.0) for word in prompt.said)

    def tells(self, prompt: Seen) -> bool:
        """Whether *prompt* is told what it brings."""
        if prompt.signs is None:
            return False
        signs = np.array(prompt.signs)
        signs[OWN] = self.own(prompt)
        return bool(1 / (1 + np.exp(-self.bias - self.signs @ signs)) >= reminder.LIKELY)


def cases(file: Path) -> list[Case]:
    """The memories with their prompts in *file*."""
    found = json.loads(file.read_text("utf-8"))["hooks"]
    return [found] if isinstance(found, dict) else list(found)


def seen(told: Iterable[Case], asked: Iterable[tuple[str, Case]], weight: float) -> list[Seen]:
    """What the prompts of *asked*, cases with their users, bring in a store with those *told*."""
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
                for user, each in (
                    (user, prompt) for user, case in asked for prompt in case["prompts"]
                ):
                    signs.clear()
                    brought = reminder.remind(memory, ME, each["prompt"], "s", frozenset())
                    texts = (
                        [hit.memory.text for hit in brought.hits[: reminder.HITS]]
                        if brought
                        else []
                    )
                    helps = any(part in text for part in each["relevant"] for text in texts)
                    sign = tuple(signs[0][name] for name in reminder.WEIGHTS) if texts else None
                    said = leaning.plain(reminder.asked_in(each["prompt"]))
                    found.append(Seen(user, bool(each["relevant"]), helps, said, sign, weight))
                return found
    finally:
        reminder.likelihood = rule


def fitted_words(prompts: Iterable[Seen]) -> tuple[dict[str, float], float]:
    """The weights of words, and the bias, for whether a prompt has something."""
    once = [prompt for prompt in prompts if prompt.weight == 1.0]
    count = Counter(word for prompt in once for word in prompt.said)
    users: defaultdict[str, set[str]] = defaultdict(set)
    for prompt in once:
        for word in prompt.said:
            users[word].add(prompt.user)
    known = sorted(
        word for word in count if count[word] >= LEAST_PROMPTS and len(users[word]) >= LEAST_USERS
    )
    held = np.array([[word in prompt.said for word in known] for prompt in once], float)
    wanted = np.array([prompt.wanted for prompt in once], float)
    found = logistic.fit(held, wanted, WORD_RIDGE, alike=True)
    return dict(zip(known, found[:-1].tolist(), strict=True)), float(found[-1])


def fitted(prompts: Sequence[Seen]) -> Rule:
    """The rule that is fitted to *prompts*."""
    users = sorted({prompt.user for prompt in prompts})
    signs, helps, often = [], [], []
    for fold in range(FOLDS):
        part = set(users[fold::FOLDS])
        words = fitted_words(prompt for prompt in prompts if prompt.user not in part)
        rule = Rule(*words, np.zeros(0), 0.0)
        for prompt in prompts:
            if prompt.user in part and prompt.signs is not None:
                sign = list(prompt.signs)
                sign[OWN] = rule.own(prompt)
                signs.append(sign)
                helps.append(prompt.helps)
                often.append(prompt.weight)
    found = logistic.fit(np.array(signs), np.array(helps, float), RIDGE, np.array(often))
    return Rule(*fitted_words(prompts), found[:-1], float(found[-1]))


def shares(prompts: Sequence[Seen], rule: Rule) -> str:
    """How many of *prompts* with something are told it, and how many are told what is of no use."""
    pairs = [(prompt, rule.tells(prompt)) for prompt in prompts]
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
        users = [(f"{file.stem} {number}", case) for number, case in enumerate(known)]
        alone[file] = [each for user, case in users for each in seen([case], [(user, case)], 1.0)]
        beside[file] = seen(every, users, TOGETHER)
    print("\nfitted to the other files")
    for file in given.files if len(given.files) > 1 else []:
        rest = [other for other in given.files if other != file]
        found = fitted([each for other in rest for each in (*alone[other], *beside[other])])
        print(f"  {file.stem:20} alone {shares(alone[file], found)}")
        print(f"  {'':20} all   {shares(beside[file], found)}")
    rule = fitted([x for file in given.files for x in (*alone[file], *beside[file])])
    print("\nfitted to these files")
    for name, weight in zip(reminder.WEIGHTS, rule.signs, strict=True):
        print(f"  {name:14} {weight:6.2f}")
    print(f"  {'bias':14} {rule.bias:6.2f}\n")
    print(textwrap.fill(" ".join(f"{word}={each:.1f}" for word, each in rule.words.items()), 90))
    print(f"bias={rule.words_bias:.1f}\n\nwith these weights, and with those in use")
    weights = np.array(list(reminder.WEIGHTS.values()))
    used = Rule(leaning.WEIGHTS, leaning.BIAS, weights, reminder.BIAS)
    for file in read:
        for place, by in (("alone", alone), ("all", beside)):
            print(f"  {file.stem:20} {place:5} {shares(by[file], rule)}")
            print(f"  {'':20} {'':5} {shares(by[file], used)}")


if __name__ == "__main__":
    main()
