"""MemPalace: the drawers in its Chroma database, and in the files that its export writes.

Markdown has a file a room, with a heading, a quotation and a table a drawer; JSON lines have a
drawer a line. A drawer is the same one whichever of them it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from memory_core.interchange.files import File
from memory_core.interchange.found import FILE, OWN, Entry, Incoming, LeftOut, Problem, SourceForm
from memory_core.interchange.parsing import json_lines, moment, string

_TEXT = "chroma:document"
_ROOM = re.compile(r"# (?>(?:(?! / )[^\n])+) / [^\n]+\n\n## [^\n]+\n\n>", re.ASCII)
_INDEX = re.compile(r"# (?:Palace Export|Palace Snapshot|Snapshot Index|Wing Export)\b")
_UNKNOWN = "unknown"
"""What an export writes where a drawer has no value."""


def _reads(file: File) -> bool:
    if file.suffix == ".md":
        return _is_room(file) or _is_index(file)
    if not file.is_sqlite:
        start = file.beginning
        named = ('"id"', '"document"', '"metadata"', '"wing"')
        return start.lstrip()[:1] == "{" and all(name in start for name in named)
    if not file.tables().get("embedding_metadata", set()) >= {"id", "key", "string_value"}:
        return False
    with file.database() as db:
        asked = "SELECT 1 FROM embedding_metadata WHERE key IN ('wing', 'room') LIMIT 1"
        return db.execute(asked).fetchone() is not None


def _read(file: File) -> Iterator[Entry]:
    if file.is_sqlite:
        yield from _database(file)
    elif file.suffix != ".md":
        yield from _lines(file)
    elif _is_index(file):
        yield LeftOut("index of an export", file.name)
    else:
        yield from _room(file)


def _database(file: File) -> Iterator[Entry]:
    with file.database() as db:
        sql = (
            "SELECT e.id AS number, e.embedding_id AS name, m.key AS key,"
            " coalesce(m.string_value, m.int_value, m.float_value) AS value"
            " FROM embeddings e JOIN embedding_metadata m ON m.id = e.id ORDER BY e.id"
        )
        number, name, drawer = -1, "", dict[str, object]()
        for row in db.execute(sql):
            if row["number"] != number and drawer:
                yield _drawer(file, f"{file.name} drawer {name}", name, drawer)
                drawer = {}
            number, name = row["number"], str(row["name"])
            drawer[row["key"]] = row["value"]
        if drawer:
            yield _drawer(file, f"{file.name} drawer {name}", name, drawer)


def _lines(file: File) -> Iterator[Entry]:
    for entry in json_lines(file):
        if isinstance(entry, Problem):
            yield entry
            continue
        place, each = entry
        about = each.get("metadata")
        about = about if isinstance(about, dict) else {}
        yield _drawer(file, place, string(each.get("id")), {**about, _TEXT: each.get("document")})


def _is_room(file: File) -> bool:
    return _ROOM.match(file.beginning.replace("\r\n", "\n")) is not None


def _is_index(file: File) -> bool:
    start = file.beginning
    return _INDEX.match(start) is not None and "Drawers" in start


def _room(file: File) -> Iterator[Entry]:
    """The drawers of a room in Markdown."""
    wing = room = name = place = ""
    said: list[str] = []
    about: dict[str, object] = {}
    for number, line in file.lines():
        if line is None:
            yield Problem(f"{file.name} line {number}", file.not_in_it)
        elif number == 1:
            wing, _, room = line.removeprefix("# ").partition(" / ")
        elif line.startswith("## "):
            if name:
                yield _drawer(file, place, name, {**about, _TEXT: "\n".join(said)})
            name, place = line.removeprefix("## ").strip(), f"{file.name} line {number}"
            said, about = [], {"wing": wing, "room": room}
        elif line.startswith(">"):
            said.append(line[1:].removeprefix(" "))
        elif line.startswith("| "):
            field, _, value = line.strip("| ").partition(" | ")
            about[_FIELDS.get(field, field)] = "" if value == _UNKNOWN else value
    if name:
        yield _drawer(file, place, name, {**about, _TEXT: "\n".join(said)})
    else:
        yield Problem(file.name, "it has no drawer")


_FIELDS = {"Source": "source_file", "Filed": "filed_at"}
"""The names in the database of what the table of a drawer calls otherwise."""


def _drawer(file: File, place: str, name: str, drawer: Mapping[str, object]) -> Entry:
    text = string(drawer.get(_TEXT))
    if not text or not name:
        return Problem(place, "it has no text" if name else "it has no id")
    times = (moment(drawer.get(key)) for key in ("created_at", "timestamp", "filed_at", "date"))
    own = next((at for at in times if at is not None), None)
    tags = (string(drawer.get("wing")), string(drawer.get("room")))
    return Incoming(
        text,
        name,
        place,
        file.modified if own is None else own,
        FILE if own is None else OWN,
        tags=tuple(dict.fromkeys(tag for tag in tags if tag)),
        source=string(drawer.get("source_file")) or f"mempalace: {name}",
    )


FORM = SourceForm(
    "mempalace",
    "chroma.sqlite3 with drawers that have a wing and a room, or what its export wrote",
    _reads,
    _read,
)
