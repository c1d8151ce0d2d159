"""What a recall changes in memory: what it activates, which links it strengthens, what it counts.

None of it is done for a read-only recall.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memory_core.lifecycle import turn_pairs
from memory_core.lifecycle.working_memory import Activation
from memory_core.recall.candidates import Candidates
from memory_core.recall.query import Cues
from memory_core.records import TIERS, Recollection
from memory_core.scoring.arrays import cosines
from memory_core.storage.view import View

TOGETHER = 5
"""Memories of one recall that are linked with each other: ten links at most."""


def activated(view: View, cues: Cues, found: Candidates, chosen: Sequence[int]) -> list[Activation]:
    """Those of the *chosen* places that the query activates, with their similarity to it.

    Directly (by the cosine of a related text), or because they are that like one that is: the rest
    of a list of k is only its tail. Without vectors, those that share a word with the query.
    """
    rows, similar = found.rows[chosen], found.whole[chosen]
    if view.vectors is None or np.isnan(similar).all():
        active, similar = found.lexical[chosen] > 0, np.zeros(len(rows))
    else:
        active = similar >= cues.profile.related
        if active.any():
            wholes = np.nan_to_num(view.vectors.wholes(rows))
            active |= (cosines(wholes, wholes[active]) >= cues.profile.related).any(axis=1)
    reached = dict(zip(rows[active].tolist(), np.nan_to_num(similar[active]).tolist(), strict=True))
    for row, cosine in list(reached.items()):
        for other in _pair(view, row):
            reached.setdefault(other, cosine)
    columns = view.columns
    return [
        Activation(columns.id(row), cosine, TIERS[columns.tier[row]], columns.topic(row))
        for row, cosine in reached.items()
    ]


def together(view: View, cues: Cues, found: Candidates) -> list[str]:
    """The ids of at most TOGETHER candidates that the query clearly brought up, chosen or not.

    The most similar first, each with the cosine of a related text.
    """
    order = np.argsort(-np.nan_to_num(found.whole, nan=-1.0), kind="stable")
    order = order[cues.valid[found.rows[order]]][:TOGETHER]
    clear = [place for place in order if found.whole[place] >= cues.profile.related]
    return [view.columns.id(int(found.rows[place])) for place in clear]


def similarities(
    view: View, ids: Iterable[str], vector: NDArray[np.float32] | None
) -> dict[str, float]:
    """The cosine of each of *ids* that has a vector to *vector*."""
    rows = view.rows(ids)
    cosines = view.similarities(vector, rows, part="whole")
    pairs = zip(rows.tolist(), cosines.tolist(), strict=True)
    return {view.columns.id(row): cosine for row, cosine in pairs if cosine == cosine}


def rehearsed(recollection: Recollection, active: Iterable[Activation]) -> list[str]:
    """The ids whose access is counted: the best memory, and those of the others that are *active*.

    The rest of a list of k is only its tail: counted with it, nothing would ever fade.
    """
    activated = {each.id for each in active}
    ids = [hit.memory.id for hit in recollection.hits]
    return [id for place, id in enumerate(ids) if place == 0 or id in activated]


def _pair(view: View, row: int) -> list[int]:
    """The other half of the pair of *row*: what comes back from a lower tier is the whole pair."""
    graph, columns = view.graph, view.columns
    if TIERS[columns.tier[row]] == "active":
        return []
    halves = (*graph.origins(row, turn_pairs.PAIR), *graph.targets(row, turn_pairs.PAIR))
    return [half for half in halves if columns.agent[half] == columns.agent[row]]
