"""What a recall is asked: its arguments, its filters and the cues read from its text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_core import validation
from memory_core.config import LimitSettings
from memory_core.lifecycle.working_memory import NOTHING, Mind
from memory_core.recall.request import RecallRequest
from memory_core.records import KINDS, VISIBILITIES
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.bm25 import Match
from memory_core.storage.index.columns import Columns
from memory_core.text.question import Period, names_day
from memory_core.text.time import dates

K_MOST = 50
CONTEXT_MOST = 5


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
    rehearse: bool = True
    elsewhere: bool = False
    """Nothing of the session itself is an answer."""
    besides: tuple[str, ...] = ()
    """Ids that are no answer, such as the turn that asks."""
    period: Period | None = None
    """The time that is the whole question ("what did I say last week?")."""
    mind: Mind = NOTHING
    """What the conversation has in mind while it asks."""


def checked(request: RecallRequest, limits: LimitSettings) -> Cues:
    """What *request* asks. Raises InvalidInput or TooLarge for an argument that is not allowed."""
    since, until = validation.period(request.since, request.until)
    known = validation.span(request.as_of, "as_of")
    return Cues(
        query=validation.prose(request.query, "query", limits.query_chars, validation.SHORTEN)[0],
        k=validation.whole(request.k, "k", 1, K_MOST),
        scope=validation.one_of(request.scope, "scope", VISIBILITIES),
        kinds=tuple(
            validation.one_of(kind, "kinds", KINDS)
            for kind in validation.labels(request.kinds, "kinds")
        ),
        tags=validation.labels(request.tags, "tags"),
        speaker=validation.label(request.speaker, "speaker"),
        session=validation.label(request.session, "session"),
        since=since,
        until=until,
        as_of=None if known is None else known[1],
        context=validation.whole(request.context, "context", 0, CONTEXT_MOST),
        explain=validation.flag(request.explain, "explain"),
        rehearse=validation.flag(request.rehearse, "rehearse"),
        elsewhere=validation.flag(request.elsewhere, "elsewhere"),
    )


def valid(columns: Columns, as_of: float | None) -> Mask:
    """True for rows that had not been replaced; with *as_of*, for what was known at that moment."""
    if as_of is None:
        return ~columns.replaced
    standing = ~columns.replaced | (columns.superseded_at > as_of)
    return standing & (columns.recorded_at <= as_of)


def narrowing(columns: Columns, cues: Cues) -> dict[str, Mask]:
    """What each filter of *cues* lets through, by the argument's name; without those unset."""
    fitting: dict[str, Mask] = {}
    if cues.scope:
        fitting["scope"] = columns.visibility == VISIBILITIES.index(cues.scope)
    if cues.kinds:
        fitting["kinds"] = np.isin(columns.kind, [KINDS.index(kind) for kind in cues.kinds])
    if cues.speaker:
        fitting["speaker"] = columns.speaker == columns.code(cues.speaker, "speaker")
    if cues.since is not None:
        fitting["since"] = columns.occurred_at >= cues.since
    if cues.until is not None:
        fitting["until"] = columns.occurred_at <= cues.until
    if cues.period is not None:
        fitting["period"] = _within(columns, cues.period)
    if cues.tags:
        fitting["tags"] = np.all([columns.tagged(tag) for tag in cues.tags], axis=0)
    if cues.besides:
        besides = np.ones(len(columns), np.bool_)
        besides[[row for row in map(columns.row, cues.besides) if row is not None]] = False
        fitting["besides"] = besides
    return fitting


def _within(columns: Columns, period: Period) -> Mask:
    """True for what was said in *period*, or, if it asks what happened, names a day of it."""
    at = columns.occurred_at
    within: Mask = (at >= period.first) & (at <= period.last)
    if not period.said:
        for row in np.flatnonzero(~within).tolist():
            within[row] = any(names_day(date, period) for date in columns.dates(row))
    return within


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, with all that can be told of it before looking at a single memory.

    *words* is how its words fit every row, *names* which of them belong to a name; *dates* are
    those that it names, *asks_when* whether it asks for one; *order* is 1 when it asks for the
    latest, -1 for the first; *vector* is None while there is no model. *facts* are the rows of
    extracted facts that lend to their sources, None when none do. *told* is the vector of the
    question as those whom it names would put it, None where it names nobody who speaks. *standing*
    are the rows that say how the user wants things done, None unless help is asked for; *answered*
    is True when it asks what the assistant said; *named* are the codes of speakers whom it names.
    """

    cues: Cues
    vector: NDArray[np.float32] | None
    words: Match
    dates: dates.DateCue
    asks_when: bool
    names: frozenset[str] = frozenset()
    order: int = 0
    facts: Mask | None = None
    told: NDArray[np.float32] | None = None
    standing: Mask | None = None
    answered: bool = False
    named: frozenset[int] = frozenset()
