"""JSON, times and texts of foreign files, streamed where they may be long."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any

from memory_core.errors import InvalidInput
from memory_core.interchange.files import File
from memory_core.interchange.found import Problem

ELEMENT_MOST = 256 * 2**20
"""Characters of one element of a list, such as a conversation."""

_MORE = "the list ends here, and what follows is not read"

_MARKS = re.compile(r'["\\{}\[\],]')


def json_lines(file: File) -> Iterator[tuple[str, dict[str, Any]] | Problem]:
    """The JSON objects of *file*, one a line, with their places; a wrong line is a problem."""
    for number, line in file.lines():
        place = f"{file.name} line {number}"
        if line is None:
            yield Problem(place, file.not_in_it)
        elif line.strip():
            value = _loaded(line)
            if isinstance(value, Problem):
                yield Problem(place, value.what)
            elif isinstance(value, dict):
                yield place, value
            else:
                yield Problem(place, "it is not a JSON object")


def elements(file: File, *names: str) -> Iterator[tuple[str, Any] | Problem]:
    """The elements of the list that *file* is, or of the lists *names* in the object that it is.

    A list is streamed: an element that is not JSON is a problem, and the next one is read. An
    object is read whole. Raises InvalidInput for any other file.
    """
    start = file.beginning.lstrip()[:1]
    if start == "[":
        yield from _streamed(file)
        return
    value = whole(file)
    inner = [value.get(name) for name in names] if isinstance(value, dict) else []
    lists = [each for each in inner if isinstance(each, list)] or [[value]]
    for number, each in enumerate(chain.from_iterable(lists), 1):
        yield f"{file.name} element {number}", each


def whole(file: File) -> Any:
    """The JSON value of *file*. Raises InvalidInput, which says where it breaks off."""
    value = _loaded(file.text())
    if isinstance(value, Problem):
        raise InvalidInput(f"{file.name}: {value.what}", "export it again")
    return value


def _streamed(file: File) -> Iterator[tuple[str, Any] | Problem]:
    """The elements of the list that *file* is; their ends are found by counting brackets."""
    buffer: list[str] = []
    held = depth = number = 0
    quoted = escaped = False
    chunks = file.chunks()
    for chunk in chunks:
        start = 0
        for mark in _MARKS.finditer(chunk):
            sign, at = mark[0], mark.start()
            if quoted:
                if escaped and (at == 0 or chunk[at - 1] == "\\"):
                    escaped = False
                    continue
                escaped = False
                if sign == "\\":
                    escaped = True
                elif sign == '"':
                    quoted = False
                continue
            if sign == '"':
                quoted = True
            elif sign in "{[":
                depth += 1
                if depth == 1:
                    start = at + 1
            elif sign in "}]" or (sign == "," and depth == 1):
                depth -= sign in "}]"
                if (sign == "," and depth == 1) or depth == 0:
                    text = "".join((*buffer, chunk[start:at]))
                    buffer, held, start = [], 0, at + 1
                    if text.strip():
                        number += 1
                        yield _element(file, number, text)
                if depth == 0:
                    if chunk[start:].strip() or any(more.strip() for more in chunks):
                        yield Problem(f"{file.name} after element {number}", _MORE)
                    return
        if quoted and escaped and not chunk.endswith("\\"):
            escaped = False
        buffer.append(chunk[start:])
        held += len(buffer[-1])
        if held > ELEMENT_MOST:
            break
    why = "it is too long" if held > ELEMENT_MOST else "the file breaks off in it"
    yield Problem(f"{file.name} element {number + 1}", why)


def _element(file: File, number: int, text: str) -> tuple[str, Any] | Problem:
    place = f"{file.name} element {number}"
    value = _loaded(text)
    return Problem(place, value.what) if isinstance(value, Problem) else (place, value)


def _loaded(text: str) -> Any:
    """The JSON value of *text*, or the problem with it, without a place."""
    try:
        return json.loads(text, parse_constant=_refused)
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno} column {problem.colno}"
        return Problem("", f"it is not JSON ({problem.msg}, {where})")
    except (ValueError, RecursionError) as problem:
        return Problem("", f"it is not JSON ({problem})")


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


# Values


def moment(value: Any) -> float | None:
    """Epoch seconds of an ISO 8601 text, a number of seconds, milliseconds or more; else None.

    So of a text that is near to it, such as 7.5.2024 09:30.
    A time without a zone is one of this machine. A number beyond the year 5138 counts in
    milliseconds, beyond that in microseconds and nanoseconds.
    """
    if isinstance(value, datetime):
        return _seconds(value)
    if isinstance(value, date):
        return _seconds(datetime(value.year, value.month, value.day))
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"\d{9,19}(\.\d+)?", text):
            return moment(float(text))
        try:
            return moment(datetime.fromisoformat(_strict(text)))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    if not math.isfinite(seconds):  # JSON reads 1e400 as infinity
        return None
    while abs(seconds) > 1e11:
        seconds /= 1000
    return seconds


def _seconds(value: datetime) -> float | None:
    try:
        return value.timestamp()
    except (OverflowError, ValueError, OSError):  # the first or last day of the calendar
        return value.replace(tzinfo=UTC).timestamp()


_LOOSE = re.compile(
    r"(\d{4})([-/.])(\d\d?)\2(\d\d?)"
    r"(?:(?:\s+|[Tt])(\d\d?)(:\d\d(?::\d\d(?:\.\d{1,9})?)?)\s?(Z|z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?)?"
)


_DOTTED = re.compile(r"(\d\d?)\. ?(\d\d?)\. ?(\d{4}|\d\d)(?:,?(\s.*))?")
"""With dots the day stands before the month, wherever it is written so."""


def _strict(text: str) -> str:
    """*text* in ISO 8601 where it is near to that, as YAML and many programs write times."""
    if dotted := _DOTTED.fullmatch(text):
        day, month, year, rest = dotted.groups()
        text = f"{year if len(year) == 4 else f'20{year}'}-{month}-{day}{rest or ''}"
    match = _LOOSE.fullmatch(text)
    if match is None:
        return text
    year, _, month, day, hour, clock, zone = match.groups()
    date = f"{year}-{month:0>2}-{day:0>2}"
    zone = "Z" if zone in ("z", "UTC", "GMT") else zone or ""
    return date if hour is None else f"{date}T{hour:0>2}{clock}{zone}"


def string(value: Any) -> str:
    """*value* if it is a text, without white space at its ends; else ""."""
    return value.strip() if isinstance(value, str) else ""


def strings(value: Any) -> tuple[str, ...]:
    """The texts of a list, or of a text with commas between; each once, none empty."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple):
        return ()
    return tuple(dict.fromkeys(each for one in value if (each := string(one))))


def blocks(value: Any) -> str:
    """The text of a message: itself, or its blocks of type text, input_text or output_text."""
    if not isinstance(value, list):
        return string(value)
    said = []
    for one in value:
        if isinstance(one, str):
            said.append(one)
        elif isinstance(one, dict) and one.get("type", "text") in TEXT_BLOCKS:
            said.append(string(one.get("text")))
    return "\n\n".join(text for text in said if text.strip()).strip()


TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With what a cell of a table begins that a spreadsheet runs; ours have an apostrophe before it."""

ROLES = {
    **dict.fromkeys(("user", "human", "you", "me"), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "bot", "model", "chatgpt", "claude", "gemini"), "assistant"
    ),
    **{"system": "system", "tool": "tool"},
}
"""The roles of ours for what logs and tables call who speaks."""
