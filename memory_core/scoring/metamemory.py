"""Knowing what is known: a calibrated confidence and the feeling that goes with it.

Cosine alone separates answerable from unanswerable questions badly (AUC 0.63 on LoCoMo, where the
evidence of a question is taken away); with the words that are covered and the lead of the best it
does better: 0.79, and 0.84 with questions of other conversations among them. The numbers were
fitted by `tests/bench/confidence.py` on LoCoMo and the project's dialogue, half of the weight each;
it also shows what they are worth on conversations that they were not fitted on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

HIGH, MODERATE, LOW = 0.7, 0.4, 0.2
"""Bands of the calibrated confidence (seed row B5.4)."""

FILTERED = 0.9
"""Confidence where a time or another filter is all that was asked for: what passes it answers."""

PARTIALS = 3
"""Half-matches offered when nothing was found (design, section 6)."""

WITH_VECTORS = (-1.91, 0.65, 0.89, 0.45)
"""Constant, then the weights of cosine, coverage, and lead x the larger of the two."""

WITH_WORDS = (-1.39, 2.98)
"""Constant and weight of coverage, while there are no vectors."""

USUAL_LEAD = 3.5
"""Taken for the lead where there are too few candidates to tell."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the best hits.

    *cosine*: the closest passage or whole text, NaN while there are no vectors. *coverage*: the
    share (0-1) of the question's words, names apart, weighted by rarity, that one of the best holds
    in its neighbourhood. *lead*: by how much the best score is above the tenth, NaN among few.
    """

    cosine: float
    coverage: float
    lead: float


def confidence(evidence: Evidence) -> float:
    """How sure recall may be, 0 to 1, that one of the first ten memories answers the question."""
    if math.isnan(evidence.cosine):
        constant, covered = WITH_WORDS
        return _logistic(constant + covered * evidence.coverage)
    lead = USUAL_LEAD if math.isnan(evidence.lead) else evidence.lead
    constant, close, covered, leading = WITH_VECTORS
    told = close * evidence.cosine + covered * evidence.coverage
    return _logistic(constant + told + leading * backed(evidence, lead))


def backed(evidence: Evidence, lead: float) -> float:
    """The *lead* as far as meaning or words back it: the best of bad matches may lead too."""
    return lead * max(0.0, evidence.cosine, evidence.coverage)


def feeling(value: float) -> str:
    """high, moderate, low or none for a confidence."""
    if value >= HIGH:
        return "high"
    if value >= MODERATE:
        return "moderate"
    return "low" if value >= LOW else "none"


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
