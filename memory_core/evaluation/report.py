"""The outcome of an evaluation: tables by category, what confidence is worth, times, versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memory_core.evaluation import metrics
from memory_core.evaluation.metrics import Answer

PRODUCT = "recall"
"""Name of the ranking that the public recall gave; baselines have their own names."""

OVERALL = "overall"
HEADLINE = "recall@10"

_DISTRIBUTIONS = ("anamnesis-mcp", "numpy", "faiss-cpu", "lancedb", "onnxruntime", "tokenizers")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: the means over the questions of one category.

    *interval* is the 95 % bootstrap interval of recall@10 (of the MRR when the rankings are
    shorter than ten), fractions like every figure.
    """

    ranking: str
    category: str
    questions: int
    means: Mapping[str, float]
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Abstention:
    """How well "nothing found" and the confidence separate unanswerable from answerable questions.

    *auc* is the chance that an answerable question got the higher confidence; None without
    answerable questions, like *mean_confidence_answerable* and *found_answerable*.
    """

    questions: int
    not_found: float
    mean_confidence: float
    mean_confidence_answerable: float | None
    found_answerable: float | None
    auc: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the confidence is worth. Right is an answer with evidence among its first ten.

    *error* is the mean distance of the curve from the diagonal, 0 to 1.
    """

    curve: list[Mapping[str, float]]
    error: float


@dataclass(frozen=True, slots=True)
class Report:
    """Answers of every ranking (the product's first) and what is needed to read them.

    *texts* is conversation -> turn id -> what was said, for reading. *times* is operation ->
    seconds of each call. *counts* says how many conversations, turns,
    questions, repeats (turns that reinforced an earlier one), refused turns and skipped questions
    there were. *started* is seconds since 1970.
    """

    k: int
    seed: int
    started: float
    answers: Mapping[str, Sequence[Answer]]
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    times: Mapping[str, Sequence[float]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str | int] = field(default_factory=dict)

    def rows(self, ranking: str = PRODUCT) -> list[Row]:
        """The table of one *ranking*: its categories in the order of the file, then overall.

        Only answerable questions count. Empty when there are none.
        """
        answers = [answer for answer in self.answers[ranking] if answer.answerable]
        groups: dict[str, list[Answer]] = {}
        for answer in answers:
            groups.setdefault(answer.category, []).append(answer)
        if answers:
            groups[OVERALL] = answers
        return [_row(ranking, name, group, self.seed) for name, group in groups.items()]

    def abstention(self) -> Abstention | None:
        """What the product did with unanswerable questions; None when none was asked."""
        asked = self.answers[PRODUCT]
        without = [answer for answer in asked if not answer.answerable]
        if not without:
            return None
        with_answer = [answer for answer in asked if answer.answerable]
        low, high = _confidences(without), _confidences(with_answer)
        return Abstention(
            questions=len(without),
            not_found=float(np.mean([not answer.found for answer in without])),
            mean_confidence=float(np.mean(low)),
            mean_confidence_answerable=float(np.mean(high)) if high else None,
            found_answerable=(
                float(np.mean([bool(a.found) for a in with_answer])) if with_answer else None
            ),
            auc=metrics.auc(high, low) if high else None,
        )

    def calibration(self) -> Calibration:
        """The reliability curve of the product over all questions, unanswerable ones included."""
        asked = [answer for answer in self.answers[PRODUCT] if answer.confidence is not None]
        right = [a.answerable and metrics.any_at(a.ranking, a.evidence, 10) > 0 for a in asked]
        curve = metrics.reliability(_confidences(asked), right)
        return Calibration([asdict(each) for each in curve], metrics.calibration_error(curve))

    def milliseconds(self) -> dict[str, dict[str, float]]:
        """Median and 95th percentile of each timed operation, in milliseconds."""
        return {
            name: {
                "calls": float(len(seconds)),
                "p50": float(np.quantile(seconds, 0.50)) * 1000,
                "p95": float(np.quantile(seconds, 0.95)) * 1000,
            }
            for name, seconds in self.times.items()
            if len(seconds)
        }

    def misses(self, k: int = 10) -> list[Answer]:
        """Answerable questions whose first *k* places hold no evidence at all, for reading."""
        return [
            answer
            for answer in self.answers[PRODUCT]
            if answer.answerable and not metrics.any_at(answer.ranking, answer.evidence, k)
        ]

    def to_dict(self, *, details: bool = False) -> dict[str, Any]:
        """All figures ready for JSON; with *details* also every question, evidence and ranking."""
        abstention = self.abstention()
        result: dict[str, Any] = {
            "date": datetime.fromtimestamp(self.started, UTC).isoformat(timespec="seconds"),
            "k": self.k,
            "seed": self.seed,
            "counts": dict(self.counts),
            "rankings": {
                name: [_row_dict(row) for row in self.rows(name)] for name in self.answers
            },
            "unanswerable": None if abstention is None else _plain(abstention),
            "calibration": _plain(self.calibration()),
            "milliseconds": self.milliseconds(),
            "versions": dict(self.versions),
            "machine": dict(self.machine),
        }
        if details:
            result["questions"] = {
                name: [_plain(answer) for answer in answers]
                for name, answers in self.answers.items()
            }
        return result


def versions(embedder: str = "") -> dict[str, str]:
    """Versions of Python and of the installed distributions that decide the figures."""
    found = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # an optional backend, or running from a source tree
    if embedder:
        found["embedder"] = embedder
    return found


def machine() -> dict[str, str | int]:
    """What the times were measured on: system, architecture, number of processors."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "processors": os.cpu_count() or 0,
    }


def _row(ranking: str, category: str, answers: Sequence[Answer], seed: int) -> Row:
    names = answers[0].scores
    means = {
        name: float(np.mean([a.scores[name] for a in answers if name in a.scores]))
        for name in names
    }
    headline = HEADLINE if HEADLINE in names else "mrr"
    interval = metrics.bootstrap_interval([a.scores[headline] for a in answers], seed=seed)
    return Row(ranking, category, len(answers), means, interval)


def _confidences(answers: Sequence[Answer]) -> list[float]:
    return [answer.confidence for answer in answers if answer.confidence is not None]


def _row_dict(row: Row) -> dict[str, Any]:
    return {
        "category": row.category,
        "questions": row.questions,
        **row.means,
        "interval": list(row.interval),
    }


def _plain(value: Answer | Abstention | Calibration) -> dict[str, Any]:
    return {
        name: list(v) if isinstance(v, tuple) else dict(v) if isinstance(v, Mapping) else v
        for name in value.__slots__
        for v in (getattr(value, name),)
    }


SHOWN = 3
"""Of what was given instead, that many are shown."""


def misses(report: Report, most: int, k: int = 10) -> list[dict[str, Any]]:
    """At most *most* questions without evidence among the first *k*, spread over the whole file.

    Each has the question, its category and conversation, found and confidence, the evidence (id,
    text, rank in the list or None), and the first three that were given (id, text).
    """
    missed = report.misses(k)
    step = max(1, len(missed) / max(1, most))
    chosen = [missed[int(n * step)] for n in range(min(most, len(missed)))]
    return [_read(report, answer) for answer in chosen]


def _read(report: Report, answer: Answer) -> dict[str, Any]:
    texts = report.texts.get(answer.conversation, {})
    ranks = {turn: rank for rank, turn in enumerate(answer.ranking, 1)}
    return {
        "question": answer.question,
        "category": answer.category,
        "conversation": answer.conversation,
        "found": answer.found,
        "confidence": answer.confidence,
        "evidence": [
            {"id": turn, "text": texts.get(turn, turn), "rank": ranks.get(turn)}
            for turn in answer.evidence
        ],
        "given": [{"id": turn, "text": texts.get(turn, turn)} for turn in answer.ranking[:SHOWN]],
    }
