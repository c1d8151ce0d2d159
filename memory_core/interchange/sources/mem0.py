"""mem0: what its get_all returns or its export holds, and its history database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory_core.interchange.files import File
from memory_core.interchange.found import FILE, OWN, Entry, Incoming, LeftOut, Problem, SourceForm
from memory_core.interchange.parsing import elements, moment, string, strings
from memory_core.records import KINDS, ROLES

_HISTORY = {"memory_id", "old_memory", "new_memory", "event"}


def _reads(file: File) -> bool:
    if file.is_sqlite:
        return file.tables().get("history", set()) >= _HISTORY
    start = file.beginning
    return (
        start.lstrip()[:1] in "[{"
        and '"memory"' in start
        and '"id"' in start
        and any(mark in start for mark in ('"results"', '"user_id"', '"hash"', '"agent_id"'))
    )


def _read(file: File) -> Iterator[Entry]:
    if file.is_sqlite:
        yield from _history(file)
        return
    for entry in elements(file, "results", "relations"):
        if isinstance(entry, Problem):
            yield entry
        elif isinstance(entry[1], dict) and "relationship" in entry[1]:
            yield _relation(file, *entry)
        else:
            yield _memory(file, *entry)


def _relation(file: File, place: str, each: dict[str, Any]) -> Entry:
    """An edge of mem0's graph, which names its end by either word."""
    start, verb = string(each.get("source")), string(each.get("relationship"))
    end = string(each.get("destination")) or string(each.get("target"))
    if not (start and verb and end):
        return Problem(place, "the relation lacks an end or its type")
    return Incoming(
        f"{start} {verb.replace('_', ' ')} {end}.",
        f"{start}\x1f{verb}\x1f{end}",
        place,
        file.modified,
        FILE,
        kind="relationship",
        entities=(start, end),
        source=f"mem0: {start} -> {verb} -> {end}",
    )


def _memory(file: File, place: str, each: Any) -> Entry:
    text = string(each.get("memory")) if isinstance(each, dict) else ""
    id = string(each.get("id")) if isinstance(each, dict) else ""
    if not text or not id:
        return Problem(place, "it has no memory or no id")
    own = moment(each.get("updated_at")) or moment(each.get("created_at"))
    metadata = each.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    tags = (*strings(each.get("categories")), *strings(metadata.get("tags")))
    slot, ours = f"mem0: {id}", "speaker" in metadata
    kind, role = string(metadata.get("kind")), string(metadata.get("role"))
    named = string(each.get("user_id")) or string(each.get("agent_id"))
    return Incoming(
        text,
        id,
        place,
        file.modified if own is None else own,
        FILE if own is None else OWN,
        kind=kind if ours and kind in KINDS else "fact",
        role=role if ours and role in ROLES else "",
        speaker=string(metadata["speaker"]) if ours else named,
        session=string(each.get("run_id")) or string(ours and metadata.get("session")),
        tags=tags,
        source=slot,
        slot=slot,
    )


def _history(file: File) -> Iterator[Entry]:
    """Each value that a memory had, in order, so that later ones replace earlier ones."""
    with file.database() as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(history)")}
        time = "coalesce(updated_at, created_at)" if "updated_at" in columns else "created_at"
        deleted = " OR is_deleted = 1" if "is_deleted" in columns else ""
        asked = f"SELECT memory_id FROM history WHERE event = 'DELETE'{deleted}"
        gone = {row[0] for row in db.execute(asked)}
        sql = f"SELECT rowid, memory_id, new_memory, {time} AS at FROM history ORDER BY rowid"
        for row in db.execute(sql):
            place, id, text = f"{file.name} row {row['rowid']}", row["memory_id"], row["new_memory"]
            if id in gone:
                yield LeftOut("deleted", place)
            elif string(text) and string(id):
                own, slot = moment(row["at"]), f"mem0: {id}"
                when, dated = (file.modified, FILE) if own is None else (own, OWN)
                yield Incoming(
                    string(text), id, place, when, dated, kind="fact", source=slot, slot=slot
                )
            else:
                yield Problem(place, "it has no memory or no id")


FORM = SourceForm("mem0", 'JSON with "results" of "memory" and "id", or history.db', _reads, _read)
