"""Spreading activation: along the thread of a conversation, and over its session.

The kernel and its weights are measured (design, section 5: +5 to +9 points of recall@10 on LoCoMo):
an answer is found through its question, and a turn through the turns around it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

KERNEL = {-1: 0.1, 1: 0.2, -2: 0.2, 2: 0.1}
"""Share of a neighbour's score that reaches a turn, by the neighbour's offset in the thread."""
ANSWER = 0.5
"""Further share of the previous turn's score when that turn asks a question."""
GATE_WORDS = 30
"""Texts longer than this many words stand for themselves; the kernel fades as 30 / words."""


def thread_kernel(
    scores: Scores,
    neighbours: dict[int, NDArray[np.int64]],
    words: NDArray[np.integer],
    asks: NDArray[np.bool_],
) -> Scores:
    """*scores* with what spreads from the neighbouring turns.

    *neighbours* maps an offset (-2, -1, 1, 2) to the index, within the candidates, of the turn at
    that offset, -1 where there is none; *words* and *asks* (contains a question mark) hold one
    value a candidate.
    """
    gate = np.minimum(1.0, GATE_WORDS / np.maximum(words, 1))
    gained = np.zeros_like(scores)
    for offset, share in KERNEL.items():
        index = neighbours[offset]
        gained += np.where(index >= 0, share * scores[index], 0.0)
    before = neighbours[-1]
    gained += np.where((before >= 0) & asks[before], ANSWER * scores[before], 0.0)
    spread: Scores = scores + gate * gained
    return spread


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


def best_paths(
    scores: Scores, links: list[tuple[int, int, float]], hops: int, floor: float
) -> tuple[Scores, dict[int, int]]:
    """Activation that arrives over *links* (from, to, factor in 0..1) in at most *hops* steps.

    Starts from positive *scores*; each step multiplies by the link's factor and the best path is
    kept (seed rows B3.1-B3.3). Returns the activation (0 where nothing arrives) and, for each node
    reached, the node it was reached from.
    """
    active = np.maximum(scores, 0.0)
    arrived = np.zeros_like(scores)
    parents: dict[int, int] = {}
    came: dict[int, int] = {}  # where the frontier of this hop was reached from
    frontier = active.copy()
    for _ in range(hops):
        following = np.zeros_like(scores)
        reached: dict[int, int] = {}
        for source, target, factor in links:
            value = frontier[source] * factor
            if value > floor and value > arrived[target] and came.get(source) != target:
                arrived[target] = following[target] = value
                parents[target] = reached[target] = source
        frontier, came = following, reached
    return arrived, parents
