"""What is stored later than it was said, or embedded later than it was stored.

Then the relations are those that would have been found in the order of time and with the vectors at
hand: later memories bear on the new one, and doubts between others fall away where it is as near to
the later one as what that puts in doubt.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from memory_core.embedding.base import Profile
from memory_core.records import MemoryRecord, elapsed, scope
from memory_core.relations import competing, corrections
from memory_core.relations.competing import Nearness
from memory_core.relations.corrections import Correction
from memory_core.relations.duplicates import DOUBTS, DOUBTS_PART, HOLDS
from memory_core.remember import relate
from memory_core.remember.commit import Doubt, Overtaken, Prepared
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View
from memory_core.text import quoted


def relate_late(
    store: MemoryStore, prepared: Prepared, profile: Profile, now: float = math.inf
) -> Prepared:
    """*prepared* with what the memories of *store* say of it that were said after it.

    Unless it is said *now* (epoch seconds), when it is the last one, however others are dated.
    """
    memory = prepared.memory
    if prepared.replaces or elapsed(memory.occurred_at, now) < relate.LIVE_SECONDS:
        return prepared
    with store.reading() as view:
        after = ~relate.said_before(view, memory)
        if (row := view.columns.row(memory.id)) is not None:
            after[row] = False
        allowed = relate.of_speaker(view, memory) & after
        near = relate.comparable(view, prepared, allowed, profile) if allowed.any() else {}
    if not near:
        return prepared
    later = sorted(store.indexed(near).values(), key=lambda other: (other.occurred_at, other.id))
    corrected_by = {
        other.id: found
        for other in later
        if _within_reach(memory, other, near[other.id])
        and (found := _correction(memory, other)) is not None
    }
    doubted_by, withdrawn = [], []
    for other in later:
        with store.reading() as view:
            doubted = _doubted(view, other)
        apart = other.id in corrected_by or not corrections.may_doubt(memory, other)
        then, said = quoted.claimed(memory), quoted.claimed(other)
        beside = _beside(store, prepared, other, near[other.id], profile)
        what = None
        if not apart:
            what = relate.found_out_of_date(then, said, (), beside[memory.id])
        if what and not relate.is_exception(memory, other, what):
            doubted_by.append(Doubt(other.id, what))
        for older in store.indexed(doubted).values():
            as_it_is = beside.get(older.id, relate.UNKNOWN)
            alone = replace(as_it_is, margin=competing.APART, ahead=competing.APART, worded=True)
            chance = relate.doubted(older, other, alone)
            if chance and not relate.doubted(older, other, as_it_is):
                withdrawn.append((other.id, older.id))
    return replace(prepared, overtaken=Overtaken(corrected_by, doubted_by, withdrawn))


def _beside(
    store: MemoryStore, prepared: Prepared, later: MemoryRecord, near: Nearness, profile: Profile
) -> dict[str, Nearness]:
    """How near what was said before the *later* memory is to it, the one of *prepared* included."""
    memory = prepared.memory
    with store.reading() as view:
        row = view.columns.row(later.id)
        if prepared.vectors is None or near.cosine is None or row is None or view.vectors is None:
            return {memory.id: near}
        vectors = view.vectors.wholes(np.array([row], dtype=np.int64))
        allowed = relate.of_speaker(view, later) & relate.said_before(view, later)
        beside = relate.comparable(
            view,
            replace(prepared, memory=later, vectors=vectors),
            allowed & ~view.columns.superseded,
            profile,
            also=prepared,
        )
    first = next((id for id, each in beside.items() if each.worded), "")
    terms = set(index_terms(later.text))  # the memory may be in no index yet
    shared = [
        len(terms.intersection(index_terms(each.text)))
        for each in (memory, *store.indexed([first]).values())
    ]
    worded = memory.id if len(shared) < 2 or shared[0] > shared[1] else first
    return {id: replace(each, worded=id == worded) for id, each in beside.items()}


def _within_reach(older: MemoryRecord, newer: MemoryRecord, near: Nearness) -> bool:
    """True for what *newer* would have been compared with for a correction when it was written."""
    names = [{name.casefold() for name in each.entities} for each in (older, newer)]
    related = near.cosine is not None and near.cosine >= relate.PACKAGED.related
    return related or not names[0].isdisjoint(names[1])


def _correction(older: MemoryRecord, newer: MemoryRecord) -> Correction | None:
    """How *newer* clearly corrects *older*, in its own words; None when it does not."""
    if scope(older) != scope(newer) or not corrections.decides(newer):
        return None
    found = corrections.correction(corrections.said(older), corrections.said(newer))
    return found if found is not None and found.clear else None


def _doubted(view: View, newer: MemoryRecord) -> list[str]:
    """The ids of what *newer* puts in doubt."""
    graph, row = view.graph, view.columns.row(newer.id)
    if row is None:
        return []
    return [
        view.columns.id(older)
        for kind in (DOUBTS, DOUBTS_PART)
        for older in graph.targets(row, kind)
        if graph.weight(row, older, kind) >= HOLDS
    ]
