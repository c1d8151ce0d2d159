"""What a judge is asked about although nothing doubts it: what lies near a new memory.

Most changes are told without a word of change, and no rule finds each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory_core.beliefs import authority
from memory_core.beliefs.compare import is_note
from memory_core.embedding.base import Profile
from memory_core.link_kinds import KNOWN
from memory_core.records import DERIVED, Identity, MemoryRecord
from memory_core.remember import relate
from memory_core.remember.prepared import Prepared
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View

LATEST = 40
"""The newest memories that a judge looks at when many came at once; none before them."""

LEAST = 0.3
"""The cosine, in the packaged model's range, from which a pair is a candidate. Nearly all labelled
corrections have it: tests/bench/judges.py counts them."""

NEAR = 0.45
"""The cosine from which a model on this machine is asked, as in an earlier system."""

ASKED = 1
"""About how many of the nearest a model that costs something is asked. Of 62 labelled corrections
60 lie nearer to what they correct than their background (docs/internals/evaluation.md)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An earlier memory near a later one, by id, and their cosine in the packaged model's range."""

    older: str
    newer: str
    cosine: float


def latest(view: View, after: float) -> tuple[list[str], float]:
    """The ids of at most LATEST memories stored since *after*, and when the last one was.

    Epoch seconds; what is derived is none of them.
    """
    columns = view.columns
    rows = np.flatnonzero(columns.live & (columns.recorded_at > after))
    if not rows.size:
        return [], after
    rows = rows[np.argsort(columns.recorded_at[rows], kind="stable")]
    return [columns.id(int(row)) for row in rows[-LATEST:]], float(columns.recorded_at[rows[-1]])


def candidates(
    store: MemoryStore, memory: MemoryRecord, profile: Profile
) -> list[Candidate] | None:
    """What the speaker of *memory*, a note, said before and it may change, the nearest first.

    Nothing that a link relates to it. None while it has no vector. A turn of talk says much in
    passing, and what is extracted from it is a note.
    """
    if memory.kind in DERIVED or not is_note(memory) or memory.superseded_by:
        return []
    with store.reading() as view:
        row = view.columns.row(memory.id)
        if row is None:
            return []
        if view.vectors is None:
            return None
        vector = view.vectors.wholes(np.array([row], dtype=np.int64))
        if not np.isfinite(vector).all():
            return None
        who = Identity(memory.agent, memory.team)
        prepared = Prepared(who, memory, fingerprint=view.fingerprint, vectors=vector)
        allowed = relate.of_speaker(view, memory) & relate.said_before(view, memory)
        allowed &= ~view.columns.superseded
        near = relate.comparable(view, prepared, allowed, profile)
        known = {
            view.columns.id(other) for other, kind, _ in view.graph.neighbours(row) if kind in KNOWN
        }
    others = store.indexed(id for id in near if id not in known).values()
    found = [
        Candidate(other.id, memory.id, cosine)
        for other in others
        if (cosine := near[other.id].cosine) is not None and cosine >= LEAST
        if authority.may_doubt(other, memory)
    ]
    return sorted(found, key=lambda each: -each.cosine)
