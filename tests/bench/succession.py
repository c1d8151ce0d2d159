"""The weights of recall's rule that the newer of two statements goes first, fitted to cases.

    python tests/bench/succession.py FILE [FILE ...] [--report FILE ...]

Each file holds cases of beliefs (docs/internals/evaluation.md), or what a user said in half a year
and asks then (year.py). Every case is asked twice, without the rule: alone with the file's
background, and with all cases of its file in one store; a year is asked as a whole. Where the
question brings an older statement first and a newer one right behind it, the pair is looked at: of
a correction the newer one should go first; of two true statements, of the part that still holds
and of a stranger it should not. A logistic regression is fitted to the signs of the pairs of all
files but one, and reported on that one; then to all of them, for the weights that are printed, and
reported on the files after --report, which nothing is fitted to. Shares are of all pairs of a kind.
Nothing is drawn at random.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from year import ME, moment

from memory_core.beliefs.change import passes
from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.recall import rivals, succession
from memory_core.recall.answering import Embed
from memory_core.recall.candidates import Candidates
from memory_core.recall.request import RecallRequest
from memory_core.recall.succession import WEIGHTS, Rivals
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.text.time.mentions import asks_what_was

NOW, DAY = 1_795_600_000.0, 86_400.0
BACKGROUND = 50
"""Days since the background was said."""
RIDGE = 3.0
"""Weight of the squares of the weights, in pairs."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """Two statements with their ages in days, and questions with which of the two each asks for."""

    older: str
    newer: str
    days: tuple[float, float]
    questions: tuple[tuple[str, bool], ...]
    """The question, and True where the newer statement should come first."""


@dataclass(frozen=True)
class Seen:
    """One pair that a question brought: of which *kind*, and what the rule sees of it."""

    kind: str
    """"correction", "both true" or "stranger"."""
    signs: tuple[float, ...] | None
    """None where the rule does not weigh the pair at all."""


Row = tuple[str, str, float, float]
"""An id, its text, when it was said in epoch seconds, and its score."""


@dataclass
class Ranked:
    """What a question brought, best first, and the model."""

    rows: list[Row]
    embed: Embed
    related: float


def cases(data: Mapping[str, Any]) -> tuple[list[str], list[Case]]:
    """The background of *data* and its cases that ask something."""
    found = []
    for each in data.get("corrections", ()):
        if each["kind"] == "temporary":
            continue
        asked = [(each["question"], True)]
        if each.get("kept_question"):
            asked.append((each["kept_question"], False))
        days = each["old_days"], each["new_days"]
        found.append(Case(each["old"], each["new"], days, tuple(asked)))
    for each in data.get("non_corrections", ()):
        if each.get("question"):
            days = each["a_days"], each["b_days"]
            found.append(Case(each["a"], each["b"], days, ((each["question"], False),)))
    return data.get("background", []), found


@contextmanager
def without_the_rule() -> Iterator[Ranked]:
    """What the last question brought, in its order without the rule."""
    ranked = Ranked([], lambda _: None, 0.0)

    def recorded(view: Any, cues: Any, found: Candidates, embed: Embed) -> Candidates:
        order = np.argsort(-found.score, kind="stable")[: rivals.LOOKED_AT].tolist()
        held = view.memories(found.rows[order])
        said = view.columns.occurred_at
        ranked.rows = [
            (held[row].id, held[row].text, float(said[row]), float(found.score[place]))
            for place in order
            if (row := int(found.rows[place])) in held
        ]
        ranked.embed, ranked.related = embed, cues.profile.related
        return found

    with patch.object(rivals, "newest_first", recorded):
        yield ranked


def seen(file: Path, folder: Path) -> Iterator[Seen]:
    """The pairs that the questions of *file* bring."""
    told: dict[str, Any] = json.loads(file.read_text("utf-8"))
    now = moment(told["now"]) if "said" in told else NOW
    still = ConsolidationSettings(automatic=False)
    settings = Settings(data_dir=folder, offline=True, consolidation=still)
    with Memory(settings, clock=lambda: now) as memory, without_the_rule() as ranked:
        assert memory.wait_ready(60)
        yield from (of_year if "said" in told else of_cases)(memory, told, ranked)


def of_cases(memory: Memory, told: Mapping[str, Any], ranked: Ranked) -> Iterator[Seen]:
    """The pairs that the cases *told* bring."""
    background, known = cases(told)

    def remembered(who: Identity, text: str, days: float) -> str:
        return memory.remember(who, RememberRequest(text, when=NOW - days * DAY)).id

    everything = Identity("all")
    for text in background:
        remembered(everything, text, BACKGROUND)
    ids = {}
    for number, case in enumerate(known):
        alone = Identity(f"case-{number}")
        for text in background:
            remembered(alone, text, BACKGROUND)
        for who in (alone, everything):
            pair = zip((case.older, case.newer), case.days, strict=True)
            ids[number, who] = tuple(remembered(who, *each) for each in pair)
    for (number, who), told_ids in ids.items():
        for question, newer in known[number].questions:
            memory.recall(who, RecallRequest(question, context=0))
            yield from _looked_at(ranked, question, told_ids, newer)


def of_year(memory: Memory, year: Mapping[str, Any], ranked: Ranked) -> Iterator[Seen]:
    """The pairs that the questions of a *year* bring, of which one answers and the other not."""
    for said in year["said"]:
        when, speaker, session = moment(said["when"]), said["speaker"], said["session"]
        request = RememberRequest(said["text"], when=when, speaker=speaker, session=session)
        memory.remember(ME, request)
    for asked in year["asked"]:
        memory.recall(ME, RecallRequest(asked["question"], context=0))
        answers = [any(part in row[1] for part in asked["answer"]) for row in ranked.rows]
        for other, answer in zip(ranked.rows[1:], answers[1:], strict=True):
            if answer != answers[0] and _is_close(ranked.rows[0], other):
                weighed = _rivals(ranked, asked["question"], ranked.rows[0], other)
                yield Seen("correction" if answer else "stranger", _signs(ranked, weighed))


def _is_close(first: Row, other: Row) -> bool:
    """True when *other* was said later and answers about as well as *first*."""
    return other[2] - first[2] >= DAY and other[3] >= rivals.EQUAL * first[3] > 0


def _looked_at(ranked: Ranked, question: str, pair: tuple[str, ...], newer: bool) -> Iterator[Seen]:
    """The pairs of the first of *ranked* and a later statement close behind it."""
    if not ranked.rows:
        return
    first, wanted = ranked.rows[0], pair[1] if newer else pair[0]
    for other in ranked.rows[1:]:
        if first[0] not in pair or not _is_close(first, other):
            continue
        kind = "stranger" if other[0] not in pair else "correction" if newer else "both true"
        if first[0] != wanted and kind != "correction":
            continue
        weighed = _rivals(ranked, question, first, other)
        yield Seen(kind, _signs(ranked, weighed))


def _rivals(ranked: Ranked, question: str, first: Row, other: Row) -> Rivals:
    vectors = ranked.embed([first[1], other[1]])
    assert vectors is not None
    near = float(vectors[0] @ vectors[1])
    return Rivals(question, first[1], other[1], other[3] / first[3], near)


def _signs(ranked: Ranked, pair: Rivals) -> tuple[float, ...] | None:
    past = asks_what_was(pair.query) or passes(pair.newer)
    if past or not succession.answers(pair):
        return None
    if not succession.touches(pair, ranked.embed, ranked.related):
        return None
    found = succession.signs(pair, ranked.related)
    return tuple(found[name] for name in WEIGHTS)


def fitted(pairs: Sequence[Seen]) -> tuple[Floats, float]:
    """The weights of the signs and the bias of a logistic regression, in units of the signs."""
    weighed = [pair for pair in pairs if pair.signs is not None]
    signs = np.array([pair.signs for pair in weighed])
    newer = np.array([pair.kind == "correction" for pair in weighed], float)
    found = logistic.fit(signs, newer, RIDGE)
    return found[:-1], float(found[-1])


def shares(pairs: Sequence[Seen], weights: Floats, bias: float, least: float) -> str:
    """How many of the *pairs* of each kind go newest first."""
    counted: dict[str, list[bool]] = defaultdict(list)
    for pair in pairs:
        likely = pair.signs is not None
        if pair.signs is not None:
            likely = 1 / (1 + np.exp(-bias - weights @ np.array(pair.signs))) >= least
        counted[pair.kind].append(bool(likely))
    return "   ".join(f"{k} {sum(v):3d} of {len(v):3d}" for k, v in sorted(counted.items()))


def main() -> None:
    """Fit, and print what comes of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--report", nargs="*", default=[], type=Path)
    parser.add_argument("--least", type=float, default=succession.LIKELY)
    given = parser.parse_args()
    print(machine(0))
    found: dict[Path, list[Seen]] = {}
    for file in (*given.files, *given.report):
        with tempfile.TemporaryDirectory() as folder:
            found[file] = list(seen(file, Path(folder)))
    print("\ngo newest first, fitted to the other files")
    for file in given.files if len(given.files) > 1 else []:
        others = [pair for other in given.files if other != file for pair in found[other]]
        print(f"  {file.stem:24} {shares(found[file], *fitted(others), given.least)}")
    weights, bias = fitted([pair for file in given.files for pair in found[file]])
    print("\nfitted to these files")
    for name, weight in zip(WEIGHTS, weights, strict=True):
        print(f"  {name:14} {weight:6.2f}")
    print(f"  {'bias':14} {bias:6.2f}\n\ngo newest first with these weights, and with those in use")
    used = np.array(list(WEIGHTS.values()))
    for file, pairs in found.items():
        print(f"  {file.stem:24} {shares(pairs, weights, bias, given.least)}")
        print(f"  {'':24} {shares(pairs, used, succession.BIAS, given.least)}")


if __name__ == "__main__":
    main()
