"""Reads without a query: listings, counts, names, links, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from memory_core.errors import StorageError
from memory_core.lifecycle import topics
from memory_core.lifecycle.doubts import Doubts
from memory_core.records import DERIVED, KINDS, DoubtfulPair, Identity, Link, MemoryRecord
from memory_core.relations import duplicates
from memory_core.relations.change import change
from memory_core.relations.duplicates import HOLDS
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.graph import SYMMETRIC
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.journal.format import DamagedChange
from memory_core.storage.store import MemoryStore
from memory_core.storage.table.table import Filter
from memory_core.storage.view import View
from memory_core.text.importance import BANDS, band

BATCH = 500
"""Memories read at once by an iteration over all of them."""

CHANGES = 1_000
"""Journal changes that one call of `changed` covers."""

_DERIVED = [KINDS.index(kind) for kind in DERIVED]
_EPISODE = KINDS.index("episode")
_MARKS = {duplicates.DOUBTS, duplicates.KEPT_BOTH}
"""Links that change what is shown of a memory."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed for one reader, up to journal sequence *reached*.

    *gone* are ids that the reader itself removed; *memories* are as they are now.
    """

    reached: int
    memories: tuple[MemoryRecord, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of a listing; "" filters nothing."""

    limit: int = 20
    session: str = ""
    kind: str = ""
    entity: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Weighty:
    """The filters of `weightiest`; "" filters nothing."""

    limit: int
    among: int
    tag: str = ""
    but: str = ""


def listing(store: MemoryStore, who: Identity, wanted: Wanted) -> list[MemoryRecord]:
    """The newest memories that *who* may read and that are *wanted*, newest first.

    Replaced and retired ones are left out. The columns choose the ids, because a damaged table
    hides rows from a filter without an error. Rows come from LanceDB, and from the journal where
    LanceDB lacks them: while it is loading, behind or being rebuilt.
    """
    store.catch_up()
    with store.reading() as view:
        ids = _newest(view, who, wanted)
    found = {} if store.unsynced else _from_table(store, who, wanted)
    found |= store.indexed([id for id in ids if id not in found])
    return [found[id] for id in ids if id in found]


def _newest(view: View, who: Identity, wanted: Wanted) -> list[str]:
    columns, mask = view.columns, _current(view, who)
    if wanted.session:
        mask &= columns.session == columns.code(wanted.session, "session")
    if wanted.kind:
        mask &= columns.kind == KINDS.index(wanted.kind)
    if wanted.topic:
        mask &= columns.about(wanted.topic)
    rows = np.flatnonzero(mask)
    if wanted.entity:
        named = [wanted.entity in columns.entities(int(row)) for row in rows]
        rows = rows[np.array(named, dtype=np.bool_)]
    ids = np.array([columns.id(int(row)) for row in rows])
    order = np.lexsort((ids, columns.occurred_at[rows]))[::-1][: wanted.limit]
    return [str(id) for id in ids[order]]


def _current(view: View, who: Identity) -> Mask:
    """The mask of rows that *who* may read and that are neither replaced nor retired."""
    columns = view.columns
    return view.readable(who) & ~columns.replaced & np.isinf(columns.retired_at)


def _from_table(store: MemoryStore, who: Identity, wanted: Wanted) -> dict[str, MemoryRecord]:
    """The rows that LanceDB lists, by id; {} when it cannot be read."""
    table = store.table
    if table is None:
        return {}
    where = Filter(
        reader=who,
        session=wanted.session,
        kind=wanted.kind,
        entity=wanted.entity,
        topic=wanted.topic,
        live=True,
    )
    try:
        listed = table.listing(where=where, limit=wanted.limit)
    except StorageError as problem:  # maintenance rebuilds it; the journal has every row
        store.detach_table(table, problem)
        return {}
    return {memory.id: store.with_access(memory) for memory in listed}


def weightiest(store: MemoryStore, who: Identity, wanted: Weighty) -> list[MemoryRecord]:
    """The most important of the newest memories that are *wanted*; see Memory.weightiest.

    Chosen by the columns alone, because it delays the start of a conversation.
    """
    store.catch_up()
    with store.reading() as view:
        columns, mask = view.columns, _current(view, who)
        if wanted.tag:
            mask &= columns.tagged(wanted.tag)
        rows = np.flatnonzero(mask)
        newest = rows[np.argsort(-columns.occurred_at[rows], kind="stable")].tolist()
        fitting = (row for row in newest if not _begins(columns.tags(row), wanted.but))
        among = np.array(list(islice(fitting, wanted.among)), dtype=np.int64)
        order = np.argsort(-columns.importance[among], kind="stable")[: wanted.limit]
        ids = [columns.id(int(row)) for row in among[order]]
    found = store.indexed(ids)
    return [found[id] for id in ids if id in found]


def _begins(tags: Iterable[str], prefix: str) -> bool:
    return bool(prefix) and any(tag.startswith(prefix) for tag in tags)


def stats(store: MemoryStore, who: Identity) -> dict[str, Any]:
    """Counts of the live memories that *who* may read, and of the links between them."""
    store.catch_up()
    with store.reading() as view:
        columns, mask = view.columns, view.readable(who)
        counted = {**columns.counts(mask), "edges": view.graph.edges(mask)}
        found = Counter(band(value) for value in columns.importance[mask & columns.live].tolist())
        counted["by_importance"] = {name: found[name] for name, _ in BANDS}
        held = mask & ~np.isin(columns.kind, _DERIVED) & np.isinf(columns.retired_at)
        return counted | _fates(view, mask) | topics.sizes(columns, held)


def _fates(view: View, mask: Mask) -> dict[str, int]:
    """How many of *mask* were merged, were pruned, and are episodes that no summary covers."""
    columns, graph = view.columns, view.graph
    retired = mask & np.isfinite(columns.retired_at)
    merged = sum(
        any(kind == duplicates.DUPLICATE_OF and w >= HOLDS for _, kind, w in graph.neighbours(row))
        for row in np.flatnonzero(retired).tolist()
    )
    faded = int((retired & ~columns.superseded).sum()) - merged
    waiting = mask & ~retired & (columns.kind == _EPISODE)
    alone = [row for row in np.flatnonzero(waiting) if not graph.origins(int(row), DERIVED_FROM)]
    return {"merged": merged, "pruned": max(0, faded), "unconsolidated": len(alone)}


def names(store: MemoryStore, who: Identity, column: str) -> list[str]:
    """The distinct names in *column* of what *who* may read, in order; see Columns.names."""
    store.catch_up()
    with store.reading() as view:
        return view.columns.names(column, view.readable(who))


def changed(store: MemoryStore, who: Identity, after: int | None) -> Changed:
    """What changed after journal sequence *after* in what *who* may read.

    None returns only the sequence to begin from. An access is not a change. One call covers at
    most CHANGES journal entries.
    """
    last = store.journal.last()
    if after is None or after >= last:
        return Changed(last)
    try:
        found = store.journal.changes(after, CHANGES)
    except DamagedChange as problem:  # health reports it; later changes are still read
        return Changed(problem.seq)
    store.catch_up()
    gone = {c.target for c in found if c.kind == "forget" and c.actor == who.agent}
    touched = {c.target for c in found if c.kind == "put"}
    marked = [c for c in found if c.kind == "link" and (c.body or {}).get("kind") in _MARKS]
    touched |= {id for c in marked for id in (c.target, (c.body or {})["b"])}
    seen = store.memories(id for id in sorted(touched - gone) if store.may_read(who, id))
    return Changed(found[-1].seq if found else last, tuple(seen.values()), tuple(sorted(gone)))


def links(store: MemoryStore, who: Identity, id: str) -> list[Link]:
    """The links between the memory *id* and others that *who* may read, strongest first.

    From a to b as they are stored; links of symmetric kinds begin at *id*.
    """
    with store.reading() as view:
        columns, graph = view.columns, view.graph
        row = columns.row(id)
        near = [] if row is None else graph.neighbours(row)
        if row is None or not near:
            return []
        seen, found = view.readable(who), []
        for other, kind, weight in near:
            if seen[other]:
                leads = kind in SYMMETRIC or other in graph.targets(row, kind)
                ends = (id, columns.id(other)) if leads else (columns.id(other), id)
                found.append(Link(*ends, kind, weight))
    return sorted(found, key=lambda link: (-link.weight, link.kind, link.a, link.b))


def doubts(store: MemoryStore, who: Identity) -> list[DoubtfulPair]:
    """The pairs of which the later one puts the earlier one in doubt, that said last first.

    Only pairs whose both ends *who* may read.
    """
    store.catch_up()
    with store.reading() as view:
        found = list(Doubts(view, store.journal).pairs(view.readable(who)))
        ids = [(view.columns.id(older), view.columns.id(newer)) for older, newer in found]
    memories = store.memories(dict.fromkeys(id for pair in ids for id in pair))
    pairs = [
        DoubtfulPair(memories[older], memories[newer], _reason(memories[older], memories[newer]))
        for older, newer in ids
        if older in memories and newer in memories
    ]
    return sorted(pairs, key=lambda pair: (-pair.newer.occurred_at, pair.newer.id, pair.older.id))


def _reason(older: MemoryRecord, newer: MemoryRecord) -> str:
    """The words of change; "" when the pair was found by something else."""
    found = change(older.text, newer.text, lambda _: True)
    return "" if found is None else found.reason


def doubted(store: MemoryStore, who: Identity, ids: Iterable[str]) -> dict[str, tuple[str, float]]:
    """Of those of *ids* that may be out of date: the newest memory that says so, and since when."""
    with store.reading() as view:
        found, readable = Doubts(view, store.journal), view.readable(who)
        rows = {id: row for id in ids if (row := view.columns.row(id)) is not None}
        return {id: by for id, row in rows.items() if (by := found.newest(row, readable))}


def owned(store: MemoryStore, who: Identity) -> list[str]:
    """The ids of all memories that *who* owns."""
    store.catch_up()
    with store.reading() as view:
        columns = view.columns
        own = view.readable(who) & (columns.agent == columns.code(who.agent, "agent"))
        return [columns.id(int(row)) for row in np.flatnonzero(own)]


def of_source(store: MemoryStore, who: Identity, source: str) -> tuple[str, ...]:
    """The ids of memories with exactly this *source* that *who* owns (an admin: may read)."""
    found = (memory for memory in readable(store, who) if memory.source == source)
    return tuple(m.id for m in found if who.admin or m.agent == who.agent)


def readable(store: MemoryStore, who: Identity) -> Iterator[MemoryRecord]:
    """Every memory that *who* may read, in the order in which they were first stored."""
    store.catch_up()
    with store.reading() as view:
        rows = np.flatnonzero(view.readable(who))
        ids = [view.columns.id(int(row)) for row in rows]
    for start in range(0, len(ids), BATCH):
        found = store.memories(ids[start : start + BATCH])
        yield from (found[id] for id in ids[start : start + BATCH] if id in found)
