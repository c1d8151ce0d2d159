"""The questions that the journal answers without changing anything."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_core.records import Change
from memory_core.storage.journal import reading
from memory_core.storage.journal import erasure as scrubbing
from memory_core.storage.journal.format import Connection

R = TypeVar("R")


class JournalQueries(ABC):
    """Reading, for whoever can run a query on an open journal.

    Each call is one short read transaction; none outlives its call. All raise StorageError when
    the file cannot be read, and DamagedChange where a text does not match its checksum.
    """

    @abstractmethod
    def _read(self, query: Callable[[Connection], R]) -> R:
        """The result of *query*, alone on a connection, with the vendor's errors translated."""

    def changes(self, after: int, limit: int = 256) -> list[Change]:
        """Changes after sequence *after*, in order, at most *limit*; [] when there is nothing new.

        Each is checked. The list ends before a damaged one; DamagedChange (with `seq`) is raised
        when that would be the first. Vectors changes name their parts; floats come from vectors().
        """
        return self._read(lambda db: reading.changes(db, after, limit))

    def last(self) -> int:
        """The highest sequence number of any process, 0 when empty. Costs microseconds."""
        return self._read(reading.last)

    def fold(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Current fields of those of *ids* that live, checked; access counts included."""
        return self._read(lambda db: reading.fold(db, ids))

    def vectors(
        self, ids: Sequence[str], fingerprint: str
    ) -> dict[str, tuple[list[int], NDArray[np.float16]]]:
        """Parts and vectors (n, d) of those of *ids* that the model *fingerprint* has embedded."""
        return self._read(lambda db: reading.vectors(db, ids, fingerprint))

    def all_vectors(
        self, fingerprint: str, batch: int = 4096
    ) -> Iterator[tuple[list[str], list[int], NDArray[np.float16]]]:
        """All vectors of one model: memory and part of each, vectors (n, d), ordered by memory.

        *batch* is in memories. Each batch is read on its own, so that no read transaction outlives
        it; what is written meanwhile may be seen or not. Raises DamagedVectors.
        """
        memory = ""
        while rows := self._vectors_after(fingerprint, memory, batch):
            columns = reading.unpack(rows)
            yield columns
            memory = columns[0][-1]

    def without_vectors(self, fingerprint: str, limit: int) -> list[str]:
        """Ids of live memories, oldest first, that the model *fingerprint* has not embedded."""
        return self._read(lambda db: reading.without_vectors(db, fingerprint, limit))

    def history(self, id: str) -> list[Change]:
        """Every change whose target is *id*, in order; those of a forgotten memory have no body."""
        return self._read(lambda db: reading.history(db, id))

    def meta(self, key: str) -> Any | None:
        """The latest value of a meta change, or None."""
        return self._read(lambda db: reading.meta(db, key))

    def runs(self) -> list[Change]:
        """The latest run change of every run, newest first."""
        return self._read(reading.runs)

    def run_changes(self, run: str) -> list[Change]:
        """Every change that names the run, in order."""
        return self._read(lambda db: reading.run_changes(db, run))

    def receipt(self, key: str) -> dict[str, Any] | None:
        """The answer stored under an idempotency key, or None."""
        return self._read(lambda db: reading.receipt(db, key))

    def holding(
        self, field: str, goes: Callable[[str, str], bool], after: int, until: int
    ) -> list[int]:
        """The puts after one sequence, up to another, in which *goes*(memory id, text of field)."""
        return self._read(lambda db: scrubbing.holding(db, field, goes, after, until))

    def values(self, field: str, after: int, until: int) -> frozenset[str]:
        """What the puts after one sequence, up to another, hold in a text field, "" left out."""
        return self._read(lambda db: scrubbing.values(db, field, after, until))

    def _vectors_after(self, fingerprint: str, memory: str, batch: int) -> list[tuple[Any, ...]]:
        return self._read(lambda db: reading.vectors_after(db, fingerprint, memory, batch))
