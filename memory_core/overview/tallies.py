"""Tallies: the sessions, entities, topics, agents, tags and days of what a caller may read."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from memory_core import validation
from memory_core.errors import stop_if_abandoned
from memory_core.overview import cursors
from memory_core.records import Identity
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.columns import Columns
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View
from memory_core.text.time.timestamps import day_of

TALLIED = ("session", "entities", "topic", "agent", "tags")
"""What memories are counted by."""
STEPS = ("day", "week", "month")


@dataclass(frozen=True, slots=True)
class NameCount:
    """A name, the number of memories that have it, and when the first and last happened (epoch)."""

    name: str
    memories: int
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Tallies:
    """Some tallies, the largest first, and the cursor of the next ones; "" after the last."""

    tallies: tuple[NameCount, ...]
    next: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """The memories of one day, week or month: its first day, ISO 8601, and how many of each kind.

    Of each tier likewise, as it is now.
    """

    start: str
    memories: int
    by_kind: dict[str, int]
    by_tier: dict[str, int]


def tally(
    store: MemoryStore,
    who: Identity,
    column: str,
    *,
    part: str = "",
    cursor: str = "",
    limit: int = 100,
) -> Tallies:
    """The names in *column*, one of TALLIED, of the memories that *who* may read, with counts.

    Only names that hold *part*, in any case. Replaced and retired memories are left out. *limit*
    is 1 to 1,000. Raises InvalidInput.
    """
    if not validation.one_of(column, "column", TALLIED):
        raise validation.invalid("column", "it is empty", f"use one of {', '.join(TALLIED)}")
    part = validation.label(part, "part").casefold()
    limit = validation.whole(limit, "limit", 1, cursors.MOST)
    after = cursors.decode(cursor, int, str)
    store.catch_up()
    with store.reading() as view:
        found = _tallies(view, who, column)
    order = sorted(
        (each for each in found if part in each.name.casefold()),
        key=lambda each: (-each.memories, each.name),
    )
    if after is not None:
        order = [each for each in order if (-each.memories, each.name) > (-after[0], after[1])]
    some = order[:limit]
    more = cursors.encode((some[-1].memories, some[-1].name)) if len(order) > limit else ""
    return Tallies(tuple(some), more)


def _tallies(view: View, who: Identity, column: str) -> list[NameCount]:
    columns = view.columns
    counts: Counter[str] = Counter()
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for row in np.flatnonzero(current(view, who)).tolist():
        at = float(columns.occurred_at[row])
        for name in _names(columns, column, row):
            counts[name] += 1
            first[name] = min(at, first.get(name, at))
            last[name] = max(at, last.get(name, at))
    return [NameCount(name, count, first[name], last[name]) for name, count in counts.items()]


def _names(columns: Columns, column: str, row: int) -> tuple[str, ...]:
    """The names that *row* has in *column*, each once."""
    if column == "entities":
        return tuple(dict.fromkeys(columns.entities(row)))
    if column == "tags":
        return tuple(columns.tags(row))
    if column == "topic":
        name = columns.topic(row)
    else:
        name = columns.name(int(getattr(columns, column)[row]), column)
    return (name,) if name else ()


def current(view: View, who: Identity) -> Mask:
    """The mask of rows that *who* may read and that are neither replaced nor retired."""
    columns = view.columns
    return view.readable(who) & ~columns.replaced & np.isinf(columns.retired_at)


def timeline(
    store: MemoryStore, who: Identity, *, step: str = "day", since: str = "", until: str = ""
) -> list[Span]:
    """How many memories that *who* may read happened in each *step*, oldest first; none is empty.

    *step* is one of STEPS; a week begins on Monday. *since* and *until* are ISO 8601, inclusive.
    """
    step = validation.one_of(step, "step", STEPS) or "day"
    begin, end = validation.period(since, until)
    store.catch_up()
    kinds: defaultdict[date, Counter[str]] = defaultdict(Counter)
    tiers: defaultdict[date, Counter[str]] = defaultdict(Counter)
    with store.reading() as view:
        columns = view.columns
        for row in np.flatnonzero(current(view, who)).tolist():
            stop_if_abandoned()
            at = float(columns.occurred_at[row])
            if (begin is None or at >= begin) and (end is None or at <= end):
                start = _start(day_of(at), step)
                kinds[start][columns.name(int(columns.kind[row]), "kind")] += 1
                tiers[start][columns.name(int(columns.tier[row]), "tier")] += 1
    return [
        Span(start.isoformat(), of.total(), dict(sorted(of.items())), dict(tiers[start]))
        for start, of in sorted(kinds.items())
    ]


def _start(day: date, step: str) -> date:
    if step == "month":
        return day.replace(day=1)
    if step == "week" and day.toordinal() > day.weekday():
        return day - timedelta(days=day.weekday())
    return day
