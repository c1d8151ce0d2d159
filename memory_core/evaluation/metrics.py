"""Retrieval metrics on one ranking, and how sure a mean of them is.

A ranking is a sequence of distinct ids, best first; the evidence is the set of ids that answer the
question, at least one. Every metric is in [0, 1] and higher is better. A ranking that is shorter
than k counts as if nothing relevant followed. Means are over questions, never over conversations.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memory_core.errors import InvalidInput


def without_repeats(ids: Iterable[str]) -> list[str]:
    """*ids* in their order, each at its first place only."""
    return list(dict.fromkeys(ids))


def recall_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Share of the evidence that is among the first *k*."""
    gold = _checked(ranking, evidence, k)
    return len(gold.intersection(ranking[:k])) / len(gold)


def precision_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Share of *k* places that hold evidence; an empty place counts as a wrong one."""
    gold = _checked(ranking, evidence, k)
    return len(gold.intersection(ranking[:k])) / k


def any_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """1.0 when at least one piece of evidence is among the first *k*, else 0.0."""
    gold = _checked(ranking, evidence, k)
    return float(not gold.isdisjoint(ranking[:k]))


def all_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """1.0 when the whole evidence is among the first *k*, else 0.0."""
    gold = _checked(ranking, evidence, k)
    return float(gold.issubset(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], evidence: Collection[str]) -> float:
    """1 / rank of the first piece of evidence, ranks from 1; 0.0 when none was returned."""
    gold = _checked(ranking, evidence, 1)
    for rank, identifier in enumerate(ranking, 1):
        if identifier in gold:
            return 1 / rank
    return 0.0


def ndcg_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain of the first *k*, binary gains.

    The discount of rank r is 1 / log2(r + 1); the ideal ranking has min(k, evidence) hits in front
    (Järvelin and Kekäläinen 2002).
    """
    gold = _checked(ranking, evidence, k)
    gained = sum(_discount(r) for r, identifier in enumerate(ranking[:k], 1) if identifier in gold)
    ideal = sum(_discount(r) for r in range(1, min(k, len(gold)) + 1))
    return gained / ideal


def in_sessions(
    ranking: Sequence[str], evidence: Collection[str], sessions: Mapping[str, str]
) -> tuple[list[str], set[str]]:
    """The sessions of the *ranking* and those of the *evidence*: arguments for the metrics above.

    Sessions count in the order in which one of their turns first appears, which equals ranking
    them by their best turn. On a cut ranking every metric is a lower bound. *sessions* maps every
    id to its session; raises InvalidInput for an id that it lacks.
    """
    missing = [i for i in (*ranking, *evidence) if i not in sessions]
    if missing:
        raise InvalidInput(f"turn {missing[0]!r} has no session", "give every turn its session")
    order = without_repeats(sessions[identifier] for identifier in ranking)
    return order, {sessions[identifier] for identifier in evidence}


def bootstrap_interval(
    values: Sequence[float], *, seed: int, samples: int = 1000, level: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of *values*, which are one number a question.

    Draws *samples* resamples of the questions with a generator seeded with *seed*, so the same
    call gives the same interval. Returns (low, high) that hold the share *level* of the resampled
    means (Efron 1979). Raises InvalidInput for no values.
    """
    if not len(values):
        raise InvalidInput("no values to resample", "give at least one question")
    if samples < 1 or not 0 < level < 1:
        raise InvalidInput(f"samples {samples} or level {level} is out of range", "use 1000, 0.95")
    data = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    at_once = max(1, 1_000_000 // len(data))  # eight megabytes, however many questions there are
    means: list[float] = []
    while len(means) < samples:
        shape = min(at_once, samples - len(means)), len(data)
        means.extend(data[generator.integers(0, len(data), shape)].mean(axis=1))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Probability that a random *positive* score is above a random *negative* one, ties half.

    The area under the ROC curve by its rank form (Mann and Whitney 1947): 1.0 separates perfectly,
    0.5 is chance. Raises InvalidInput when either side is empty.
    """
    if not len(positive) or not len(negative):
        raise InvalidInput("one side has no scores", "give scores of both kinds")
    high = np.asarray(positive, dtype=np.float64)
    low = np.sort(np.asarray(negative, dtype=np.float64))
    below = np.searchsorted(low, high, side="left")
    up_to = np.searchsorted(low, high, side="right")
    return float((below + up_to).sum() / (2 * len(high) * len(low)))


@dataclass(frozen=True, slots=True)
class Bin:
    """Questions whose confidence lies in a tenth: how sure recall was, how often it was right."""

    low: float
    questions: int
    confidence: float
    right: float


def reliability(confidence: Sequence[float], right: Sequence[bool]) -> list[Bin]:
    """The reliability curve: for each tenth of the confidence that occurs, means of both.

    A calibrated confidence equals the share that was *right* in every bin (DeGroot and Fienberg
    1983). Bins are half open, [0.1, 0.2); 1.0 belongs to the last.
    """
    values, truth = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    tenths = np.minimum((values * BINS).astype(int), BINS - 1)
    return [
        Bin(
            float(tenth / BINS),
            int((tenths == tenth).sum()),
            float(values[tenths == tenth].mean()),
            float(truth[tenths == tenth].mean()),
        )
        for tenth in np.unique(tenths)
    ]


def calibration_error(curve: Sequence[Bin]) -> float:
    """Mean distance between confidence and truth over all questions of a *curve*, 0 to 1."""
    total = sum(each.questions for each in curve)
    return sum(each.questions * abs(each.confidence - each.right) for each in curve) / max(total, 1)


BINS = 10


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _checked(ranking: Sequence[str], evidence: Collection[str], k: int) -> set[str]:
    """The evidence as a set, after refusing what would make a figure meaningless."""
    if k < 1:
        raise InvalidInput(f"k is {k}", "use a cut of at least 1")
    if not evidence:
        raise InvalidInput("the question has no evidence", "report unanswerable questions apart")
    if len(set(ranking)) != len(ranking):
        raise InvalidInput("the ranking repeats an id", "drop repeats with without_repeats()")
    return set(evidence)


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
            values[f"recall@{cut}"] = recall_at(ranking, evidence, cut)
    for cut in CUTS:
        if cut <= k:
            values[f"precision@{cut}"] = precision_at(ranking, evidence, cut)
    for cut in SHAPE_CUTS:
        if cut <= k:
            values[f"any@{cut}"] = any_at(ranking, evidence, cut)
            values[f"all@{cut}"] = all_at(ranking, evidence, cut)
            values[f"ndcg@{cut}"] = ndcg_at(ranking, evidence, cut)
    values["mrr"] = reciprocal_rank(ranking, evidence)
    if len(set(sessions.values())) > 1:
        turns = [identifier for identifier in ranking if identifier in sessions]
        order, gold = in_sessions(turns, evidence, sessions)
        for cut in SHAPE_CUTS:
            if cut <= k:
                values[f"session_recall@{cut}"] = recall_at(order, gold, cut)
                values[f"session_any@{cut}"] = any_at(order, gold, cut)
                values[f"session_all@{cut}"] = all_at(order, gold, cut)
    return values
