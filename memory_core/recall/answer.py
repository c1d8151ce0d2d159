"""The last stage of a recall: what comes with the chosen memories, and the answer as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memory_core.lifecycle.working_memory import Activation
from memory_core.recall.query import Cues
from memory_core.records import Hit, MemoryRecord, Neighbour, Recollection
from memory_core.scoring import calibration
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.columns import Columns
from memory_core.storage.store import MemoryStore

RECENT_TURNS = 5
"""Turns of the current conversation that are offered verbatim (seed row A4.2)."""

MOST_REJECTED = 8
"""Rejected memories that an explanation shows."""

LEXICAL_ONLY = "the embedding model is not ready: this answer is lexical only"


Why = dict[str, float | str]
"""What speaks for a memory, by name of the signal; see explanation."""


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
    """The rows that answer, best first, with the evidence of the best.

    *why* has one entry a row, or none at all when nobody asked; *rejected* are the best of those
    that do not answer, *active* those of the rows that the cue really brought to mind.
    """

    rows: Sequence[int] = ()
    scores: Sequence[float] = ()
    why: Sequence[Why] = ()
    rejected: Sequence[Rejected] = ()
    confidence: float = 0.0
    active: Sequence[Activation] = ()
    together: Sequence[str] = ()
    """Ids that the cue clearly brought up, chosen or not."""
    folded: Sequence[int] = ()
    """Rows that some of the chosen ones stand for."""


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
        [columns.id(each.row) for each in chosen.rejected],
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
    rows = store.indexed([*found.hits, *around, *found.recent, *found.rejected])
    rejected = tuple(
        Hit(rows[id], round(each.score, 4), why=each.why)
        for id, each in zip(found.rejected, chosen.rejected, strict=True)
        if id in rows
    )
    rows = {id: row for id, row in rows.items() if replaced or not row.replaced}
    hits = tuple(
        Hit(
            rows[id],
            round(chosen.scores[place], 4),
            _neighbours(rows, found.before[place]),
            _neighbours(rows, found.after[place]),
            chosen.why[place] if chosen.why else {},
        )
        for place, id in enumerate(found.hits)
        if id in rows
    )
    answer = _answer(hits, chosen.confidence, rejected)
    note = LEXICAL_ONLY if lexical_only else ""
    return replace(answer, recent=_neighbours(rows, found.recent), note=note)


def _answer(hits: tuple[Hit, ...], confidence: float, rejected: tuple[Hit, ...]) -> Recollection:
    """What was found, or, where the evidence is too weak, half-matches instead of filler."""
    feeling = calibration.feeling(confidence) if hits else "none"
    if feeling != "none":
        return Recollection(True, round(confidence, 3), feeling, hits, rejected=rejected)
    doubtful = tuple(replace(hit, before=(), after=(), why=_doubted(hit.why)) for hit in hits)
    return Recollection(
        found=False,
        confidence=round(confidence if hits else 0.0, 3),
        feeling=feeling,
        partial=doubtful[: calibration.PARTIALS],
        rejected=(*(h for h in doubtful[calibration.PARTIALS :] if h.why), *rejected)[
            :MOST_REJECTED
        ],
    )


def _doubted(why: Mapping[str, float | str]) -> Mapping[str, float | str]:
    return {**why, "rejected": "below_confidence"} if why else why


def _neighbours(rows: dict[str, MemoryRecord], ids: Sequence[str]) -> tuple[Neighbour, ...]:
    found = (rows[id] for id in ids if id in rows)
    return tuple(Neighbour(m.id, m.speaker or m.role, m.text, m.occurred_at) for m in found)
