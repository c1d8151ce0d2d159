"""Summaries whose sources are no longer true: marked at once, rewritten at the next sleep."""

from __future__ import annotations

from collections.abc import Sequence

from memory_core.records import Change
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore


def mark(store: MemoryStore, actor: str, corrected: Sequence[str], now: float) -> None:
    """Mark everything that rests on the memories *corrected* as stale since *now*.

    A kill before this is no loss: sleep finds what rests on something superseded by itself.
    """
    if not corrected:
        return
    with store.reading():
        found = [id for id in corrected for id in resting_on(store, id)]
    if not found:
        return

    def build(tx: Transaction) -> None:
        for id in dict.fromkeys(found):
            fields = tx.fields(id)
            if fields is not None and fields.get("stale_since") is None:
                body = {"stale_since": now}
                tx.append(Change("put", id, body, actor=actor, source="correction"))

    store.commit(build)


def resting_on(store: MemoryStore, id: str) -> list[str]:
    """What rests on the memory *id*, however far; call inside store.reading()."""
    columns, graph = store.columns, store.graph
    found: dict[int, None] = {}
    row = columns.row(id)
    frontier = [] if row is None else [row]
    while frontier:
        reached = [other for row in frontier for other in graph.origins(row, DERIVED_FROM)]
        frontier = [row for row in dict.fromkeys(reached) if row not in found]
        found |= dict.fromkeys(frontier)
    return [columns.id(row) for row in found]
