"""The journal's frozen format: tables, encoding of a change, checksum.

docs/internals/journal-format.md describes it.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from memory_core.errors import InvalidInput, StorageError
from memory_core.records import Change

APPLICATION_ID = 0x414E414D
"""PRAGMA application_id: "ANAM"."""

FORMAT = 1
"""PRAGMA user_version, and the column `format` of every change written by this program."""

KINDS = frozenset({"put", "vectors", "access", "link", "forget", "run", "meta"})

SCHEMA = f"""
CREATE TABLE changes(
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    actor TEXT NOT NULL,
    source TEXT NOT NULL,
    scope TEXT NOT NULL,
    run TEXT NOT NULL,
    format INTEGER NOT NULL,
    body TEXT,
    before TEXT,
    scrubbed INTEGER NOT NULL DEFAULT 0,
    checksum BLOB NOT NULL
);
CREATE INDEX changes_target ON changes(target);
CREATE INDEX changes_run ON changes(run) WHERE run <> '';
CREATE INDEX changes_runs ON changes(target) WHERE kind = 'run';
CREATE INDEX changes_access ON changes(kind) WHERE kind = 'access';
CREATE INDEX changes_link ON changes(kind) WHERE kind = 'link';
CREATE TABLE heads(
    id TEXT PRIMARY KEY,
    repeat TEXT,
    thread TEXT NOT NULL,
    position INTEGER NOT NULL,
    access_count INTEGER NOT NULL,
    last_accessed REAL
) WITHOUT ROWID;
CREATE UNIQUE INDEX heads_repeat ON heads(repeat) WHERE repeat IS NOT NULL;
CREATE INDEX heads_thread ON heads(thread, position) WHERE thread <> '';
CREATE TABLE vectors(
    seq INTEGER PRIMARY KEY,
    memory TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    parts TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    data BLOB NOT NULL,
    checksum BLOB NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX vectors_memory ON vectors(memory, fingerprint) WHERE gone = 0;
CREATE TABLE tombstones(
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    at REAL NOT NULL,
    reason TEXT NOT NULL
);
CREATE INDEX tombstones_digest ON tombstones(digest);
CREATE INDEX tombstones_id ON tombstones(id);
CREATE TABLE receipts(
    seq INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    at REAL NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX receipts_key ON receipts(key) WHERE gone = 0;
CREATE TABLE receipt_ids(
    id TEXT NOT NULL,
    receipt INTEGER NOT NULL,
    PRIMARY KEY (id, receipt)
) WITHOUT ROWID;
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""

COLUMNS = "seq, at, kind, target, actor, source, scope, run, format, body, before, scrubbed"
"""What a checksum covers, in this order."""

TEXTS = ("kind", "target", "actor", "source", "scope", "run", "body", "before")

STORED = ", ".join(
    f"CAST(c.{name} AS BLOB)" if name in TEXTS else f"c.{name}"
    for name in f"{COLUMNS}, checksum".split(", ")
)
"""A change as it is read, table alias c: texts as bytes, because damaged ones may not be UTF-8."""

_encoder = msgspec.json.Encoder(order="sorted")
_decode = msgspec.json.Decoder().decode
_header = struct.Struct(">qdqB8i").pack


class DamagedChange(StorageError):
    """An entry of the journal cannot be used; *seq* is its sequence."""

    def __init__(self, seq: int, why: str = "its checksum does not match") -> None:
        """Name the damaged entry."""
        super().__init__(
            f"change {seq} of the journal is damaged ({why})",
            "restore a backup; everything before and after that change is still readable",
        )
        self.seq = seq


class DamagedVectors(StorageError):
    """The stored vectors of *memory* do not match their checksum."""

    def __init__(self, memory: str) -> None:
        """Name the memory whose vectors are damaged."""
        super().__init__(
            f"the vectors of memory {memory} are damaged (their checksum does not match)",
            "embed that memory again, or restore a backup",
        )
        self.memory = memory


class Cursor(Protocol):
    """The methods used of apsw's cursor."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All remaining rows; the statement is then finished."""


class Connection(Protocol):
    """The methods used of apsw's connection; a statement ends when its rows are fetched."""

    def execute(self, statements: str, bindings: Sequence[Any] | None = None, /) -> Cursor:
        """Run *statements*."""

    def executemany(self, statements: str, bindings: Iterable[Sequence[Any]], /) -> Cursor:
        """Run *statements* once for each of *bindings*."""


def first(connection: Connection, sql: str, bindings: Sequence[Any] = ()) -> Any | None:
    """The first value of the first row, or None; the statement is finished afterwards."""
    rows = connection.execute(sql, bindings).fetchall()
    return rows[0][0] if rows else None


def encode(value: Any) -> str:
    """*value* as compact JSON with sorted keys; the same value always gives the same bytes.

    Raises InvalidInput for a number that JSON cannot hold (NaN, infinity) among the values of a
    mapping.
    """
    if isinstance(value, Mapping):
        for name, each in value.items():
            if type(each) is float and not math.isfinite(each):
                raise InvalidInput(f"{name} is {each}", "use a finite number")
        value = dict(value)
    return _encoder.encode(value).decode()


def decode(text: str | bytes) -> Any:
    """The inverse of encode."""
    return _decode(text)


def checksum(row: Sequence[Any]) -> bytes:
    """Eight bytes of BLAKE2b over a change in the order of COLUMNS, texts as bytes.

    The input is a header (big-endian: seq int64, at float64, format int64, scrubbed uint8, then
    the byte lengths of TEXTS as int32, -1 for NULL) and those texts in UTF-8. Measured with bodies
    of 1,200 bytes: 3.6 us a change, of which CRC-32 would save 1.1 and miss more.
    """
    seq, at, *texts, version, body, before, scrubbed = row[:12]
    lengths = [len(each) for each in texts]
    lengths.append(-1 if body is None else len(body))
    lengths.append(-1 if before is None else len(before))
    header = _header(seq, at, version, scrubbed, *lengths)
    content = b"".join((header, *texts, body or b"", before or b""))
    return hashlib.blake2b(content, digest_size=8).digest()


def seal(row: Sequence[Any]) -> bytes:
    """The checksum of a change whose texts are str, as it is about to be written."""
    return checksum([each.encode() if isinstance(each, str) else each for each in row])


def intact(row: Sequence[Any]) -> bool:
    """True when the row (STORED) matches its checksum."""
    try:
        return bool(checksum(row) == row[12])
    except (TypeError, struct.error):  # damage has changed the type of a column
        return False


def verified(row: Sequence[Any]) -> Change:
    """The change in *row* (STORED). Raises DamagedChange when it does not match its checksum, and
    when it does and is no change all the same, as whoever writes a backup may make one."""
    if not intact(row):
        raise DamagedChange(row[0])
    try:
        change = _read(row)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise DamagedChange(row[0], "it cannot be read") from None
    if all(isinstance(each, dict | None) for each in (change.body, change.before)):
        return change
    raise DamagedChange(row[0], "it cannot be read")


def _read(row: Sequence[Any]) -> Change:
    seq, at, kind, target, actor, source, scope, run, _, body, before, scrubbed = row[:12]
    return Change(
        kind.decode(),
        target.decode(),
        None if scrubbed else _decode(body),
        run.decode(),
        None if scrubbed or before is None else _decode(before),
        actor.decode(),
        "" if scrubbed else source.decode(),
        scope.decode(),
        seq,
        at,
    )


def vectors_checksum(
    memory: bytes, fingerprint: bytes, parts: bytes, dimension: int, data: bytes
) -> bytes:
    """Eight bytes of BLAKE2b over vectors and their key; NUL ends each of the first four."""
    head = b"%b\0%b\0%b\0%d\0" % (memory, fingerprint, parts, dimension)
    return hashlib.blake2b(head + data, digest_size=8).digest()


def intact_vectors(row: Sequence[Any]) -> bool:
    """True when a row of vectors (memory to data, texts as bytes, checksum) matches."""
    try:
        return bool(vectors_checksum(*row[:5]) == row[5])
    except TypeError:  # damage has changed the type of a column
        return False
