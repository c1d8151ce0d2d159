"""Dates as a text names them, the calendar arithmetic for them, and the tense around them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, timedelta


@dataclass(frozen=True, slots=True)
class Mention:
    """A date as a text names it; an unset part is 0.

    A week or a weekend also has the first day of its span, *since*, and the last, *through*.
    """

    year: int = 0
    month: int = 0
    day: int = 0
    through: date | None = None
    since: date | None = None


def real_day(year: int, month: int, day: int) -> list[Mention]:
    """The day itself when the calendar has it (29 February when *year* is 0), else nothing."""
    try:
        date(year or 2000, month, day)
    except ValueError:
        return []
    return [Mention(year, month, day)]


def shifted(day: date, days: int) -> date | None:
    """*day* moved by *days*; None outside the years 1-9999."""
    try:
        return day + timedelta(days)
    except OverflowError:
        return None


def on_day(day: date | None, since: date | None = None, days: int = 0) -> list[Mention]:
    """*day* as a mention, with the span of that many *days* from *since*; nothing for None."""
    if day is None:
        return []
    through = shifted(since, days - 1) if since else None
    return [Mention(day.year, day.month, day.day, through, since if through else None)]


def month_from(today: date, months: int) -> list[Mention]:
    """The month that lies *months* from that of *today*."""
    number = today.year * 12 + today.month - 1 + months
    return known(number // 12, number % 12 + 1)


def known(year: int, month: int = 0) -> list[Mention]:
    """A year, or a month of it; nothing outside the years 1-9999."""
    return [Mention(year, month)] if MINYEAR <= year <= MAXYEAR else []


def weekend(today: date, weeks: int) -> list[Mention]:
    """Saturday and Sunday of the week that lies *weeks* from that of *today*."""
    saturday = shifted(today, 5 - today.weekday() + 7 * weeks)
    return on_day(saturday, saturday, 2)


def week(today: date, weeks: int) -> list[Mention]:
    """The same weekday *weeks* later, spanning its calendar week from Monday."""
    same = shifted(today, 7 * weeks)
    return on_day(same, shifted(same, -same.weekday()), 7) if same else []


def weekday_near(weekday: int, today: date, direction: int) -> list[Mention]:
    """The latest such weekday before *today* (-1), the first from it on (0) or after it (1)."""
    ahead = (weekday - today.weekday()) % 7
    if direction < 0:
        return on_day(shifted(today, ahead - 7))
    return on_day(shifted(today, ahead or (7 if direction else 0)))


def season_from(start: int) -> list[Mention]:
    """Three months from the month with this number (year x 12 + month - 1) on."""
    return [m for number in range(start, start + 3) for m in known(number // 12, number % 12 + 1)]


_FUTURE = re.compile(
    r"\b(?:will|shall|won't|gonna|going to|plan(?:s|ning|ned)?|hop(?:e|ing)|due|by|until|till"
    r"|deadline"
    r"|upcoming|scheduled|let's|let us|looking forward|can't wait|wird|werden?|wollen|bis"
    r"|(?:am|is|are) \w{2,20}ing)\b|['’](?:ll|(?:re|m|s) \w{2,20}ing)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:\w{2,20}ed|was|were|did|had|has|went|took|got|made|ran|met|saw|came|bought|gave|began"
    r"|been"
    r"|left|told|won|lost|found|felt|read|wrote|spent|back|since|born|war|waren|hatte|habe|haben"
    r"|hat"
    r"|ging|wurde|seit)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.!?;\n]")


def tense(text: str, place: int) -> int:
    """-1 when the clause around *place* is about the past, 1 about the future, 0 when unclear."""
    before = _CLAUSE_END.split(text[max(0, place - 80) : place])[-1]
    after = _CLAUSE_END.split(text[place : place + 80])[0]
    for clause in (before, after):
        if _FUTURE.search(clause):
            return 1
        if _PAST.search(clause):
            return -1
    return 0


def is_about_past(text: str, place: int) -> bool:
    """True when the clause up to *place* is about the past and not about the future."""
    before = _CLAUSE_END.split(text[max(0, place - 80) : place])[-1]
    return _PAST.search(before) is not None and _FUTURE.search(before) is None
