"""The file of the official memory server: JSON lines of entities and relations."""

from __future__ import annotations

import json
from collections.abc import Iterator

from memory_core.interchange.files import File
from memory_core.interchange.found import FILE, Entry, Incoming, LeftOut, Problem, SourceForm
from memory_core.interchange.other_forms import NAMELESS, OWN_TYPE
from memory_core.interchange.parsing import json_lines, string, strings


def _reads(file: File) -> bool:
    for line in file.first_lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict):
            return False
        if record.get("type") == "entity":
            return "name" in record and "observations" in record
        return record.get("type") == "relation" and "relationType" in record
    return False


def _read(file: File) -> Iterator[Entry]:
    for entry in json_lines(file):
        if isinstance(entry, Problem):
            yield entry
            continue
        place, record = entry
        if record.get("type") == "entity":
            yield from _observations(file, place, record)
        elif record.get("type") == "relation":
            yield _relation(file, place, record)
        else:
            yield Problem(place, "it is neither an entity nor a relation")


def _observations(file: File, place: str, record: dict[str, object]) -> Iterator[Entry]:
    name, kind = string(record.get("name")), strings([record.get("entityType")])
    ours = kind == (OWN_TYPE,)
    texts = record.get("observations")
    if not name or not isinstance(texts, list):
        yield Problem(place, "the entity has no name or no list of observations")
        return
    if not texts:
        yield LeftOut("entity without observations", place)
    for text in texts:
        if not string(text):
            yield Problem(place, "an observation is no text")
            continue
        said = string(text)
        whole = said if ours or name.casefold() in said.casefold() else f"{name}: {said}"
        yield Incoming(
            whole,
            f"{name}\x1f{said}",
            place,
            file.modified,
            FILE,
            kind="fact",
            tags=() if ours else kind,
            entities=() if ours and name == NAMELESS else (name,),
            source=f"server-memory: {name}",
            ours=ours,
        )


def _relation(file: File, place: str, record: dict[str, object]) -> Entry:
    start = string(record.get("from")) or string(record.get("from_id"))
    end = string(record.get("to")) or string(record.get("to_id"))
    verb = string(record.get("relationType"))
    if not (start and end and verb):
        return Problem(place, "the relation lacks an end or its type")
    return Incoming(
        f"{start} {verb.replace('_', ' ')} {end}.",
        f"{start}\x1f{verb}\x1f{end}",
        place,
        file.modified,
        FILE,
        kind="relationship",
        entities=(start, end),
        source=f"server-memory: {start} -> {verb} -> {end}",
    )


FORM = SourceForm(
    "server-memory",
    'JSON lines with "type": "entity" or "relation", of the official memory server',
    _reads,
    _read,
)
