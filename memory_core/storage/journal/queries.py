"""Queries on a journal; every text is checked against its checksum on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import StorageError
from memory_core.records import Change
from memory_core.storage.journal.erasure import blanked
from memory_core.storage.journal.format import (
    STORED,
    Connection,
    DamagedChange,
    DamagedVectors,
    decode,
    encode,
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

_OF_LINK = """
FROM changes AS c
WHERE target = ?1 AND +kind = 'link' AND scrubbed = 0 AND CASE WHEN json_valid(body)
    THEN json_extract(body, '$.b') = ?2 AND json_extract(body, '$.kind') = ?3 END
    AND at <= ?4
ORDER BY seq DESC LIMIT 1
"""
"""A memory that is recalled often has thousands of links in its history; search from the newest.

The plus keeps SQLite from walking the links of all memories by their index: at 2,000 memories a
write that looks for doubts took 46 ms of CPU that way, and takes 17."""

_LINKS = """
SELECT json_extract(body, '$.kind'), json_extract(body, '$.weight')
FROM changes AS c
WHERE target = ?1 AND +kind = 'link' AND scrubbed = 0
    AND CASE WHEN json_valid(body) THEN json_extract(body, '$.b') = ?2 END
ORDER BY seq
"""

_WEIGHT = f"SELECT json_extract(body, '$.weight') {_OF_LINK}"

_VECTORS = """
SELECT CAST(memory AS BLOB), CAST(fingerprint AS BLOB), CAST(parts AS BLOB), dimension, data,
    checksum
FROM vectors WHERE gone = 0
"""

_IMAGES = ("body", "before")
_HELD = "CASE WHEN json_valid({0}) THEN json_extract({0}, '$.' || ?1) END"
"""The text of a field in an image; NULL also where the image is damaged."""

_PUTS = "kind = 'put' AND scrubbed = 0 AND seq > ?2 AND seq <= ?3"

LAST = 2**63 - 1
"""The highest sequence number that SQLite can hold."""


Execute: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""(sql, bindings) -> rows: runs one statement to its end."""


def rows_of(connection: Connection) -> Execute:
    """Execute statements on *connection*; errors are the vendor's."""
    return lambda sql, bindings=(): connection.execute(sql, bindings).fetchall()


class Queries:
    """The queries that Journal and Transaction share, each over its own connection.

    They raise what the statements raise, and DamagedChange or DamagedVectors where a row does not
    match its checksum.
    """

    def __init__(self, rows: Execute) -> None:
        """Run each statement through *rows*."""
        self._rows = rows

    def last(self) -> int:
        """The highest sequence number of any process, 0 when empty. Costs microseconds."""
        return int(self._first("SELECT max(seq) FROM changes") or 0)

    def changes(self, after: int, limit: int = 256) -> list[Change]:
        """Changes after sequence *after*, in order, at most *limit*; [] when there is nothing new.

        Each is checked. The list ends before a damaged one; DamagedChange (with `seq`) is raised
        when that would be the first. Vectors changes name their parts; floats come from vectors().
        """
        sql = f"SELECT {STORED} FROM changes AS c WHERE seq > ? ORDER BY seq LIMIT ?"
        found: list[Change] = []
        for row in self._rows(sql, (after, limit)):
            try:
                found.append(verified(row))
            except DamagedChange:
                if not found:
                    raise
                break
        return found

    def history(self, id: str) -> list[Change]:
        """Every change whose target is *id*, in order; those of a forgotten memory have no body."""
        sql = f"SELECT {STORED} FROM changes AS c WHERE target = ? ORDER BY seq"
        return [verified(row) for row in self._rows(sql, (id,))]

    def run_changes(self, run: str) -> list[Change]:
        """Every change that names the run, in order."""
        sql = f"SELECT {STORED} FROM changes AS c WHERE run = ? AND run <> '' ORDER BY seq"
        return [verified(row) for row in self._rows(sql, (run,))]

    def runs(self) -> list[Change]:
        """The latest run change of every run, newest run first."""
        sql = (
            f"SELECT {STORED} FROM changes AS c WHERE seq IN"
            " (SELECT max(seq) FROM changes WHERE kind = 'run' GROUP BY target) ORDER BY seq DESC"
        )
        return [verified(row) for row in self._rows(sql)]

    def fold(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Current fields of those of *ids* that live: puts in order, then the latest access."""
        folded: dict[str, dict[str, Any]] = {}
        for row in self._rows(_FOLD, (encode(list(ids)),)):
            change, (count, accessed) = verified(row), row[13:]
            fields = folded.setdefault(change.target, {"id": change.target})
            fields.update(change.body or {})
            if count or "access_count" in fields:
                fields["access_count"] = count
            if accessed is not None or "last_accessed" in fields:
                fields["last_accessed"] = accessed
        return {each: folded[each] for each in ids if each in folded}

    def weight(self, a: str, b: str, kind: str, at: float = math.inf) -> float:
        """The weight that the link from *a* to *b* has *at* a moment; 0 when there is none."""
        return float(self._first(_WEIGHT, (a, b, kind, at)) or 0.0)

    def links(self, a: str, b: str) -> dict[str, float]:
        """The weights of the links from *a* to *b* by their kinds, those taken back (0) too."""
        return {kind: float(weight or 0.0) for kind, weight in self._rows(_LINKS, (a, b))}

    def link(self, a: str, b: str, kind: str) -> dict[str, Any]:
        """What the link from *a* to *b* holds now; {} when there is none."""
        rows = self._rows(f"SELECT {STORED} {_OF_LINK}", (a, b, kind, math.inf))
        return dict(verified(rows[0]).body or {}) if rows else {}

    def meta(self, key: str) -> Any | None:
        """The latest value of a meta change, or None."""
        text = self._first("SELECT value FROM meta WHERE key = ?", (key,))
        return None if text is None else decode(text)

    def metas(self, prefix: str) -> dict[str, Any]:
        """The latest values of the meta changes whose keys begin with *prefix*, by key."""
        sql = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ?"
        return {key: decode(value) for key, value in self._rows(sql, (len(prefix), prefix))}

    def born(self, id: str) -> int:
        """The sequence of the first change of the memory *id*; 0 when there is none."""
        return int(self._first("SELECT min(seq) FROM changes WHERE target = ?", (id,)) or 0)

    def tombstones(self, digests: Sequence[str]) -> list[tuple[str, str, float]]:
        """(tombstone id, digest, time) of every tombstone with one of *digests*, oldest first."""
        sql = (
            "SELECT id, digest, at FROM tombstones"
            " WHERE digest IN (SELECT value FROM json_each(?)) ORDER BY rowid"
        )
        return [(id, digest, at) for id, digest, at in self._rows(sql, (encode(list(digests)),))]

    def receipt(self, key: str) -> dict[str, Any] | None:
        """The receipt stored under an idempotency key, or None."""
        text = self._first("SELECT body FROM receipts WHERE key = ? AND gone = 0", (key,))
        return None if text is None else dict(decode(text))

    def counts(self) -> dict[str, int]:
        """Number of `changes` and of `live` memories."""
        live = int(self._first("SELECT count(*) FROM heads") or 0)
        return {"changes": self.last(), "live": live}

    # Vectors

    def vectors(
        self, ids: Sequence[str], fingerprint: str
    ) -> dict[str, tuple[list[int], NDArray[np.float16]]]:
        """Parts and vectors (n, d) of those of *ids* that the model *fingerprint* has embedded."""
        sql = _VECTORS + "AND memory IN (SELECT value FROM json_each(?)) AND fingerprint = ?"
        found = {}
        for row in self._rows(sql, (encode(list(ids)), fingerprint)):
            block = _block(row)
            found[row[0].decode()] = (decode(row[2]), _array([block], row[3]))
        return found

    def all_vectors(
        self, fingerprint: str, batch: int = 4096
    ) -> Iterator[tuple[list[str], list[int], NDArray[np.float16]]]:
        """All vectors of one model: memory and part of each, vectors (n, d), ordered by memory.

        *batch* is in memories. Each batch is one statement, so that no read transaction outlives
        it; concurrent writes may be included or not. Raises DamagedVectors.
        """
        sql = _VECTORS + "AND memory > ? AND fingerprint = ? ORDER BY memory LIMIT ?"
        memory = ""
        while rows := self._rows(sql, (memory, fingerprint, batch)):
            columns = _unpacked(rows)
            yield columns
            memory = columns[0][-1]

    def without_vectors(self, fingerprint: str, limit: int) -> list[str]:
        """Ids of live memories, oldest first, that the model *fingerprint* has not embedded."""
        sql = (
            "SELECT id FROM heads WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE memory = heads.id"
            " AND fingerprint = ? AND gone = 0) ORDER BY id LIMIT ?"
        )
        return [row[0] for row in self._rows(sql, (fingerprint, limit))]

    # Past values of a text field

    def text_values(self, field: str, after: int, until: int) -> frozenset[str]:
        """The values of a text field in the puts after one sequence, up to another, without ""."""
        images = (
            f"SELECT {_HELD.format(image)} AS v FROM changes WHERE {_PUTS}" for image in _IMAGES
        )
        sql = f"SELECT CAST(v AS BLOB) FROM ({' UNION '.join(images)}) WHERE v <> ''"
        found = self._rows(sql, (field, after, until))
        return frozenset(value.decode("utf-8", "replace") for (value,) in found)

    def puts_where(
        self, field: str, matches: Callable[[str, str], bool], after: int, until: int = LAST
    ) -> list[int]:
        """The puts after one sequence, up to another, where *matches*(memory id, text of field).

        Before-images count too; damaged puts are skipped.
        """
        held = " OR ".join(f"{_HELD.format(image)} <> ''" for image in _IMAGES)
        sql = f"SELECT {STORED} FROM changes AS c WHERE {_PUTS} AND ({held})"
        found = []
        for row in self._rows(sql, (field, after, until)):
            if intact(row):
                images = [blanked(text, row[3].decode(), field, matches) for text in row[9:11]]
                if images != [row[9], row[10]]:
                    found.append(int(row[0]))
        return found

    # The whole file

    def require_whole(self) -> None:
        """Raise StorageError when PRAGMA quick_check finds the file damaged."""
        found = self._rows("PRAGMA quick_check(3)")
        if found != [("ok",)]:
            raise StorageError(
                f"the journal is damaged after a failed write: {found[0][0]}",
                "check the disk and restore a backup; reading goes on",
            )

    def problems(self) -> list[str]:
        """Problems that PRAGMA quick_check and the checksums show, in words; [] for none."""
        found = [str(row[0]) for row in self._rows("PRAGMA quick_check") if row[0] != "ok"]
        sql = f"SELECT {STORED} FROM changes AS c WHERE seq > ? ORDER BY seq LIMIT 1024"
        for row in self._every(sql, 0):
            if not intact(row):
                found.append(DamagedChange(row[0]).problem)
        sql = _VECTORS.replace("checksum", "checksum, seq") + "AND seq > ? ORDER BY seq LIMIT 1024"
        for row in self._every(sql, 6):
            if not intact_vectors(row):
                found.append(DamagedVectors(_name(row[0])).problem)
        return found

    def _every(self, sql: str, key: int) -> Iterator[tuple[Any, ...]]:
        """Every row, in batches that each continue after the sequence in column *key*."""
        after = 0
        while rows := self._rows(sql, (after,)):
            yield from rows
            after = rows[-1][key]

    def _first(self, sql: str, bindings: Sequence[Any] = ()) -> Any | None:
        """The first value of the first row, or None."""
        rows = self._rows(sql, bindings)
        return rows[0][0] if rows else None


def _unpacked(rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[int], NDArray[np.float16]]:
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
