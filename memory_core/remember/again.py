"""What is said once more, word for word, after it went out of date: it holds again.

It counts as said now; nothing else of it changes. So it comes before what had taken its place, as
anything newer does, and `history` has both days.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory_core.beliefs.authority import may_doubt
from memory_core.history import DISMISSED
from memory_core.link_kinds import DOUBTING, HOLDS, NEWER
from memory_core.records import Change, MemoryRecord, from_fields, normalised, owner_of
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore


def overcome(store: MemoryStore, memory: MemoryRecord, ids: Sequence[str]) -> dict[str, list[str]]:
    """Those of *ids* that say the same as *memory* and are out of date, with what put them so.

    None of which something was said later than *memory*, or with more trust.
    """
    same = {
        id: other
        for id, other in store.indexed(ids).items()
        if normalised(other.text) == normalised(memory.text)
    }
    found = {}
    with store.reading() as view:
        columns, graph = view.columns, view.graph
        for id, other in same.items():
            row, by = columns.row(id), columns.row(other.superseded_by)
            if row is None:
                continue
            doubting = [
                later
                for kind in DOUBTING
                for later in graph.origins(row, kind)
                if graph.weight(later, row, kind) >= HOLDS
            ]
            rows = doubting if by is None else [*doubting, by]
            if rows and max(columns.occurred_at[rows]) <= memory.occurred_at:
                found[id] = [columns.id(later) for later in dict.fromkeys(rows)]
    known = store.indexed(dict.fromkeys(later for some in found.values() for later in some))
    return {
        id: later
        for id, later in found.items()
        if all(other in known and may_doubt(known[other], memory) for other in later)
    }


def hold(tx: Transaction, id: str, at: float, agent: str) -> MemoryRecord:
    """Make the memory *id* hold again as of *at*; the memory as it was."""
    memory = from_fields(tx.fields(id) or {})
    body: dict[str, Any] = {"occurred_at": at}
    if memory.superseded_by:
        body |= {"superseded_by": "", "superseded_at": None, "valid_until": None}
    tx.append(Change("put", id, body, **_by(memory, agent)))
    return memory


def withdraw(tx: Transaction, memory: MemoryRecord, later: Sequence[str], agent: str) -> None:
    """Take back what the memories *later* say of *memory*; it was so until now."""
    for other in later:
        for kind in NEWER:
            if tx.weight(other, memory.id, kind) >= HOLDS:
                link = {"b": memory.id, "kind": kind, "weight": DISMISSED}
                tx.append(Change("link", other, link, **_by(memory, agent)))


def _by(memory: MemoryRecord, agent: str) -> dict[str, Any]:
    return {"actor": agent, "source": "correction", "scope": owner_of(memory)}
