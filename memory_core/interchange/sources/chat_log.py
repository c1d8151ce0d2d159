"""Plain logs of a chat: a time, a name and what was said, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from memory_core.interchange.files import File
from memory_core.interchange.found import FILE, OWN, Entry, Incoming, Problem, SourceForm
from memory_core.interchange.parsing import ROLES, moment

_LINE = re.compile(
    r"\u200e?\[?(?P<when>\d{4}-\d\d-\d\d[T ]\d\d?:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d?[./]\d\d?[./]\d{2,4},? \d\d?:\d\d(?::\d\d)?(?:[ \u202f][AaPp][Mm])?)\]?"
    r"(?: -)?:? <?(?P<who>[^\s:<>\[][^:<>\n]{0,60}?)>?: (?P<said>.*)"
)
_SAID = re.compile(
    r"(?P<who>User|Human|Assistant|AI|You|Me|ChatGPT|Claude|Gemini)\s?: (?P<said>.*)"
)
_FORMS = ("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%d/%m/%y", "%m/%d/%Y", "%m/%d/%y")


def _matched(line: str) -> re.Match[str] | None:
    return _LINE.fullmatch(line) or _SAID.fullmatch(line)


def _reads(file: File) -> bool:
    if file.suffix not in (".txt", ".log", ".chat", ""):
        return False
    lines = [line for line in file.beginning.splitlines() if line.strip()][:200]
    return sum(_matched(line) is not None for line in lines) >= max(2, len(lines) / 5)


def _read(file: File) -> Iterator[Entry]:
    """Each message with the lines that continue it."""
    orders = _orders(file)
    last, dated, own = file.modified, FILE, False
    started: Incoming | None = None
    more: list[str] = []
    number = 0
    for line_number, line in file.lines():
        place = f"{file.name} line {line_number}"
        if line is None:
            yield Problem(place, f"it is not {file.charset.upper()}")
            continue
        match = _matched(line)
        if match is None:
            more.append(line)
            continue
        if started is not None:
            yield _whole(started, more)
        said = match.groupdict()
        if said.get("when"):
            at = _moment(said["when"], orders)
            if at is None:
                yield Problem(place, f"{said['when']!r} is no date")
                started, more = None, []
                continue
            last, dated, own = at, OWN, True
        number += 1
        who, more = said["who"].strip(), [said["said"]]
        role = ROLES.get(who.casefold(), "")
        started = Incoming(
            "",
            f"{file.origin}\x1f{said.get('when') or number}\x1f{who}\x1f{said['said']}",
            place,
            last,
            dated if own else FILE,
            role=role,
            speaker="" if role else who,
            session=file.name,
            source=file.name,
            turn=True,
        )
    if started is not None:
        yield _whole(started, more)


def _whole(started: Incoming, lines: list[str]) -> Entry:
    text = "\n".join(lines).strip()
    return replace(started, text=text) if text else Problem(started.place, "nothing is said")


def _orders(file: File) -> tuple[str, ...]:
    """The orders of day and month that the dates at the beginning of *file* allow, likely first."""
    dates = [m["when"] for line in file.beginning.splitlines() if (m := _LINE.fullmatch(line))]
    return tuple(form for form in _FORMS if all(_day(date, form) for date in dates)) or _FORMS


def _day(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(re.split(r",? ", text, maxsplit=1)[0], form).replace(tzinfo=UTC)
    except ValueError:
        return None


def _moment(text: str, orders: tuple[str, ...]) -> float | None:
    if (own := moment(text)) is not None:
        return own
    day = next((day for form in orders if (day := _day(text, form))), None)
    clock = re.search(r"(\d\d?):(\d\d)(?::(\d\d))?(?:[ \u202f]([AaPp])[Mm])?$", text)
    if day is None or clock is None:
        return None
    hour = int(clock[1])
    if clock[4]:
        hour = hour % 12 + 12 * (clock[4] in "Pp")
    if hour > 23 or int(clock[2]) > 59:
        return None
    return day.timestamp() + hour * 3600 + int(clock[2]) * 60 + int(clock[3] or 0)


FORM = SourceForm(
    "chat-log", "lines such as 2024-05-07 09:30 Ann: hello, or User: hello", _reads, _read
)
