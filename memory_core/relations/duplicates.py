"""Relations between close texts, and folding of results that say the same.

A cosine threshold alone would destroy facts (MiniLM: port 5432 / port 5433 0.973; likes / does not
like 0.920; true paraphrases 0.941). Close vectors select a pair; the claims of its texts (numbers,
names, polarity) decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

DUPLICATE = "duplicate"
UPDATES = "updates"
CONTRADICTS = "contradicts"
EXTENDS = "extends"
SIMILAR = "similar"
DUPLICATE_OF = "duplicate_of"
DOUBTS = "doubts"
"""The link from a later memory to an earlier one that it may put out of date; see change.py."""
DOUBTS_PART = "doubts_part"
"""The same of one statement among several: recall ranks the later one first and marks nothing."""
SUSPENDS = "suspends"
"""The link from a later memory that holds for a while to the one that holds again afterwards."""
KEPT_BOTH = "kept_both"
"""The link between two memories of which somebody decided that both hold."""
UPDATES_PART = "updates_part"
"""The link from a later memory to an earlier one of which somebody decided that a part is over."""
HOLDS = 0.5
"""The weight from which a link counts; one that was undone stays with less."""
NEWER = (UPDATES, UPDATES_PART, DOUBTS, DOUBTS_PART, SUSPENDS)
"""Links by which recall ranks the later of two memories first."""
RELATIONS = frozenset({UPDATES, CONTRADICTS, EXTENDS})
"""Kinds of links from a later memory to the one that it changes."""
KNOWN = RELATIONS | {DUPLICATE_OF, DOUBTS, DOUBTS_PART, SUSPENDS, KEPT_BOTH, UPDATES_PART}
"""Links of pairs that a run need not compare again."""

_RELATIONS = {"": DUPLICATE, "numbers": UPDATES, "values": UPDATES, "polarity": CONTRADICTS}


def relation(difference: str) -> str:
    """The relation of a near-duplicate pair from what sets their claims apart.

    *difference* is that of claims.opposed; "" when they agree. Another number or value ("numbers",
    "values") updates the same attribute, another polarity contradicts. Another name or word order
    ("names", "order") is only similar: it is usually about something else.
    """
    return _RELATIONS.get(difference, SIMILAR)


def fold(
    vectors: NDArray[np.floating],
    threshold: float,
    same: Callable[[int, int], bool],
    k: int,
) -> tuple[list[int], dict[int, list[int]]]:
    """The first *k* of the ranked candidates that do not repeat an earlier one.

    *vectors* (n, d) in rank order; a candidate whose cosine to a kept one reaches *threshold* and
    for which *same(kept, candidate)* holds is folded into it. Returns the kept indices and, for
    each kept one, those folded into it.
    """
    kept: list[int] = []
    folded: dict[int, list[int]] = {}
    known = np.nan_to_num(vectors)
    for index in range(len(known)):
        if len(kept) == k:
            break
        twin = _twin(known, index, kept, threshold, same)
        if twin is None:
            kept.append(index)
        else:
            folded.setdefault(twin, []).append(index)
    return kept, folded


def _twin(
    vectors: NDArray[np.floating],
    index: int,
    kept: Sequence[int],
    threshold: float,
    same: Callable[[int, int], bool],
) -> int | None:
    if not kept:
        return None
    cosines = vectors[list(kept)] @ vectors[index]
    for position in np.argsort(-cosines, kind="stable"):
        if cosines[position] < threshold:
            return None
        if same(kept[int(position)], index):
            return kept[int(position)]
    return None


def single_linkage(vectors: NDArray[np.floating], threshold: float) -> list[list[int]]:
    """Groups of indices connected by cosines of at least *threshold*.

    *vectors* (n, d) unit length. Groups and their members are in order of first index.
    """
    near = vectors @ vectors.T >= threshold
    unseen = np.ones(len(vectors), dtype=bool)
    groups: list[list[int]] = []
    for start in range(len(vectors)):
        if not unseen[start]:
            continue
        unseen[start] = False
        group, frontier = [start], [start]
        while frontier:
            found = np.flatnonzero(near[frontier].any(axis=0) & unseen)
            unseen[found] = False
            frontier = [int(i) for i in found]
            group.extend(frontier)
        groups.append(sorted(group))
    return groups


def extends(less: Collection[str], more: Collection[str]) -> bool:
    """True when the content words *more* hold every one of *less*, and at least two others."""
    return bool(less) and set(less) < set(more) and len(set(more) - set(less)) >= 2
