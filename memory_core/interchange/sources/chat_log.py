"""Plain logs of a chat: a time, a name and what was said, line by line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from memory_core.interchange.files import File
from memory_core.interchange.found import FILE, OWN, Entry, Incoming, LeftOut, Problem, SourceForm
from memory_core.interchange.parsing import ROLES, moment

_HIDDEN = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks of the direction of writing, which WhatsApp puts around names and times."""
_BEFORE = rf"[{_HIDDEN}]{{0,4}}"
_DATE = r"(?P<date>\d{1,4}(?P<sign>[./-]|\. )\d\d?(?P=sign)\d{2,4})\.?"
_CLOCK = (
    r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?:[.,]\d{1,9})?"
    r"(?:\s?(?P<half>[AaPp])\.?\s?[Mm]\b\.?)?\s?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_WHENS = (rf"{_DATE}(?:T|,?\s(?:\w{{1,3}}\.?\s)?){_CLOCK}", rf"{_CLOCK},\s{_DATE}")
_WHO = r"[^\s:<>\[][^:<>\n]{0,60}?"
_FRAMES = [
    re.compile(rf"(?P<frame>{_BEFORE}\[?{when}\]?(?: -)?:?\s){rest}")
    for when in _WHENS
    for rest in (rf"(?P<who>{_WHO}): ?(?P<said>.*)", rf"<(?P<who>{_WHO})>:? (?P<said>.*)")
]
_FRAMES += [re.compile(rf"(?P<who>{_WHO}), \[(?P<frame>{when})\](?P<said>)") for when in _WHENS]
_UNSAID = [re.compile(rf"(?P<frame>{_BEFORE}\[?{when}\]?(?: -)?:?\s).*") for when in _WHENS]
_SAID = re.compile(
    r"(?P<who>User|Human|Assistant|AI|You|Me|ChatGPT|Claude|Gemini)\s?: (?P<said>.*)"
)

_ATTACHED = re.compile(
    r"\u200e.*|<[^\W\d]+ [^\W\d]+>|\u200e?[A-Z]{3}-\d{8}-WA\d{4}\.\w{2,5} \([^()]+\)"
)
"""What WhatsApp writes for an attachment: after a mark, as <Media omitted>, or by a name."""

_MONTH_FIRST = (1, 0, 2)
"""Written with dots nowhere."""
_YEAR_FIRST = (2, 1, 0)
"""A year of two digits stands first only before a dash."""
_ORDERS = ((0, 1, 2), _MONTH_FIRST, _YEAR_FIRST)
"""Where day, month and year stand in a date, the usual first."""


def _dated(line: str) -> re.Match[str] | None:
    return next((match for each in _FRAMES if (match := each.fullmatch(line))), None)


def _frame(match: re.Match[str]) -> str:
    """What is around the numbers of a time: all lines of a log that begin anew have the same."""
    return re.sub(r"\d+|[AaPp]\.?\s?[Mm]\b\.?", "0", match["frame"])


def _reads(file: File) -> bool:
    if file.suffix not in (".txt", ".log", ".chat", ""):
        return False
    lines = [line for line in file.beginning.splitlines() if line.strip()][:200]
    found = sum((_dated(line) or _SAID.fullmatch(line)) is not None for line in lines)
    return found >= max(2, len(lines) / 5)


@dataclass(frozen=True, slots=True)
class _Log:
    """What a log shows as a whole.

    `order` is that of its dates, None when it has none; `talks` True when only a user and an
    assistant speak, so that "Claude" is no person.
    """

    order: tuple[int, int, int] | None
    talks: bool


def _read(file: File) -> Iterator[Entry]:
    """Each message with the lines that continue it."""
    log = yield from _surveyed(file)
    last, first, number = file.modified, "", 0
    said_then = Counter[tuple[str, str]]()
    started: Incoming | None = None
    more: list[str] = []
    frame = ""
    for line_number, line in file.lines():
        place = f"{file.name} line {line_number}"
        match = _begins(log, line)
        if match is None and line is not None and not _is_unsaid(line, frame):
            if started is not None:
                more.append(line)
            elif line.strip():
                yield LeftOut("line that belongs to no message", place)
            continue
        if started is not None:
            yield _whole(started, more)
        started, more = None, []
        if match is None:
            yield (
                Problem(place, file.not_in_it)
                if line is None
                else LeftOut("line without a speaker", place)
            )
            continue
        when = ""
        if log.order is not None:
            at, when = _moment(match, log.order), match["frame"].strip(_HIDDEN + " []-:")
            frame = _frame(match)
            if at is None:
                yield Problem(place, f"{when!r} is no date")
                continue
            if at != last:
                said_then.clear()
            last = at
        number += 1
        who, said = match["who"].strip(_HIDDEN + " "), match["said"]
        first = first or f"{when}\x1f{who}\x1f{said}"
        said_then[who, said] += 1
        again = f"\x1f{said_then[who, said]}" if said_then[who, said] > 1 else ""
        of = f"{first}\x1f{when}" if when else f"{file.origin}\x1f{number}"
        role, more = _role(log, who), [said]
        started = Incoming(
            "",
            f"{of}\x1f{who}\x1f{said}{again}",
            place,
            last,
            OWN if when else FILE,
            role=role,
            speaker="" if role else who,
            session=file.name,
            source=file.name,
            turn=True,
        )
    if started is not None:
        yield _whole(started, more)


def _begins(log: _Log, line: str | None) -> re.Match[str] | None:
    """The match of a line that begins a message."""
    if line is None:
        return None
    return _SAID.fullmatch(line) if log.order is None else _dated(line)


def _is_unsaid(line: str, frame: str) -> bool:
    """True for a line with a time of the same *frame* as others, in which nobody speaks."""
    found = (match for each in _UNSAID if (match := each.fullmatch(line)))
    return any(_frame(match) == frame for match in found)


def _role(log: _Log, who: str) -> str:
    role = ROLES.get(who.casefold(), "")
    return role if role == "user" or log.talks else ""


def _whole(started: Incoming, lines: list[str]) -> Entry:
    text = "\n".join(lines).strip()
    if _ATTACHED.fullmatch(text):
        return LeftOut("attachment", started.place)
    return replace(started, text=text) if text else Problem(started.place, "nothing is said")


# Dates


def _surveyed(file: File) -> Generator[Entry, None, _Log]:
    """Read *file* once for what it shows as a whole, which is returned; a doubt is yielded."""
    matches = [match for line in file.beginning.splitlines() if (match := _dated(line))]
    dated = bool(matches)
    if not dated:
        lines = file.beginning.splitlines()
        matches = [match for line in lines if (match := _SAID.fullmatch(line))]
    talks = all(match["who"].strip(_HIDDEN + " ").casefold() in ROLES for match in matches)
    if not dated:
        return _Log(None, talks)
    order, doubt = _order(file)
    if doubt:
        yield Problem(file.name, doubt)
    return _Log(order, talks)


def _order(file: File) -> tuple[tuple[int, int, int], str]:
    """The order of day, month and year under which most dates can be and the messages are
    closest together; and what to say where another one is as good."""
    wrong, apart = [0] * len(_ORDERS), [timedelta()] * len(_ORDERS)
    before: list[date | None] = [None] * len(_ORDERS)
    text = ""
    for _, line in file.lines():
        match = None if line is None else _dated(line)
        if match is None or match["date"] == text:
            continue
        text = match["date"]
        for place, order in enumerate(_ORDERS):
            day = _day(match, order)
            wrong[place] += day is None
            if (earlier := before[place]) is not None and day is not None:
                apart[place] += abs(day - earlier)
            before[place] = day or earlier
    best = min(range(len(_ORDERS)), key=lambda place: (wrong[place], apart[place]))
    chosen = before[best]
    for place in range(best + 1, len(_ORDERS)):
        as_good = (wrong[place], apart[place]) == (wrong[best], apart[best])
        if as_good and chosen is not None and before[place] not in (chosen, None):
            return _ORDERS[best], f"{text} may be another day than {chosen}, which is taken"
    return _ORDERS[best], ""


def _day(match: re.Match[str], order: tuple[int, int, int]) -> date | None:
    parts = match["date"].split(match["sign"])
    day, month, year = (parts[place] for place in order)
    sign = match["sign"]
    if len(year) not in (2, 4) or len(day) > 2 or (sign[0] == "." and order == _MONTH_FIRST):
        return None
    if len(year) == 2 and sign != "-" and order == _YEAR_FIRST:
        return None
    try:
        return date(int(year) + 2000 * (len(year) == 2), int(month), int(day))
    except ValueError:
        return None


def _moment(match: re.Match[str], order: tuple[int, int, int]) -> float | None:
    """Epoch seconds; a time without a zone is one of this machine."""
    day = _day(match, order)
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if match["half"]:
        hour = hour % 12 + 12 * (match["half"] in "Pp")
    if day is None or hour > 23 or minute > 59 or second > 60:
        return None
    zone = (match["zone"] or "").replace(":", "")
    if not zone:
        return moment(datetime(day.year, day.month, day.day, hour, minute, min(second, 59)))
    at = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    at += hour * 3600 + minute * 60 + second
    if zone == "Z":
        return at
    ahead = int(zone[1:3]) * 3600 + int(zone[3:]) * 60
    return at - ahead if zone[0] == "+" else at + ahead


FORM = SourceForm(
    "chat-log", "lines such as 2024-05-07 09:30 Ann: hello, or User: hello", _reads, _read
)
