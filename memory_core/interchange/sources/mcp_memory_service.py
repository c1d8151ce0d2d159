"""mcp-memory-service: its JSON export and its SQLite database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memory_core.interchange.files import File
from memory_core.interchange.found import FILE, OWN, Entry, Incoming, LeftOut, Problem, SourceForm
from memory_core.interchange.parsing import elements, moment, string, strings


def _reads(file: File) -> bool:
    if file.is_sqlite:
        return file.tables().get("memories", set()) >= {"content_hash", "content"}
    start = file.beginning
    return start.lstrip()[:1] in "[{" and '"content_hash"' in start and '"content"' in start


def _read(file: File) -> Iterator[Entry]:
    if file.is_sqlite:
        with file.database() as db:
            columns = {row[1] for row in db.execute("PRAGMA table_info(memories)")}
            for row in db.execute("SELECT rowid, * FROM memories"):
                place = f"{file.name} row {row[0]}"
                yield _memory(file, place, {name: row[name] for name in columns})
            if db.execute("PRAGMA table_info(memory_graph)").fetchone():
                for number, _ in enumerate(db.execute("SELECT 1 FROM memory_graph"), 1):
                    yield LeftOut("association", f"{file.name} association {number}")
        return
    for entry in elements(file, "memories"):
        if isinstance(entry, Problem):
            yield entry
        elif isinstance(entry[1], dict):
            yield _memory(file, *entry)
        else:
            yield Problem(entry[0], "it is no memory")


def _memory(file: File, place: str, each: Mapping[str, Any]) -> Entry:
    text, key = string(each.get("content")), string(each.get("content_hash"))
    if each.get("deleted_at") is not None:
        return LeftOut("deleted", place)
    if not text or not key:
        return Problem(place, "it has no content or no content_hash")
    own = next(
        (
            at
            for name in ("created_at", "created_at_iso", "timestamp")
            if (at := moment(each.get(name))) is not None
        ),
        None,
    )
    tags = each.get("tags")
    if isinstance(tags, str) and tags.startswith("["):
        try:
            tags = json.loads(tags)
        except (ValueError, RecursionError):
            return Problem(place, "its tags are no list")
    return Incoming(
        text,
        key,
        place,
        file.modified if own is None else own,
        FILE if own is None else OWN,
        kind=_KINDS.get(string(each.get("memory_type")).lower(), "episode"),
        tags=tuple(tag for tag in strings(tags) if tag != "untagged"),
        source=f"mcp-memory-service: {key}",
    )


_KINDS = {
    "fact": "fact",
    "preference": "preference",
    "decision": "fact",
    "reference": "fact",
    "procedure": "procedure",
    "event": "event",
    "note": "fact",
}
"""Kinds of ours for the memory types that have one."""

FORM = SourceForm(
    "mcp-memory-service",
    'JSON with "content" and "content_hash", or its SQLite database',
    _reads,
    _read,
)
