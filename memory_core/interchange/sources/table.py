"""Tables of comma- or tab-separated values, with a name for each column."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator, Mapping

from memory_core.errors import InvalidInput
from memory_core.interchange.files import LINE_MOST, File
from memory_core.interchange.found import FILE, OWN, Entry, Incoming, Problem, SourceForm
from memory_core.interchange.parsing import FORMULA, ROLES, moment, string, strings

FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "content", "memory", "fact", "note", "message", "body"),
    "id": ("id", "uuid", "key"),
    "when": ("when", "date", "time", "timestamp", "created_at", "created", "occurred_at"),
    "role": ("role",),
    "speaker": ("speaker", "author", "sender", "user", "name"),
    "session": ("session", "conversation", "thread", "conversation_id"),
    "tags": ("tags", "labels", "categories"),
    "kind": ("kind",),
    "source": ("source", "url"),
}
"""What a column may hold, and the names by which it is known without a mapping."""

NAMED = 20
"""Columns that an error names."""

_SLASHED = re.compile(r"^(\d\d?)/(\d\d?)/(\d{4}(?!\d).*)")
"""A date with slashes, which has the day first in one country and the month in another."""

_KINDS = {"fact", "preference", "event", "relationship", "procedure", "episode"}
_DELIMITERS = (",", "\t", ";", "|")


def _dialect(file: File, named: Mapping[str, str]) -> tuple[list[str], str]:
    """The names of the columns and what is between them: the sign by which most are known."""
    found = [(_head(file, sign), sign) for sign in _DELIMITERS]
    return max(found, key=lambda each: (len(_columns(each[0], named)), len(each[0])))


def _head(file: File, delimiter: str) -> list[str]:
    """The names of the columns. Before them Excel may write "sep=;"."""
    lines = [line for line in file.beginning.splitlines()[:2] if not _says_sign(line)]
    try:
        names = next(csv.reader(lines, delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []
    return [name.strip() for name in names]


def _says_sign(line: str) -> bool:
    return line.startswith("sep=") and len(line) == len("sep=") + 1


def _columns(head: list[str], named: Mapping[str, str]) -> dict[str, str]:
    """The column of each field: as *named*, or the first of its usual names that is there."""
    names = {name.casefold(): name for name in head}
    found = {}
    for field, usual in FIELDS.items():
        wanted = (named[field],) if field in named else usual
        known = next((names[name.casefold()] for name in wanted if name.casefold() in names), None)
        if known is not None:
            found[field] = known
    return found


def form(columns: Mapping[str, str]) -> SourceForm:
    """The form of a table whose *columns* name the column of a field.

    Its reader raises InvalidInput when one that was named, or the one of the text, is not there,
    and when nothing tells the days of its dates from their months.
    """

    def reads(file: File) -> bool:
        if file.suffix not in (".csv", ".tsv"):
            return False
        return bool(columns) or "text" in _columns(_dialect(file, columns)[0], columns)

    return SourceForm(
        "csv",
        "a .csv or .tsv file with a column named text, or --column text=NAME",
        reads,
        lambda file: _read(file, columns),
    )


def _read(file: File, named: Mapping[str, str]) -> Iterator[Entry]:
    head, delimiter = _dialect(file, named)
    columns = _columns(head, named)
    for field in sorted({"text", *named} - columns.keys()):
        there = ", ".join(name[:40] for name in head[:NAMED])
        raise InvalidInput(
            f"{file.name} has no column {named.get(field, field)!r}; its columns are: {there}",
            f"name one of them: --column {field}=NAME",
        )
    day_first = "when" in columns and _day_first(file, delimiter, head.index(columns["when"]))
    for row in _rows(file, delimiter):
        if isinstance(row, Problem):
            yield row
            continue
        place, cells = row
        if [cell.strip() for cell in cells] == head:
            continue
        if any(cells[len(head) :]):
            yield Problem(place, f"it has {len(cells)} cells, and there are {len(head)} columns")
            continue
        given = dict(zip(head, cells, strict=False))
        told = {field: _value(given.get(name)) for field, name in columns.items()}
        yield _row(file, place, told, day_first=day_first)


def _day_first(file: File, delimiter: str, place: int) -> bool:
    """True when the dates with slashes in the column at *place* have the day before the month.

    Raises InvalidInput where no date, or not every one, tells.
    """
    days, months, shown = False, False, ""
    for row in _rows(file, delimiter):
        cell = "" if isinstance(row, Problem) else "".join(row[1][place : place + 1])
        if match := _SLASHED.fullmatch(_value(cell)):
            days |= int(match[1]) > 12
            months |= int(match[2]) > 12
            shown = shown or match[0]
    if shown and days == months:
        raise InvalidInput(
            f"{file.name} is not stored: {shown[:40]!r} may have the day or the month first",
            "write its dates as 2024-05-07, then import it again",
        )
    return days


def _value(cell: str | None) -> str:
    """The text of a *cell*, without the mark by which a spreadsheet takes it for text."""
    text = string(cell)
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def _rows(file: File, delimiter: str) -> Iterator[tuple[str, list[str]] | Problem]:
    """The rows with something in them, with their places.

    After one that is none, such as one whose quotation mark is never closed, the reading goes on
    with the line after its first.
    """
    csv.field_size_limit(LINE_MOST)
    lines, wrong = _lines(file), list[Problem]()
    taken, again = list[tuple[str, str]](), deque[tuple[str, str]]()

    def next_lines() -> Iterator[str]:
        while (line := again.popleft() if again else next(lines, None)) is not None:
            if isinstance(line, Problem):
                wrong.append(line)
            else:
                taken.append(line)
                yield line[1]

    while True:
        reader = csv.reader(next_lines(), delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            for cells in reader:
                yield from wrong
                if any(cell.strip() for cell in cells):
                    yield taken[0][0], cells
                wrong.clear()
                taken.clear()
        except csv.Error as problem:
            yield Problem(taken[0][0], f"it is no row ({problem})")
            again.extendleft(reversed(taken[1:]))
            taken.clear()
        else:
            yield from wrong
            return


def _lines(file: File) -> Iterator[tuple[str, str] | Problem]:
    """The lines with their places. Old programs of the Mac end lines with a carriage return."""
    number = 0
    for _, line in file.lines():
        for part in (None,) if line is None else line.split("\r"):
            number += 1
            place = f"{file.name} line {number}"
            if part is None:
                yield Problem(place, file.not_in_it)
            elif not (number == 1 and _says_sign(part)):
                yield place, part + "\n"


def _row(file: File, place: str, given: Mapping[str, str], *, day_first: bool) -> Entry:
    text, when = given["text"], given.get("when", "")
    own = moment(_SLASHED.sub(r"\1.\2.\3" if day_first else r"\2.\1.\3", when))
    if not text:
        return Problem(place, "the text is empty")
    if when and own is None:
        return Problem(
            place,
            f"{when[:40]!r} is no date such as 2024-05-07 or 7.5.2024, so its text is not stored; "
            "correct it, then import it again",
        )
    role, kind, id = (given.get(name, "") for name in ("role", "kind", "id"))
    slot = f"{file.origin}: {id}" if id else ""
    return Incoming(
        text,
        id or "\x1f".join((text, when, given.get("session", ""))),
        place,
        file.modified if own is None else own,
        FILE if own is None else OWN,
        kind=kind if kind in _KINDS else "episode",
        role=ROLES.get(role.casefold(), ""),
        speaker=given.get("speaker", "") or ("" if role.casefold() in ROLES else role),
        session=given.get("session", ""),
        tags=strings(given.get("tags")),
        source=slot or given.get("source", "") or file.name,
        slot=slot,
    )
