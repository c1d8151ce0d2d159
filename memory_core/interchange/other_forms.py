"""Exports that other tools read: the official memory server's, mem0's, and tables."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from memory_core.interchange.parsing import FORMULA

Record = Mapping[str, Any]

NAMELESS = "memories"
"""The entity of what names nobody and nothing."""

OWN_TYPE = "anamnesis memory"
"""The type of entities of ours: their observations stand alone without the name."""

_COLUMNS = ("id", "text", "when", "kind", "role", "speaker", "session", "tags", "source")


def _current(records: Iterable[Record]) -> Iterator[Record]:
    """Those of *records* that hold: neither superseded nor retired."""
    for record in records:
        if not record["superseded_by"] and record["retired_at"] is None:
            yield record


def server_memory(records: Iterable[Record]) -> Iterator[str]:
    """JSON lines of entities, each with the memories whose first name it is as observations."""
    observed: dict[str, list[str]] = {}
    for record in _current(records):
        name = record["entities"][0] if record["entities"] else NAMELESS
        observed.setdefault(name, []).append(record["text"])
    for name, texts in sorted(observed.items()):
        entity = {"type": "entity", "name": name, "entityType": OWN_TYPE, "observations": texts}
        yield json.dumps(entity, ensure_ascii=False) + "\n"


def mem0(records: Iterable[Record]) -> Iterator[str]:
    """One JSON object as mem0's get_all returns it."""
    yield '{"results": ['
    for number, record in enumerate(_current(records)):
        digest = hashlib.md5(record["text"].encode(), usedforsecurity=False).hexdigest()
        kept = ("kind", "session", "role", "tags", "source", "importance")
        one = {
            "id": record["id"],
            "memory": record["text"],
            "hash": digest,
            "metadata": {name: record[name] for name in kept if record[name]}
            | {"speaker": record["speaker"]},  # user_id may be the agent
            "created_at": record["occurred_at"],
            "updated_at": None,
            "user_id": record["speaker"] or record["agent"],
        }
        yield (",\n" if number else "\n") + json.dumps(one, ensure_ascii=False)
    yield "\n]}\n"


def table(records: Iterable[Record]) -> Iterator[str]:
    """Comma-separated values with the names of the columns first."""
    for row in (_COLUMNS, *map(_row, _current(records))):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(row)
        yield text.getvalue()


def _row(record: Record) -> tuple[str, ...]:
    given = {**record, "when": record["occurred_at"], "tags": ",".join(record["tags"])}
    return tuple(_cell(str(given[name])) for name in _COLUMNS)


def _cell(value: str) -> str:
    """*value* so that a spreadsheet takes it for text: it would run what looks like a formula."""
    return f"'{value}" if value.startswith(FORMULA) else value


_ANEW = "imported again, ids, sources and places in conversations are made anew"

FORMS: Mapping[str, tuple[Callable[[Iterable[Record]], Iterator[str]], str]] = {
    "server-memory": (
        server_memory,
        "ids, dates, speakers, conversations, tags, kinds, sources, links, and what was superseded",
    ),
    "mem0": (mem0, f"links, validity, names, topics, and what was superseded; {_ANEW}"),
    "csv": (table, f"links, validity, names, topics, importance, and what was superseded; {_ANEW}"),
}
"""Of each form its writer, what it cannot hold and what does not come back from it."""
