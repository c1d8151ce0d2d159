"""Cursor's database state.vscdb, of which a copy is read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from memory_core.interchange.files import File
from memory_core.interchange.found import (
    CONVERSATION,
    FILE,
    OWN,
    Entry,
    Incoming,
    LeftOut,
    Problem,
    SourceForm,
)
from memory_core.interchange.parsing import moment, string

_ROLES: dict[Any, str] = {1: "user", 2: "assistant"}
_BREAKS = ("paragraph", "linebreak")
"""Nodes of the editor with which a line begins."""


def _reads(file: File) -> bool:
    return "cursorDiskKV" in file.tables()


def _read(file: File) -> Iterator[Entry]:
    with file.database() as db:
        asked = "SELECT key, value FROM cursorDiskKV WHERE key GLOB 'composerData:*' ORDER BY key"
        for key, value in db.execute(asked).fetchall():
            place = f"{file.name} {key}"
            if value is None:
                yield LeftOut("deleted", place)
                continue
            talk = _object(value)
            if talk is None:
                yield Problem(place, "it is not JSON")
            else:
                yield from _conversation(file, db, place, key.partition(":")[2], talk)


def _conversation(
    file: File, db: sqlite3.Connection, place: str, id: str, talk: dict[str, Any]
) -> Iterator[Entry]:
    began = moment(talk.get("createdAt"))
    when, dated = (file.modified, FILE) if began is None else (began, CONVERSATION)
    for number, header in enumerate(_headers(talk)):
        name = string(header.get("bubbleId")) or str(number)
        where, key = f"{place} {name}", f"bubbleId:{id}:{name}"
        row = db.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
        bubble = header if row is None or row[0] is None else _object(row[0])
        if bubble is None:
            yield Problem(where, "it is not JSON")
            continue
        role = _ROLES.get(bubble.get("type", header.get("type")), "")
        text = string(bubble.get("text")) or _typed(bubble.get("richText"))
        if not role or not text:
            yield LeftOut("no text" if role else "event that is no message", where)
            continue
        own = moment(bubble.get("createdAt"))
        when = when if own is None else own
        yield Incoming(
            text,
            f"{id}\x1f{name}",
            where,
            when,
            dated if own is None else OWN,
            role=role,
            session=f"cursor:{id}",
            source=f"cursor: {string(talk.get('name')) or id}",
            turn=True,
            gated=True,
        )


def _headers(talk: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a conversation in order: only their ids, or whole in older versions."""
    for name in ("fullConversationHeadersOnly", "conversation"):
        listed = talk.get(name)
        if isinstance(listed, list) and listed:
            yield from (each for each in listed if isinstance(each, dict))
            return


def _typed(value: Any) -> str:
    """The words in *value*, JSON of the editor in which a message was typed; "" for none."""
    words, left = list[str](), [(_object(value) or {}).get("root")]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            words.append("\n" if node.get("type") in _BREAKS else str(node.get("text", "")))
            children = node.get("children")
            left += reversed(children) if isinstance(children, list) else ()
    return "".join(words).strip()


def _object(value: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(value)
    except (ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


FORM = SourceForm("cursor", "state.vscdb with the table cursorDiskKV", _reads, _read)
