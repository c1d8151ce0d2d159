"""Fits the confidence of recall on labelled conversations and shows what it is worth on others.

For each conversation every question is asked as it is, and again with its evidence, and two turns
on each side of it, taken away; and some questions of other conversations are asked, every second
one with the speakers' names exchanged. The first may be answered; the others, and those that the
file calls unanswerable, may not. Right is a list of ten that holds evidence. Fitted by logistic
regression on every other conversation and reported on the rest, then the other way round; the
numbers of scoring/calibration.py are those of all together. Each file weighs the same, and of 100
questions 60 are taken to have an answer; the reliability curve is told under the same weights.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding.embedder import choose
from memory_core.evaluation import metrics
from memory_core.evaluation.conversation import Conversation, Question
from memory_core.evaluation.readers import read
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.scoring import calibration
from memory_core.scoring.calibration import Evidence
from memory_core.storage.view import View

ME = Identity("calibration")
SHARES = {"asked": 0.6, "hidden": 0.2, "absent": 0.2}
TAKEN_AWAY = (-2, -1, 0, 1, 2)
K = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One question as it was asked: the evidence that recall saw, and whether it was right."""

    source: int
    conversation: int
    kind: str
    evidence: Evidence
    right: bool

    @property
    def lead(self) -> float:
        """The lead, or what stands for it among few candidates."""
        known = self.evidence.lead
        return calibration.USUAL_LEAD if math.isnan(known) else known


class Asker:
    """Asks one conversation in a store of its own, and sees the evidence of each answer."""

    def __init__(self, memory: Memory, conversation: Conversation) -> None:
        self._memory = memory
        self._store = memory._runtime.parts().store
        self.turns: dict[str, str] = {}
        for turn in conversation.turns:
            when: Any = "" if turn.when is None else turn.when
            receipt = memory.remember(
                ME,
                RememberRequest(
                    turn.text, speaker=turn.speaker, role=turn.role, session=turn.session, when=when
                ),
            )
            self.turns[turn.id] = receipt.id

    def ask(self, text: str, answers: Sequence[str], *, hide: bool) -> tuple[Evidence, bool]:
        """The evidence for the answer to *text*, and whether one of *answers* is in it."""
        wanted = {self.turns[turn] for turn in answers}
        with self._seen() as seen, self._without(wanted if hide else set()):
            found = self._memory.recall(ME, RecallRequest(text, k=K, context=0, rehearse=False))
        given = {hit.memory.id for hit in (*found.hits, *found.partial)}
        nothing = Evidence(0.0, 0.0, float("nan"))
        return (seen[-1] if seen else nothing), bool(wanted & given) and not hide

    @contextmanager
    def _seen(self) -> Iterator[list[Evidence]]:
        seen: list[Evidence] = []

        def see(evidence: Evidence) -> float:
            seen.append(evidence)
            return 1.0  # nothing is cut while it is measured

        with patch.object(calibration, "confidence", see):
            yield seen

    @contextmanager
    def _without(self, ids: set[str]) -> Iterator[None]:
        with self._store.reading() as view:
            columns, readable = view.columns, View.readable
        rows = np.array([columns.row(id) for id in ids], dtype=np.int64)
        away = [columns.neighbours_many(rows, offset) for offset in TAKEN_AWAY if offset]
        gone = np.concatenate([rows, *away])

        def fewer(view: View, who: Identity) -> NDArray[np.bool_]:
            seen = readable(view, who).copy()
            seen[gone[gone >= 0]] = False
            return seen

        with patch.object(View, "readable", fewer):
            yield


def cases(files: Sequence[Sequence[Conversation]], embedder: Any, seed: int) -> Iterator[Case]:
    """Every question of every conversation of every file, asked in each way."""
    chosen = np.random.default_rng(seed)
    conversations = [conversation for file in files for conversation in file]
    sources = [source for source, file in enumerate(files) for _ in file]
    for number, (source, conversation) in enumerate(zip(sources, conversations, strict=True)):
        foreign = list(foreigners(conversations, number))
        count = min(len(foreign), len(conversation.questions) // 2)
        picked = chosen.choice(len(foreign), count, replace=False) if count else []
        with (
            tempfile.TemporaryDirectory() as folder,
            Memory(Settings(data_dir=Path(folder)), embedder=embedder) as memory,
        ):
            memory.wait_ready(300)
            asker = Asker(memory, conversation)
            for question in conversation.questions:
                answers = question.evidence
                kind = "asked" if answers else "absent"
                yield Case(source, number, kind, *asker.ask(question.text, answers, hide=False))
                if answers:
                    yield Case(
                        source, number, "hidden", *asker.ask(question.text, answers, hide=True)
                    )
            for place, each in enumerate(picked):
                text = foreign[each][place % 2]
                yield Case(source, number, "absent", *asker.ask(text, (), hide=False))


def foreigners(conversations: Sequence[Conversation], number: int) -> Iterator[tuple[str, str]]:
    """The questions of the others, as they are and with this conversation's names for theirs."""
    here = speakers(conversations[number])
    for other, conversation in enumerate(conversations):
        if other == number:
            continue
        for question in conversation.questions:
            yield question.text, renamed(question, speakers(conversation), here)


def speakers(conversation: Conversation) -> list[str]:
    """Who speaks, by name."""
    return sorted({turn.speaker for turn in conversation.turns if turn.speaker})


def renamed(question: Question, theirs: Sequence[str], ours: Sequence[str]) -> str:
    """The text of *question* with the names exchanged."""
    text = question.text
    for name, other in zip(theirs, ours, strict=False):
        text = text.replace(name, other)
    return text


def signals(asked: Sequence[Case], vectors: bool) -> Floats:
    """One row a case: 1, cosine, backed lead; without *vectors* 1 and coverage x ln(1 + words)."""
    if not vectors:
        told = [case.evidence for case in asked]
        return np.array([(1.0, e.coverage * math.log1p(e.words)) for e in told])
    seen = [(case.evidence, calibration.backed(case.evidence, case.lead)) for case in asked]
    return np.array([(1.0, e.cosine, lead) for e, lead in seen])


def weights(asked: Sequence[Case]) -> Floats:
    """What each case weighs: SHARES for its kind within its file."""
    counts = Counter((case.source, case.kind) for case in asked)
    given = [SHARES[case.kind] / counts[case.source, case.kind] for case in asked]
    return np.array(given) * (len(asked) / sum(given))


def fitted(asked: Sequence[Case], vectors: bool = True) -> Floats:
    """The weights of a logistic regression of right on the signals (Newton, slight ridge)."""
    x, y, w = signals(asked, vectors), np.array([float(c.right) for c in asked]), weights(asked)
    b = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ b))
        hessian = (x.T * (w * p * (1 - p))) @ x + 1e-3 * np.eye(len(b))
        b = b + np.linalg.solve(hessian, x.T @ (w * (y - p)) - 1e-3 * b)
    return b


def report(title: str, asked: Sequence[Case], b: Floats, vectors: bool = True) -> None:
    """AUC, abstention and the reliability curve of *b* on *asked*."""
    sure = 1 / (1 + np.exp(-signals(asked, vectors) @ b))
    pairs = list(zip(sure.tolist(), asked, strict=True))
    of = {kind: [value for value, case in pairs if case.kind == kind] for kind in SHARES}
    of["both"] = [*of["hidden"], *of["absent"]]
    told = [f"{kind} {metrics.auc(of['asked'], of[kind]):.3f}" for kind in of if kind != "asked"]
    print(f"{title}: {len(asked)} questions; AUC against {', '.join(told)}")
    for name, values in of.items():
        shares = [float(np.mean([low <= v < high for v in values])) for low, high in BANDS]
        told = ", ".join(
            f"{feel} {share:.3f}" for feel, share in zip(FEELINGS, shares, strict=True)
        )
        print(f"  {name:8}{told}")
    lost = [value < calibration.LOW for value, case in pairs if case.right]
    print(f"  right and yet not found {np.mean(lost):.4f}")
    weight, right = weights(asked), np.array([float(case.right) for case in asked])
    error = 0.0
    for low in range(10):
        inside = np.minimum(9, sure * 10).astype(int) == low
        if not inside.any():
            continue
        mean, share = (np.average(v[inside], weights=weight[inside]) for v in (sure, right))
        error += abs(mean - share) * float(weight[inside].sum() / weight.sum())
        told = f"{inside.sum():5d} questions, mean {mean:.3f}, right {share:.3f}"
        print(f"  confidence {low / 10:.1f}: {told}")
    print(f"  calibration error {error:.3f}")


FEELINGS = ("none", "low", "moderate", "high")
BANDS = (
    (0.0, calibration.LOW),
    (calibration.LOW, calibration.MODERATE),
    (calibration.MODERATE, calibration.HIGH),
    (calibration.HIGH, 1.01),
)


def show(asked: Sequence[Case]) -> None:
    """Fit on every other conversation, report on the rest, and the other way round; then all."""
    halves = [[case for case in asked if case.conversation % 2 == rest] for rest in (0, 1)]
    for trained, tested in ((0, 1), (1, 0)) if halves[1] else ():
        b = fitted(halves[trained])
        print(f"fitted on every other conversation from number {trained}: {b.round(3).tolist()}")
        report("  on the others", halves[tested], b)
    print(f"WITH_VECTORS = {tuple(fitted(asked).round(2).tolist())}")
    print(f"WITH_WORDS = {tuple(fitted(asked, vectors=False).round(2).tolist())}")
    leads = [case.evidence.lead for case in asked if not math.isnan(case.evidence.lead)]
    print(f"USUAL_LEAD = {np.median(leads):.1f}")
    now = calibration.WITH_VECTORS
    report("the numbers in use", asked, np.array(now))


def main() -> None:
    """Measure the files that are named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path, help="labelled conversations, two at least")
    parser.add_argument("--seed", type=int, default=0, help="of the sample of foreign questions")
    arguments = parser.parse_args()
    files = [read(file) for file in arguments.files]
    print(f"{sum(map(len, files))} conversations, seed {arguments.seed}")
    show(list(cases(files, choose(Settings()), arguments.seed)))


if __name__ == "__main__":
    main()
