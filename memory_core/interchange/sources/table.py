"""Tables of comma- or tab-separated values, with a name for each column."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping

from memory_core.errors import InvalidInput
from memory_core.interchange.files import LINE_MOST, File
from memory_core.interchange.found import FILE, OWN, Entry, Incoming, Problem, SourceForm
from memory_core.interchange.parsing import moment, string, strings

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

_KINDS = {"fact", "preference", "event", "relationship", "procedure", "episode"}
_ROLES = {"user", "assistant", "system", "tool"}


def _dialect(file: File) -> str:
    first = file.beginning.split("\n", 1)[0]
    return max((",", "\t", ";"), key=first.count)


def _columns(file: File, named: Mapping[str, str]) -> dict[str, str]:
    """The column of each field: as *named*, or the first of its usual names that is there."""
    head = next(
        csv.reader([file.beginning.split("\n", 1)[0].strip()], delimiter=_dialect(file)), []
    )
    names = {name.strip().casefold(): name.strip() for name in head}
    found = {}
    for field, usual in FIELDS.items():
        wanted = (named[field],) if field in named else usual
        known = next((names[name.casefold()] for name in wanted if name.casefold() in names), None)
        if known is not None:
            found[field] = known
    return found


def form(columns: Mapping[str, str]) -> SourceForm:
    """The form of a table whose *columns* name the column of a field.

    Its reader raises InvalidInput when one that was named, or the one of the text, is not there.
    """

    def reads(file: File) -> bool:
        return file.suffix in (".csv", ".tsv") and "text" in _columns(file, columns)

    return SourceForm(
        "csv",
        "a .csv or .tsv file with a column named text, or --column text=NAME",
        reads,
        lambda file: _read(file, columns),
    )


def _read(file: File, named: Mapping[str, str]) -> Iterator[Entry]:
    columns = _columns(file, named)
    for field in {"text", *named} - columns.keys():
        raise InvalidInput(
            f"{file.name} has no column {named.get(field, field)!r}", "name it: --column text=NAME"
        )
    csv.field_size_limit(LINE_MOST)
    wrong: list[int] = []

    def lines() -> Iterator[str]:
        for number, line in file.lines():
            if line is None:
                wrong.append(number)
            else:
                yield line + "\n"

    rows = csv.DictReader(lines(), delimiter=_dialect(file), skipinitialspace=True)
    rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
    try:
        for row in rows:
            while wrong:
                yield Problem(
                    f"{file.name} line {wrong.pop()}", f"it is not {file.charset.upper()}"
                )
            place = f"{file.name} line {rows.line_num}"
            given = {field: string(row.get(name)) for field, name in columns.items()}
            yield _row(file, place, given)
    except csv.Error as problem:
        yield Problem(f"{file.name} line {rows.line_num}", f"it is no row ({problem})")
    for number in wrong:
        yield Problem(f"{file.name} line {number}", f"it is not {file.charset.upper()}")


def _row(file: File, place: str, given: Mapping[str, str]) -> Entry:
    text, own = given["text"], moment(given.get("when"))
    if not text:
        return Problem(place, "the text is empty")
    if given.get("when") and own is None:
        return Problem(place, f"{given['when'][:40]!r} is no date such as 2024-05-07")
    role, kind, id = (given.get(name, "") for name in ("role", "kind", "id"))
    slot = f"{file.origin}: {id}" if id else ""
    return Incoming(
        text,
        id or "\x1f".join((text, given.get("when", ""), given.get("session", ""))),
        place,
        file.modified if own is None else own,
        FILE if own is None else OWN,
        kind=kind if kind in _KINDS else "episode",
        role=role if role in _ROLES else "",
        speaker=given.get("speaker", ""),
        session=given.get("session", ""),
        tags=strings(given.get("tags")),
        source=slot or given.get("source", "") or file.name,
        slot=slot,
    )
