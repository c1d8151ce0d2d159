"""What is stored later than it was said, or embedded later than it was stored.

Then the relations are those that would have been found in the order of time and with the vectors at
hand: later memories bear on the new one, and doubts between others fall away where it is as near to
the later one as what that puts in doubt. Only other wordings of what is in doubt late are not
looked at again.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from memory_core.beliefs import competing
from memory_core.beliefs.compare import compare, compare_wording
from memory_core.beliefs.competing import Nearness
from memory_core.embedding.base import Profile
from memory_core.link_kinds import DOUBTING, HOLDS
from memory_core.records import DERIVED, MemoryRecord, elapsed
from memory_core.remember import relate
from memory_core.remember.prepared import Doubt, Overtaken, Prepared
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View


def relate_late(
    store: MemoryStore, prepared: Prepared, profile: Profile, now: float = math.inf
) -> Prepared:
    """*prepared* with what the memories of *store* say of it that were said after it.

    Unless it is said *now* (epoch seconds), when it is the last one, however others are dated, or
    is derived: then it is none that others stand beside.
    """
    memory = prepared.memory
    if (
        prepared.replaces
        or memory.kind in DERIVED
        or elapsed(memory.occurred_at, now) < relate.LIVE_SECONDS
    ):
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
    doubted_by, withdrawn = [], []
    for other in later:
        with store.reading() as view:
            doubted = _doubted(view, other)
        beside = _beside(store, prepared, other, near[other.id], profile)
        marked = store.indexed(doubted).values()
        what = compare(memory, other, beside[memory.id])
        if what is None:
            wordings = (compare_wording(memory, other, older) for older in marked)
            what = next(filter(None, wordings), None)
        if what is not None:
            doubted_by.append(Doubt(other.id, what))
        for older in marked:
            as_it_is = beside.get(older.id, competing.UNKNOWN)
            alone = replace(as_it_is, margin=competing.APART, ahead=competing.APART, worded=True)
            if compare(older, other, alone) and not compare(older, other, as_it_is):
                withdrawn.append((other.id, older.id))
    return replace(prepared, overtaken=Overtaken(doubted_by, withdrawn))


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


def _doubted(view: View, newer: MemoryRecord) -> list[str]:
    """The ids of what *newer* puts in doubt."""
    graph, row = view.graph, view.columns.row(newer.id)
    if row is None:
        return []
    return [
        view.columns.id(older)
        for kind in DOUBTING
        for older in graph.targets(row, kind)
        if graph.weight(row, older, kind) >= HOLDS
    ]
