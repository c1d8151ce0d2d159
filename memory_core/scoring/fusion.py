"""Signals of different scale become one score: z-scores over the candidates, then a weighted sum.

Measured on LoCoMo: z-score fusion of best passage, whole text and BM25 reaches
recall@10 of 72 where dense alone has 47, BM25 66 and reciprocal-rank fusion 60.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory_core.scoring.arrays import Scores


def z_scores(signal: NDArray[np.floating], least: float = 1e-12) -> Scores:
    """(x - mean) / standard deviation, float64; NaN (no evidence) and a constant signal give 0.

    The standard deviation counts as *least* at least: among a few candidates that are all alike it
    would make much of nothing.
    """
    values = np.asarray(signal, dtype=np.float64)
    known = ~np.isnan(values)
    result = np.zeros(len(values))
    if known.sum() < 2:
        return result
    spread = values[known].std()
    if spread > 1e-12:
        result[known] = (values[known] - values[known].mean()) / max(spread, least)
    return result


WORDS_ENOUGH = 0.5
"""From this coverage on words have their full weight."""


def trust_in_words(coverage: float) -> float:
    """The share (0-1) of their weight that words get in the fusion.

    *coverage* is the share of the question's words, by rarity, that the best candidate and what
    surrounds it hold. A z-score makes the best of bad matches look like a good one: where question
    and memory share no more than a name, words mislead. Measured: the project's dialogue, recall@1
    / @5 / @10 35.6 / 74.1 / 82.6 to 41.5 / 75.5 / 84.5; LoCoMo and BEAM unchanged.
    """
    return min(1.0, coverage / WORDS_ENOUGH)


def fuse(signals: Sequence[tuple[float, NDArray[np.floating], float]]) -> Scores:
    """The weighted sum of the z-scores of *signals*: weight, one a candidate, least spread."""
    parts = [weight * z_scores(each, least) for weight, each, least in signals]
    return np.asarray(np.sum(parts, axis=0), np.float64)


def between(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """The unit vector half way between two unit vectors, as like the one as the other."""
    middle = one + other
    length = float(np.linalg.norm(middle))
    return np.asarray(middle / length, np.float32) if length > 1e-6 else one
