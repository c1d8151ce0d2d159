"""Memories as JSON records with all their fields, and back without loss.

Times are ISO 8601 in UTC with at least six decimals and a "Z"; a float of seconds that needs more
decimals to come back exactly gets up to nine. A time that ISO 8601 cannot carry (outside the years
1 to 9999, or finer than a nanosecond) is written as a number of seconds since 1970.

Unknown fields are ignored and named in a warning, so that a file of a newer version can be read. A
wrong value of a known field is an error, so that nothing is half imported.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from memory_core.errors import InvalidInput
from memory_core.records import KINDS, ROLES, TIERS, TRUSTS, VISIBILITIES, MemoryRecord, is_id

_NAMES = tuple(field.name for field in fields(MemoryRecord))
_DEFAULTS = {
    field.name: field.default for field in fields(MemoryRecord) if field.default is not MISSING
}
_LISTS = frozenset(name for name, default in _DEFAULTS.items() if isinstance(default, tuple))
_MOMENTS = frozenset(name for name, default in _DEFAULTS.items() if default is None)
_TIMES = _MOMENTS | {"occurred_at", "recorded_at"}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "visibility": VISIBILITIES,
    "role": ROLES,
    "kind": KINDS,
    "trust": TRUSTS,
    "tier": TIERS,
}
_RANGES: Mapping[str, tuple[float, float]] = {
    "importance": (0.0, 1.0),
    "valence": (-1.0, 1.0),
    "arousal": (0.0, 1.0),
    "position": (-1, 2**63 - 1),
    "access_count": (0, 2**63 - 1),
}
_IDS = frozenset({"id", "superseded_by", "run"})
_DECIMALS = 9
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,30}))?(Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)


def to_record(memory: MemoryRecord) -> dict[str, Any]:
    """Every field of *memory*, in order, ready for JSON; times as described above, unset ones None.

    Raises InvalidInput when a number is not finite.
    """
    record: dict[str, Any] = {}
    for name in _NAMES:
        value = getattr(memory, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidInput(f"{name} is {value}", "correct it, then export")
        if name in _TIMES and value is not None:
            value = time_text(float(value))
        record[name] = list(value) if name in _LISTS else value
    return record


def from_record(record: Mapping[str, Any]) -> tuple[MemoryRecord, tuple[str, ...]]:
    """The memory of *record*, and warnings about unknown fields and replaced lone surrogates.

    Only "text" must be there; the others take their defaults. A missing id becomes "", which
    the caller replaces. A date alone means its first moment on this machine, in valid_until its
    last microsecond. Raises InvalidInput, which names the field and what is allowed.
    """
    if "text" not in record:
        raise InvalidInput("text is missing", "give every memory a text")
    unknown = [name for name in record if name not in _NAMES]
    warnings = [f"unknown field {name!r:.60} is ignored" for name in unknown]
    values: dict[str, Any] = {"id": ""}
    for name in _NAMES:
        if name in record:
            value = _value(name, record[name])
            values[name] = clean = _without_surrogates(value)
            if clean != value:
                warnings.append(f"{name}: a lone surrogate became U+FFFD")
    return MemoryRecord(**values), tuple(warnings)


def read_records(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of *lines* with their line numbers (from 1), fields unchecked.

    A byte order mark before the first and blank lines are skipped. Raises InvalidInput, which
    names the line, for what is not a JSON object.
    """
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix("\ufeff") if number == 1 else line
        if not text.strip():
            continue
        try:
            record = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as problem:
            said = problem.msg if isinstance(problem, json.JSONDecodeError) else str(problem)
            raise InvalidInput(
                f"line {number} is not JSON ({said})", "give one JSON object a line"
            ) from None
        if not isinstance(record, dict):
            raise InvalidInput(f"line {number} is not a JSON object", "give one JSON object a line")
        yield number, record


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _value(name: str, value: Any) -> Any:
    if name in _TIMES:
        return _time(name, value)
    if name in _LISTS:
        return _texts(name, value)
    default = _DEFAULTS.get(name, "")
    reader: Callable[[str, Any], Any] = _flag if isinstance(default, bool) else _text
    if isinstance(default, (int, float)) and not isinstance(default, bool):
        reader = _number
    return reader(name, value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is {_shown(value)}", "give a text")
    allowed = _ALLOWED.get(name)
    if allowed is not None and value not in allowed:
        known = ", ".join(word or '""' for word in allowed)
        raise InvalidInput(f"{name} is {_shown(value)}", f"give one of {known}")
    if name in _IDS and value and not is_id(value):
        raise InvalidInput(f"{name} is {_shown(value)}", "give an id as it was exported, or none")
    return value


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise InvalidInput(f"{name} is {_shown(value)}", "give a list of texts")
    return tuple(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} is {_shown(value)}", "give true or false")
    return value


def _number(name: str, value: Any) -> float:
    lowest, highest = _RANGES[name]
    whole = isinstance(_DEFAULTS[name], int)
    fits = isinstance(value, int) or (isinstance(value, float) and not whole)
    if not fits or isinstance(value, bool) or not lowest <= value <= highest:
        kind = "a whole number" if whole else "a number"
        raise InvalidInput(f"{name} is {_shown(value)}", f"give {kind} from {lowest} to {highest}")
    return value if whole else float(value)


def _time(name: str, value: Any) -> float | None:
    if value is None and name in _MOMENTS:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and _finite(value):
        return float(value)
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        date, clock, decimals, offset = match.groups()
        if clock is None and name == "valid_until":
            clock, decimals = "23:59:59", "999999"
        zone = "+00:00" if offset == "Z" else offset or ""
        try:
            whole = _aware(datetime.fromisoformat(f"{date}T{clock or '00:00'}{zone}"))
        except ValueError:
            match = None
        else:
            seconds = Fraction(_since_1970(whole))
            return float(seconds + Fraction(int(decimals or 0), 10 ** len(decimals or "")))
    raise InvalidInput(
        f"{name} is {_shown(value)}", "give a time such as 2024-05-07T09:30:00.000000Z"
    )


def _aware(moment: datetime) -> datetime:
    """*moment* with its offset: without one it is a time of this machine."""
    if moment.tzinfo is not None:
        return moment
    try:
        return moment.astimezone()
    except (OverflowError, ValueError, OSError):  # the first or last day of the calendar
        return moment.replace(tzinfo=UTC)


_START = datetime(1970, 1, 1, tzinfo=UTC)


def _since_1970(moment: datetime) -> int:
    past = moment - _START
    return past.days * 86_400 + past.seconds


def time_text(seconds: float) -> str | float:
    """The inverse of _time: epoch *seconds* as a record holds them.

    repr has the fewest decimals that lead back to the same float.
    """
    if not _FIRST <= seconds < _LAST:
        return seconds
    exact = Fraction(Decimal(repr(seconds)))
    whole = math.floor(exact)
    scaled = (exact - whole) * 10**_DECIMALS
    if scaled.denominator != 1 or (seconds == 0.0 and math.copysign(1.0, seconds) < 0):
        return seconds
    decimals = f"{int(scaled):0{_DECIMALS}d}"
    decimals = decimals[:6] + decimals[6:].rstrip("0")
    day, rest = divmod(whole, 86_400)
    date = datetime.fromordinal(_START.toordinal() + day).date()
    minutes, second = divmod(rest, 60)
    return f"{date}T{minutes // 60:02}:{minutes % 60:02}:{second:02}.{decimals}Z"


_FIRST = _since_1970(datetime.min.replace(tzinfo=UTC))
_LAST = _since_1970(datetime.max.replace(tzinfo=UTC))


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_without_surrogates(text) for text in value)
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _shown(value: Any) -> str:
    return repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
