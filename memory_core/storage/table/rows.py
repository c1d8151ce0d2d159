"""One memory as the plain values of one table row, and back, with a checksum over all of them.

No vendor here: table.py turns these values into Arrow columns. The checksum exists because LanceDB
keeps none over its data files: a block that the disk lost reads back as zeros, not as an error
(measured), and a wrong text is worse than a missing one.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import InvalidInput
from memory_core.records import Identity, MemoryRecord
from memory_core.storage.table.lance import damaged

Sort = Literal["text", "texts", "real", "moment", "whole", "flag"]

FIELDS: Mapping[str, Sort] = {
    "id": "text",
    "text": "text",
    "visibility": "text",
    "agent": "text",
    "team": "text",
    "session": "text",
    "position": "whole",
    "speaker": "text",
    "role": "text",
    "kind": "text",
    "gist": "text",
    "tags": "texts",
    "keywords": "texts",
    "topic": "text",
    "entities": "texts",
    "importance": "real",
    "valence": "real",
    "arousal": "real",
    "emotions": "texts",
    "occurred_at": "real",
    "recorded_at": "real",
    "dates": "texts",
    "valid_from": "moment",
    "valid_until": "moment",
    "superseded_by": "text",
    "superseded_at": "moment",
    "replaced": "flag",
    "retired_at": "moment",
    "stale_since": "moment",
    "derived_from": "texts",
    "run": "text",
    "content_hash": "text",
    "source": "text",
    "client": "text",
    "lead": "texts",
    "trust": "text",
    "tier": "text",
    "access_count": "whole",
    "last_accessed": "moment",
    "due": "texts",
    "encoded": "text",
}
"""Every field of MemoryRecord and what it holds; a moment is a time that may be unset (None)."""

DERIVED = ("live", "labels", "occurred", "recorded")
"""The derived columns: for filters, and for users' own tools."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter: every field that is set must match. Filter() matches all.

    *reader*: what this identity may read (its own private ones, its team's, all shared ones).
    *entity* and *tag* are exact members of the memory's list, the other texts exact values. *since*
    and *until*: occurred_at in seconds, both inclusive. *live*: neither retired nor replaced on
    purpose.
    """

    reader: Identity | None = None
    visibility: str = ""
    agent: str = ""
    team: str = ""
    session: str = ""
    kind: str = ""
    topic: str = ""
    speaker: str = ""
    entity: str = ""
    tag: str = ""
    since: float | None = None
    until: float | None = None
    live: bool = False

    @property
    def labels(self) -> list[str]:
        """What the column ``labels`` must contain: *tag* and *entity*, where they are set."""
        wanted = (("tag", self.tag), ("entity", self.entity))
        return [label(sort, value) for sort, value in wanted if value]


_SEPARATOR = "\x1f"
_WHOLE_LIMIT = 1 << 63


def label(sort: str, value: str) -> str:
    """What the column ``labels`` contains exactly when a memory has *value* as its *sort*.

    *sort* is "tag" or "entity". The value is written as a JSON string, in which the separator
    cannot occur, so no value can imitate another one or reach over a boundary.
    """
    return f"{_SEPARATOR}{sort}:{json.dumps(value)}{_SEPARATOR}"


def to_row(memory: MemoryRecord) -> dict[str, Any]:
    """The values of *memory* by column, with the derived columns.

    Derived: ``live`` (neither retired nor replaced on purpose), ``labels`` (tags and entities as
    one text, because lancedb.expr has no test for membership in a list), ``occurred`` and
    ``recorded`` (the times in whole microseconds, for users' own tools; None outside the years 1 to
    9999) and ``checksum``. Raises InvalidInput for a value that a column cannot hold.
    """
    row = {name: _plain(name, sort, getattr(memory, name)) for name, sort in FIELDS.items()}
    row["checksum"] = _checksum(row)
    row["live"] = row["retired_at"] is None and not row["replaced"]
    row["labels"] = "".join(label("tag", value) for value in memory.tags) + "".join(
        label("entity", value) for value in memory.entities
    )
    row["occurred"] = _microseconds(row["occurred_at"])
    row["recorded"] = _microseconds(row["recorded_at"])
    return row


def from_row(row: Mapping[str, Any]) -> MemoryRecord:
    """The memory of *row*, exactly as to_row took it. Raises StorageError when it changed since."""
    values = {name: row[name] for name in FIELDS}
    if _checksum(values) != row["checksum"]:
        raise damaged(f"the table row of memory {row['id']!r} is damaged")
    for name, sort in FIELDS.items():
        if sort == "texts":
            values[name] = tuple(values[name])
    return MemoryRecord(**values)


def intact(row: Mapping[str, Any]) -> MemoryRecord:
    """from_row for a *row* with its derived columns; raises StorageError when one does not fit."""
    memory = from_row(row)
    expected = to_row(memory)
    if any(row[name] != expected[name] for name in DERIVED):
        raise damaged(f"the table row of memory {memory.id!r} has damaged columns")
    return memory


def to_vector(value: NDArray[np.float32], dimension: int) -> NDArray[np.float16]:
    """*value*, of shape (dimension,), as float16; raises InvalidInput when that loses it.

    LanceDB searches float16 as well as float32 (measured: cosines agree to 0.001) in half the
    space, and the journal keeps no more either.
    """
    vector = np.asarray(value, dtype=np.float32)
    if vector.shape != (dimension,):
        raise InvalidInput(f"a vector has shape {vector.shape}", f"give {dimension} numbers")
    if not np.isfinite(vector).all() or np.abs(vector).max(initial=0.0) > np.finfo(np.float16).max:
        raise InvalidInput("a vector is not finite in float16", "give a vector of unit length")
    return vector.astype(np.float16)


def _plain(name: str, sort: Sort, value: Any) -> Any:
    if sort == "real":
        return float(value)
    if sort == "moment":
        return None if value is None else float(value)
    if sort == "whole":
        if not -_WHOLE_LIMIT <= value < _WHOLE_LIMIT:
            raise InvalidInput(f"{name} is {value}", "give a number of at most 64 bits")
        return int(value)
    if sort == "flag":
        return bool(value)
    values = value if sort == "texts" else (value,)
    if not all(_is_unicode(text) for text in values):
        raise InvalidInput(f"{name} holds a lone surrogate", "replace it with U+FFFD")
    return list(value) if sort == "texts" else value


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _checksum(values: Mapping[str, Any]) -> int:
    """CRC-32 of the fields in their fixed order; floats by their shortest exact decimal form."""
    body = json.dumps([values[name] for name in FIELDS], separators=(",", ":"))
    return zlib.crc32(body.encode("ascii"))


_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799


def _microseconds(seconds: float) -> int | None:
    if not math.isfinite(seconds) or not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        return None
    return round(seconds * 1_000_000)
