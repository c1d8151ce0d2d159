"""Reads without a query: listings, counts, names, links, and what changed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core import link_kinds
from memory_core.beliefs.importance import BANDS
from memory_core.errors import InvalidInput, StorageError
from memory_core.interchange import jsonl
from memory_core.lifecycle import places, topics
from memory_core.lifecycle.doubts import Doubts, explained
from memory_core.lifecycle.stamps import stamps
from memory_core.link_kinds import HOLDS
from memory_core.records import (
    DERIVED,
    KINDS,
    Change,
    Doubted,
    DoubtfulPair,
    Identity,
    Link,
    MemoryRecord,
    is_prefix,
)
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.index.graph import SYMMETRIC
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.journal.format import DamagedChange
from memory_core.storage.store import MemoryStore
from memory_core.storage.table.table import Filter
from memory_core.storage.view import View
from memory_core.text.time.timestamps import DAY

BATCH = 500
"""Memories read at once by an iteration over all of them."""

CHANGES = 1_000
"""Journal changes that one call of `changed` covers."""
NEWS = 20
"""Times that, of one call of `news`."""

_DERIVED = [KINDS.index(kind) for kind in DERIVED]
_EPISODE = KINDS.index("episode")
_MARKS = {link_kinds.DOUBTS, link_kinds.KEPT_BOTH}
"""Links that change what is shown of a memory."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed for one reader, up to journal sequence *reached*.

    *gone* are ids that the reader itself removed; *memories* are as they are now, in the order in
    which they changed.
    """

    reached: int
    memories: tuple[MemoryRecord, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class News:
    """The ids of what changed for one reader, as Changed; *place* is where the next news begin.

    *more* is True when there may be more already.
    """

    place: str
    memories: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of a listing; "" filters nothing."""

    limit: int = 20
    session: str = ""
    kind: str = ""
    entity: str = ""
    topic: str = ""


NAMED = ("session", "speaker", "entities", "topic", "tags", "agent", "team")
"""What a caller may ask the names in."""


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
    columns, mask = view.columns, current(view, who)
    if wanted.session:
        mask &= columns.session == columns.code(wanted.session, "session")
    if wanted.kind:
        mask &= columns.kind == KINDS.index(wanted.kind)
    if wanted.topic:
        mask &= columns.about(wanted.topic)
    rows = np.flatnonzero(mask)
    if wanted.entity:
        rows = rows[np.isin(rows, view.graph.entity_rows(wanted.entity))]
    # what is dated ahead is no newer than what was stored after it
    said = np.minimum(columns.occurred_at, columns.recorded_at)[rows]
    if rows.size > wanted.limit > 0:
        among = said >= np.partition(said, rows.size - wanted.limit)[rows.size - wanted.limit]
        rows, said = rows[among], said[among]
    ids = np.array([columns.id(int(row)) for row in rows])
    order = np.lexsort((ids, said))[::-1][: wanted.limit]
    return [str(id) for id in ids[order]]


def current(view: View, who: Identity) -> Mask:
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


def stats(store: MemoryStore, who: Identity) -> dict[str, Any]:
    """Counts of the live memories that *who* may read, and of the links between them."""
    store.catch_up()
    with store.reading() as view:
        columns, mask = view.columns, view.readable(who)
        counted = {**columns.counts(mask), "edges": view.graph.edges(mask)}
        counted["by_importance"] = _bands(columns.importance[mask & columns.live])
        held = mask & ~np.isin(columns.kind, _DERIVED) & np.isinf(columns.retired_at)
        return counted | _fates(view, mask) | topics.sizes(columns, held)


def _bands(importance: NDArray[np.float32]) -> dict[str, int]:
    """How many values each band of `text.importance` holds."""
    counted, above = {}, 0
    for name, least in BANDS:
        from_it_on = int(np.count_nonzero(importance.astype(np.float64) >= least))
        counted[name], above = from_it_on - above, from_it_on
    return counted


def _fates(view: View, mask: Mask) -> dict[str, int]:
    """How many of *mask* were merged, were pruned, and are episodes that no summary covers."""
    columns, graph = view.columns, view.graph
    retired = mask & np.isfinite(columns.retired_at)
    merged = sum(
        any(kind == link_kinds.DUPLICATE_OF and w >= HOLDS for _, kind, w in graph.neighbours(row))
        for row in np.flatnonzero(retired).tolist()
    )
    faded = int((retired & ~columns.superseded).sum()) - merged
    waiting = mask & ~retired & (columns.kind == _EPISODE)
    for row in filter(mask.__getitem__, columns.derived()):
        waiting[graph.targets(row, DERIVED_FROM)] = False
    alone = int(np.count_nonzero(waiting))
    return {"merged": merged, "pruned": max(0, faded), "unconsolidated": alone}


def names(store: MemoryStore, who: Identity, column: str) -> list[str]:
    """The distinct names in *column*, one of NAMED, of what *who* may read, in order.

    Raises InvalidInput for another column.
    """
    if column not in NAMED:
        raise InvalidInput(f"column: {column!r:.60} is unknown", f"use one of {', '.join(NAMED)}")
    store.catch_up()
    with store.reading() as view:
        return view.columns.names(column, view.readable(who))


def holders(store: MemoryStore, who: Identity, text: str) -> tuple[dict[str, int], int]:
    """For each index term of *text* how many memories hold it, and how many memories there are.

    Of what *who* may read.
    """
    store.catch_up()
    with store.reading() as view:
        readable = view.readable(who)
        match = view.lexical.match(text, among=view.among(readable))
        held = dict.fromkeys(index_terms(text), 0)
        for term, (rows, _) in zip(match.held, match.postings, strict=True):
            held[term] = int(readable[rows].sum())
        return held, int(readable.sum())


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
    touched = dict.fromkeys(id for c in found for id in _touched(c) if id not in gone)
    seen = store.memories(id for id in touched if store.may_read(who, id))
    return Changed(found[-1].seq if found else last, tuple(seen.values()), tuple(sorted(gone)))


def _touched(change: Change) -> tuple[str, ...]:
    """The ids of the memories whose texts or marks *change* sets."""
    if change.kind == "put":
        return (change.target,)
    body = change.body or {}
    marks = change.kind == "link" and body.get("kind") in _MARKS
    return (change.target, body["b"]) if marks else ()


def news(store: MemoryStore, who: Identity, place: str | None) -> News:
    """What changed after the sealed *place* in what *who* may read; see Memory.news."""
    key = places.secret(store)
    if place is None:
        return News(places.sealed(key, who.agent, store.journal.last()))
    reached = places.opened(key, who.agent, place) if place else 0
    end = store.journal.last()
    memories: dict[str, None] = {}
    gone: dict[str, None] = {}
    for _ in range(NEWS):
        if reached >= end:
            break
        new = changed(store, who, reached)
        memories |= {each.id: None for each in new.memories}
        gone |= dict.fromkeys(new.gone)
        reached = new.reached
    live = tuple(id for id in memories if id not in gone)
    return News(places.sealed(key, who.agent, reached), live, tuple(gone), more=reached < end)


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


def topic_edges(store: MemoryStore, who: Identity) -> dict[tuple[str, str], float]:
    """Edges between topics that *who* may read; see topics.edges."""
    store.catch_up()
    with store.reading() as view:
        return topics.edges(view, view.readable(who))


def derived(store: MemoryStore, who: Identity, id: str) -> list[MemoryRecord]:
    """What was derived from the memory *id* and *who* may read, in the order of arrival."""
    store.catch_up()
    with store.reading() as view:
        row, seen = view.columns.row(id), view.readable(who)
        rows = [] if row is None else view.graph.origins(row, DERIVED_FROM)
        ids = [view.columns.id(each) for each in rows if seen[each]]
    return list(store.memories(ids).values())


def doubts(store: MemoryStore, who: Identity) -> list[DoubtfulPair]:
    """The pairs of which the later one puts the earlier one in doubt, wholly or in part.

    Only pairs whose both ends *who* may read; those of one later memory together, and those first
    that matter most.
    """
    store.catch_up()
    with store.reading() as view:
        found = in_doubt(store, view, view.readable(who))
    pairs = pairs_of(store, found)
    newest = max((pair.newer.occurred_at for pair in pairs), default=0.0)
    matters: dict[str, float] = defaultdict(float)
    for pair in pairs:
        matters[pair.newer.id] = max(matters[pair.newer.id], _consequence(pair, newest))
    pairs.sort(key=lambda p: (-matters[p.newer.id], p.newer.id, -_consequence(p, newest)))
    return pairs


def _consequence(pair: DoubtfulPair, newest: float) -> float:
    """How much *pair* matters: how often its earlier memory was recalled, how important it is, and
    how long before *newest* (epoch seconds) the later one was said."""
    recency = 1 / (1 + (newest - pair.newer.occurred_at) / (30 * DAY))
    return math.log1p(pair.older.access_count) + pair.older.importance + recency


InDoubt = tuple[str, str, str]
"""The ids of the newer and of the older one of a pair, and the kind of the doubt."""


def in_doubt(store: MemoryStore, view: View, mask: Mask) -> list[InDoubt]:
    """What is in doubt between the rows of *mask*, that said last first."""
    columns, known = view.columns, Doubts(view, store.journal)
    kinds = {
        pair: kind
        for kind in (link_kinds.DOUBTS_PART, link_kinds.DOUBTS)
        for pair in known.pairs(mask, kind)
    }
    newest = sorted(
        (-float(columns.occurred_at[newer]), columns.id(newer), columns.id(older), kind)
        for (older, newer), kind in kinds.items()
    )
    return [(newer, older, kind) for _, newer, older, kind in newest]


def pairs_of(store: MemoryStore, found: Sequence[InDoubt]) -> list[DoubtfulPair]:
    """The pairs that were *found*, in their order, with their memories and why."""
    memories = store.memories(dict.fromkeys(id for *ids, _ in found for id in ids))
    return [
        explained(store.journal, memories[older], memories[newer], kind)
        for newer, older, kind in found
        if older in memories and newer in memories
    ]


def doubted(store: MemoryStore, who: Identity, ids: Iterable[str]) -> dict[str, Doubted]:
    """Of those of *ids* that may be out of date, or in part: by what."""
    with store.reading() as view:
        found, readable = Doubts(view, store.journal), view.readable(who)
        rows = {id: row for id in ids if (row := view.columns.row(id)) is not None}
        doubted = {id: found.newest(row, readable, parts=True) for id, row in rows.items()}
    return {id: by for id, by in doubted.items() if by}


SHORTEST = 8
"""Characters of an id that people are shown at least: a quarter of a second in time, so what is
stored later will hardly begin with them."""
_NAMED = 5
"""Ids that the error about an ambiguous prefix names."""


def whole_id(store: MemoryStore, who: Identity, given: str) -> str:
    """The id that begins with *given* among those that *who* may read; *given* if none does.

    Raises InvalidInput when several do.
    """
    store.catch_up()
    with store.reading() as view:
        return _begun(given, _ids(view, who))


def whole_run(store: MemoryStore, who: Identity, given: str) -> str:
    """The id of a run of *who* that begins with *given*, as whole_id."""
    return _begun(given, (run.target for run in store.journal.runs() if run.actor == who.agent))


def _begun(given: str, ids: Iterable[str]) -> str:
    if not is_prefix(given):
        return given
    found = [id for id in ids if id.startswith(given)]
    if len(found) > 1:
        some = ", ".join(sorted(found)[:_NAMED]) + ", ..." * (len(found) > _NAMED)
        raise InvalidInput(
            f"{given} is the beginning of {len(found)} ids: {some}", "give more characters of it"
        )
    return found[0] if found else given


def short_ids(store: MemoryStore, who: Identity, ids: Iterable[str]) -> dict[str, str]:
    """Of each of *ids* that *who* may read the shortest beginning that no other one has.

    SHORTEST characters at least.
    """
    ids = list(ids)
    store.catch_up()
    with store.reading() as view:
        near: dict[str, list[str]] = {id[:SHORTEST]: [] for id in ids}
        for id in _ids(view, who):
            if id[:SHORTEST] in near:
                near[id[:SHORTEST]].append(id)
    shortest: dict[str, str] = {}
    for alike in near.values():
        between = [0, *starmap(_shared, pairwise(sorted(alike))), 0]
        for place, id in enumerate(sorted(alike)):
            shortest[id] = id[: max(SHORTEST, between[place] + 1, between[place + 1] + 1)]
    return {id: shortest.get(id, id) for id in ids}


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))


def _ids(view: View, who: Identity) -> Iterator[str]:
    return (view.columns.id(int(row)) for row in np.flatnonzero(view.readable(who)))


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


def exported(store: MemoryStore, who: Identity) -> Iterator[dict[str, Any]]:
    """Every memory that *who* may read, as Memory.export returns it."""
    for memory in readable(store, who):
        found = links(store, who, memory.id)
        kept = [asdict(link) for link in found if link.kind != DERIVED_FROM]
        times = stamps(store.journal, memory.id).exported()
        more = {"links": kept, "stamps": times}
        yield jsonl.to_record(memory) | {name: value for name, value in more.items() if value}


def readable(store: MemoryStore, who: Identity) -> Iterator[MemoryRecord]:
    """Every memory that *who* may read, in the order in which they were first stored."""
    store.catch_up()
    with store.reading() as view:
        rows = np.flatnonzero(view.readable(who))
        ids = [view.columns.id(int(row)) for row in rows]
    for start in range(0, len(ids), BATCH):
        found = store.memories(ids[start : start + BATCH])
        yield from (found[id] for id in ids[start : start + BATCH] if id in found)
