"""Timestamps: ISO 8601 to epoch seconds and back, and the day of a moment.

A day, and a time without an offset, are those of the time zone of this machine (TZ names another):
"tomorrow", said in the evening, is another day in UTC. What is written as a time is in UTC.
"""

from __future__ import annotations

import math
import re
import time
from datetime import MAXYEAR, date, datetime
from typing import NoReturn

from memory_core.errors import InvalidInput
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed

DAY = 86_400.0
_EPOCH = date(1970, 1, 1).toordinal()
_LAST = date.max.toordinal()
_MONTHS = listed(
    "January February March April May June July August September October November December"
)
_FORM = lazy_pattern(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?P<part>[.,][0-9]{1,9})?)?"
    r" ?(?P<offset>[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?)?"
)
ALLOWED = "use 2024, 2024-05, 2024-05-07, 2024-05-07T13:56 or 2024-05-07T13:56:00Z (or +02:00)"


def day_of(at: float) -> date:
    """The day of epoch seconds *at* in the time zone of this machine.

    Years outside 1-9999 return the nearest day, NaN the epoch. Never raises.
    """
    try:
        return date(*time.localtime(at)[:3])
    except (OverflowError, ValueError, OSError):  # another year; what the platform does not know
        return utc_day(at)


def utc_day(at: float) -> date:
    """The same in UTC."""
    if math.isnan(at):
        return date.fromordinal(_EPOCH)
    number = min(max(at / DAY, -_EPOCH), _LAST)
    return date.fromordinal(min(max(_EPOCH + math.floor(number), 1), _LAST))


def midnight(day: date) -> float:
    """The first moment of *day*, in epoch seconds, in the time zone of this machine."""
    return at_time(day, 0)


def after(day: date, days: int = 1) -> float:
    """The first moment of the day that comes *days* after *day*; never raises.

    Behind the last day of the calendar, that of the day after it in UTC.
    """
    number = day.toordinal() + days
    return midnight(date.fromordinal(number)) if number <= _LAST else (number - _EPOCH) * DAY


def at_time(day: date, hour: int, minute: int = 0, second: int = 0) -> float:
    """The moment at which it is so late on *day*, as midnight."""
    try:
        return datetime(day.year, day.month, day.day, hour, minute, second).timestamp()
    except (OverflowError, ValueError, OSError):  # as in day_of
        return (day.toordinal() - _EPOCH) * DAY + hour * 3600 + minute * 60 + second


def iso(at: float) -> str:
    """Epoch seconds *at* as ``2024-05-07T13:56:00Z``, whole seconds; clamps as day_of."""
    day = utc_day(at)
    if math.isnan(at):
        rest = 0
    else:
        within = at - (day.toordinal() - _EPOCH) * DAY
        rest = int(min(max(within, 0.0), DAY - 1))
    return f"{day.isoformat()}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}Z"


def day_words(at: float) -> str:
    """The day of *at* as the lexical index holds it: ``7 May 2024``. Never raises."""
    day = day_of(at)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def moment(value: str, argument: str) -> tuple[float, float]:
    """The first and last moment, in epoch seconds, that the ISO 8601 *value* covers.

    Both ends are inclusive. A year, month or day covers all of it; a time covers the minute, second
    or fraction of its last digit. Without offset it is a time of this machine. Raises InvalidInput
    that names *argument* and the allowed forms.
    """
    match = _FORM.fullmatch(value.strip())
    if match is None:
        _refuse(value, argument)
    year, month, day = (int(match[name] or 1) for name in ("year", "month", "day"))
    try:
        first = date(year, month, day)
    except ValueError:
        raise InvalidInput(f"{argument} names no day of the calendar: {value}", ALLOWED) from None
    if match["hour"] is not None:
        return _time(match, first, value, argument)
    if match["day"] is not None:
        return midnight(first), _before(after(first))
    following = year * 12 + (month if match["month"] is not None else 12)
    if following // 12 > MAXYEAR:
        return midnight(first), _before(after(date.max))
    return midnight(first), _before(midnight(date(following // 12, following % 12 + 1, 1)))


def _time(match: re.Match[str], day: date, value: str, argument: str) -> tuple[float, float]:
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    zone = _offset(match["offset"] or "Z")
    if hour > 23 or minute > 59 or second > 59 or zone is None:
        _refuse(value, argument)
    if match["offset"] is None:
        start = at_time(day, hour, minute, second)
    else:
        within = hour * 3600 + minute * 60 + second - zone
        start = (day.toordinal() - _EPOCH) * DAY + within
    if match["part"] is not None:
        at = start + float("0." + match["part"][1:])
        return at, at
    return start, _before(start + (60 if match["second"] is None else 1))


def _before(end: float) -> float:
    return math.nextafter(end, -math.inf)


def _offset(text: str) -> int | None:
    if text in "Zz":
        return 0
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    if hours > 14 or minutes > 59:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if text[0] == "-" else 1)


def _refuse(value: str, argument: str) -> NoReturn:
    shown = value if len(value) <= 40 else value[:40] + "…"
    raise InvalidInput(f"{argument} is not a date or time: {shown!r}", ALLOWED)
