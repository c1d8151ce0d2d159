"""One answered question and the metrics it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory_core.evaluation import metrics

CUTS = (1, 5, 10, 20)
"""Cuts of recall@k and precision@k; those above the length that was asked for are left out."""

SHAPE_CUTS = (5, 10)
"""Cuts of any@k, all@k and NDCG, and of everything at session level."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one ranking gave for one question.

    *evidence* and *ranking* hold turn ids; no evidence means that nothing should be found.
    *scores* is metric name -> value, empty for such a question. *found* and *confidence* are None
    for a baseline, which cannot know.
    """

    conversation: str
    question: str
    category: str
    evidence: tuple[str, ...]
    ranking: tuple[str, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    found: bool | None = None
    confidence: float | None = None

    @property
    def answerable(self) -> bool:
        """True when the conversation holds the answer."""
        return bool(self.evidence)


def score(
    ranking: Sequence[str], evidence: Sequence[str], sessions: Mapping[str, str], k: int
) -> dict[str, float]:
    """Every metric that a ranking of at most *k* places can have, by name.

    *sessions* maps turn ids to sessions; session recall is left out when there is only one, where
    it would be 1.0 whatever was found. Ids that are no turns (a summary, say) keep their place in
    the ranking but have no session.
    """
    values: dict[str, float] = {}
    for cut in CUTS:
        if cut <= k:
            values[f"recall@{cut}"] = metrics.recall_at(ranking, evidence, cut)
    for cut in CUTS:
        if cut <= k:
            values[f"precision@{cut}"] = metrics.precision_at(ranking, evidence, cut)
    for cut in SHAPE_CUTS:
        if cut <= k:
            values[f"any@{cut}"] = metrics.any_at(ranking, evidence, cut)
            values[f"all@{cut}"] = metrics.all_at(ranking, evidence, cut)
            values[f"ndcg@{cut}"] = metrics.ndcg_at(ranking, evidence, cut)
    values["mrr"] = metrics.reciprocal_rank(ranking, evidence)
    if len(set(sessions.values())) > 1:
        turns = [identifier for identifier in ranking if identifier in sessions]
        order, gold = metrics.in_sessions(turns, evidence, sessions)
        for cut in SHAPE_CUTS:
            if cut <= k:
                values[f"session_recall@{cut}"] = metrics.recall_at(order, gold, cut)
                values[f"session_any@{cut}"] = metrics.any_at(order, gold, cut)
                values[f"session_all@{cut}"] = metrics.all_at(order, gold, cut)
    return values
