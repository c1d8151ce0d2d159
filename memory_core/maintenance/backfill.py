"""Embeds memories that have no vectors of a model yet, batch by batch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory_core.embedding.base import Embedder
from memory_core.errors import EncoderUnavailable
from memory_core.records import MemoryRecord, elapsed
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore

log = logging.getLogger(__name__)

BACKFILL = 64
"""Memories embedded in one batch: half a second at 6 ms each."""

IN_A_ROW = 2
"""Memories that the model refuses in succession before the batch ends."""

RETRY_SECONDS = 60.0
"""Seconds until a memory that the model refused is tried again, after all others."""

Vectors: TypeAlias = tuple[list[int], NDArray[np.float32]]
Embed = Callable[[Embedder, MemoryRecord], Vectors]
Stored = Callable[[MemoryRecord, str, list[int], NDArray[np.float32]], None]
"""Stores the vectors of a memory, for each of its parts, of the model with a fingerprint."""


class Backfill:
    """Embeds what a model has not embedded; a memory that the model refuses blocks no other."""

    def __init__(
        self,
        store: MemoryStore,
        clock: Callable[[], float],
        embed: Embed,
        stopping: Callable[[], bool],
        stored: Stored | None = None,
    ) -> None:
        """Fill *store*; *embed* returns the vectors of a memory. Ends early when *stopping*.

        *stored* stores the vectors of one memory, with what they say of it; None: all at once.
        """
        self._store = store
        self._clock = clock
        self._embed = embed
        self._stopping = stopping
        self._stored = stored
        self.refused: dict[str, tuple[float, str]] = {}
        """Memories that the model refused: id -> when (epoch seconds), and why."""

    def batch(self, embedder: Embedder, besides: Iterable[str] = ()) -> bool:
        """Embed a batch, those of *besides* first; True when the next can follow at once.

        Raises the model's last error when it embedded none of them.
        """
        ids = self._waiting(embedder.fingerprint, besides)
        known = self._store.indexed(ids)
        made, problem = self._embed_all(embedder, known)
        if made:
            if self._stored is None:
                self._store.commit(lambda tx: _put(tx, embedder.fingerprint, made))
            else:  # in the order of time, so that each finds what it was said after
                for id in sorted(made, key=lambda id: (known[id].occurred_at, ids.index(id))):
                    self._stored(known[id], embedder.fingerprint, *made[id])
            return len(ids) == BACKFILL
        if problem is not None:  # the next batch would fail, too
            raise problem
        return False

    def _waiting(self, fingerprint: str, besides: Iterable[str]) -> list[str]:
        """At most a batch of ids to embed; those that were refused only after RETRY_SECONDS."""
        now = self._clock()
        with self._store.reading() as view:
            known = view.columns.row
            self.refused = {id: why for id, why in self.refused.items() if known(id) is not None}
        most = BACKFILL + len(self.refused)
        found = [*besides, *self._store.without_vectors(fingerprint, most)]
        fresh = [id for id in found if id not in self.refused]
        again = [id for id in found if id in self.refused and self._may_retry(id, now)]
        return (fresh + again)[:BACKFILL]

    def _may_retry(self, id: str, now: float) -> bool:
        return elapsed(self.refused[id][0], now) >= RETRY_SECONDS

    def _embed_all(
        self, embedder: Embedder, known: Mapping[str, MemoryRecord]
    ) -> tuple[dict[str, Vectors], Exception | None]:
        """The vectors of those that the model embeds of *known* memories, and its last error."""
        made: dict[str, Vectors] = {}
        refused, last = 0, None
        for id, memory in known.items():
            if self._stopping() or refused == IN_A_ROW:
                break
            try:
                parts, vectors = self._embed(embedder, memory)
                if not np.isfinite(vectors).all():
                    raise EncoderUnavailable("the model gave no numbers", "try another model")
            except Exception as problem:  # one text must not block the others
                log.warning("memory %s is not embedded: %s", id, problem)
                self.refused[id] = (self._clock(), str(problem))
                refused, last = refused + 1, problem
            else:
                made[id], refused = (parts, vectors), 0
                self.refused.pop(id, None)
        return made, last


def _put(tx: Transaction, fingerprint: str, made: dict[str, Vectors]) -> None:
    for id, (parts, vectors) in made.items():
        if tx.accesses([id]):  # not forgotten meanwhile
            tx.put_vectors(id, fingerprint, parts, vectors.astype(np.float16))
