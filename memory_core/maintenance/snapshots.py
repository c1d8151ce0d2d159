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
"""Least changes between two snapshots: a start replays so many in 0.3 s (measured)."""

SHARE = 0.1
"""Changes between two snapshots, as a share of the memories: what is written for each new memory
does not grow with their number."""


class Snapshots:
    """Writes the snapshots of one store; only the holder of maintenance.lock calls it."""

    def __init__(self, store: MemoryStore, every: int = EVERY) -> None:
        """Snapshot *store* after *every* changes, or SHARE of its memories if that is more."""
        self._store = store
        self._every = every
        self._folders = Generations(store.directory / INDEX)
        self._replaced = False
        self._seen = 0

    @property
    def stale(self) -> bool:
        """True when the snapshot may hold vectors of a forgotten memory."""
        meta = self._meta()
        return meta is not None and meta["sequence"] < self._store.forgotten_at

    @property
    def in_place(self) -> bool:
        """True unless the folder of the last snapshot that was seen was deleted or moved."""
        return not self._seen or self._folders.place(self._seen) is not None

    def write_if_due(self) -> None:
        """Write a new snapshot when the last one is old, damaged, deleted or `stale`."""
        meta = self._meta()
        last, self._seen = (meta["sequence"], meta["generation"]) if meta else (0, 0)
        damaged = bool(self._store.snapshot_problem) and not self._replaced
        with self._store.reading() as view:
            interval = max(self._every, int(SHARE * len(view.columns)))
        old = last < self._store.model_changed_at or self._store.applied - last >= interval
        if damaged and meta:
            self._folders.replace_quarantined(meta["generation"])
        if self.stale or damaged or old or not self.in_place:
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
        """Write the indexes as they are now, and return their sequence.

        Inside the lock they are copied, the vectors piece by piece; calls do not wait for the rest.
        """
        with self._store.reading() as view:
            index, sequence, fingerprint = view.vectors, self._store.applied, view.fingerprint
            if index is None:
                raise StorageError("the model was switched just now", "it is tried again")
            vectors, state = index.frozen(view.columns.ids()), self._store.frozen_state()
        folder = self._folders.path(generation)
        if state is not None:
            files.write(folder, state())
        vectors.write(
            folder,
            sequence=sequence,
            fingerprint=fingerprint,
            beside=() if state is None else (files.FILE,),
            reading=self._store.reading,
        )
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
