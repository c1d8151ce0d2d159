"""The last step of a recall: the memories around the chosen ones, and the answer as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memory_core.lifecycle.doubts import Doubts
from memory_core.lifecycle.working_memory import Activation
from memory_core.recall import pending
from memory_core.recall.query import Query
from memory_core.records import (
    UNDOUBTED,
    Doubted,
    Hit,
    Identity,
    MemoryRecord,
    Neighbour,
    Recollection,
)
from memory_core.scoring import calibration
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.columns import Columns
from memory_core.storage.journal.journal import Journal
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View

RECENT_TURNS = 5
"""Turns of the current conversation that are returned verbatim."""

MOST_REJECTED = 8
"""Rejected memories that an explanation shows."""

LEXICAL_ONLY = "the embedding model is not ready: this answer is lexical only"


Why = dict[str, float | str]
"""The evidence for a memory, by name of the signal; see explanation."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that was considered and does not answer, its score, and why; only for an explanation.

    *why* holds the reason as "rejected".
    """

    row: int
    score: float
    why: Why


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows that answer, best first, and how sure that is.

    *why* has one entry a row, none at all without an explanation; *rejected* are the best of those
    that do not answer.
    """

    rows: Sequence[int] = ()
    scores: Sequence[float] = ()
    why: Sequence[Why] = ()
    rejected: Sequence[Rejected] = ()
    confidence: float = 0.0
    folded: Sequence[int] = ()
    """Rows that some of the chosen ones stand for."""
    active: Sequence[Activation] = ()
    """What the query activates of *rows*; see rehearsal.activated."""
    together: Sequence[str] = ()
    """Ids that the query clearly brought up, chosen or not; see rehearsal.together."""


@dataclass(frozen=True, slots=True)
class Located:
    """Ids of the chosen rows, of those around each in its thread, and of the session's last turns.

    Empty lists where nothing was asked for.
    """

    hits: list[str]
    before: list[list[str]] = field(default_factory=list)
    after: list[list[str]] = field(default_factory=list)
    recent: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    doubted: Mapping[str, Doubted] = field(default_factory=dict)
    """By what the hits are put in doubt that are."""


def locate(
    view: View, who: Identity, query: Query, chosen: Chosen, valid: Mask, journal: Journal
) -> Located:
    """The ids of what answers; neighbours and recent turns are *valid* rows only.

    The recent turns are those that *who* has in the session of *query*.
    """
    columns, readable = view.columns, view.readable(who)
    known = Doubts(view, journal, query.as_of)
    doubted = {row: known.newest(row, readable, parts=True) for row in chosen.rows}
    recent: list[str] = []
    if query.session:
        mine = columns.agent == columns.code(who.agent, "agent")
        talk = columns.session == columns.code(query.session, "session")
        rows = np.flatnonzero(valid & mine & talk)
        order = np.lexsort((columns.position[rows], columns.recorded_at[rows]))
        recent = [columns.id(int(row)) for row in rows[order][-RECENT_TURNS:]]
    return Located(
        [columns.id(row) for row in chosen.rows],
        [_along(columns, row, -1, query.context, valid)[::-1] for row in chosen.rows],
        [_along(columns, row, 1, query.context, valid) for row in chosen.rows],
        recent,
        [columns.id(each.row) for each in chosen.rejected],
        {columns.id(row): by for row, by in doubted.items() if by},
    )


def _along(columns: Columns, row: int, step: int, most: int, valid: Mask) -> list[str]:
    """Up to *most* ids that are *valid*, from *row* along its thread, nearest first."""
    found: list[str] = []
    while len(found) < most:
        following = columns.neighbours(row, step)
        if following is None:
            break
        row = following
        if valid[row]:
            found.append(columns.id(row))
    return found


def attach(
    store: MemoryStore,
    chosen: Chosen,
    located: Located,
    *,
    lexical_only: bool,
    replaced: bool,
    waiting: int = 0,
    unmet: str = "",
    as_of: float | None,
    context: bool,
) -> Recollection:
    """The answer: the memories of *chosen* with their neighbours, and how sure it is.

    *waiting* memories were searched by words only; *unmet* says which filter no memory passed. With
    *context*, what leads up to a hit is shown before it. With *replaced* False, memories that were
    replaced since they were located are left out. What superseded a memory later than *as_of* is
    not shown.
    """
    around = [id for ids in (*located.before, *located.after) for id in ids]
    memories = store.indexed([*located.hits, *around, *located.recent, *located.rejected])
    rejected = tuple(
        Hit(memories[id], round(each.score, 4), why=each.why)
        for id, each in zip(located.rejected, chosen.rejected, strict=True)
        if id in memories
    )
    memories = {id: m for id, m in memories.items() if replaced or not m.replaced}
    hits = tuple(
        Hit(
            _as_known(memories[id], as_of),
            round(chosen.scores[place], 4),
            (
                *_neighbours(memories, located.before[place]),
                *(_lead(memories[id]) if context else ()),
            ),
            _neighbours(memories, located.after[place]),
            chosen.why[place] if chosen.why else {},
            *located.doubted.get(id, UNDOUBTED),
        )
        for place, id in enumerate(located.hits)
        if id in memories
    )
    recollection = _recollection(hits, chosen.confidence, rejected)
    note = unmet or (LEXICAL_ONLY if lexical_only else pending.note(waiting))
    return replace(recollection, recent=_neighbours(memories, located.recent), note=note)


def _as_known(memory: MemoryRecord, as_of: float | None) -> MemoryRecord:
    """*memory* as it was before what was decided later than *as_of*."""
    if as_of is None or memory.superseded_at is None or memory.superseded_at <= as_of:
        return memory
    return replace(memory, superseded_by="", superseded_at=None, replaced=False)


def _recollection(
    hits: tuple[Hit, ...], confidence: float, rejected: tuple[Hit, ...]
) -> Recollection:
    """What was found; where the evidence is too weak, a few partial matches in its place."""
    feeling = calibration.feeling(confidence) if hits else "none"
    if feeling != "none":
        return Recollection(True, round(confidence, 3), feeling, hits, rejected=rejected)
    weak = tuple(replace(hit, before=(), after=(), why=_as_weak(hit.why)) for hit in hits)
    partial, others = weak[: calibration.PARTIALS], weak[calibration.PARTIALS :]
    return Recollection(
        found=False,
        confidence=round(confidence if hits else 0.0, 3),
        feeling=feeling,
        partial=partial,
        rejected=(*(hit for hit in others if hit.why), *rejected)[:MOST_REJECTED],
    )


def _as_weak(why: Mapping[str, float | str]) -> Mapping[str, float | str]:
    return {**why, "rejected": "below_confidence"} if why else why


def _neighbours(memories: dict[str, MemoryRecord], ids: Sequence[str]) -> tuple[Neighbour, ...]:
    """The turns of *ids*, each after what leads up to it."""
    found = [memories[id] for id in ids if id in memories]
    return tuple(
        turn
        for m in found
        for turn in (*_lead(m), Neighbour(m.id, m.speaker or m.role, m.text, m.occurred_at))
    )


def _lead(memory: MemoryRecord) -> list[Neighbour]:
    """What was said right before *memory* and is no memory."""
    said = (each.partition(": ") for each in memory.lead)
    return [Neighbour("", speaker, text, memory.occurred_at) for speaker, _, text in said]
