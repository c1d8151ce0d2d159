"""Knowing what is known: a calibrated confidence and the feeling that goes with it.

Cosine alone separates answerable from unanswerable questions badly (AUC 0.67 on LoCoMo, where the
evidence of a question is taken away); with the words that are covered and the lead of the best it
does better: 0.79, and 0.85 with questions of other conversations among them. The numbers were
fitted by `tests/bench/confidence.py` on LoCoMo and the project's dialogue, half of the weight each;
it also shows what they are worth on conversations that they were not fitted on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

HIGH, MODERATE, LOW = 0.7, 0.4, 0.2
"""Bands of the calibrated confidence."""

FILTERED = 0.9
"""Confidence where a time or another filter is all that was asked for: what passes it answers."""

PARTIALS = 3
"""Half-matches offered when nothing was found."""

WITH_VECTORS = (-3.26, 3.87, 1.76)
"""Constant, then the weights of cosine, and of ln(1 + lead) x the larger of it and coverage."""

STRANGE, STEEP = (0.1, 0.055), 12.0
"""Cosine of a cue that asks nothing with the closest of n memories that have nothing to do with it:
the first, plus the second x sqrt(2 ln n), as a normal law has it. There LOW begins, and the logit
rises by the third for each 1 of cosine.

Of 42 words for something that two conversations speak of (21 words, each asked of both), 39 come
as near as that, and 31 of 80 for something that neither does.
"""

WITH_WORDS = (-1.39, 2.98)
"""Constant and weight of coverage, while there are no vectors."""

ASSOCIATED = 0.39
"""Confidence that something goes with a cue, at most."""

SMALL = 6
"""A store of fewer memories is taken to hold so many when a cue is judged."""

USUAL_LEAD = 3.5
"""Taken for the lead where there are too few candidates to tell."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the best hits.

    *cosine*: the closest passage or whole text to the question as those whom it names would put it,
    NaN while there are no vectors. *coverage*: the
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
    constant, close, leading = WITH_VECTORS
    return _logistic(constant + close * evidence.cosine + leading * backed(evidence, lead))


def association(evidence: Evidence, among: int) -> float:
    """How sure recall may be that what it found goes with a cue that asks nothing.

    Words decide where all of them are held, as of a name; else meaning does, *among* so many
    memories: one of many is always somewhat near. Less than MODERATE: to go with is not to answer.
    """
    if evidence.coverage > 0.99 or math.isnan(evidence.cosine):
        constant, covered = WITH_WORDS
        return min(ASSOCIATED, _logistic(constant + covered * evidence.coverage))
    mean, spread = STRANGE
    closest = mean + spread * math.sqrt(2.0 * math.log(max(among, SMALL)))
    near = math.log(LOW / (1.0 - LOW)) + STEEP * (evidence.cosine - closest)
    return min(ASSOCIATED, _logistic(near))


def backed(evidence: Evidence, lead: float) -> float:
    """ln(1 + *lead*) as far as meaning or words back it: the best of bad matches may lead too."""
    return math.log1p(max(0.0, lead)) * max(0.0, evidence.cosine, evidence.coverage)


def feeling(value: float) -> str:
    """high, moderate, low or none for a confidence."""
    if value >= HIGH:
        return "high"
    if value >= MODERATE:
        return "moderate"
    return "low" if value >= LOW else "none"


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
