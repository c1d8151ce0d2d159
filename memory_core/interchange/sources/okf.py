"""Our own folder of Markdown in the Open Knowledge Format, also where somebody edited a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory_core.errors import InvalidInput
from memory_core.interchange import okf
from memory_core.interchange.files import File
from memory_core.interchange.found import FILE, Entry, Incoming, LeftOut, Problem, SourceForm
from memory_core.interchange.parsing import string, strings


def _reads(file: File) -> bool:
    return file.suffix == ".md" and okf.GENERATED in file.beginning


def _read(file: File) -> Iterator[Entry]:
    try:
        text = file.text().replace("\r\n", "\n")  # git may have written it so
    except InvalidInput as problem:
        yield Problem(file.name, str(problem))
        return
    for line, record, edited in okf.entries(text):
        place, id = f"{file.name} line {line}", string(record.get("id"))
        if not id:
            yield Problem(place, "the comment before the text is no memory; it was changed")
        elif not edited:
            yield Incoming("", "", place, 0.0, record=record)
        elif not string(record["text"]):
            yield Problem(place, "its text is gone; forget the memory instead")
        else:
            yield edited_form(record, place, file.modified)
    for line in okf.others(text):
        yield LeftOut("line that belongs to no memory", f"{file.name} line {line}")


def edited_form(record: Mapping[str, Any], place: str, modified: float) -> Incoming:
    """The text of *record*, which somebody edited in a file *modified* then, as its successor."""
    id = string(record.get("id"))
    return Incoming(
        string(record["text"]),
        id,
        place,
        modified,
        FILE,
        kind=string(record.get("kind")) or "episode",
        role=string(record.get("role")),
        speaker=string(record.get("speaker")),
        session=string(record.get("session")),
        tags=strings(record.get("tags")),
        source=string(record.get("source")),
        slot=id,
        replaces=id,
    )


FORM = SourceForm("okf", "Markdown that export --format okf wrote", _reads, _read)
