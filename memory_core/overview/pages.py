"""Pages of memories in any state, newest first: current, doubtful, superseded and retired ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_core import validation
from memory_core.interchange import jsonl
from memory_core.lifecycle.doubts import Doubts
from memory_core.link_kinds import DOUBTING
from memory_core.overview import cursors
from memory_core.overview.request import STATES, PageRequest
from memory_core.records import KINDS, TIERS, TRUSTS, VISIBILITIES, Doubted, Identity, MemoryRecord
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.columns import Columns
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View
from memory_core.text.time import timestamps


@dataclass(frozen=True, slots=True)
class Listed:
    """A memory and its state; *doubted_by* is the newest memory that may put it out of date, or a
    part of it.

    That one holds from *doubtful_since* on, in epoch seconds.
    """

    memory: MemoryRecord
    state: str
    doubted_by: str = ""
    doubtful_since: float | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some memories, newest first, and the cursor of the next page; "" after the last one."""

    memories: tuple[Listed, ...]
    next: str = ""


def page(store: MemoryStore, who: Identity, request: PageRequest) -> Page:
    """The page of memories that *who* may read and that *request* asks for.

    What is stored or changed between two pages is on neither twice. Raises InvalidInput or TooLarge
    for an argument that is not allowed.
    """
    limit = validation.whole(request.limit, "limit", 1, cursors.MOST)
    after = cursors.decode(request.cursor, (int, float), str)
    state = validation.one_of(request.state, "state", STATES)
    store.catch_up()
    with store.reading() as view:
        mask = _fitting(view, who, request)
        doubts = Doubts(view, store.journal)
        if state == "doubtful":
            held = np.zeros(len(view.columns), np.bool_)
            held[_doubtful(doubts, view.readable(who))] = True
            mask &= held & ~view.columns.superseded & np.isinf(view.columns.retired_at)
        elif state == "superseded":
            mask &= view.columns.superseded & np.isinf(view.columns.retired_at)
        elif state == "retired":
            mask &= np.isfinite(view.columns.retired_at)
        elif state == "current":
            mask &= ~view.columns.superseded & np.isinf(view.columns.retired_at)
            mask[_doubtful(doubts, view.readable(who))] = False
        ids, more = _newest(view, mask, after, limit)
    found = listed(store, who, ids)
    last = found[-1].memory if found else None
    following = cursors.encode((last.occurred_at, last.id)) if more and last is not None else ""
    return Page(tuple(found), following)


def listed(store: MemoryStore, who: Identity, ids: Iterable[str]) -> list[Listed]:
    """The memories of *ids* that *who* may read, in that order, with the state of each."""
    ids = [id for id in ids if store.may_read(who, id)]
    held = store.memories(ids)
    with store.reading() as view:
        doubts, readable = Doubts(view, store.journal), view.readable(who)
        rows = {id: row for id in ids if (row := view.columns.row(id)) is not None}
        doubted = {
            id: by
            for id, row in rows.items()
            if (by := doubts.newest(row, readable, parts=True)) and by.since is not None
        }
    return [_listed(held[id], doubted.get(id)) for id in ids if id in held]


def _doubtful(doubts: Doubts, readable: Mask) -> list[int]:
    """The rows that are in doubt, wholly or in part."""
    return [older for kind in DOUBTING for older, _ in doubts.pairs(readable, kind)]


def fields(listed: Listed) -> dict[str, Any]:
    """Every field of the memory ready for JSON, its state, and what puts it in doubt since when."""
    since = listed.doubtful_since
    return {
        **jsonl.to_record(listed.memory),
        "state": listed.state,
        "doubted_by": listed.doubted_by,
        "doubtful_since": None if since is None else timestamps.iso(since),
    }


def _listed(memory: MemoryRecord, doubted: Doubted | None) -> Listed:
    if memory.retired_at is not None:
        return Listed(memory, "retired")
    if memory.superseded_by:
        return Listed(memory, "superseded")
    if doubted is None:
        return Listed(memory, "current")
    return Listed(memory, "doubtful", doubted.by, doubted.since)


def _fitting(view: View, who: Identity, request: PageRequest) -> Mask:
    """The readable rows that pass every filter but the state."""
    columns, mask = view.columns, view.readable(who)
    since, until = validation.period(request.since, request.until)
    for name, allowed in (("kind", KINDS), ("tier", TIERS), ("trust", TRUSTS)):
        value = validation.one_of(getattr(request, name), name, allowed)
        if value:
            mask &= getattr(columns, name) == columns.code(value, name)
    if scope := validation.one_of(request.scope, "scope", VISIBILITIES):
        mask &= columns.visibility == columns.code(scope, "visibility")
    for name in ("agent", "session"):
        value = validation.text(getattr(request, name), name, validation.LABEL_CHARS)
        if value:
            mask &= getattr(columns, name) == columns.code(value, name)
    if speaker := validation.text(request.speaker, "speaker", validation.LABEL_CHARS):
        mask &= columns.called(speaker, "speaker")
    for tag in validation.labels(request.tags, "tags"):
        mask &= _tagged(columns, tag.casefold())
    if topic := validation.text(request.topic, "topic", validation.QUERY_CHARS):
        mask &= columns.called(topic, "topic")
    if entity := validation.text(request.entity, "entity", validation.QUERY_CHARS):
        naming = np.zeros(len(columns), np.bool_)
        naming[view.graph.entity_rows(entity)] = True
        mask &= naming
    if least := validation.number(request.importance, "importance", 0.0, 1.0):
        mask &= columns.importance >= np.float32(least)
    if since is not None:
        mask &= columns.occurred_at >= since
    if until is not None:
        mask &= columns.occurred_at <= until
    return mask


def _tagged(columns: Columns, folded: str) -> Mask:
    return columns.tagged_as(lambda each: each.casefold() == folded)


def _newest(
    view: View, mask: Mask, after: tuple[float, str] | None, limit: int
) -> tuple[list[str], bool]:
    """The ids of at most *limit* rows of *mask*, newest first, and whether there are more.

    Only rows after the sort key *after*: the time when it happened, and the id.
    """
    columns = view.columns
    if after is not None:
        mask &= columns.occurred_at <= after[0]
    rows = np.flatnonzero(mask)
    ids = np.array([columns.id(int(row)) for row in rows], dtype=np.str_)
    times = columns.occurred_at[rows]
    if after is not None:
        later = (times < after[0]) | (ids < after[1])
        rows, ids, times = rows[later], ids[later], times[later]
    order = np.lexsort((ids, times))[::-1]
    return [str(id) for id in ids[order[:limit]]], len(order) > limit
