"""The last stage of a recall: what comes with the chosen memories, and the answer as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from memory_core.records import Hit, Memory, Neighbour, Recollection
from memory_core.scoring import metamemory
from memory_core.storage.columns import Columns
from memory_core.storage.store import MemoryStore

Mask = NDArray[np.bool_]

RECENT_TURNS = 5
"""Turns of the current conversation that are offered verbatim (seed row A4.2)."""

LEXICAL_ONLY = "the embedding model is not ready: this answer is lexical only"


@dataclass(frozen=True, slots=True)
class Cues:
    """What is asked, checked and in our terms; times are inclusive epoch seconds or None."""

    query: str
    k: int = 8
    scope: str = ""
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    speaker: str = ""
    session: str = ""
    since: float | None = None
    until: float | None = None
    as_of: float | None = None
    context: int = 1
    explain: bool = False
    besides: tuple[str, ...] = ()
    """Ids that are no answer, such as the turn that asks."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows that answer, best first, with the evidence of the best; *why* one entry a row."""

    rows: Sequence[int] = ()
    scores: Sequence[float] = ()
    why: Sequence[dict[str, float | str]] = ()
    confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Located:
    """Ids of the chosen rows, of those around each in its thread, and of the session's last turns.

    Empty lists where nothing was asked for.
    """

    hits: list[str]
    before: list[list[str]] = field(default_factory=list)
    after: list[list[str]] = field(default_factory=list)
    recent: list[str] = field(default_factory=list)


def valid(columns: Columns, as_of: float | None) -> Mask:
    """True for rows that had not been replaced; with *as_of*, for what was known at that moment."""
    if as_of is None:
        return ~columns.replaced
    standing = ~columns.replaced | (columns.superseded_at > as_of)
    return standing & (columns.recorded_at <= as_of)


def locate(columns: Columns, agent: str, cues: Cues, chosen: Chosen, shown: Mask) -> Located:
    """Where the neighbours and the recent turns of *agent* are; only rows that are *shown*.

    Call inside store.reading().
    """
    recent: list[str] = []
    if cues.session:
        mine = columns.agent == columns.code(agent, "agent")
        talk = columns.session == columns.code(cues.session, "session")
        rows = np.flatnonzero(shown & mine & talk)
        order = np.lexsort((columns.position[rows], columns.recorded_at[rows]))
        recent = [columns.id(int(row)) for row in rows[order][-RECENT_TURNS:]]
    return Located(
        [columns.id(row) for row in chosen.rows],
        [_along(columns, row, -1, cues.context, shown)[::-1] for row in chosen.rows],
        [_along(columns, row, 1, cues.context, shown) for row in chosen.rows],
        recent,
    )


def _along(columns: Columns, row: int, step: int, most: int, shown: Mask) -> list[str]:
    """Up to *most* ids that are *shown*, from *row* along its thread, nearest first."""
    found: list[str] = []
    while len(found) < most:
        following = columns.neighbours(row, step)
        if following is None:
            break
        row = following
        if shown[row]:
            found.append(columns.id(row))
    return found


def attach(
    store: MemoryStore,
    cues: Cues,
    chosen: Chosen,
    found: Located,
    *,
    lexical_only: bool,
    replaced: bool,
) -> Recollection:
    """The answer: the memories of *chosen* with their neighbours, and how sure it is.

    With *replaced* False, what somebody has replaced since it was located is left out.
    """
    around = [id for ids in (*found.before, *found.after) for id in ids]
    rows = store.indexed([*found.hits, *around, *found.recent])
    rows = {id: row for id, row in rows.items() if replaced or not row.replaced}
    hits = tuple(
        Hit(
            rows[id],
            round(chosen.scores[place], 4),
            _neighbours(rows, found.before[place]),
            _neighbours(rows, found.after[place]),
            chosen.why[place] if cues.explain else {},
        )
        for place, id in enumerate(found.hits)
        if id in rows
    )
    return _answer(hits, chosen.confidence, _neighbours(rows, found.recent), lexical_only)


def _answer(
    hits: tuple[Hit, ...], confidence: float, recent: tuple[Neighbour, ...], lexical_only: bool
) -> Recollection:
    feeling = metamemory.feeling(confidence) if hits else "none"
    found = feeling != "none"
    partial = hits[: metamemory.PARTIALS] if not found else ()
    return Recollection(
        found=found,
        confidence=round(confidence if hits else 0.0, 3),
        feeling=feeling,
        hits=hits if found else (),
        recent=recent,
        partial=tuple(replace(hit, before=(), after=()) for hit in partial),
        note=LEXICAL_ONLY if lexical_only else "",
    )


def _neighbours(rows: dict[str, Memory], ids: Sequence[str]) -> tuple[Neighbour, ...]:
    found = (rows[id] for id in ids if id in rows)
    return tuple(Neighbour(m.id, m.speaker or m.role, m.text, m.occurred_at) for m in found)
