"""The calibrated confidence of a recall, and its band: high, moderate, low or none.

A logistic function of the evidence. Cosine alone separates answerable from unanswerable questions
badly (AUC 0.67 on LoCoMo, where the evidence of a question is taken away); with the words that are
covered and the lead of the best the AUC is 0.79, and 0.85 with questions of other conversations
among them. `tests/bench/confidence.py` fitted the numbers on LoCoMo and the project's dialogue,
half of the weight each, and measures them on conversations that they were not fitted on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

HIGH, MODERATE, LOW = 0.7, 0.4, 0.2
"""From here on the confidence is called so; below LOW nothing was found."""

FILTERED = 0.9
"""Confidence where a time or another filter is all that the query asks for: what passes answers."""

UNFIT = 0.1
"""Confidence where a time is all that the query asks for, and nothing is of that time."""

PARTIALS = 3
"""Partial matches returned when nothing was found."""

WITH_VECTORS = (-3.26, 3.87, 1.76)
"""Constant, then the weights of cosine, and of ln(1 + lead) x the larger of it and coverage."""

STRANGE, STEEP = (0.1, 0.055), 12.0
"""The closest cosine of a bare name to n memories that have nothing to do with it: the first, plus
the second x sqrt(2 ln n), the expected maximum of a normal law. LOW begins there, and the logit
rises by the third for each 1 of cosine.

Of 42 words for something that two conversations mention (21 words, each asked of both), 39 come
as near as that; of 80 for something that neither mentions, 31.
"""

WITH_WORDS = (-1.71, 2.59)
"""Constant and weight of coverage x ln(1 + words), while there are no vectors: one word that is
covered says less than three (of 72 questions with one, all covered, 40 % were answered; of 164 with
three, 66 %). Fitted without a model on the same conversations; AUC 0.81."""

ASSOCIATED = 0.39
"""The highest confidence that something is associated with a bare name."""

SMALL = 6
"""A store of fewer memories counts as one of so many."""

USUAL_LEAD = 3.5
"""Stands in for the lead where there are too few candidates for one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for the best hits.

    *cosine*: of the closest passage or whole text to the query as those whom it names would put it,
    NaN without vectors. *coverage*: the largest share (0-1) of the query's words, names apart,
    weighted by rarity, that one of the best holds with the turns around it. *lead*: by how much the
    best score is above the tenth, NaN among few. *words*: how many words coverage counts as held.
    """

    cosine: float
    coverage: float
    lead: float
    words: int = 0


def confidence(evidence: Evidence) -> float:
    """The probability, 0 to 1, that one of the first ten memories answers the query."""
    if math.isnan(evidence.cosine):
        return _by_words(evidence)
    lead = USUAL_LEAD if math.isnan(evidence.lead) else evidence.lead
    constant, close, leading = WITH_VECTORS
    return _logistic(constant + close * evidence.cosine + leading * backed(evidence, lead))


def association(evidence: Evidence, among: int) -> float:
    """The confidence, below MODERATE, that what was found is associated with a bare name.

    Words decide where all of them occur, as those of a name do; else meaning does, *among* so many
    memories: one of many is always somewhat near.
    """
    if evidence.coverage > 0.99 or math.isnan(evidence.cosine):
        return min(ASSOCIATED, _by_words(evidence))
    mean, spread = STRANGE
    closest = mean + spread * math.sqrt(2.0 * math.log(max(among, SMALL)))
    near = math.log(LOW / (1.0 - LOW)) + STEEP * (evidence.cosine - closest)
    return min(ASSOCIATED, _logistic(near))


def _by_words(evidence: Evidence) -> float:
    constant, covered = WITH_WORDS
    return _logistic(constant + covered * evidence.coverage * math.log1p(evidence.words))


def backed(evidence: Evidence, lead: float) -> float:
    """ln(1 + *lead*) times the better of cosine and coverage: a bad match may lead too."""
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
