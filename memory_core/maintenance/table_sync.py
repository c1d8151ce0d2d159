"""Keeps the LanceDB table in step with the journal: fills, checks and rebuilds it, by generations.

Every process opens the table for reading; only the holder of maintenance.lock writes it. A damaged
generation is never repaired: a new one is built from the journal, and the meta entry switched.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from memory_core.errors import DiskFull, IncompatibleStore, StorageError
from memory_core.records import Change
from memory_core.storage import process_memory
from memory_core.storage.generations import Generations
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import EMBEDDING, MemoryStore
from memory_core.storage.table.lance import DamagedTable, damaged
from memory_core.storage.table.table import Table

log = logging.getLogger(__name__)

TABLE = "table"
"""The meta key of the current generation: {"generation", "since": sequence it was built at,
"dimension"}; also the folder of the generations."""

DIMENSION = 384
"""The dimension of the vectors of a table that is built before a model is known."""

REBUILD_BATCH = 2000
BATCH = 2000
"""Memories merged in one commit: a commit costs 2 ms, and rows are nearly free (measured)."""
COMPACT_COMMITS = 24
"""Each commit leaves four files; 1,000 small ones make a search 25 times slower (measured)."""
GRACE_SECONDS = 60.0
"""Seconds for which old table versions are kept for readers in other processes."""


class TableSync:
    """The table of one store in this process."""

    def __init__(
        self,
        store: MemoryStore,
        stopping: Callable[[], bool] = lambda: False,
        *,
        batch: int = BATCH,
        compact_commits: int = COMPACT_COMMITS,
    ) -> None:
        """Sync the table of *store*; opens nothing yet (importing lancedb takes over a second).

        Long work ends between two batches once *stopping*() is True. *batch* memories are
        merged in one commit of LanceDB, which is compacted after *compact_commits* of them.
        """
        self._store = store
        self._batch = batch
        self._compact_commits = compact_commits
        self._stopping = stopping
        self._folders = Generations(store.directory / TABLE)
        self._opened: dict[str, Any] | None = None
        self._folder: tuple[int, int] | None = None
        self._reached = 0
        self._commits = 0
        self.rebuilds = 0
        """Tables found missing or damaged since the start, and rebuilt."""

    @property
    def since(self) -> int | None:
        """Sequence that the current generation was built at; None when there is none."""
        meta = self._meta()
        return None if meta is None else int(meta["since"])

    @property
    def in_place(self) -> bool:
        """True unless the folder of the open table was deleted, moved or replaced."""
        if self._store.table is None or self._opened is None:
            return True
        return self._folders.place(self._opened["generation"]) == self._folder

    # Every process

    def follow(self) -> None:
        """Open the current generation if it is not open, and serve the rows that it already holds.

        Raises StorageError or IncompatibleStore when it is damaged or differs from the journal;
        rows then come from the journal.
        """
        meta = self._meta()
        if meta is None:
            return
        try:
            table = self._store.table
            if table is None or meta != self._opened or not self.in_place:
                self._open(meta)  # a number is used again, "since" is not
            elif self._store.unsynced:
                self._serve(table, table.applied())
        except (StorageError, IncompatibleStore):
            self._store.attach_table(None, 0)
            raise

    def _open(self, meta: dict[str, Any]) -> None:
        self._folder = self._folders.place(meta["generation"])
        table = Table.open(self._folders.path(meta["generation"]), dimension=meta["dimension"])
        self._reached = 0
        applied, held = table.applied(), table.ids()
        self._store.catch_up()  # the journal had it before the table
        if not self._store.table_complete(held, applied):
            raise damaged("the table holds other memories than the journal")
        self._serve(table, applied)
        self._opened, self._commits = meta, table.versions()

    def _serve(self, table: Table, applied: int) -> None:
        """Serve rows from *table*, which holds everything up to sequence *applied*."""
        if applied < self._reached:
            raise damaged("the table has lost its newest commits")
        if applied > self._store.journal.last():
            raise damaged("the table is ahead of the journal")
        self._reached = applied
        self._store.catch_up()  # so that `unsynced` has everything after *applied*
        self._store.attach_table(table, applied)

    def _meta(self) -> dict[str, Any] | None:
        value: dict[str, Any] | None = self._store.journal.meta(TABLE)
        return value

    # The holder of maintenance.lock

    def update(self) -> None:
        """Merge new changes into the table, or build a new generation where that is needed."""
        meta = self._meta()
        if meta is None or self._is_outdated(meta):
            self.rebuild()
        elif (problem := self._problem() or self._merge_and_compact()) != "":
            log.warning("the table is rebuilt from the journal: %s", problem)
            self._store.attach_table(None, 0)
            self._folders.replace_quarantined(meta["generation"])
            self.rebuild()
            self.rebuilds += 1

    def _merge_and_compact(self) -> str:
        """Merge what is new and compact; the damage that this revealed, or ""."""
        commits = self._commits
        try:
            self._merge()
            self._compact()
        except DamagedTable as problem:
            return problem.problem
        if self._commits != commits and self._opened is not None:
            self._folders.make_private(self._opened["generation"])
        return ""

    def _is_outdated(self, meta: dict[str, Any]) -> bool:
        """True when the table predates an erasure or a change of model."""
        oldest = max(self._store.forgotten_at, self._store.model_changed_at)
        if meta["since"] < oldest:
            return True
        return bool(meta["dimension"] != self._wanted_dimension())

    def _problem(self) -> str:
        """Why the table cannot be used; "" when it can."""
        if self._store.table_problem:
            return self._store.table_problem
        try:
            self.follow()
            return ""
        except (StorageError, IncompatibleStore) as problem:
            return problem.problem

    def _wanted_dimension(self) -> int:
        meta = self._store.journal.meta(EMBEDDING)
        return int(meta["dimension"]) if meta else DIMENSION

    def _merge(self) -> None:
        """Merge what is behind, oldest first, in batches of one commit each.

        Changes that arrive meanwhile wait for the next round, so that this terminates.
        """
        table, newest = self._store.table, self._store.applied
        while table is not None and not self._stopping():
            tail = self._store.oldest_unsynced(self._batch)
            if not tail or self._store.table_sequence >= newest:
                return
            applied = tail[-1][1]
            self._merge_ids(table, [id for id, _ in tail], applied)
            self._commits += 1
            self._serve(table, applied)

    def _merge_ids(self, table: Table, ids: Sequence[str], applied: int) -> None:
        """Write the newest state of *ids*; rows of ids that no index holds are deleted."""
        memories = self._store.indexed(ids)
        gone = [id for id in ids if id not in memories]
        vectors = self._store.whole_vectors(list(memories))
        table.merge(list(memories.values()), vectors, applied=applied, deleted=gone)

    def rebuild(self) -> None:
        """Build a new generation from the journal, switch to it, remove the older ones.

        On failure the new generation is removed, and the last one too when it holds forgotten text;
        rows then come from the journal until there is room.
        """
        meta: dict[str, Any] | None = None
        try:
            meta = self._build(self._folders.create())
        finally:
            if meta is None:
                with suppress(StorageError):
                    self._folders.remove_others(self._current(), quarantined=True)
        if meta is not None:
            self._open(meta)
            self._folders.remove_others(meta["generation"])
            process_memory.trim()

    def _current(self) -> int | None:
        meta = self._meta()
        if meta is None or meta["since"] < self._store.forgotten_at:
            self._store.attach_table(None, 0)
            return None
        return int(meta["generation"])

    def _build(self, generation: int) -> dict[str, Any] | None:
        dimension = self._wanted_dimension()
        self._store.catch_up()
        table = Table.create(self._folders.path(generation), dimension=dimension)
        with self._store.reading() as view:
            columns, since = view.columns, self._store.applied
            ids = [columns.id(row) for row in np.flatnonzero(columns.live).tolist()]
        for start in range(0, len(ids), REBUILD_BATCH):
            if self._stopping():
                return None
            self._merge_ids(table, ids[start : start + REBUILD_BATCH], 0)
        self._merge_ids(table, [], since)
        table.close()
        self._folders.make_private(generation)
        value = {"generation": generation, "since": since, "dimension": dimension}

        def switch(tx: Transaction) -> None:
            tx.append(Change("meta", TABLE, {"value": value}, source="maintenance"))

        self._store.commit(switch)
        return value

    def _compact(self) -> None:
        table = self._store.table
        if table is None or self._commits < self._compact_commits:
            return
        try:
            self._store.reserve.with_room(lambda: table.compact(grace_seconds=GRACE_SECONDS))
        except DiskFull:  # a new table is smaller: the next round builds it
            self._store.attach_table(None, 0)
            self._folders.remove_others(None, quarantined=True)
            raise
        self._commits = 0
        process_memory.trim()

    def tidy(self, *, quarantined: bool = False) -> None:
        """Remove generations that a killed holder left behind. Raises StorageError.

        With *quarantined* also damaged ones that were kept: they may hold forgotten text.
        """
        self._folders.remove_others(self._current(), quarantined=quarantined)
