"""The questions that recall missed, with what it should have found and what it gave, for reading.

Figures say how often recall fails; only reading says why.
"""

from __future__ import annotations

from typing import Any

from memory_core.evaluation.report import Report
from memory_core.evaluation.scorecard import Answer

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
