"""What is read from the journal; every text is checked against its checksum on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import StorageError
from memory_core.records import Change
from memory_core.storage.journal.format import (
    STORED,
    Connection,
    DamagedChange,
    DamagedVectors,
    decode,
    encode,
    first,
    intact,
    intact_vectors,
    verified,
)

_FOLD = f"""
SELECT {STORED}, h.access_count, h.last_accessed
FROM json_each(?) AS wanted
CROSS JOIN heads AS h ON h.id = wanted.value
CROSS JOIN changes AS c ON c.target = h.id
WHERE c.kind = 'put' AND c.scrubbed = 0
ORDER BY c.seq
"""

_VECTORS = """
SELECT CAST(memory AS BLOB), CAST(fingerprint AS BLOB), CAST(parts AS BLOB), dimension, data,
    checksum
FROM vectors WHERE gone = 0
"""


def last(connection: Connection) -> int:
    """The highest sequence number, 0 in an empty journal."""
    return int(first(connection, "SELECT max(seq) FROM changes") or 0)


def changes(connection: Connection, after: int, limit: int) -> list[Change]:
    """Changes after sequence *after*, in order.

    Ends before a damaged one; raises DamagedChange only when that would be the first.
    """
    sql = f"SELECT {STORED} FROM changes AS c WHERE seq > ? ORDER BY seq LIMIT ?"
    found: list[Change] = []
    for row in connection.execute(sql, (after, limit)).fetchall():
        try:
            found.append(verified(row))
        except DamagedChange:
            if not found:
                raise
            break
    return found


def history(connection: Connection, target: str) -> list[Change]:
    """Every change with that target, in order; scrubbed ones have no body."""
    sql = f"SELECT {STORED} FROM changes AS c WHERE target = ? ORDER BY seq"
    return [verified(row) for row in connection.execute(sql, (target,)).fetchall()]


def run_changes(connection: Connection, run: str) -> list[Change]:
    """Every change that names the run, in order."""
    sql = f"SELECT {STORED} FROM changes AS c WHERE run = ? AND run <> '' ORDER BY seq"
    return [verified(row) for row in connection.execute(sql, (run,)).fetchall()]


def runs(connection: Connection) -> list[Change]:
    """The latest run change of every run, newest run first."""
    sql = (
        f"SELECT {STORED} FROM changes AS c WHERE seq IN"
        " (SELECT max(seq) FROM changes WHERE kind = 'run' GROUP BY target) ORDER BY seq DESC"
    )
    return [verified(row) for row in connection.execute(sql).fetchall()]


def fold(connection: Connection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Current fields of those of *ids* that live: puts in order, then the latest access."""
    folded: dict[str, dict[str, Any]] = {}
    for row in connection.execute(_FOLD, (encode(list(ids)),)).fetchall():
        change, (count, accessed) = verified(row), row[13:]
        fields = folded.setdefault(change.target, {"id": change.target})
        fields.update(change.body or {})
        if count or "access_count" in fields:
            fields["access_count"] = count
        if accessed is not None or "last_accessed" in fields:
            fields["last_accessed"] = accessed
    return {each: folded[each] for each in ids if each in folded}


def vectors(
    connection: Connection, ids: Sequence[str], fingerprint: str
) -> dict[str, tuple[list[int], NDArray[np.float16]]]:
    """Parts and float16 vectors (n, d) of those of *ids* that have some of that model."""
    sql = _VECTORS + "AND memory IN (SELECT value FROM json_each(?)) AND fingerprint = ?"
    rows = connection.execute(sql, (encode(list(ids)), fingerprint)).fetchall()
    found = {}
    for row in rows:
        block = _block(row)
        found[row[0].decode()] = (decode(row[2]), _array([block], row[3]))
    return found


def vectors_after(
    connection: Connection, fingerprint: str, memory: str, limit: int
) -> list[tuple[Any, ...]]:
    """Stored rows of that model for memories after *memory*, ordered by memory."""
    sql = _VECTORS + "AND memory > ? AND fingerprint = ? ORDER BY memory LIMIT ?"
    return connection.execute(sql, (memory, fingerprint, limit)).fetchall()


def unpack(rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[int], NDArray[np.float16]]:
    """Stored rows as aligned columns: memory and part of every vector, and the vectors (n, d)."""
    ids: list[str] = []
    parts: list[int] = []
    blocks = [_block(row) for row in rows]
    dimensions = {row[3] for row in rows}
    if len(dimensions) != 1:
        raise StorageError(
            f"one model has vectors of {sorted(dimensions)} dimensions",
            "embed the store again (anamnesis reembed)",
        )
    for row in rows:
        mine = decode(row[2])
        parts += mine
        ids += [row[0].decode()] * len(mine)
    return ids, parts, _array(blocks, rows[0][3])


def _block(row: Sequence[Any]) -> bytes:
    if not intact_vectors(row):
        raise DamagedVectors(_name(row[0]))
    return bytes(row[4])


def _name(memory: Any) -> str:
    return memory.decode(errors="replace") if isinstance(memory, bytes) else repr(memory)


def _array(blocks: Sequence[bytes], dimension: int) -> NDArray[np.float16]:
    flat = np.frombuffer(b"".join(blocks), dtype="<f2").astype(np.float16, copy=False)
    return flat.reshape(-1, dimension)


def without_vectors(connection: Connection, fingerprint: str, limit: int) -> list[str]:
    """Ids of live memories, oldest first, that have no vectors of that model."""
    sql = (
        "SELECT id FROM heads WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE memory = heads.id"
        " AND fingerprint = ? AND gone = 0) ORDER BY id LIMIT ?"
    )
    return [row[0] for row in connection.execute(sql, (fingerprint, limit)).fetchall()]


def meta(connection: Connection, key: str) -> Any | None:
    """The value of a meta key, or None."""
    text = first(connection, "SELECT value FROM meta WHERE key = ?", (key,))
    return None if text is None else decode(text)


def receipt(connection: Connection, key: str) -> dict[str, Any] | None:
    """The answer stored under an idempotency key, or None."""
    text = first(connection, "SELECT body FROM receipts WHERE key = ? AND gone = 0", (key,))
    return None if text is None else dict(decode(text))


def counts(connection: Connection) -> dict[str, int]:
    """Number of changes and of live memories."""
    live = int(first(connection, "SELECT count(*) FROM heads") or 0)
    return {"changes": last(connection), "live": live}


def require_whole(connection: Connection) -> None:
    """Raise StorageError when PRAGMA quick_check finds the file damaged."""
    found = connection.execute("PRAGMA quick_check(3)").fetchall()
    if found != [("ok",)]:
        raise StorageError(
            f"the journal is damaged after a failed write: {found[0][0]}",
            "check the disk and restore a backup; reading goes on",
        )


def problems(connection: Connection) -> list[str]:
    """What PRAGMA quick_check and the checksums find, in words; empty when all is well."""
    rows = connection.execute("PRAGMA quick_check").fetchall()
    found = [str(row[0]) for row in rows if row[0] != "ok"]
    sql = f"SELECT {STORED} FROM changes AS c WHERE seq > ? ORDER BY seq LIMIT 1024"
    for row in _all(connection, sql, 0):
        if not intact(row):
            found.append(DamagedChange(row[0]).problem)
    sql = _VECTORS.replace("checksum", "checksum, seq") + "AND seq > ? ORDER BY seq LIMIT 1024"
    for row in _all(connection, sql, 6):
        if not intact_vectors(row):
            found.append(DamagedVectors(_name(row[0])).problem)
    return found


def _all(connection: Connection, sql: str, key: int) -> Iterator[tuple[Any, ...]]:
    """Every row, in slices that each continue after the last row's sequence at index *key*."""
    after = 0
    while rows := connection.execute(sql, (after,)).fetchall():
        yield from rows
        after = rows[-1][key]
