"""The daily inspection: one process reads every file and compares it with its checksums.

The maintenance steps rebuild derived files that are damaged; health reports damage in the journal.
The time and the result of the last inspection are in a file that may be deleted at any time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from memory_core.errors import StorageError
from memory_core.records import elapsed
from memory_core.storage.errors import from_os_error
from memory_core.storage.locks import open_private
from memory_core.storage.store import MemoryStore
from memory_core.storage.table.lance import damaged
from memory_core.storage.table.table import Table

FILE = "inspection.json"
EVERY_SECONDS = 86_400.0
HEAD_START = 600.0
"""Seconds after the start of a process before its first inspection; calls come first."""


class Inspection:
    """Inspects one store; only the holder of maintenance.lock calls it."""

    def __init__(
        self,
        store: MemoryStore,
        clock: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Inspect *store*; *clock* dates the report, *monotonic* measures the head start."""
        self._store = store
        self._clock = clock
        self._monotonic = monotonic
        self._begin = monotonic() + HEAD_START
        self._path = store.directory / FILE

    def run_if_due(self) -> None:
        """Inspect when the last time is a day ago or unknown. Raises StorageError."""
        if self._monotonic() < self._begin:
            return
        if elapsed(float(self.last().get("at", 0.0)), self._clock()) >= EVERY_SECONDS:
            self.run()

    def run(self) -> list[str]:
        """Read everything; what is damaged. Raises StorageError if the report cannot be written."""
        self._begin = self._monotonic() + HEAD_START
        lost = self._store.journal.check()
        problems = [*lost, *self._table()]
        self._write({"at": self._clock(), "problems": lost})  # the table is rebuilt in this round
        return problems

    def last(self) -> dict[str, Any]:
        """`at` (epoch seconds) of the last one and the `problems` of the journal; {} if unknown."""
        try:
            found = json.loads(self._path.read_text("utf-8"))
            return {"at": float(found["at"]), "problems": list(map(str, found["problems"]))}
        except (OSError, ValueError, TypeError, LookupError):
            return {}

    def _table(self) -> list[str]:
        """Compare the table with the indexes; a damaged table is no longer read."""
        table = self._store.table
        if table is None:
            return []
        try:
            self._read(table)
        except StorageError as problem:
            self._store.detach_table(table, problem)
            return [problem.problem]
        return []

    def _read(self, table: Table) -> None:
        held = list[str]()
        for part in table.scan():
            ids = [memory.id for memory in part]
            self._look_up(table, ids)
            held += ids
        if not self._store.table_complete(held, self._store.table_sequence):
            raise damaged("the table holds other memories than the journal")

    def _look_up(self, table: Table, ids: list[str]) -> None:
        """Raise StorageError unless the index of *table* finds *ids*, with the right vectors."""
        if len(table.get(ids)) < len(ids):
            raise damaged("the index of the table hides memories")
        store = self._store
        if (
            store.model_changed_at > store.table_sequence
        ):  # its vectors are of another model; it is replaced
            return
        expected, held = store.whole_vectors(ids), table.vectors(ids)
        for id, vector in expected.items():
            written = vector.astype(np.float16)
            fits = id in held and np.array_equal(held[id], written)
            if not fits and id not in store.unsynced:
                raise damaged(f"the vector of memory {id!r} in the table is damaged")

    def _write(self, report: dict[str, Any]) -> None:
        try:
            with os.fdopen(open_private(self._path), "w", encoding="utf-8") as file:
                file.truncate(0)
                json.dump(report, file)
        except OSError as error:
            raise from_os_error(error, f"write {FILE}", self._path.parent) from error
