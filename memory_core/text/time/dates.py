"""Dates named in a text: made absolute when it is stored, matched when it is recalled.

Relative words count from the day on which the text was said, in the time zone of this machine.
Conventions: "last Friday" is the latest Friday before that day, "next Friday" the first after it,
"this Friday" the first from it on; "last week" is the day seven days before (a cue asks for its
whole calendar week, from Monday); a weekend is its Saturday; a season is its three months, northern
hemisphere, the last one being the latest that is over; 3/4/2024 is 4 March (month first, unless
that is no date), 3.4.2024 and 3-4-2024 are 3 April, and so is "am 3.4."; a weekday before a date is
a part of it; of "3 to 5 April" each day counts, of more than a fortnight the first and the last; a
couple is two, a few three. A day or month without a year goes by the tense of its clause: future,
the next one; past, the latest; neither, the nearest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.time.lexicon import (
    DIRECTIONS,
    MONTHS,
    NUMBERS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    alternatives,
)
from memory_core.text.time.mentions import (
    BEGINNING,
    Mention,
    begins,
    day_of_month,
    is_certain,
    on_day,
    says_future,
    says_past,
    season_from,
    shifted,
    tense,
    weekday_near,
)
from memory_core.text.time.rules import mentions, undated
from memory_core.text.time.timestamps import day_of

MOST_DATES = 32
"""Dates kept of one text."""

SESSION_WEIGHT = 0.8
JUST = 90
"""Days, about, after which a day without a verb is one of the next year."""
MONTH_SCORE, YEAR_SCORE, SPAN_SCORE = 0.5, 0.4, 0.7
_DAY_SCORES = (0.7, 0.4, 0.2, 0.2, 0.2)  # exact, one day off, up to four


def resolve(text: str, said_at: float) -> tuple[str, ...]:
    """The dates that *text* names, absolute, when it was said at epoch seconds *said_at*.

    ISO 8601 by the precision named: "2024-05-07", "2024-05", "2024". In order of the text, without
    repeats, at most 32. Understands English and the basics of German.
    """
    found: dict[str, None] = {}
    for _, written in _resolved(text, said_at):
        found[written] = None
        if len(found) >= MOST_DATES:
            break
    return tuple(found)


def begun(text: str, said_at: float) -> str:
    """The last date, as from resolve, from which on *text* says that something holds; "" for none.

    "The rent is 1260 from October", "as of Monday", "ab dem 1. Mai".
    """
    places = [
        (match.start(), match.end())
        for match in _BEGINNING.finditer(text)
        if begins(text, match.start())
    ]
    named = [
        written
        for place, written in _resolved(text, said_at)
        if any(start <= place <= end for start, end in places)
    ]
    return named[-1] if named else ""


_BEGINNING = lazy_pattern(BEGINNING, re.IGNORECASE)


def _resolved(text: str, said_at: float) -> Iterator[tuple[int, str]]:
    """The place of each date that *text* names, and that date as in resolve."""
    today = day_of(said_at)
    for place, mention in mentions(text, today):
        if mention.year == 0:
            direction = tense(text, place)
            unsure = direction < 0 and mention.day > 0 and not is_certain(text, place)
            mention = _with_year(mention, today, direction, unsure=unsure)
        yield place, _written(mention)


def _written(mention: Mention) -> str:
    if mention.day:
        return f"{mention.year:04d}-{mention.month:02d}-{mention.day:02d}"
    return f"{mention.year:04d}-{mention.month:02d}" if mention.month else f"{mention.year:04d}"


def _with_year(mention: Mention, today: date, direction: int, *, unsure: bool) -> Mention:
    """*mention* in the year before, of or after *today* that the tense asks for.

    The nearest one where that is *unsure*, and for a month; a day without a verb, as notes have it,
    is one that comes unless it has just passed.
    """
    now = (today.year * 12 + today.month) * 31 + (today.day if mention.day else 0)
    options = [
        ((year * 12 + mention.month) * 31 + mention.day - now, year)
        for year in (today.year - 1, today.year, today.year + 1, today.year + 2, today.year + 3)
        if 1 <= year <= 9999 and _exists(year, mention)
    ]
    if unsure:
        direction = 0
    elif direction == 0 and mention.day and not any(-JUST <= away <= 0 for away, _ in options):
        direction = 1
    if direction > 0:
        options = [option for option in options if option[0] >= 0] or options
    elif direction < 0:
        options = [option for option in options if option[0] <= 0] or options
    nearest = min(options, key=lambda option: (abs(option[0]), option[0]), default=(0, today.year))
    return Mention(nearest[1], mention.month, mention.day)


def _exists(year: int, mention: Mention) -> bool:
    return (mention.month, mention.day) != (2, 29) or _leap(year)


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def reach_to(dates: Sequence[str], now: float) -> bool:
    """True when one of *dates* (as from resolve) is not over at epoch seconds *now*.

    A year alone has to be a later one: the current year says little of what is still to come.
    """
    today = _written(Mention(*day_of(now).timetuple()[:3]))
    return any(written >= today[: len(written)] and written != today[:4] for written in dates)


@dataclass(frozen=True, slots=True)
class DateCue:
    """The dates that a question names; falsy when there are none.

    *days* are (year, month, day), *months* (year, month), with year 0 where none is named; *years*
    stand alone; *spans* are first and last day of a week, a weekend or of "the next three weeks" as
    proleptic ordinals.
    """

    days: tuple[tuple[int, int, int], ...] = ()
    months: tuple[tuple[int, int], ...] = ()
    years: tuple[int, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()

    def __bool__(self) -> bool:
        """True when the question names a date."""
        return bool(self.days or self.months or self.years or self.spans)


def query_dates(query: str, now: float) -> DateCue:
    """The dates that *query* names; relative ones count from epoch seconds *now*.

    When exactly one year is named it also holds for days and months named without one. A bare
    weekday ("for Friday") or day of a month ("on the 14th") is the latest one in a question about
    the past, else the next.
    """
    today = day_of(now)
    found = _stretches(query, today)
    query = _STRETCH.sub(" ", query)
    found += [mention for _, mention in mentions(query, today)]
    found += _bare(query, today)
    spans = [
        (mention.since.toordinal(), mention.through.toordinal())
        for mention in found
        if mention.since is not None and mention.through is not None
    ]
    plain = [mention for mention in found if mention.through is None]
    years = tuple(dict.fromkeys(m.year for m in plain if not m.month))
    shared = years[0] if len(years) == 1 else 0
    bound = shared and any(m.month and not m.year for m in plain)
    return DateCue(
        days=tuple(dict.fromkeys((m.year or shared, m.month, m.day) for m in plain if m.day)),
        months=tuple(
            dict.fromkeys((m.year or shared, m.month) for m in plain if m.month and not m.day)
        ),
        years=() if bound else years,
        spans=tuple(dict.fromkeys(spans)),
    )


_PLURALS = [
    word
    for word, unit in UNITS.items()
    if any(word != one and word.startswith(one) and unit == UNITS[one] for one in UNITS)
]
"""The German ones: each longer than its singular."""
_AFTER_LIMIT = "|".join(
    rf"(?<=\b{word} )" for word in ("before", "after", "by", "vor", "nach", "bis", "ab")
)
"""The word is left to the question: it says on which side of the date its period lies."""
_BARE = lazy_pattern(
    rf"\b(?P<weekday>{alternatives(WEEKDAYS)})\b"
    rf"|(?:\b(?:for|about|für) |{_AFTER_LIMIT})(?P<month>{alternatives(MONTHS)})\b"
    rf"|(?:\b(?:in|for|over|during|im|für) |{_AFTER_LIMIT})(?:the |den |dem )?"
    rf"(?P<season>{alternatives(SEASONS)})\b"
    r"|\b(?:the |am |den |zum )(?P<day>[0-9]{1,2})(?:st|nd|rd|th|\.)(?! ?[\w.,:%/-]*[0-9])",
    re.IGNORECASE,
)
"""What names a day, month or season only in a question; in a text it may be a habit or a rank."""

_STRETCH = lazy_pattern(
    rf"\b(?P<direction>{alternatives(DIRECTIONS)}|coming|upcoming) "
    rf"(?:(?P<count>[0-9]{{1,3}}|{alternatives(NUMBERS)}) "
    rf"(?P<counted>(?:{alternatives(UNITS)}))s?|(?P<many>(?:{alternatives(UNITS)})s"
    rf"|{'|'.join(sorted(_PLURALS, reverse=True))}))\b",
    re.IGNORECASE,
)
"""Several days, weeks, months or years before or after today: "the next weeks"."""
_UNIT_DAYS = {"day": 1, "weekend": 7, "week": 7, "fortnight": 14, "month": 31, "year": 366}
_AHEAD = lazy_pattern(
    r"\b(?:coming up|lined up|on for|am i|are we|do (?:i|we) have|agenda|upcoming"
    r"|steht|stehen|ansteht|anstehen|geplant|liegt|vorhabe|vorhaben)\b|\bvor\W*$",
    re.IGNORECASE,
)


_IS_ON = lazy_pattern(r"\b(?:is|ist) (?:on|in|am|im)\b", re.IGNORECASE)
"""In a question of what was as well as of what comes: "What is in May?"."""


def asks_ahead(query: str) -> int:
    """1 when *query* asks about what comes, -1 about the past, 0 when it shows neither."""
    if _AHEAD.search(query) or says_future(_IS_ON.sub(" ", query)):
        return 1
    return -1 if says_past(query) else 0


def without_asked_dates(query: str, now: float) -> str:
    """*query* with a space for each date that query_dates finds in it."""
    return _BARE.sub(" ", undated(_STRETCH.sub(" ", query), day_of(now)))


def _stretches(query: str, today: date) -> list[Mention]:
    """The spans that begin or end *today* in *query*; without a number they are of three units."""
    found: list[Mention] = []
    for match in _STRETCH.finditer(query):
        direction = DIRECTIONS.get(" ".join(match["direction"].lower().split()), 1)
        count, unit = (match["count"] or "few").lower(), (match["counted"] or match["many"]).lower()
        unit = UNITS.get(unit) or UNITS[unit.removesuffix("s")]
        days = (int(count) if count.isdigit() else NUMBERS[count]) * _UNIT_DAYS[unit]
        since = today if direction > 0 else shifted(today, -days)
        if direction and since is not None:
            found += on_day(today, since, days + 1)
    return found


def _bare(query: str, today: date) -> list[Mention]:
    """The bare weekdays and days of a month in *query*, seen from *today*."""
    found: list[Mention] = []
    past = asks_ahead(query) < 0
    for match in _BARE.finditer(undated(query, today)):
        if match["weekday"]:
            weekday = WEEKDAYS[match["weekday"].lower()]
            found += weekday_near(weekday, today, -1 if past else 0)
        elif match["month"]:
            found.append(Mention(0, MONTHS[match["month"].lower()]))
        elif match["season"]:
            found += _season(SEASONS[match["season"].lower()], today, past)
        elif number := int(match["day"]):
            found += day_of_month(number, today, past=past)
    return found


def _season(month: int, today: date, past: bool) -> list[Mention]:
    """The season from *month* on: the latest that has begun when *past*, else the next not over."""
    now, start = today.year * 12 + today.month - 1, today.year * 12 + month - 1
    if past:
        return season_from(start if start <= now else start - 12)
    return season_from(
        start - 12 if start - 10 >= now else start if start + 2 >= now else start + 12
    )


_WHEN = lazy_pattern(
    r"^when\b|\bwhen (?:did|does|do|is|was|were|will|has|have|had|are|can|could|should|would)\b"
    r"|\b(?:what|which|whose|on what|on which) (?:date|day|month|year|week|weekday|season|time)\b"
    r"|\bhow long ago\b|\bwann\b|\bwie ?viel uhr\b"
    r"|\b(?:an )?welche[mrsn]? (?:tag|datum|monat|jahr|woche)\b",
    re.IGNORECASE,
)


def asks_when(query: str) -> bool:
    """True when *query* asks for a date or a time, in English or German."""
    return _WHEN.search(query) is not None


def temporal_match(cue: DateCue, said_at: float, dates: Sequence[str]) -> float:
    """How well a memory fits the dates of a question, 0 to 1.2; higher is better.

    The maximum of 0.8 x the day on which it was said (epoch seconds *said_at*) and 1 x each of the
    *dates* its text resolves to (as from resolve; others are skipped). A date scores 0.5 for the
    month, with the year where one is named, plus 0.7 for the exact day, 0.4 one day off, 0.2 up to
    four days off; 0.4 for a year named alone; 0.7 inside a named week or weekend.
    """
    if not cue:
        return 0.0
    day = day_of(said_at)
    best = SESSION_WEIGHT * _score(cue, (day.year, day.month, day.day, day.toordinal()))
    for written in dates:
        best = max(best, _score(cue, _read(written)))
    return best


@lru_cache(maxsize=8192)
def _read(written: str) -> tuple[int, int, int, int]:
    """Year, month, day and ordinal of an ISO date; 0 for what is unset, year 0 for what is none."""
    parts = written.split("-")
    if not (written.isascii() and all(part.isdigit() for part in parts)) or len(written) > 10:
        return 0, 0, 0, 0
    year, month, day = (*map(int, parts[:3]), 0, 0)[:3]
    try:
        ordinal = date(year, month or 1, day or 1).toordinal()
    except ValueError:
        return 0, 0, 0, 0
    return year, month, day, ordinal if day else 0


def _score(cue: DateCue, named: tuple[int, int, int, int]) -> float:
    year, month, day, ordinal = named
    best = YEAR_SCORE if year in cue.years else 0.0
    for cue_year, cue_month in cue.months:
        if cue_month == month and cue_year in (0, year):
            best = max(best, MONTH_SCORE)
    for cue_year, cue_month, cue_day in cue.days:
        score = MONTH_SCORE if cue_month == month and cue_year in (0, year) else 0.0
        if day:
            score += _day_score(cue_year or year, cue_month, cue_day, ordinal)
        best = max(best, score)
    for first, last in cue.spans:
        if first <= ordinal <= last:
            best = max(best, SPAN_SCORE)
    return best


def _day_score(year: int, month: int, day: int, ordinal: int) -> float:
    if (month, day) == (2, 29) and not _leap(year):
        day = 28
    off = abs(date(year, month, day).toordinal() - ordinal)
    return _DAY_SCORES[off] if off < len(_DAY_SCORES) else 0.0
