"""The time for which a statement holds by its own words: "until Friday", "for two weeks",
"from ... to", "bis 31. März"."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Sequence

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences
from memory_core.text.time import dates
from memory_core.text.time.lexicon import NO_RANGE
from memory_core.text.time.timestamps import DAY, after, day_of, moment
from memory_core.text.words import listed

_END = lazy_pattern(
    rf"\b{NO_RANGE}(?:until|till|through|bis(?: zum| zur)?)\s+"
    r"(?P<end>[0-9]{1,2}\.[0-9]{1,2}\.(?:[0-9]{4}|[0-9]{2})?"
    r"|(?:[0-9]{1,2}\. )?[^.;!?\n]{2,40})",
    re.IGNORECASE,
)
_SPAN = lazy_pattern(
    r"\bfrom\s{1,9}(?P<start>[^.;!?\s][^.;!?\n]{0,29}?)\s{1,9}(?:to|until|till|through)"
    r"\s{1,9}(?P<end>[^.;!?\n]{2,40})",
    re.IGNORECASE,
)
_LENGTH = lazy_pattern(
    r"\bfor (?:the next |the coming )?(?P<count>a|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|[0-9]{1,3}) (?P<unit>day|week|month)s?\b",
    re.IGNORECASE,
)
_THIS = lazy_pattern(
    r"\b(?P<only>this week|today) only\b|\b(?:only|just) (?P<just>this week|today)\b"
)
_FOR_NOW = lazy_pattern(
    r"\b(?:for (?:now|the moment|the time being)|temporarily|vorübergehend|fürs erste|vorerst"
    r"|einstweilen|bis auf weiteres)\b"
)
FOR_NOW_DAYS = 30
"""How long "for now" is believed, as nobody says: about as long as nobody says it again."""
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_TAGE = "montag dienstag mittwoch donnerstag freitag samstag sonntag"
_PERIOD = lazy_pattern(
    r"(?<!since )(?<!from )(?<!as of )(?<!starting )(?<!effective )(?<!ab )(?<!seit )"
    r"\b(?:(?P<day>today|tonight|this (?:morning|afternoon|evening)|heute)|(?P<next>tomorrow)"
    r"|(?P<week>this week(?:end)?|diese woche|dieses wochenende)|(?P<month>this month|diesen monat)"
    rf"|(?:this|diesen) (?P<weekday>{'|'.join((*_DAYS.split(), *_TAGE.split()))}))\b"
)
_DONE = lazy_pattern(
    r"\b(?:was|were|had|did|went|got|made|took|gave|met|saw|ate|drank|slept|woke|felt|found|wrote|read"
    r"|ran|came|left|sent|told|said|heard|lost|won|paid|bought|sold|spent|drove|flew|rode|swam|taught"
    r"|thought|began|broke|brought|built|chose|kept|knew|spoke|stood|war|waren|hatten?|wurden?"
    r"|(?:habe|hat|haben|bin|ist|sind)\b.{0,200}\b(?:\w{0,30}ge|ver|be)\w{1,30}(?:t|en))\b"
    r"|\b(?<!is )(?<!are )(?<!be )(?<!being )\w{2,40}ed\b"
)
_TURNS = lazy_pattern(
    r"\b(?:start|begin|mov|switch|join|leav|chang|becom|quit|stop|marr|birthday|anniversar"
    r"|beginn|anfang|fang|zieh|wechs|kündig|heirat|geburtstag)\w*"
)
_FROM_THEN_ON = lazy_pattern(r"\b(?:since|from|as of|starting|effective|ab|seit)\b")
_COUNTS = {word: n for n, word in enumerate(listed("one two three four five six seven"), 1)}
_COUNTS |= {"a": 1, "eight": 8, "nine": 9, "ten": 10}
_UNITS = {"day": 1, "week": 7, "month": 30}
_HERE = lazy_pattern(r"\b(?:is|are|am|'m|'s|'re|will|stay(?:s|ing)?|liv(?:e|es|ing)|until|till)\b")


def bounds(text: str, said_at: float) -> tuple[float | None, float | None]:
    """The first and last epoch second at which *text*, said at *said_at*, holds by its own words.

    None for an end that it does not name, and (None, None) for statements about the past.
    """
    start, end = _span(text, said_at)
    if end is None:
        end = _length(text, said_at)
    if end is None:
        end = _period(text, said_at)
    if end is None:
        start = None
    elif end <= said_at or (start is not None and start > end):
        return None, None
    return start if start is not None else _beginning(text, said_at, end), end


def _beginning(text: str, said_at: float, end: float | None) -> float | None:
    """The day from which on *text* says that something will hold, before *end*: "from May on"."""
    if "?" in text:
        return None
    named = dates.begun(text, said_at)
    start = moment(named, "from")[0] if named else said_at
    return start if said_at < start < (math.inf if end is None else end) else None


def of_days(text: str, named: Sequence[str]) -> bool:
    """True when *text*, one sentence about the present, speaks of single days, which it *named*.

    ISO 8601, as from dates.resolve. What was done on a day, and what holds from it on, is more.
    """
    lowered = text.lower()
    return (
        bool(named)
        and all(len(each) == len("2024-05-07") for each in named)
        and len(sentences(text)) == 1
        and not any(each.search(lowered) for each in (_DONE, _TURNS, _FROM_THEN_ON))
    )


def _span(text: str, said_at: float) -> tuple[float | None, float | None]:
    span = _SPAN.search(text)
    if span is not None:
        start, end = _day(span["start"], said_at), _day(span["end"], said_at)
        if start is not None and end is not None:
            return start[0], end[1]
    last = _END.search(text)
    found = None if last is None else _day(last["end"], said_at)
    return None, None if found is None else found[1]


def _day(words: str, said_at: float) -> tuple[float, float] | None:
    # a bare "Friday" is no date, nor are numbers with dots without a German word before them
    found = dates.resolve(f"until {words}", said_at) or dates.resolve(f"bis {words}", said_at)
    return moment(found[0], "until") if found else None


def _length(text: str, said_at: float) -> float | None:
    """The end of "for two weeks" and of "this week only" in a statement about the present."""
    if _HERE.search(text) is None:
        return None
    length = _LENGTH.search(text)
    if length is not None:
        word = length["count"].lower()
        count = _COUNTS.get(word) or int(word)
        return said_at + count * _UNITS[length["unit"].lower()] * DAY
    this = _THIS.search(text.lower())
    if this is None:
        return None
    today = day_of(said_at)
    left = 1 if "today" in (this["only"] or this["just"]) else 7 - today.weekday()
    return after(today, left) - 1.0


def _period(text: str, said_at: float) -> float | None:
    """The end of the day, week or month that one sentence about the present speaks of.

    FOR_NOW_DAYS from then where it names none ("for now"). None for what was done in it, and for a
    change that begins in it and lasts.
    """
    lowered = text.lower()
    found, for_now = _PERIOD.search(lowered), _FOR_NOW.search(lowered)
    if (found is None and for_now is None) or len(sentences(text)) != 1 or "?" in text:
        return None
    if _DONE.search(lowered) or _TURNS.search(lowered):
        return None
    if found is None:
        return said_at + FOR_NOW_DAYS * DAY
    today = day_of(said_at)
    left = 1
    if found["next"]:
        left = 2
    elif found["week"]:
        left = 7 - today.weekday()
    elif found["month"]:
        left = monthrange(today.year, today.month)[1] - today.day + 1
    elif found["weekday"]:
        days = _DAYS if found["weekday"] in _DAYS.split() else _TAGE
        left = (days.split().index(found["weekday"]) - today.weekday()) % 7 + 1
    return after(today, left) - 1.0
