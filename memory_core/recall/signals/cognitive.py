"""What colours a recall beyond its evidence: retention, importance, priming, what is in mind.

All of it stays inside the bound of design rule 4. Call inside store.reading().
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from memory_core.lifecycle import turn_pairs
from memory_core.lifecycle.working_memory import Activation, Mind
from memory_core.records import TIERS
from memory_core.scoring.arrays import Rows, Scores
from memory_core.storage.store import MemoryStore

RETENTION_SHARE, IMPORTANCE_SHARE = 0.5, 0.5
PRIMING_SHARE = 0.4
"""Of the bound, while something is primed; the other two then share the rest."""

PLAIN = 0.5
"""Importance of a normal memory; what is below it says what may fade, not what answers.

Sleep halves the importance of what it sums up: measured over half a year on the dialogue, ranked by
that, recall@10 is 83.6, so 84.5."""

TOGETHER = 5
"""Memories of one recall that are linked with each other: ten links at most."""

_LONG_TERM = TIERS.index("long_term")


def liking(store: MemoryStore, rows: Rows, retained: Scores, mind: Mind) -> Scores:
    """What of the bound each of *rows* gets, 0 to 1, from retention, importance and priming."""
    importance = np.maximum(store.columns.importance[rows], PLAIN)
    lasting = RETENTION_SHARE * retained + IMPORTANCE_SHARE * importance
    if not mind.primed:
        return np.asarray(lasting, dtype=np.float64)
    primed = np.array([mind.primed.get(store.columns.id(int(row)), 0.0) for row in rows])
    return np.asarray((1.0 - PRIMING_SHARE) * lasting + PRIMING_SHARE * primed, dtype=np.float64)


def hot(store: MemoryStore, mind: Mind, vector: NDArray[np.float32], related: float) -> Rows:
    """The rows that this conversation recalled before and that are like the question *vector*.

    *related* is the calibrated cosine of a hit (seed row A1.12). What came back from a lower tier
    is found by its gist or its pair too (A1.5): their vectors are those of part "gist".
    """
    rows = _rows(store, mind.hot)
    if store.vectors is None or not rows.size:
        return rows
    whole, gist = (store.vectors.similarities(vector, rows, part=p) for p in ("whole", "gist"))
    return rows[np.nan_to_num(np.fmax(whole, gist), nan=-1.0) >= related]


def activated(
    store: MemoryStore, rows: Rows, similar: Scores, lexical: Scores, related: float
) -> list[Activation]:
    """Those of the chosen *rows* that the cue brought to mind, with their similarity to it.

    Directly (cosine from *related*), or because they are that like one that is: the rest of a list
    of k is only its tail. Without vectors, those that share a word with the cue.
    """
    if store.vectors is None or np.isnan(similar).all():
        active, similar = lexical > 0, np.zeros(len(rows))
    else:
        active = similar >= related
        if active.any():
            wholes = np.nan_to_num(store.vectors.wholes(rows))
            active |= (wholes @ wholes[active].T >= related).any(axis=1)
    found = dict(zip(rows[active].tolist(), np.nan_to_num(similar[active]).tolist(), strict=True))
    for row, cosine in list(found.items()):
        for other in _paired(store, row):
            found.setdefault(other, cosine)
    columns = store.columns
    return [
        Activation(columns.id(row), cosine, TIERS[columns.tier[row]], columns.topic(row))
        for row, cosine in found.items()
    ]


def _paired(store: MemoryStore, row: int) -> list[int]:
    """The other half of the pair of *row*: what re-enters from a lower tier is the pair (A1.5)."""
    graph, columns = store.graph, store.columns
    if TIERS[columns.tier[row]] == "active":
        return []
    halves = (*graph.origins(row, turn_pairs.PAIR), *graph.targets(row, turn_pairs.PAIR))
    return [half for half in halves if columns.agent[half] == columns.agent[row]]


def together(store: MemoryStore, rows: Rows, similar: Scores, related: float) -> list[str]:
    """The ids of those of *rows* that one cue clearly brought up, selected or not (seed row A5.4).

    At most TOGETHER, the most similar first, each from cosine *related* on.
    """
    order = np.argsort(-np.nan_to_num(similar, nan=-1.0), kind="stable")[:TOGETHER]
    return [store.columns.id(int(rows[place])) for place in order if similar[place] >= related]


def similarities(
    store: MemoryStore, ids: Iterable[str], vector: NDArray[np.float32] | None
) -> dict[str, float]:
    """The cosine of each of *ids* that has a vector to the question *vector*."""
    rows = _rows(store, ids)
    if vector is None or store.vectors is None or not rows.size:
        return {}
    cosines = store.vectors.similarities(vector, rows, part="whole")
    pairs = zip(rows.tolist(), cosines, strict=True)
    return {store.columns.id(row): float(cosine) for row, cosine in pairs if cosine == cosine}


def _rows(store: MemoryStore, ids: Iterable[str]) -> Rows:
    rows = (store.columns.row(id) for id in ids)
    return np.array([row for row in rows if row is not None], dtype=np.int64)
