"""Spreading activation: along the thread of a conversation, and over its session.

An answer is found through its question, and a turn through the turns around it. Measured on LoCoMo:
the kernel gains 5 to 9 points of recall@10.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from memory_core.scoring.arrays import Rows, Scores

KERNEL = {-1: 0.1, 1: 0.2, -2: 0.2, 2: 0.1}
"""Share of a neighbour's score that reaches a turn, by the neighbour's offset in the thread."""
ANSWER = 0.5
"""Further share of the previous turn's score when that turn asks a question."""
GATE_WORDS = 30
"""A turn longer than this many words passes on less, 30 / words of its score.

Gating the turn that passes on, rather than the one that gains, was better on every development set:
LoCoMo recall@1 45.5 against 43.1 and @10 83.4 against 83.1, BEAM @10 65.0 against 63.7.
"""

NEARBY = {-1: 0.4, 1: 0.4, -2: 0.25, 2: 0.25}
"""What a word counts for in the turn at that offset, against 1 in the text itself.

A question's words are spread over what was said and what that answered. Measured over BM25 of the
turn alone: LoCoMo recall@1 / @10 45.6 / 83.4 to 48.0 / 84.9, the same sign on each of its five
conversations (docs/internals/recall.md).
"""


def thread_kernel(
    scores: Scores,
    neighbours: Mapping[int, Rows],
    words: NDArray[np.integer],
    asks: NDArray[np.bool_],
) -> Scores:
    """*scores* with what spreads from the neighbouring turns.

    *neighbours* maps an offset (-2, -1, 1, 2) to the index, within the candidates, of the turn at
    that offset, -1 where there is none; *words* and *asks* (contains a question mark) hold one
    value a candidate.
    """
    gains = thread_gains(scores, neighbours, words, asks)
    spread: Scores = scores + sum(gains.values())
    return spread


def thread_gains(
    scores: Scores,
    neighbours: Mapping[int, Rows],
    words: NDArray[np.integer],
    asks: NDArray[np.bool_],
) -> dict[int, Scores]:
    """What every candidate gains from the turn at each offset of its thread; see thread_kernel."""
    sent = scores * length_gate(words)
    gains = {
        offset: np.where(neighbours[offset] >= 0, share * sent[neighbours[offset]], 0.0)
        for offset, share in KERNEL.items()
    }
    before = neighbours[-1]
    gains[-1] = gains[-1] + np.where((before >= 0) & asks[before], ANSWER * sent[before], 0.0)
    return gains


def length_gate(words: NDArray[np.integer]) -> Scores:
    """1 for a turn of up to 30 *words*, 30 / words for a longer one."""
    gate: Scores = np.minimum(1.0, GATE_WORDS / np.maximum(words, 1))
    return gate


def nearby_words(
    terms: NDArray[np.floating], neighbours: Mapping[int, Rows]
) -> NDArray[np.float64]:
    """BM25 of each candidate together with the turns around it, each term where it counts most.

    *terms* holds what every term of the question adds in every candidate (terms, candidates);
    *neighbours* is as for thread_kernel.
    """
    best = terms
    for offset, share in NEARBY.items():
        index = neighbours[offset]
        best = np.maximum(best, np.where(index >= 0, share * terms[:, index], 0.0))
    total: NDArray[np.float64] = best.sum(axis=0, dtype=np.float64)
    return total


def session_term(scores: Scores, threads: NDArray[np.integer]) -> Scores:
    """For each candidate the mean of the three best scores of its thread; 0 without one (< 0)."""
    result = np.zeros_like(scores)
    known = threads >= 0
    _, group = np.unique(threads[known], return_inverse=True)
    order = np.lexsort((-scores[known], group))  # by thread, the best first
    ranked = group[order]
    place = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
    top = place < 3
    best = np.bincount(ranked[top], weights=scores[known][order][top])
    result[known] = best[group] / 3.0
    return result
