"""Orders after the score: maximal marginal relevance (Carbonell and Goldstein, 1998), and the newer
before what it supersedes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


def select(
    relevance: NDArray[np.floating],
    vectors: NDArray[np.floating],
    k: int,
    lambda_: float,
    alike: tuple[float, float] = (0.0, 1.0),
) -> list[int]:
    """The indices of at most *k* candidates in the order in which they are chosen.

    Each choice maximises lambda * relevance - (1 - lambda) * sameness, with relevance scaled to
    0..1. Sameness is summed over those chosen, because a third telling of a fact is worth less
    than the second (the paper takes the largest); of a pair it rises from 0 at the lower cosine of
    *alike* to 1 at the upper one, because models differ in what a cosine means. *vectors* (n, d)
    are unit length; a row of NaN is like nothing. lambda 1 is plain order of relevance.
    """
    order = np.argsort(-relevance, kind="stable")
    if lambda_ >= 1.0 or len(relevance) <= 1:
        return [int(i) for i in order[:k]]
    low, high = float(relevance.min()), float(relevance.max())
    scaled = (relevance - low) / (high - low) if high > low else np.ones(len(relevance))
    likeness, (different, same) = np.zeros(len(relevance)), alike
    left = [int(i) for i in order]
    chosen: list[int] = []
    known = np.nan_to_num(vectors)
    while left and len(chosen) < k:
        gain = lambda_ * scaled[left] - (1.0 - lambda_) * likeness[left]
        best = left.pop(int(np.argmax(gain)))
        chosen.append(best)
        likeness = likeness + np.clip((known @ known[best] - different) / (same - different), 0, 1)
    return chosen


def behind(order: Sequence[int], newer: Mapping[int, int]) -> list[int]:
    """*order* with each index moved behind the one that *newer* names for it, if that is in it.

    What is newer moves up to just before what it supersedes; the rest keeps its order. An update
    that supersedes itself by a detour is left where it is.
    """
    known = set(order)
    placed: dict[int, None] = {}
    for index in order:
        chain = [index]
        while (following := newer.get(chain[-1], -1)) in known and following not in chain:
            chain.append(following)
        placed |= dict.fromkeys(each for each in reversed(chain) if each not in placed)
    return list(placed)
