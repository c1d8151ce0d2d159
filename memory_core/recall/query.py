"""What is asked: the arguments of a recall, checked, and everything that ranking knows of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory_core import validation
from memory_core.beliefs import question
from memory_core.config import DecaySettings
from memory_core.embedding.base import Profile
from memory_core.lifecycle.doubts import Doubts
from memory_core.lifecycle.working_memory import Mind
from memory_core.recall.request import EVIDENCE, RecallRequest, Weights
from memory_core.records import FACT_KINDS, KINDS, PROJECT, VISIBILITIES, Identity
from memory_core.scoring.arrays import Mask, Rows
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.index.bm25 import Match
from memory_core.storage.index.columns import Columns
from memory_core.storage.view import View
from memory_core.text.names.entities import entities
from memory_core.text.time import dates
from memory_core.text.time.mentions import asks_what_was_before

K_MOST = 50
CONTEXT_MOST = 5


@dataclass(frozen=True, slots=True)
class Query:
    """The arguments of a recall, checked; times are inclusive epoch seconds or None."""

    text: str
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
    """No memory of the session itself is an answer."""
    project: str = ""
    """The name of the project of which, or of none, an answer is; "" for any."""
    cut: bool = False
    """What is far behind the best is no answer."""
    topic: str = ""
    entity: str = ""
    importance: float = 0.0
    weights: Weights = EVIDENCE
    besides: tuple[str, ...] = ()
    """Ids that are no answer, such as the turn that asks."""

    @property
    def asks_for_facts(self) -> bool:
        """True when *kinds* names a kind of which facts are extracted."""
        return not set(FACT_KINDS).isdisjoint(self.kinds)


def checked(request: RecallRequest) -> Query:
    """What *request* asks. Raises InvalidInput or TooLarge for an argument that is not allowed."""
    text, _ = validation.prose(request.query, "query", validation.QUERY_CHARS, validation.SHORTEN)
    since, until = validation.period(request.since, request.until)
    known = validation.span(request.as_of, "as_of")
    return Query(
        text=text,
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
        project=validation.label(request.project, "project"),
        cut=validation.flag(request.cut, "cut"),
        topic=validation.text(request.topic, "topic", validation.QUERY_CHARS),
        entity=validation.text(request.entity, "entity", validation.QUERY_CHARS),
        importance=validation.number(request.importance, "importance", 0.0, 1.0),
        weights=_weights(request.weights),
    )


def _weights(given: Weights) -> Weights:
    """*given*, with each weight checked; shares above 1 together become 1 together."""
    for name in ("recency", "importance", "variety"):
        validation.number(getattr(given, name), f"weights.{name}", 0.0, 1.0)
    validation.number(given.half_life_days, "weights.half_life_days", 0.01, 36_500.0)
    whole = max(1.0, given.recency + given.importance)
    return replace(given, recency=given.recency / whole, importance=given.importance / whole)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of a query, and the *fingerprint* of the model that made them.

    *own* is the vector of the query in the first person, as those whom it names would put it; None
    where it names nobody who speaks. *vector* lies half way between the query's own and *own*.
    """

    vector: NDArray[np.float32] | None = None
    own: NDArray[np.float32] | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Cues:
    """Everything that ranking knows of a query before it looks at a memory; made once."""

    query: Query
    now: float
    """Epoch seconds."""
    decay: DecaySettings
    mmr_lambda: float
    """1 ranks by score alone; lower ones trade it for variety (Carbonell and Goldstein 1998)."""
    profile: Profile
    """Thresholds of the loaded model; the default ones while *has_model* is False."""
    has_model: bool
    mind: Mind
    """Working memory, hot buffer and priming of the conversation that asks."""
    vector: NDArray[np.float32] | None
    """See Embedded; None while the store's model is not loaded."""
    own_vector: NDArray[np.float32] | None
    words: Match
    """How the words of the query match every row."""
    named: tuple[str, ...]
    """The names in the query, as written."""
    names: frozenset[str]
    """The terms of these names."""
    dates: dates.DateCue
    """The dates that the query names."""
    period: question.Period | None
    """The time that is the whole question ("what did I say last week?").

    Where nothing fits it, it is no filter: then nothing is surer than a guess."""
    readable: Mask
    valid: Mask
    """The *readable* rows that nothing had replaced."""
    filters: Mapping[str, Mask]
    """The rows that pass each filter of the query, by the argument's name; without those unset."""
    doubts: Doubts
    """How rows put one another out of date at the moment asked about."""
    past: question.Past | None
    """The earlier time of which the query asks how things were."""
    former: bool
    """The query asks for what held before, or whether it ever did: what was replaced is shown."""


def ask(
    view: View,
    who: Identity,
    query: Query,
    embedded: Embedded,
    *,
    mind: Mind,
    profile: Profile | None,
    decay: DecaySettings,
    mmr_lambda: float,
    now: float,
    doubts: Doubts,
) -> Cues:
    """The cues of *query*, asked by *who* at epoch seconds *now*.

    *embedded* counts only if the store's model made it; *profile* is that of the loaded model.
    """
    same_model = embedded.fingerprint == view.fingerprint and view.vectors is not None
    embedded = embedded if same_model else Embedded()
    readable = view.readable(who)
    days = dates.query_dates(query.text, now)
    filters = _filters(view, query)
    current = readable & valid(view.columns, query.as_of)
    passing = np.logical_and.reduce([current, *filters.values()])
    period, within = _period(view, query, days, passing, readable, now)
    if within is not None:
        filters["period"] = within
    past = None
    if period is None and query.as_of is None:
        past = question.past_asked(query.text, days, now)
    named = tuple(entities(query.text))
    names = frozenset(term for name in named for term in index_terms(name))
    return Cues(
        query,
        now,
        decay,
        min(mmr_lambda, 1.0 - query.weights.variety),
        profile or Profile(),
        profile is not None,
        mind,
        embedded.vector,
        embedded.own,
        view.lexical.match(query.text, literal=names, among=view.among(readable)),
        named,
        names,
        days,
        period,
        readable,
        current,
        filters,
        doubts,
        past,
        past is not None or asks_what_was_before(query.text),
    )


def mask(view: View, cues: Cues) -> Mask:
    """The rows that may answer: valid ones that pass every filter."""
    allowed = cues.valid.copy()
    for passing in cues.filters.values():
        allowed &= passing
    query, columns = cues.query, view.columns
    if query.elsewhere and query.session:
        allowed &= columns.session != columns.code(query.session, "session")
    return allowed


def valid(columns: Columns, as_of: float | None) -> Mask:
    """True for rows that had not been replaced; with *as_of*, for what was known at that moment."""
    if as_of is None:
        return ~columns.replaced
    current = ~columns.replaced | (columns.superseded_at > as_of)
    return current & (columns.recorded_at <= as_of)


def _period(
    view: View, query: Query, days: dates.DateCue, passing: Mask, readable: Mask, now: float
) -> tuple[question.Period | None, Mask | None]:
    """The time that is the whole query, if it is one, and which rows fit it.

    Of the times that it may mean, the first with a row of *passing*; without any, no rows are
    given, for a time filters nothing away that nothing else answers. Speakers of *readable* may be
    named.
    """
    if not days:
        return None, None
    names = {name.casefold() for name in view.columns.names("speaker", readable)}
    asked = question.periods_asked(query.text, days, now, names)
    for period in asked:
        within = _within(view.columns, period, passing)
        if (within & passing).any():
            return period, within
    return (asked[0] if asked else None), None


def _filters(view: View, query: Query) -> dict[str, Mask]:
    columns, passing = view.columns, dict[str, Mask]()
    if query.scope:
        passing["scope"] = columns.visibility == VISIBILITIES.index(query.scope)
    if query.kinds:
        passing["kinds"] = np.isin(columns.kind, [KINDS.index(kind) for kind in query.kinds])
    if query.speaker:
        passing["speaker"] = columns.called(query.speaker, "speaker")
    if query.since is not None:
        passing["since"] = columns.occurred_at >= query.since
    if query.until is not None:
        passing["until"] = columns.occurred_at <= query.until
    if query.tags:
        passing["tags"] = np.all([tagged(columns, tag) for tag in query.tags], axis=0)
    if query.project:
        here = tagged(columns, f"{PROJECT}{query.project}")
        passing["project"] = here | ~columns.tagged_as(lambda each: each.startswith(PROJECT))
    if query.topic:
        passing["topic"] = columns.called(query.topic, "topic")
    if query.importance:
        passing["importance"] = columns.importance >= np.float32(query.importance)
    if query.entity:
        passing["entity"] = np.zeros(len(columns), np.bool_)
        passing["entity"][view.graph.entity_rows(query.entity)] = True
    if query.besides:
        besides = np.ones(len(columns), np.bool_)
        besides[[row for row in map(columns.row, query.besides) if row is not None]] = False
        passing["besides"] = besides
    return passing


def tagged(columns: Columns, tag: str) -> Mask:
    """True for every row that has this *tag*; case does not matter."""
    folded = tag.casefold()
    return columns.tagged_as(lambda each: each.casefold() == folded)


def _within(columns: Columns, period: question.Period, passing: Mask) -> Mask:
    """True for what was said in *period*, or names a date of it.

    Asked what was said then, the dates count only where nothing of *passing* was said; asked what
    comes, what was said counts only where nothing names a date. Asked what changed, what was
    superseded then counts as well.
    """
    said, named = _said_in(columns, period), _naming(columns, period)
    if period.said and (said & passing).any():
        return said
    if period.ahead and (named & passing).any():
        return named
    ended = superseded_in(columns, period) if period.changed else np.zeros_like(said)
    return said | named | ended


def superseded_in(columns: Columns, period: question.Period) -> Mask:
    """True for what ceased to hold in *period*, as far as something superseded it."""
    ended = np.fmin(columns.valid_until, columns.superseded_at)
    within: Mask = columns.superseded & (ended >= period.first) & (ended <= period.last)
    return within


def moments(columns: Columns, rows: Rows, period: question.Period) -> NDArray[np.float64]:
    """When in *period* each of *rows* belongs, in epoch seconds; NaN for none.

    By the first date of it that a row names; else by the day on which it was said or ceased to
    hold.
    """
    found = np.full(len(rows), np.nan)
    for place, row in enumerate(rows.tolist()):
        named = [question.moment_inside(each, period) for each in columns.dates(row)]
        if known := [moment for moment in named if moment is not None]:
            found[place] = min(known)
            continue
        times = (columns.occurred_at[row], columns.valid_until[row], columns.superseded_at[row])
        inside = [float(at) for at in times if period.first <= at <= period.last]
        found[place] = inside[0] if inside else np.nan
    return found


def _said_in(columns: Columns, period: question.Period) -> Mask:
    """True for what was said in *period*."""
    at = columns.occurred_at
    within: Mask = (at >= period.first) & (at <= period.last)
    return within


def _naming(columns: Columns, period: question.Period) -> Mask:
    """True for what names a date inside *period*."""
    return columns.dated(lambda date: question.date_is_inside(date, period))
