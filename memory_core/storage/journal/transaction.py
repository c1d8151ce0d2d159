"""Transaction: what a writer reads and changes inside one transaction of the journal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import InvalidInput, NotFound
from memory_core.records import SYNCED, Change, MemoryRecord, from_fields, repeat_key
from memory_core.storage.journal import erasure
from memory_core.storage.journal.format import (
    COLUMNS,
    FORMAT,
    KINDS,
    Connection,
    encode,
    seal,
    vectors_checksum,
)
from memory_core.storage.journal.queries import Queries, rows_of

_OWN_METHOD = {"vectors": "put_vectors", "forget": "forget"}

_HEAD_FIELDS = frozenset(
    {
        "text",
        "visibility",
        "agent",
        "team",
        "session",
        "speaker",
        "position",
        "superseded_by",
        "replaced",
        "access_count",
        "last_accessed",
        "role",
        "trust",
    }
)
"""A put that names none of these leaves the head row as it is."""

UNDO = "undo of run "
"""What the source of a change begins with that takes a run back; then comes the run's id."""

_INSERT = f"INSERT INTO changes({COLUMNS}, checksum) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"

_COLUMNS = {
    "changes": f"{COLUMNS}, checksum",
    "vectors": "seq, memory, fingerprint, parts, dimension, data, checksum, gone",
    "heads": "id, repeat, thread, position, access_count, last_accessed",
    "tombstones": "id, digest, at, reason",
    "meta": "key, value",
}

_HEAD = """
INSERT INTO heads(id, repeat, thread, position, access_count, last_accessed) VALUES(?,?,?,?,?,?)
ON CONFLICT(id) DO UPDATE SET repeat = excluded.repeat, thread = excluded.thread,
    position = excluded.position, access_count = excluded.access_count,
    last_accessed = excluded.last_accessed
"""


class Transaction(Queries):
    """One caller's changes; all of them become durable together, or none does.

    Passed to the function given to Journal.write and valid only while that runs. Its queries see
    its own changes and those of earlier transactions of the same commit. *now* is the time of its
    changes. Changes are made by the run `run` when it is set: they get the values from before.
    """

    run: str = ""

    def __init__(self, connection: Connection, now: float) -> None:
        """Continue after the last change of *connection*, inside its open transaction."""
        super().__init__(rows_of(connection))
        self.now = now
        self._db = connection
        self._seq = super().last()

    def last(self) -> int:
        """The sequence of the newest change, those of this transaction included."""
        return self._seq

    def find_repeat(self, memory: MemoryRecord) -> str | None:
        """The id of the live memory that *memory* repeats exactly; None where there is none.

        What names other days is another plan, in the same words.
        """
        holder = self._holder(repeat_key(memory))
        if holder is None or holder == memory.id or not memory.dates:
            return holder
        known = (self.fields(holder) or {}).get("dates")
        if not known or tuple(known) == memory.dates:
            return holder
        return self._holder(repeat_key(memory, dated=True))

    def _holder(self, key: str | None) -> str | None:
        return self._first("SELECT id FROM heads WHERE repeat = ?", (key,))

    def fields(self, id: str) -> dict[str, Any] | None:
        """Current fields of a live memory; None when there is none."""
        return self.fold([id]).get(id)

    def next_position(self, thread: str) -> int:
        """The position of the next memory in that thread; 0 in a new one."""
        sql = "SELECT max(position) FROM heads WHERE thread = ? AND thread <> ''"
        highest = self._first(sql, (thread,))
        return 0 if highest is None else int(highest) + 1

    def accesses(self, ids: Sequence[str]) -> dict[str, tuple[int, float | None]]:
        """Access count and last access of those of *ids* that live."""
        sql = (
            "SELECT id, access_count, last_accessed FROM heads"
            " WHERE id IN (SELECT value FROM json_each(?))"
        )
        rows = self._rows(sql, (encode(list(ids)),))
        return {id: (count, last) for id, count, last in rows}

    def latest_writer(self, id: str, field: str) -> str:
        """The run ("" for none) of the latest put that set *field* of that memory.

        What was undone since counts as never done.
        """
        undone: set[str] = set()
        for change in reversed(self.history(id)):
            if change.kind != "put" or field not in (change.body or {}):
                continue
            if change.source.startswith(UNDO):
                undone.add(change.source.removeprefix(UNDO))
            elif change.run not in undone:
                return change.run
        return ""

    # Changes

    def append(self, change: Change) -> int:
        """Append a change; returns its sequence number.

        The journal sets seq, at, format and checksum; those of *change* are ignored. Forgotten
        memories are left out of an access or link change; when none is left, nothing is written and
        0 returned. Raises NotFound for a partial put to a memory that does not live, InvalidInput
        for an unknown kind, for vectors and forget (they have their own methods) and for a new
        memory whose repeat key is taken.
        """
        if change.kind in _OWN_METHOD or change.kind not in KINDS:
            way = _OWN_METHOD.get(change.kind)
            raise InvalidInput(
                f"a change of kind {change.kind!r} cannot be appended",
                f"use {way}()" if way else f"use one of {', '.join(sorted(KINDS))}",
            )
        body: Mapping[str, Any] = change.body or {}
        if self.run and change.kind in ("put", "link"):
            change = replace(change, run=self.run, before=self._before(change, body))
        if change.kind == "put":
            self._put_head(change.target, body)
        elif change.kind == "access":
            body = self._access_heads(body)
            if not body["ids"]:
                return 0
        elif change.kind == "link" and len(self.accesses([change.target, body["b"]])) < 2:
            return 0
        elif change.kind == "meta":
            sql = "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)"
            self._db.execute(sql, (change.target, encode(body["value"])))
        return self._insert(change, body)

    def put_vectors(
        self, id: str, fingerprint: str, parts: Sequence[int], vectors: NDArray[np.float16]
    ) -> int:
        """Store the vectors of a memory and append a change that names them; its sequence.

        *vectors* is (n, d) float16, a row for each of *parts*; they replace those of the same model
        (*fingerprint*). Raises NotFound when the memory does not live.
        """
        fits = vectors.ndim == 2 and 0 < len(vectors) == len(parts)
        if not fits or vectors.dtype != np.float16:
            raise InvalidInput(
                f"vectors are {vectors.dtype} {vectors.shape} for {len(parts)} parts",
                "give float16 with one row for each part",
            )
        if not self.accesses([id]):
            raise NotFound(f"no memory {id}", "drop its vectors")
        listed = [int(part) for part in parts]
        body = {"fingerprint": fingerprint, "parts": listed}
        seq = self._insert(Change("vectors", id, None), body)
        key = (id, fingerprint)
        erasure.erase_vectors(self._db, id, fingerprint)
        data = vectors.astype("<f2", copy=False).tobytes()
        text = encode(listed)
        dimension = vectors.shape[1]
        owner = (id.encode(), fingerprint.encode(), text.encode(), dimension)
        row = (seq, *key, text, dimension, data, vectors_checksum(*owner, data))
        self._db.execute("INSERT INTO vectors VALUES(?,?,?,?,?,?,?,0)", row)
        return seq

    def save_receipt(self, key: str, receipt: Mapping[str, Any], ids: Sequence[str]) -> None:
        """Store an answer under an idempotency key; it is erased with any of the memories *ids*.

        Raises InvalidInput when the key has an answer already.
        """
        if self.receipt(key) is not None:
            raise InvalidInput("that idempotency key was used before", "return its receipt()")
        sql = "INSERT INTO receipts(key, body, at) VALUES(?,?,?) RETURNING seq"
        number = self._first(sql, (key, encode(receipt), self.now))
        pairs = [(each, number) for each in sorted(set(ids))]
        self._db.executemany("INSERT INTO receipt_ids VALUES(?,?)", pairs)

    def forget(self, change: Change) -> int:
        """Erase a memory and append *change*, whose body is {"digests": [...], "reason": str}.

        Its changes lose body, before-image and source and are marked `scrubbed`; its head is
        deleted, its vectors and receipts are overwritten; it is left out of access and link
        changes; the digests become tombstones. Returns the sequence number. Raises NotFound when
        the memory does not live.
        """
        if not self.accesses([change.target]):
            raise NotFound(f"no memory {change.target}", "it may be forgotten already")
        body = change.body or {}
        erasure.erase(self._db, change.target)
        reason, digests = body.get("reason", ""), dict.fromkeys(body.get("digests", ()))
        rows = [(change.target, each, self.now, reason) for each in digests]
        self._db.executemany("INSERT INTO tombstones VALUES(?,?,?,?)", rows)
        return self._insert(change, body)

    def blank(
        self, field: str, matches: Callable[[str, str], bool], known: Collection[int], after: int
    ) -> None:
        """Empty a text field in the history of all memories where *matches*(memory id, value).

        *known* are the changes up to *after* that Journal.puts_where found before the lock was
        taken. For a value that was derived from the text of a memory that is being forgotten.
        Appends no change: append a put for the memories whose current value it is.
        """
        for seq in (*known, *self.puts_where(field, matches, after)):
            erasure.blank(self._db, field, matches, seq)

    def insert_row(self, table: str, row: Sequence[Any]) -> None:
        """Insert a stored *row* of another journal into *table* unchanged; for salvage alone."""
        names = _COLUMNS[table]
        marks = ", ".join("?" for _ in row)
        self._db.execute(f"INSERT INTO {table}({names}) VALUES({marks})", row)
        if table == "changes":
            self._seq = int(row[0])

    def remove_tombstone(self, tombstone_id: str) -> bool:
        """Remove a tombstone, so that its memory may be remembered again; False if unknown."""
        if self._first("SELECT 1 FROM tombstones WHERE id = ?", (tombstone_id,)) is None:
            return False
        self._db.execute("DELETE FROM tombstones WHERE id = ?", (tombstone_id,))
        return True

    # Rows

    def _before(self, change: Change, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The values of the fields of *body*; None for a new memory."""
        if change.kind == "link":
            own = {name: value for name, value in body.items() if name != SYNCED}
            return {**own, "weight": self.weight(change.target, body["b"], body["kind"])}
        held = self.fields(change.target)
        if held is None:
            return None
        memory, known = from_fields(held), {field.name for field in fields(MemoryRecord)}
        values = {name: getattr(memory, name) for name in body if name in known}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}

    def _insert(self, change: Change, body: Mapping[str, Any]) -> int:
        seq = self._seq + 1
        row: tuple[Any, ...] = (
            seq,
            float(self.now),
            change.kind,
            change.target,
            change.actor,
            change.source,
            change.scope,
            change.run,
            FORMAT,
            encode(body),
            None if change.before is None or change.kind == "forget" else encode(change.before),
            0,
        )
        self._db.execute(_INSERT, (*row, seal(row)))
        self._seq = seq
        return seq

    def _put_head(self, id: str, body: Mapping[str, Any]) -> None:
        """Update the head row for a put that is about to be appended."""
        new = not self.accesses([id])
        if new and "text" not in body:
            raise NotFound(f"no memory {id}", "it may be forgotten; drop what was to be changed")
        if not new and not _HEAD_FIELDS & body.keys():
            return
        current = {} if new else self.fields(id) or {}
        memory = from_fields({**current, **body, "id": id})
        key = self._free_repeat_key(memory, new=new)
        row = (key, memory.thread, memory.position, memory.access_count, memory.last_accessed)
        self._db.execute(_HEAD, (id, *row))

    def _free_repeat_key(self, memory: MemoryRecord, *, new: bool) -> str | None:
        """The repeat key of *memory*; None when it was replaced or another memory has the key."""
        if memory.replaced and memory.superseded_by:
            return None
        holder = self.find_repeat(memory)
        if holder in (None, memory.id):
            key = repeat_key(memory)
            free = self._holder(key) in (None, memory.id)
            return key if free else repeat_key(memory, dated=True)
        if new:
            raise InvalidInput(f"memory {memory.id} repeats {holder}", "use find_repeat() first")
        return None

    def _access_heads(self, body: Mapping[str, Any]) -> dict[str, list[Any]]:
        known = self.accesses(body["ids"])
        rows = [
            row
            for row in zip(body["ids"], body["counts"], body["last"], strict=True)
            if row[0] in known
        ]
        sql = "UPDATE heads SET access_count = ?2, last_accessed = ?3 WHERE id = ?1"
        self._db.executemany(sql, rows)
        ids, counts, last = zip(*rows, strict=True) if rows else ((), (), ())
        return {**body, "ids": list(ids), "counts": list(counts), "last": list(last)}
