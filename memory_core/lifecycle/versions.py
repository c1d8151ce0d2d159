"""Versions: which memory a memory updates, and where its chain begins. Computed, never stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory_core.link_kinds import CONTRADICTS, DUPLICATE, DUPLICATE_OF, EXTENDS, HOLDS, UPDATES
from memory_core.records import Identity, MemoryRecord
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View

NEW = "new"


@dataclass(frozen=True, slots=True)
class Version:
    """The place of a memory among those that superseded each other.

    *relation* is new, duplicate, updates, extends or contradicts, to the memory *parent* ("" for
    new). *number* counts the memories from *root*, the first of the chain, to this one, from 1;
    *latest* is the one that nothing superseded.
    """

    relation: str
    number: int
    parent: str
    root: str
    latest: str


def version(store: MemoryStore, who: Identity, id: str) -> Version:
    """The version of the memory *id*, which *who* may read, among those that *who* may read."""
    with store.reading() as view:
        columns, readable = view.columns, view.readable(who)
        rows = np.flatnonzero(readable & columns.superseded).tolist()
        row = columns.row(id)
        kept = {} if row is None else _kept(view, row, readable.tolist())
        ids = [columns.id(each) for each in rows]
    superseded = store.indexed(ids)
    parents: dict[str, list[MemoryRecord]] = {}
    for memory in superseded.values():
        parents.setdefault(memory.superseded_by, []).append(memory)
    chain = _chain(id, parents)
    latest, passed = id, {id}
    while latest in superseded and superseded[latest].superseded_by not in passed:
        successor = superseded[latest].superseded_by
        if not store.may_read(who, successor):
            break
        latest = successor
        passed.add(latest)
    if len(chain) > 1:
        relation = CONTRADICTS if kept.get(CONTRADICTS) == chain[1] else UPDATES
        return Version(relation, len(chain), chain[1], chain[-1], latest)
    for kind, relation in ((DUPLICATE_OF, DUPLICATE), (EXTENDS, EXTENDS)):
        if kind in kept:
            return Version(relation, 1, kept[kind], id, latest)
    return Version(NEW, 1, "", id, latest)


def _chain(id: str, parents: dict[str, list[MemoryRecord]]) -> list[str]:
    """*id* and those before it, the newest first; of several, the one that was said last."""
    chain = [id]
    while before := [m for m in parents.get(chain[-1], ()) if m.id not in chain]:
        chain.append(max(before, key=lambda memory: (memory.occurred_at, memory.id)).id)
    return chain


def _kept(view: View, row: int, readable: list[bool]) -> dict[str, str]:
    """By kind, the id of the readable memory, said no later, that *row* is linked to."""
    found: dict[str, str] = {}
    said = view.columns.occurred_at
    for kind in (DUPLICATE_OF, EXTENDS, CONTRADICTS):
        if kind == EXTENDS:
            others = view.graph.targets(row, kind)
        else:
            others = [other for other, of, _ in view.graph.neighbours(row) if of == kind]
        for other in others:
            held = max(view.graph.weight(row, other, kind), view.graph.weight(other, row, kind))
            if readable[other] and held >= HOLDS and said[other] <= said[row]:
                found[kind] = view.columns.id(other)
    return found
