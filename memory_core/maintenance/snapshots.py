"""Snapshots of the indexes: written every so many changes, read at start, replaced when unusable.

With a million vectors, mapping a snapshot takes 90 ms where loading them takes 7.5 s (measured);
the other indexes are read from it instead of being replayed. Row numbers differ between processes,
so a snapshot stores the ids of its rows.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from memory_core.errors import StorageError
from memory_core.records import Change
from memory_core.storage import process_memory
from memory_core.storage.generations import Generations
from memory_core.storage.index import files
from memory_core.storage.index.vector_source import INDEX, SNAPSHOT
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore

EVERY = 5000
"""Changes between two snapshots: a start replays at most so many."""


class Snapshots:
    """Writes the snapshots of one store; only the holder of maintenance.lock calls it."""

    def __init__(self, store: MemoryStore, every: int = EVERY) -> None:
        """Snapshot *store* after every *every* changes."""
        self._store = store
        self._every = every
        self._folders = Generations(store.directory / INDEX)
        self._replaced = False

    @property
    def stale(self) -> bool:
        """True when the snapshot may hold vectors of a forgotten memory."""
        meta = self._meta()
        return meta is not None and meta["sequence"] < self._store.forgotten_at

    def write_if_due(self) -> None:
        """Write a new snapshot when the last one is old, damaged or `stale`."""
        meta = self._meta()
        last = meta["sequence"] if meta else 0
        damaged = bool(self._store.snapshot_problem) and not self._replaced
        old = last < self._store.model_changed_at or self._store.applied - last >= self._every
        if damaged and meta:
            self._folders.replace_quarantined(meta["generation"])
        if self.stale or damaged or old:
            self.write()

    def write(self) -> None:
        """Write a new generation, switch to it, remove the older ones; nothing without vectors.

        On failure the new generation is removed, and the last one too when it is `stale`: the
        journal has all vectors.
        """
        with self._store.reading() as view:
            if view.vectors is None:
                return
        generation = 0
        try:
            made = self._folders.create()
            self._switch(made, self._save(made))
            generation = made
        finally:
            if not generation:
                with suppress(StorageError):
                    self._folders.remove_others(self._current(), quarantined=True)
        self._replaced = True
        self._folders.remove_others(generation)
        process_memory.trim()

    def _save(self, generation: int) -> int:
        with self._store.reading() as view:
            columns, index, sequence = view.columns, view.vectors, self._store.applied
            if index is None:
                raise StorageError("the model was switched just now", "it is tried again")
            ids = [columns.id(row) for row in range(len(columns))]
            folder, fingerprint = self._folders.path(generation), view.fingerprint
            state = self._store.state()
            if state is not None:
                files.write(folder, state)
            beside = () if state is None else (files.FILE,)
            index.save(folder, sequence=sequence, fingerprint=fingerprint, ids=ids, beside=beside)
        return sequence

    def _switch(self, generation: int, sequence: int) -> None:
        value = {"generation": generation, "sequence": sequence}

        def switch(tx: Transaction) -> None:
            tx.append(Change("meta", SNAPSHOT, {"value": value}, source="maintenance"))

        self._store.commit(switch)

    def tidy(self, *, quarantined: bool = False) -> None:
        """Remove generations that a killed holder left behind. Raises StorageError.

        With *quarantined* also damaged ones that were kept: they may hold forgotten text.
        """
        self._folders.remove_others(self._current(), quarantined=quarantined)

    def _current(self) -> int | None:
        meta = self._meta()
        return None if meta is None or self.stale else int(meta["generation"])

    def _meta(self) -> dict[str, Any] | None:
        value: dict[str, Any] | None = self._store.journal.meta(SNAPSHOT)
        return value
