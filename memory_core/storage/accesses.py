"""Accesses and co-recalls of one process: recorded at once, journalled later in one commit.

A kill may lose the last batch. A failure to write never fails a recall.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

from memory_core.errors import MemoryCoreError
from memory_core.records import Change, elapsed
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore

CO_RECALL = "co_recall"
"""The kind of links between memories recalled by one query; from the smaller id."""

MOST = 1000
"""Accessed memories, and pairs, recorded before they are journalled ahead of time."""


class Accesses:
    """The accesses of one process that are not in the journal yet."""

    def __init__(self, store: MemoryStore, clock: Callable[[], float], seconds: float) -> None:
        """Write to the journal of *store* every *seconds* of *clock*."""
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._recorded: dict[str, tuple[int, float]] = {}
        self._together: Counter[tuple[str, str]] = Counter()
        self._since = clock()

    def record(self, ids: Sequence[str]) -> None:
        """Count one more access to each of *ids*, now."""
        now = self._clock()
        with self._lock:
            for id in ids:
                self._recorded[id] = (self._recorded.get(id, (0, now))[0] + 1, now)

    def associate(self, ids: Sequence[str]) -> None:
        """Strengthen the link of each pair of *ids*, which one query recalled together."""
        with self._lock:
            for pair in combinations(sorted(set(ids)), 2):
                if pair in self._together or len(self._together) < MOST:
                    self._together[pair] += 1

    def flush_if_due(self) -> None:
        """Flush when *seconds* have passed or enough is recorded. Raises as flush does."""
        with self._lock:
            waited = elapsed(self._since, self._clock())
            noted = bool(self._recorded or self._together)
            due = noted and (waited >= self._seconds or len(self._recorded) >= MOST)
        if due:
            self.flush()

    def flush(self) -> None:
        """Journal what was recorded, with absolute counts; forgotten memories are skipped.

        Raises Busy or a StorageError; the recorded accesses are then kept for the next flush.
        """
        with self._lock:
            noted, self._recorded, self._since = self._recorded, {}, self._clock()
            together, self._together = self._together, Counter()
        if not noted and not together:
            return
        try:
            self._store.commit(lambda tx: _append(tx, noted, together))
        except MemoryCoreError:
            self._put_back(noted, together)
            raise

    def _put_back(
        self, noted: dict[str, tuple[int, float]], together: Counter[tuple[str, str]]
    ) -> None:
        with self._lock:
            self._together += together
            for id, (count, last) in noted.items():
                more, later = self._recorded.get(id, (0, last))
                self._recorded[id] = (count + more, max(last, later))


def _append(
    tx: Transaction, noted: dict[str, tuple[int, float]], together: Counter[tuple[str, str]]
) -> None:
    known = tx.accesses(sorted(noted))
    ids = [id for id in sorted(noted) if id in known]
    counts = [known[id][0] + noted[id][0] for id in ids]
    last = [max(noted[id][1], known[id][1] or noted[id][1]) for id in ids]
    if ids:
        tx.append(Change("access", "", {"ids": ids, "counts": counts, "last": last}))
    for (a, b), count in sorted(together.items()):
        weight = tx.weight(a, b, CO_RECALL) + count
        tx.append(Change("link", a, {"b": b, "kind": CO_RECALL, "weight": weight}))
