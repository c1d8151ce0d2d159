"""Choosing among the candidates of a recall: in which order, and one for all that say the same.

Rows are those of the store's columns, places count within the rows given. Call inside
store.reading().
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from memory_core.records import KINDS, MemoryRecord
from memory_core.relations import claims, duplicates
from memory_core.scoring import reranking
from memory_core.scoring.arrays import Rows
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore

SURE, BREADTH = 10, 0.3
"""So many places go by the score alone; behind them each turn of the same conversation that is
already there costs a turn BREADTH of the standard deviation of the scores.

What the first ten leave open is seldom said where they come from. Measured on LoCoMo with twenty
places: session recall@10 94.7 to 96.4, turn recall@20 89.8 to 89.5 (docs/internals/recall.md)."""

_DERIVED = [KINDS.index("summary"), KINDS.index("concept")]


def ranked(
    store: MemoryStore,
    rows: Rows,
    score: NDArray[np.float64],
    k: int,
    lambda_: float,
    alike: tuple[float, float],
) -> Rows:
    """The places of *rows* by *score*; with *lambda_* under 1 the first by marginal relevance.

    *alike*: from which cosine two texts overlap, and from which they say the same.
    """
    order = np.argsort(-score, kind="stable")
    if lambda_ >= 1.0 or store.vectors is None:
        return order
    first = order[: _window(k)]
    gained = reranking.select(
        score[first], store.vectors.wholes(rows[first]), len(first), lambda_, alike
    )
    return np.concatenate([first[gained], order[len(first) :]])


def broadened(
    store: MemoryStore, rows: Rows, score: NDArray[np.float64], order: Rows, k: int
) -> Rows:
    """*order* (places of *rows* by *score*) with more conversations behind the first SURE.

    Among what may be taken for *k* places; what has no session costs nothing.
    """
    rest = order[SURE : _window(k)]
    if k <= SURE or len(rest) < 2:
        return order
    threads = store.columns.thread[rows]
    cost, value = BREADTH * float(score.std()), score[rest].astype(np.float64)
    shared = (threads[rest][:, None] == threads[order[:SURE]][None, :]).sum(axis=1)
    value -= cost * np.where(threads[rest] >= 0, shared, 0)
    taken: list[int] = []
    for _ in range(len(rest)):
        best = int(np.argmax(value))
        taken.append(best)
        thread, value[best] = threads[rest[best]], -np.inf
        if thread >= 0:
            value[threads[rest] == thread] -= cost
    return np.concatenate([order[:SURE], rest[taken], order[SURE + len(rest) :]])


def newest_first(
    store: MemoryStore, rows: Rows, order: Rows, as_of: float | None, now: float
) -> Rows:
    """*order* (places of *rows*) with what was out of date *as_of* behind what supersedes it.

    Also with what is updated in part, or for a while that is not over *now*, behind the update.
    """
    columns = store.columns
    at = np.inf if as_of is None else as_of
    late = columns.superseded[rows] & ~(columns.superseded_at[rows] > at)
    places = {int(row): place for place, row in enumerate(rows)}
    newer = _updated(store, places, now if as_of is None else as_of)
    if late.any():
        memories = _memories(store, rows, np.flatnonzero(late).tolist())
        for place, memory in memories.items():
            successor = columns.row(memory.superseded_by)
            newer[place] = -1 if successor is None else places.get(successor, -1)
    if not newer:
        return order
    return np.array(reranking.behind(order.tolist(), newer), dtype=np.int64)


def _updated(store: MemoryStore, places: dict[int, int], at: float) -> dict[int, int]:
    """The places of rows that another one of *places* updates, with the place of that one.

    An update that did not yet hold or no longer holds *at* that moment does not count.
    """
    columns = store.columns
    found: dict[int, int] = {}
    for row, place in places.items():
        for origin in store.graph.origins(row, duplicates.UPDATES):
            holds = columns.valid_until[origin] >= at >= columns.valid_from[origin]
            stands = store.graph.weight(origin, row, duplicates.UPDATES) >= 0.5  # not taken back
            if stands and origin in places and holds and columns.recorded_at[origin] <= at:
                found[place] = places[origin]
    return found


def folded(
    store: MemoryStore, rows: Rows, k: int, threshold: float | None
) -> tuple[list[int], dict[int, list[int]]]:
    """The places of the first *k* of the ranked *rows* that say something new.

    And, for each of them, the places that it stands for: what only retells it, and near-duplicates,
    from cosine *threshold*, of one speaker and visibility, whose claims agree (design, section 4).
    Without a model (None) there are no near-duplicates. Looks further only where the first few fold
    into less than *k*.
    """
    retold = _retold(store, rows, k)
    left = np.setdiff1d(np.arange(len(rows)), list(retold))
    kept, twins = _without_twins(store, rows[left], k, threshold)
    stands_for = {int(left[one]): left[others].tolist() for one, others in twins.items()}
    first = [int(left[place]) for place in kept]
    reached = first[-1] if len(first) == k else len(rows)
    for place, source in retold.items():
        if source in first and place < reached:
            stands_for.setdefault(source, []).append(place)
    return first, stands_for


def _retold(store: MemoryStore, rows: Rows, k: int) -> dict[int, int]:
    """The places of summaries and concepts that only retell, with that of the first they rest on.

    One that stands behind its source says less than it, unless it draws half of what is given
    together. Measured on the dialogue after one sleep: with all of them recall@10 / @5 is 83.6 /
    70.9, so 85.5 / 72.7.
    """
    derived = np.isin(store.columns.kind[rows], _DERIVED)
    places = {int(row): place for place, row in enumerate(rows)}
    given = set(rows[~derived][:k].tolist())
    found: dict[int, int] = {}
    for place in np.flatnonzero(derived).tolist():
        sources = store.graph.targets(int(rows[place]), DERIVED_FROM)
        first = min((places[row] for row in sources if row in places), default=place)
        if first < place and 2 * len(given.intersection(sources)) < len(given):
            found[place] = first
    return found


def _without_twins(
    store: MemoryStore, rows: Rows, k: int, threshold: float | None
) -> tuple[list[int], dict[int, list[int]]]:
    if threshold is None or store.vectors is None:
        return list(range(min(k, len(rows)))), {}
    kept, stands_for = _fold(store, rows[: _window(k)], k, threshold)
    if len(kept) < k and len(rows) > _window(k):
        kept, stands_for = _fold(store, rows, k, threshold)
    return kept, stands_for


def _fold(
    store: MemoryStore, rows: Rows, k: int, threshold: float
) -> tuple[list[int], dict[int, list[int]]]:
    assert store.vectors is not None
    vectors = np.nan_to_num(store.vectors.wholes(rows))
    near = vectors @ vectors.T >= threshold
    np.fill_diagonal(near, False)
    crowded = np.flatnonzero(near.any(axis=0))
    if not crowded.size:
        return list(range(min(k, len(rows)))), {}
    memories = _memories(store, rows, crowded.tolist())
    said = {place: claims.claims(m.text, m.entities) for place, m in memories.items()}

    def same(a: int, b: int) -> bool:
        if a not in said or b not in said:  # forgotten by another process at this moment
            return False
        x, y = memories[a], memories[b]
        alike = (x.speaker, x.visibility) == (y.speaker, y.visibility)
        return alike and claims.agree(said[a], said[b])

    return duplicates.fold(vectors, threshold, same, k)


def _memories(store: MemoryStore, rows: Rows, places: Iterable[int]) -> dict[int, MemoryRecord]:
    """The memories at *places* of *rows*, by place; without those just forgotten."""
    ids = {place: store.columns.id(int(rows[place])) for place in places}
    memories = store.indexed(ids.values())
    return {place: memories[id] for place, id in ids.items() if id in memories}


def _window(k: int) -> int:
    """How many of the best are compared with each other at first."""
    return max(4 * k, 20)
