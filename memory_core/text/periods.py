"""Questions about a time and nothing else: "what did I say last week?", "what happened in May?".

There the time is no cue among others; it is what was asked for.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from math import inf

from memory_core.text.time.rules import undated
from memory_core.text.time.dates import DateCue, query_dates
from memory_core.text.time.moments import day_of
from memory_core.text.words import GERMAN_STOPWORDS, STOPWORDS, WORD, listed

_SAYING = frozenset(
    listed(
        """say said saying says tell told tells telling talk talked talking talks speak spoke
        spoken speaking discuss discussed discussing mention mentioned mentions chat chatted
        conversation conversations write wrote written note noted notes ask asked remember
        remembered sagen gesagt sagte erzählt erzählte gesprochen geredet erwähnt"""
    )
)
_ANYTHING = frozenset(
    listed(
        """new happen happened happening happens occur occurred anything everything something thing
        things stuff news event events memory memories recall know about exactly please show list
        summarise summarize summary recap passiert passierte geschehen geschah los alles"""
    )
)
DAY = 86_400.0
_EPOCH = date(1970, 1, 1).toordinal()
_SINCE = frozenset(("since", "seit"))
_UNTIL = frozenset(("until", "till", "bis"))
_EMPTY = _SINCE | STOPWORDS | GERMAN_STOPWORDS | _SAYING | _ANYTHING


@dataclass(frozen=True, slots=True)
class Period:
    """From the first to the last second (epoch) that a question asks about; infinite when open.

    *said*: it asks what was said then, so that a date named in a later text does not count.
    """

    first: float
    last: float
    said: bool


def period_asked(query: str, now: float, names: Collection[str] = ()) -> Period | None:
    """The period that *query* asks about and nothing else, at epoch seconds *now*; else None.

    *names* (case-folded) are those of people, who may be asked about as well.
    """
    cue = query_dates(query, now)
    if not cue:
        return None
    left = [word.casefold() for word in WORD.findall(undated(query, day_of(now)))]
    left = [word.removesuffix("'s").removesuffix("’s") for word in left]
    if any(word not in _EMPTY and word not in names for word in left):
        return None
    days = [day for each in _days(cue, day_of(now)) for day in each]
    if not days:
        return None
    said = not _SAYING.isdisjoint(left)
    first, last = (DAY * (day.toordinal() - _EPOCH) for day in (min(days), max(days)))
    end = last + DAY - 1e-3
    if "before" in left:
        first, end = -inf, first - 1e-3
    elif "after" in left:
        first, end = last + DAY, inf
    elif not _UNTIL.isdisjoint(left):
        first = -inf
    elif first <= now and not _SINCE.isdisjoint(left):
        end = now
    return Period(first, end, said)


def names_day(written: str, period: Period) -> bool:
    """True when *written*, a date as dates.resolve gives it, lies whole inside *period*."""
    try:
        year, month, day = (*map(int, written.split("-")), 0, 0)[:3]
        first, last = date(year, month or 1, day or 1), date(year, month or 12, day or 1)
    except ValueError:  # an entry of another version
        return False
    if not day:
        last = last.replace(day=monthrange(last.year, last.month)[1])
    start, end = (DAY * (each.toordinal() - _EPOCH) for each in (first, last))
    return period.first <= start and end <= period.last


def asks_anything(query: str) -> bool:
    """True when *query* ("what did I say?") says nothing itself: its filters are all it asks."""
    words = [word.casefold() for word in WORD.findall(query)]
    return bool(words) and all(word in _EMPTY for word in words)


def _days(cue: DateCue, today: date) -> list[tuple[date, date]]:
    """First and last day of everything that *cue* names; without a year the latest that began."""
    found = [(date.fromordinal(first), date.fromordinal(last)) for first, last in cue.spans]
    for year, month, day in cue.days:
        known = _latest(year, month, day, today)
        found += [(known, known)] if known else []
    for year, month in cue.months:
        first = _latest(year, month, 1, today)
        if first:
            found.append((first, first.replace(day=monthrange(first.year, first.month)[1])))
    return found + [(date(year, 1, 1), date(year, 12, 31)) for year in cue.years]


def _latest(year: int, month: int, day: int, today: date) -> date | None:
    for candidate in (year,) if year else (today.year, *range(today.year - 1, today.year - 5, -1)):
        try:
            found = date(candidate, month, day)
        except ValueError:  # 29 February of another year
            continue
        if year or found <= today:
            return found
    return None
