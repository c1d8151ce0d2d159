"""Salvage: copies what is whole of a damaged memory to a new folder.

That is every entry of the journal that matches its checksum; where none does, or the journal is
lost, the memories in the table.

Entries are read page by page, so no more is lost than was on a damaged page; apsw ships none of
SQLite's own recovery, and tests/storage/test_salvage.py compares what its queries find. The damaged
files are only read. The other tables are derived from the entries; removed tombstones come back
with them, and receipts of idempotency keys are taken as found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput, MemoryCoreError, StorageError
from memory_core.records import Change, MemoryRecord, from_fields, is_id, repeat_key, to_fields
from memory_core.storage.backup.sqlite_pages import Pages
from memory_core.storage.errors import from_os_error
from memory_core.storage.generations import Generations
from memory_core.storage.journal import files
from memory_core.storage.journal.format import decode, encode, intact, intact_vectors, verified
from memory_core.storage.journal.journal import Journal, Transaction
from memory_core.storage.journal.replay import WRONG_VALUE
from memory_core.storage.table.table import Table

_CHANGE, _VECTORS, _RECEIPT = 13, 8, 5
"""Columns of the tables that are salvaged."""

Stored = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """Numbers of entries and memories that were found, and the gaps."""

    changes: int
    memories: int
    lost: tuple[tuple[int, int], ...]
    """First and last sequence of every gap; entries after the last one found are unknown."""
    damaged: tuple[str, ...] = ()
    """Problems of the rows of the table that were left out."""
    table: int = 0
    """The generation of the table that the memories come from; 0: they come from the journal."""


@dataclass
class FoundRows:
    """The intact rows, by sequence."""

    changes: dict[int, Stored] = field(default_factory=dict)
    vectors: dict[int, Stored] = field(default_factory=dict)
    receipts: dict[int, Stored] = field(default_factory=dict)


def salvage(source: Path, target: Path, clock: Callable[[], float]) -> Salvaged:
    """Copy what is whole of the memory in *source* to the new or empty folder *target*.

    The intact entries of the journal, or without one what the table holds: the memories as it had
    them last, without links, history and what was never to be stored again. No process may have
    *source* open. Raises InvalidInput when *source* has neither or *target* is not empty,
    StorageError when nothing is intact or the disk fails.
    """
    journal, tables = source / files.FILE, Generations(source / "table")
    if not (journal.exists() or tables.numbers()):
        raise InvalidInput(f"there is no memory in {source}", "name its folder with --data-dir")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput(f"{target} is not an empty folder", "name a new one")
    try:
        finds = find(Pages(journal, files.log_of(journal))) if journal.exists() else FoundRows()
    except OSError as error:
        raise from_os_error(error, f"read the journal in {source}") from error
    damaged: list[str] = []
    number, rows = (0, []) if finds.changes else _in_table(tables, damaged)
    if not finds.changes and not rows:
        raise StorageError("no entry of the journal is whole", "restore a backup")
    fresh = Journal.open(target, clock=clock)
    try:
        fill = partial(_put_all, rows=rows) if rows else partial(_fill, finds=finds)
        memories = fresh.write(fill)
    finally:
        fresh.close()
    changes = len(finds.changes) or memories
    return Salvaged(changes, memories, _gaps(sorted(finds.changes)), tuple(damaged), number)


def _in_table(tables: Generations, damaged: list[str]) -> tuple[int, list[MemoryRecord]]:
    """The newest table of *tables* that can be opened and its intact memories; 0 for none.

    What is *damaged* is added there.
    """
    for number in reversed(tables.numbers()):
        try:
            table = Table.open(tables.path(number), dimension=None)
        except MemoryCoreError as problem:
            damaged.append(f"table {number}: {problem.problem}")
            continue
        try:
            found = [memory for part in table.scan(left_out=damaged) for memory in part]
        finally:
            table.close()
        return number, sorted(found, key=lambda memory: (memory.recorded_at, memory.id))
    return 0, []


def _put_all(tx: Transaction, rows: Iterable[MemoryRecord]) -> int:
    """Write the memories *rows*, each text of a conversation once; returns their number."""
    count = 0
    for memory in rows:
        with suppress(InvalidInput):  # it repeats one that is there
            tx.append(Change("put", memory.id, to_fields(memory), source="salvage"))
            count += 1
    return count


def find(pages: Pages) -> FoundRows:
    """The rows of *pages* that match their checksums; the scrubbed image of a row wins."""
    finds = FoundRows()
    for rowid, values in pages.rows():
        row = (rowid, *values[1:])
        if len(row) == _CHANGE and _whole_change(row):
            before = finds.changes.get(rowid)
            if before is None or not before[11] or row[11]:
                finds.changes[rowid] = row
        elif len(row) == _VECTORS and intact_vectors(row[1:7]):
            finds.vectors[rowid] = row
        elif len(row) == _RECEIPT and isinstance(row[1], bytes) and isinstance(row[2], bytes):
            finds.receipts[rowid] = row
    return finds


def _whole_change(row: Stored) -> bool:
    at = row[1]
    return isinstance(at, int | float) and intact((row[0], float(at), *row[2:]))


def _fill(tx: Transaction, finds: FoundRows) -> int:
    """Write *finds* and the tables derived from them; returns the number of live memories."""
    state = _State()
    for seq in sorted(finds.changes):
        row = finds.changes[seq]
        row = (seq, float(row[1]), *row[2:])
        texts = row[2:5] if row[11] else row[2:12]  # scrubbed texts are zero bytes
        tx.insert_row("changes", (seq, row[1], *map(_text, texts), *row[2 + len(texts) :]))
        state.apply(verified(row))
    state.write(tx)
    newest = {(row[1], row[2]): row for _, row in sorted(finds.vectors.items()) if not row[7]}
    for row in newest.values():
        if row[1].decode() in state.live:
            seq, memory, fingerprint, parts, dimension, data, checksum, gone = row
            names = (_text(memory), _text(fingerprint), _text(parts))
            tx.insert_row("vectors", (seq, *names, dimension, data, checksum, gone))
    for row in finds.receipts.values():
        _keep_receipt(tx, row, state.live.keys())
    return len(state.live)


class _State:
    """Memories, tombstones and meta values, folded from changes."""

    def __init__(self) -> None:
        self.live: dict[str, dict[str, Any]] = {}
        self.tombstones: list[Stored] = []
        self.meta: dict[str, Any] = {}

    def apply(self, change: Change) -> None:
        """Fold *change* in."""
        body: Mapping[str, Any] = change.body or {}
        if change.kind == "put" and (change.target in self.live or "text" in body):
            self.live.setdefault(change.target, {}).update(body)
        elif change.kind == "forget":
            self.live.pop(change.target, None)
            reason = body.get("reason", "")
            marks = dict.fromkeys(body.get("digests", ()))
            self.tombstones += [(change.target, each, change.at, reason) for each in marks]
        elif change.kind == "access" and body:
            for id, count, last in zip(body["ids"], body["counts"], body["last"], strict=True):
                if id in self.live:
                    self.live[id] |= {"access_count": count, "last_accessed": last}
        elif change.kind == "meta" and body:
            self.meta[change.target] = body["value"]

    def write(self, tx: Transaction) -> None:
        """Fill the derived tables."""
        taken: set[str] = set()
        for id, fields in list(self.live.items()):
            try:
                memory = from_fields({**fields, "id": id})
                key = repeat_key(memory)
            except WRONG_VALUE:  # of another version; the indexes skip it too
                del self.live[id]
                continue
            free = key not in taken and not (memory.replaced and memory.superseded_by)
            taken |= {key} if free and key else set()
            place = (memory.thread, memory.position, memory.access_count, memory.last_accessed)
            tx.insert_row("heads", (id, key if free else None, *place))
        for tombstone in self.tombstones:
            tx.insert_row("tombstones", tombstone)
        for name, value in self.meta.items():
            tx.insert_row("meta", (name, encode(value)))


def _keep_receipt(tx: Transaction, row: Stored, live: Iterable[str]) -> None:
    """Store a receipt if it names a live memory."""
    try:
        key, body = row[1].decode(), decode(row[2])
    except ValueError:
        return
    values = body.values() if isinstance(body, dict) else ()
    ids = [value for value in values if isinstance(value, str) and is_id(value)]
    if not row[4] and set(ids) & set(live) and tx.receipt(key) is None:
        tx.save_receipt(key, body, ids)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _gaps(found: list[int]) -> tuple[tuple[int, int], ...]:
    edges = zip([0, *found], found, strict=False)
    return tuple((before + 1, after - 1) for before, after in edges if after - before > 1)
