"""MemoryStore: the only way to write, and the indexes and the table derived from the journal.

A write goes to the journal alone. The derived structures (columns, BM25, vectors, graph, the
LanceDB table) follow the journal through `catch_up`, in every process alike: a process applies its
own commits the same way as those of others.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import (
    IncompatibleStore,
    MemoryCoreError,
    StorageError,
    stop_if_abandoned,
)
from memory_core.records import Change, Identity, MemoryRecord, content_hash
from memory_core.storage.disk_reserve import DiskReserve
from memory_core.storage.index.indexes import Indexes
from memory_core.storage.index.vector_source import VectorSource, put_vectors
from memory_core.storage.journal.journal import Journal, Transaction
from memory_core.storage.journal.replay import WRONG_VALUE, Batch, Replayer, Unusable
from memory_core.storage.locks import RWLock
from memory_core.storage.table.table import Table
from memory_core.storage.view import View

log = logging.getLogger(__name__)

R = TypeVar("R")

LOCK_SECONDS = 2.0
"""Wait for another process's commit; a commit takes 4 ms, p99 12 ms (measured)."""

BATCH = 256
"""Changes applied while the write side of the lock is held once: a reader waits for one batch."""

FIRST_BATCH = 4096
"""The same while the store opens and has no readers."""

EMBEDDING = "embedding"
"""The meta key of the store's active model: {"name", "fingerprint", "dimension"}."""

REEMBEDDING = "reembedding"
"""The meta key of a change to another model that is under way: the same fields, or null."""

RESTORED_MODEL = "restored model"
"""The meta key of the name of the model that a restored backup works with: nobody here chose it."""


class MemoryStore:
    """Memories on disk and the indexes over them, shared by any number of threads and processes.

    Read the indexes through the View of `reading()`; write through `commit`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        clock: Callable[[], float],
        lock_seconds: float = LOCK_SECONDS,
        index_text: Callable[[MemoryRecord], str],
    ) -> None:
        """Open or create the journal in *directory*; the first catch_up replays it.

        *index_text* returns what the lexical index holds of a memory. A write waits *lock_seconds*
        for that of another process, then raises Busy. Raises StorageError or IncompatibleStore.
        """
        self.directory = directory
        self._clock = clock
        self.journal = Journal.open(directory, clock=clock, lock_seconds=lock_seconds)
        self.reserve = DiskReserve(directory)
        self.unusable = Unusable()
        self._reader = Replayer(self.journal, self.unusable)
        self._new_indexes = partial(Indexes, index_text, self.unusable)
        self._indexes = self._new_indexes()
        self._source = VectorSource(directory, self.journal, self._reader, self.unusable)
        self.fingerprint = ""
        self.table: Table | None = None
        self.table_problem = ""
        """Why the table was detached; "" when it was not."""
        self.applied = 0
        self.applied_at: float | None = None
        """When this process last applied a change, by the clock; None before the first time."""
        self.unsynced: dict[str, int] = {}
        """Ids whose latest change is newer than the table, with that change's sequence."""
        self.forgotten_at = 0
        """Sequence of the newest forget change; files written before it must be replaced."""
        self.model_changed_at = 0
        """Sequence of the latest change of model; vectors in files from before are of another
        model."""
        self.reembedding = False
        """True while a change to another model is under way."""
        self._table_sequence = 0
        self._dimension = 0
        self._lock = RWLock()
        self._catching = threading.Lock()

    @property
    def snapshot_problem(self) -> str:
        """Why the snapshot of the vectors was not used at start; "" when it was."""
        return self._source.snapshot_problem

    # Writing

    def commit(self, build: Callable[[Transaction], R]) -> R:
        """Run *build* in one durable transaction of the journal, then catch up; returns its result.

        The only way to change anything. *build* may run while other writers' builds share the
        transaction; it sees their effects and must not block. When this returns, the change is on
        disk and visible to this process. Raises what *build* raises (none of its changes is kept)
        or a StorageError (nothing was acknowledged).
        """
        reached = 0

        def numbered(tx: Transaction) -> R:
            nonlocal reached
            result = build(tx)
            reached = tx.last()
            return result

        result = self.journal.write(numbered)
        try:
            self._apply_up_to(reached)
        except MemoryCoreError as problem:  # an error here would say that nothing was stored
            log.warning("written, but not yet indexed: %s", problem)
        return result

    def adopt(self, name: str, fingerprint: str, dimension: int) -> str:
        """Set the store's model unless it has one; returns the fingerprint of the store's model."""

        def choose(tx: Transaction) -> None:
            if tx.meta(EMBEDDING) is None:
                value = {"name": name, "fingerprint": fingerprint, "dimension": dimension}
                tx.append(Change("meta", EMBEDDING, {"value": value}, source="model"))

        if self.journal.meta(EMBEDDING) is None:
            self.commit(choose)
        self.catch_up()
        return self.fingerprint

    # Catching up: the one apply routine

    def catch_up(self) -> None:
        """Apply what this and other processes have committed since; cheap when nothing is new.

        Raises StorageError when the journal cannot be read, or was deleted, moved or replaced. A
        damaged entry, or one that an index cannot hold, is added to `unusable` and skipped.
        """
        self.journal.require_present()
        self._apply_up_to(self.journal.last())

    def _apply_up_to(self, last: int) -> None:
        """Apply at least what the journal holds up to sequence *last*. Raises as catch_up."""
        if last <= self.applied and self._vectors_ready:
            return
        with self._catching:
            if not self.applied:
                self._resume()
            while self.applied < last:  # the writer of a later change applies it
                stop_if_abandoned()
                most = BATCH if self.applied else FIRST_BATCH
                changes, reached = self._reader.next(self.applied, most)
                if reached == self.applied:
                    break
                searched = self.fingerprint if self._indexes.vectors is not None else ""
                part = self._reader.batch(changes, self._known, searched)
                with self._lock.write():
                    self._apply(part)
                    self.applied, self.applied_at = reached, self._clock()
            if not self._vectors_ready:
                self._load_vectors()

    def _resume(self) -> None:
        """Restore the indexes from the last snapshot, if it was written for this journal."""
        state, indexes = self._source.state(), self._new_indexes()
        if state is None or state["layout"] != indexes.layout:
            return
        if state["anchor"] != self._anchor(state["sequence"]):
            return
        indexes.restore(state)
        with self._lock.write():
            self._indexes, self.applied = indexes, state["sequence"]
            self.fingerprint, self._dimension = state["model"]
            self.forgotten_at = state["forgotten at"]
            self.model_changed_at, self.reembedding = state["changed over"]
            self.unsynced = dict.fromkeys(state["ids"], state["settled"]) | state["behind"]

    def frozen_state(self) -> Callable[[], dict[str, Any]] | None:
        """Makes the state of the indexes for a snapshot, as of `applied`; call inside reading().

        What it returns may be called later, outside: it takes most of the time. None when an entry
        could not be used: the next start then reads the journal and finds it again.
        """
        anchor = self._anchor(self.applied)
        if self.unusable.count or not anchor:
            return None
        indexes = self._indexes.frozen_state()
        beside = {
            "sequence": self.applied,
            "anchor": anchor,
            "model": (self.fingerprint, self._dimension),
            "forgotten at": self.forgotten_at,
            "changed over": (self.model_changed_at, self.reembedding),
            "behind": dict(self.unsynced),
            "settled": self._table_sequence,
        }
        return lambda: indexes() | beside

    def _anchor(self, sequence: int) -> str:
        """The change at *sequence* in words: tells this journal from another one of that length."""
        changes, reached = self._reader.next(sequence - 1, 1)
        if reached != sequence:
            return ""
        return f"{changes[0].at!r} {changes[0].kind} {changes[0].target}"

    def _known(self, id: str) -> bool:
        return self._indexes.columns.row(id) is not None

    @property
    def _vectors_ready(self) -> bool:
        return self._indexes.vectors is not None or not self.fingerprint

    def _apply(self, part: Batch) -> None:
        for id in part.gone:
            self._indexes.remove(id)
        for memory in part.memories:
            self._indexes.put(memory)
        for change in part.changes:
            self._indexes.change(change)
            try:
                self._track(change)
            except WRONG_VALUE as problem:
                self.unusable.add(f"change {change.seq}", problem)
        vectors = self._indexes.vectors
        if vectors is not None:
            put_vectors(vectors, part.vectors, self._indexes.columns.row, self.unusable)

    def _track(self, change: Change) -> None:
        """Track what the table and the snapshots have to follow."""
        if change.kind in ("put", "forget", "vectors"):
            self.unsynced[change.target] = change.seq
        if change.kind == "forget" and (change.body or {}).get("erase", True):
            self.forgotten_at = change.seq
        if change.kind == "meta" and change.body is not None:
            if change.target == EMBEDDING:
                self._set_model(change.body["value"], change.seq)
            elif change.target == REEMBEDDING:
                self.reembedding = change.body["value"] is not None

    def _set_model(self, model: Mapping[str, Any], seq: int) -> None:
        fingerprint, dimension = str(model["fingerprint"]), int(model["dimension"])
        if fingerprint != self.fingerprint:
            self.model_changed_at = seq if self.fingerprint else 0
            self.fingerprint, self._indexes.vectors = fingerprint, None
            self._dimension = dimension

    def _load_vectors(self) -> None:
        columns = self._indexes.columns
        rows = {columns.id(row): row for row in np.flatnonzero(columns.live).tolist()}
        index = self._source.load(self._dimension, self.fingerprint, rows, self.unsynced)
        with self._lock.write():
            self._indexes.vectors = index

    def compact_rows(self) -> bool:
        """Renumber the rows when most are empty; True when that was due. Too slow for a call."""
        if sparse := self._indexes.sparse:
            with self._catching:  # no change is applied meanwhile
                fresh = self._indexes.renumbered()
                with self._lock.write():
                    self._indexes = fresh.with_vectors_of(self._indexes)
        return sparse

    # Reading

    @contextmanager
    def reading(self) -> Iterator[View]:
        """Hold the read lock of all indexes. Keep it short: no write, no model, no other lock."""
        with self._lock.read():
            own = self._indexes
            yield View(
                own.columns, own.lexical, own.graph, own.vectors, self.fingerprint, self.indexed
            )

    def may_read(self, who: Identity, id: str) -> bool:
        """True when *id* is a live memory that *who* may read."""
        with self.reading() as view:
            row = view.columns.row(id)
            return row is not None and bool(view.readable(who)[row])

    def memories(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """The memories of *ids* that exist, by id, as of the last catch_up.

        Read from LanceDB where it is up to date, else from the journal. Those that the journal
        cannot read are left out and added to `unusable`.
        """
        wanted = list(dict.fromkeys(ids))
        found = self._from_table([id for id in wanted if id not in self.unsynced])
        missing = [id for id in wanted if id not in found]
        if missing:
            found.update(self._reader.memories(missing))
        return {id: self.with_access(found[id]) for id in wanted if id in found}

    def indexed(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """Those of *ids* that the indexes hold, by id, read from the journal."""
        known = [id for id in ids if self._indexes.columns.row(id) is not None]
        found = self._reader.memories(known) if known else {}
        return {id: self.with_access(memory) for id, memory in found.items()}

    def _from_table(self, ids: list[str]) -> dict[str, MemoryRecord]:
        table = self.table
        if table is None or not ids:
            return {}
        try:
            rows = table.get(ids)
        except (StorageError, IncompatibleStore) as problem:
            self.detach_table(table, problem)
            return {}
        return {id: row for id, row in rows.items() if content_hash(row.text) == row.content_hash}

    def with_access(self, memory: MemoryRecord) -> MemoryRecord:
        """*memory* with the access count and time of the columns, which are the newest."""
        columns = self._indexes.columns
        row = columns.row(memory.id)
        if row is None:
            return memory
        count, seen = int(columns.access_count[row]), float(columns.last_accessed[row])
        last = None if math.isnan(seen) else seen
        if (count, last) == (memory.access_count, memory.last_accessed):
            return memory  # a copy costs more than all the rest
        return replace(memory, access_count=count, last_accessed=last)

    # The table, filled by maintenance

    def whole_vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The whole vectors, shape (dimension,), of those of *ids* that have one, by id."""
        with self.reading() as view:
            if view.vectors is None:
                return {}
            rows = [view.columns.row(id) for id in ids]
            places = np.array([-1 if row is None else row for row in rows], np.int64)
            found = view.vectors.wholes(places)
        known = np.flatnonzero(~np.isnan(found[:, 0])).tolist()
        return {ids[place]: found[place] for place in known}

    def without_vectors(self, fingerprint: str, limit: int) -> list[str]:
        """At most *limit* ids of memories, oldest first, without vectors of model *fingerprint*.

        Of the model that is searched the index tells; for another one the journal is read to the
        end, which takes a second for 100,000 memories. Raises StorageError.
        """
        with self.reading() as view:
            if view.vectors is not None and view.fingerprint == fingerprint:
                columns = view.columns
                bare = np.flatnonzero(columns.live & ~view.vectors.held(len(columns)))
                return sorted(map(columns.id, bare.tolist()))[:limit]
        return self.journal.without_vectors(fingerprint, limit)

    def table_complete(self, held: Iterable[str], applied: int) -> bool:
        """True when a table that has applied changes up to *applied* must hold just *held*."""
        with self.reading() as view:
            columns = view.columns
            live = {columns.id(row) for row in np.flatnonzero(columns.live).tolist()}
            later = {id for id, seq in self.unsynced.items() if seq > applied}
        return not (live ^ set(held)) - later

    @property
    def table_sequence(self) -> int:
        """Sequence up to which the table holds every change."""
        return self._table_sequence

    def attach_table(self, table: Table | None, applied: int) -> None:
        """Read rows from *table*, which holds every change up to *applied*; None: the journal."""
        with self._lock.write():
            self.table = table
            if table is not None:
                self.table_problem, self._table_sequence = "", applied
                self.unsynced = {id: seq for id, seq in self.unsynced.items() if seq > applied}

    def detach_table(self, table: Table, problem: MemoryCoreError) -> None:
        """Read rows from the journal until maintenance has checked *table*, which failed."""
        if self.table is table:
            log.warning("rows come from the journal: %s", problem.problem)
            self.table, self.table_problem = None, problem.problem

    def oldest_unsynced(self, most: int) -> list[tuple[str, int]]:
        """At most *most* unsynced ids and the sequences of their latest changes, oldest first."""
        with self.reading():
            return sorted(self.unsynced.items(), key=lambda item: item[1])[:most]

    def close(self) -> None:
        """Close the files. Nothing is lost without this; later calls raise StorageError."""
        table, self.table = self.table, None
        if table is not None:
            table.close()
        self.journal.close()
