"""Loads the vector index at start: from the snapshot if it fits, the rest from the journal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory_core.errors import StorageError
from memory_core.storage.generations import Generations
from memory_core.storage.index import files
from memory_core.storage.index.vectors import VectorIndex
from memory_core.storage.journal.journal import Journal
from memory_core.storage.journal.replay import WRONG_VALUE, Replayer, Unusable, Vectors

log = logging.getLogger(__name__)

SNAPSHOT = "snapshot"
"""The meta key of the current vector snapshot: {"generation", "sequence"}."""

INDEX = "index"
"""The folder that holds the generations of snapshots."""

BATCH = 1000
"""Memories whose vectors are read at once after one was found damaged."""


class VectorSource:
    """Loads the vector index of one store; the rows are those of this process."""

    def __init__(
        self,
        directory: Path,
        journal: Journal,
        reader: Replayer,
        unusable: Unusable,
    ) -> None:
        """Load from the journal and the snapshots in *directory*."""
        self._folders = Generations(directory / INDEX)
        self._journal = journal
        self._reader = reader
        self._unusable = unusable
        self.snapshot_problem = ""
        """Why the snapshot was not used at the last load; "" when it was, or when there is none."""

    def state(self) -> dict[str, Any] | None:
        """The state of the other indexes in the snapshot; None when no snapshot fits."""
        meta = self._journal.meta(SNAPSHOT)
        if meta is None:
            return None
        try:
            state = files.read(self._folders.path(meta["generation"]))
        except StorageError as problem:
            self._tell("the journal is read from its beginning", meta["generation"], problem)
            return None
        return state if state and state["sequence"] == meta["sequence"] else None

    def load(
        self,
        dimension: int,
        fingerprint: str,
        rows: Mapping[str, int],
        changed: Mapping[str, int],
    ) -> VectorIndex:
        """The index of all *rows* (id -> row) that the model *fingerprint* has embedded.

        *changed*: sequence of the latest change of every memory that changed since the snapshot. A
        snapshot that does not fit is skipped. Raises StorageError when the journal fails.
        """
        index = self._from_snapshot(fingerprint, rows, changed)
        return self._from_journal(dimension, fingerprint, rows) if index is None else index

    def _from_snapshot(
        self, fingerprint: str, rows: Mapping[str, int], changed: Mapping[str, int]
    ) -> VectorIndex | None:
        self.snapshot_problem = ""
        meta = self._journal.meta(SNAPSHOT)
        if meta is None:
            return None
        try:
            index, sequence = VectorIndex.load(
                self._folders.path(meta["generation"]),
                fingerprint=fingerprint,
                row=rows.get,
            )
            if sequence != meta["sequence"]:
                raise StorageError(f"it stands for {sequence}, not for {meta['sequence']}", "")
        except StorageError as problem:
            self._tell("the vector snapshot is not used", meta["generation"], problem)
            self.snapshot_problem = problem.problem
            return None
        late = [id for id, seq in changed.items() if seq > sequence and id in rows]
        for id in late:  # imported again after a clear, it may have no vectors, or others
            index.remove(rows[id])
        missing = [id for id, row in rows.items() if not index.has(row)]
        self._add(index, missing, fingerprint, rows)
        return index

    def _tell(self, what: str, generation: int, problem: StorageError) -> None:
        """Log it: as a warning where a snapshot is damaged, not where it was erased.

        A command that forgets deletes it, and only a process that stays writes the next one.
        """
        there = self._folders.place(generation) is not None
        log.log(logging.WARNING if there else logging.INFO, "%s: %s", what, problem.problem)

    def _from_journal(
        self, dimension: int, fingerprint: str, rows: Mapping[str, int]
    ) -> VectorIndex:
        index = self._empty(dimension)
        try:
            for ids, parts, data in self._journal.all_vectors(fingerprint):
                found = np.fromiter((rows.get(id, -1) for id in ids), np.int64, len(ids))
                known = found >= 0
                index.put_many(found[known], np.asarray(parts, np.int64)[known], data[known])
            return index
        except StorageError as problem:  # a failing disk raises again below
            log.warning("vectors are read with care: %s", problem.problem)
        index = self._empty(dimension)
        ids = list(rows)
        for start in range(0, len(ids), BATCH):
            self._add(index, ids[start : start + BATCH], fingerprint, rows)
        return index

    def _empty(self, dimension: int) -> VectorIndex:
        return VectorIndex(dimension)

    def _add(
        self,
        index: VectorIndex,
        ids: Sequence[str],
        fingerprint: str,
        rows: Mapping[str, int],
    ) -> None:
        found = self._reader.vectors(ids, fingerprint) if ids else {}
        put_vectors(index, found, rows.get, self._unusable)


def put_vectors(
    index: VectorIndex,
    vectors: Vectors,
    row: Callable[[str], int | None],
    unusable: Unusable,
) -> None:
    """Put *vectors*, by memory id, into *index*; those that it cannot hold go to *unusable*."""
    for id, (parts, data) in vectors.items():
        place = row(id)
        if place is None:
            continue
        try:
            index.put(place, parts, data)
            unusable.vectors.discard(id)
        except WRONG_VALUE as problem:
            log.warning("the vectors of memory %s are not used: %s", id, problem)
            index.remove(place)
            unusable.vectors.add(id)
