"""Vectors for memories that have none of a model yet, batch by batch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
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
"""Memories embedded in one batch: at 6 ms each it is done within half a second."""

IN_A_ROW = 2
"""Memories that the model refuses one after the other before the batch tries no more of them."""

RETRY_SECONDS = 60.0
"""A memory that the model refused is tried again after this, and waits for all others till then."""

Vectors: TypeAlias = tuple[list[int], NDArray[np.float32]]
Embed = Callable[[Embedder, MemoryRecord], Vectors]


class Backfill:
    """Embeds what one model has not embedded; a memory that it refuses blocks no other."""

    def __init__(
        self,
        store: MemoryStore,
        clock: Callable[[], float],
        embed: Embed,
        stopping: Callable[[], bool],
    ) -> None:
        """Write into *store*; *embed* gives the vectors of a memory; end early once *stopping*."""
        self._store = store
        self._clock = clock
        self._embed = embed
        self._stopping = stopping
        self.refused: dict[str, tuple[float, str]] = {}
        """Memories that the model refused, when, and why."""

    def batch(self, embedder: Embedder, besides: Iterable[str] = ()) -> bool:
        """Embed a batch, first those of *besides*; True when there is more to do at once.

        Raises what the model last raised when it gave nothing for any of them.
        """
        ids = self._waiting(embedder.fingerprint, besides)
        made, problem = self._embed_all(embedder, ids)
        if made:
            self._store.commit(lambda tx: _put(tx, embedder.fingerprint, made))
            return len(ids) == BACKFILL
        if problem is not None:  # no use in going on at once
            raise problem
        return False

    def _waiting(self, fingerprint: str, besides: Iterable[str]) -> list[str]:
        """At most a batch of memories to embed; those that were refused only when it is time."""
        row, now = self._store.columns.row, self._clock()
        self.refused = {id: why for id, why in self.refused.items() if row(id) is not None}
        most = BACKFILL + len(self.refused)
        found = [*besides, *self._store.journal.without_vectors(fingerprint, most)]
        fresh = [id for id in found if id not in self.refused]
        again = [id for id in found if id in self.refused and self._is_time(id, now)]
        return (fresh + again)[:BACKFILL]

    def _is_time(self, id: str, now: float) -> bool:
        return elapsed(self.refused[id][0], now) >= RETRY_SECONDS

    def _embed_all(
        self, embedder: Embedder, ids: list[str]
    ) -> tuple[dict[str, Vectors], Exception | None]:
        """The vectors of *ids* as far as the model gives them, and why it last refused."""
        made: dict[str, Vectors] = {}
        refused, last = 0, None
        for id, memory in self._store.indexed(ids).items():
            if self._stopping() or refused == IN_A_ROW:
                break
            try:
                parts, vectors = self._embed(embedder, memory)
                if not np.isfinite(vectors).all():
                    raise EncoderUnavailable("the model gave no numbers", "try another model")
            except Exception as problem:  # a job ends here: one text must not block the others
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
