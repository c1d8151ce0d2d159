"""The LanceDB table as a follower of the journal: filled, checked, rebuilt, erased, by generations.

Every process opens it for reading; only the holder of maintenance.lock writes it. A generation is
never repaired: a new one is built from the journal and the number in its meta is switched.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from memory_core.config import StorageSettings
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
"""Of the vectors of a table that was built before any model was known."""

REBUILD_BATCH = 2000
GRACE_SECONDS = 60.0
"""Old table versions are kept this long for readers in other processes."""


class TableSync:
    """The table of one store, as this process sees it."""

    def __init__(
        self,
        store: MemoryStore,
        settings: StorageSettings,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """Follow *store*; nothing is opened yet (lancedb takes more than a second to import).

        Long work ends between two batches once *stopping* is true.
        """
        self._store = store
        self._settings = settings
        self._stopping = stopping
        self._folders = Generations(store.directory / TABLE)
        self._opened: dict[str, Any] | None = None
        self._reached = 0
        self._commits = 0
        self.rebuilds = 0
        """Tables found missing or damaged since the start, and rebuilt."""

    @property
    def since(self) -> int | None:
        """Sequence that the current generation was built at; None when there is none."""
        meta = self._meta()
        return None if meta is None else int(meta["since"])

    # Every process

    def follow(self) -> None:
        """Open the current generation if it is not open, and serve from it what it already holds.

        Raises StorageError or IncompatibleStore when it is damaged or does not hold what the
        journal holds; rows then come from the journal.
        """
        meta = self._meta()
        if meta is None:
            return
        try:
            table = self._store.table
            if table is None or meta != self._opened:  # a number may come back, "since" does not
                self._open(meta)
            elif self._store.behind:
                self._serve(table, table.applied())
        except (StorageError, IncompatibleStore):
            self._store.settle(None, 0)
            raise

    def _open(self, meta: dict[str, Any]) -> None:
        folder = self._folders.path(meta["generation"])
        table = Table.open(folder, dimension=meta["dimension"])
        self._reached = 0
        applied, held = table.applied(), table.ids()
        self._store.catch_up()  # whatever the table holds, the journal held before
        if not self._store.fits(held, applied):
            raise damaged("the table holds other memories than the journal")
        self._serve(table, applied)
        self._opened, self._commits = meta, table.versions()

    def _serve(self, table: Table, applied: int) -> None:
        """Serve from *table*, which held everything up to *applied* before this was called."""
        if applied < self._reached:
            raise damaged("the table has lost its newest commits")
        if applied > self._store.journal.last():
            raise damaged("the table is ahead of the journal")
        self._reached = applied
        self._store.catch_up()  # so that `behind` knows everything that came after *applied*
        self._store.settle(table, applied)

    def _meta(self) -> dict[str, Any] | None:
        value: dict[str, Any] | None = self._store.journal.meta(TABLE)
        return value

    # The holder of maintenance.lock

    def keep(self) -> None:
        """Bring the table level with the journal; build a new generation where that is needed."""
        meta = self._meta()
        if meta is None or self._to_be_replaced(meta):
            self.rebuild()
        elif (problem := self._problem() or self._level()) != "":
            log.warning("the table is rebuilt from the journal: %s", problem)
            self._store.settle(None, 0)
            self._folders.keep_damaged(meta["generation"])
            self.rebuild()
            self.rebuilds += 1

    def _level(self) -> str:
        """Merge what is new and compact; what of the table proved damaged by that, or ""."""
        commits = self._commits
        try:
            self._merge()
            self._compact()
        except DamagedTable as problem:
            return problem.problem
        if self._commits != commits and self._opened is not None:
            self._folders.close_to_others(self._opened["generation"])
        return ""

    def _to_be_replaced(self, meta: dict[str, Any]) -> bool:
        """True when a whole table is not what is wanted: another model, an erasure."""
        oldest = max(self._store.forgotten_at, self._store.changed_over_at)
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

        Not what comes meanwhile: where somebody writes on and on, it would never end.
        """
        table, newest = self._store.table, self._store.applied
        while table is not None and not self._stopping():
            tail = self._store.tail(self._settings.apply_batch)
            if not tail or self._store.settled >= newest:
                return
            applied = tail[-1][1]
            self._merge_ids(table, [id for id, _ in tail], applied)
            self._commits += 1
            self._serve(table, applied)

    def _merge_ids(self, table: Table, ids: Sequence[str], applied: int) -> None:
        """Bring the rows of *ids* to their newest state: what no index holds, the table neither."""
        memories = self._store.indexed(ids)
        gone = [id for id in ids if id not in memories]
        vectors = self._store.wholes(list(memories))
        table.merge(list(memories.values()), vectors, applied=applied, deleted=gone)

    def rebuild(self) -> None:
        """Build a new generation from the journal, switch to it, remove the older ones.

        What cannot be built is removed again. When it was to replace one that holds something
        forgotten, that one goes too, and rows come from the journal until there is room.
        """
        meta: dict[str, Any] | None = None
        try:
            meta = self._build(self._folders.create())
        finally:
            if meta is None:
                with suppress(StorageError):
                    self._folders.remove_others(self._current(), set_aside=True)
        if meta is not None:
            self._open(meta)
            self._folders.remove_others(meta["generation"])
            process_memory.trim()

    def _current(self) -> int | None:
        meta = self._meta()
        if meta is None or meta["since"] < self._store.forgotten_at:
            self._store.settle(None, 0)
            return None
        return int(meta["generation"])

    def _build(self, generation: int) -> dict[str, Any] | None:
        dimension = self._wanted_dimension()
        self._store.catch_up()
        table = Table.create(self._folders.path(generation), dimension=dimension)
        with self._store.reading():
            columns, since = self._store.columns, self._store.applied
            ids = [columns.id(row) for row in np.flatnonzero(columns.live).tolist()]
        for start in range(0, len(ids), REBUILD_BATCH):
            if self._stopping():
                return None
            self._merge_ids(table, ids[start : start + REBUILD_BATCH], 0)
        self._merge_ids(table, [], since)
        table.close()
        self._folders.close_to_others(generation)
        value = {"generation": generation, "since": since, "dimension": dimension}

        def switch(tx: Transaction) -> None:
            tx.append(Change("meta", TABLE, {"value": value}, source="maintenance"))

        self._store.commit(switch)
        return value

    def _compact(self) -> None:
        table = self._store.table
        if table is None or self._commits < self._settings.compact_commits:
            return
        try:
            self._store.reserve.with_room(lambda: table.compact(grace_seconds=GRACE_SECONDS))
        except DiskFull:  # without its old versions it is smaller: the next round builds it anew
            self._store.settle(None, 0)
            self._folders.remove_others(None, set_aside=True)
            raise
        self._commits = 0
        process_memory.trim()

    def tidy(self, *, set_aside: bool = False) -> None:
        """Remove generations that a killed holder left behind. Raises StorageError.

        With *set_aside* also the damaged one that was kept: it may hold what was forgotten.
        """
        self._folders.remove_others(self._current(), set_aside=set_aside)
