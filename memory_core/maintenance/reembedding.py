"""Changes the embedding model of a store while recall goes on.

The target model is in the journal, so any process can continue where another was killed. Vectors of
both models are stored under their fingerprints. Recall searches those of the old model until every
memory has new ones; then one journalled change makes the new model the store's.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.maintenance.backfill import Backfill, Embed
from memory_core.records import Change
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.locks import FileLock
from memory_core.storage.store import EMBEDDING, REEMBEDDING, MemoryStore

log = logging.getLogger(__name__)

OLD_MODEL_SECONDS = 60.0
"""Seconds for which `begin` waits until the old model is loaded."""


class Reembedding:
    """The change of model of one store; one process at a time works on it."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        load: Callable[[str], Embedder],
        clock: Callable[[], float],
        embed: Embed,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """Reembed *store*; *gate* holds the model in use, *load* loads another by its setting."""
        self._store = store
        self._gate = gate
        self._load = load
        self._backfill = Backfill(store, clock, embed, stopping)
        self._lock = FileLock(store.directory / "reembed.lock")
        self._working = threading.Lock()
        self._next: EmbedderGate | None = None
        self._next_name = ""

    @property
    def target(self) -> dict[str, Any] | None:
        """{"name", "fingerprint", "dimension"} of the new model; None when none is under way."""
        value: dict[str, Any] | None = self._store.journal.meta(REEMBEDDING)
        return value

    def begin(self, name: str) -> dict[str, Any]:
        """Start the change to the model of the setting *name*; that model's `target` entry.

        When it makes the same vectors, or the old model can no longer be loaded, the store switches
        at once; memories are then found by words until they have its vectors. Raises
        EncoderUnavailable or InvalidInput when the new model cannot be loaded.
        """
        embedder = self._load(name)
        wanted = _target(name, embedder)
        old = self._gate.wait(OLD_MODEL_SECONDS)
        usable = old is not None and old.fingerprint == self._store.fingerprint

        def begin(tx: Transaction) -> bool:
            active = tx.meta(EMBEDDING)
            if not usable or active is None or active["fingerprint"] == embedder.fingerprint:
                _set_meta(tx, EMBEDDING, wanted)
                _set_meta(tx, REEMBEDDING, None)
                return True
            _set_meta(tx, REEMBEDDING, wanted)
            return False

        if self._store.commit(begin):
            self._gate.adopt(embedder)
        with self._working:
            self._next, self._next_name = EmbedderGate(lambda: embedder), name
            self._next.start()
            self._next.wait(OLD_MODEL_SECONDS)
        return wanted

    def left(self) -> int:
        """How many memories the new model, or else the store's model, has not embedded yet."""
        self._store.catch_up()
        target = self.target
        fingerprint = target["fingerprint"] if target else self._store.fingerprint
        with self._store.reading() as view:
            most = max(1, len(view.columns))
        return len(self._store.without_vectors(fingerprint, most))

    def step(self) -> bool:
        """Embed a batch for the change under way; True when the next can follow at once.

        Raises EncoderUnavailable when the new model cannot be loaded or refuses everything.
        """
        with self._working:
            self._store.catch_up()
            target = self.target
            if target is None:
                self._reset()
                return False
            embedder = self._embedder(target)
            if embedder is None or not (self._lock.held or self._lock.acquire(0.0)):
                return False
            lost = self._gate.problem is not None  # the old model cannot be loaded
            if lost and self._switch(target, embedder, at_once=True):
                return False
            if self._backfill.batch(embedder):
                return True
            return not self._switch(target, embedder)

    def close(self) -> None:
        """Release reembed.lock, so that another process can continue."""
        with self._working:
            self._lock.release()

    def _reset(self) -> None:
        self._lock.release()
        self._next, self._next_name = None, ""
        self._backfill.refused.clear()

    def _embedder(self, target: dict[str, Any]) -> Embedder | None:
        """The new model; None while it loads. Raises EncoderUnavailable when it cannot be used."""
        name = target["name"]
        if self._next is None or self._next_name != name:
            self._lock.release()
            self._next, self._next_name = EmbedderGate(lambda: self._load(name)), name
            self._next.start()
        if self._next.problem is not None:
            problem = self._next.problem
            self._lock.release()
            self._next.retry()
            raise problem
        embedder = self._next.embedder
        if embedder is not None and embedder.fingerprint != target["fingerprint"]:
            self._lock.release()
            raise EncoderUnavailable(
                f"{name} makes other vectors here than where the change was begun",
                f"run `anamnesis reembed {name}` again, or use the same settings everywhere",
            )
        return embedder

    def _switch(self, target: dict[str, Any], embedder: Embedder, *, at_once: bool = False) -> bool:
        """Make *target* the store's model if nothing but refused memories is left to embed."""
        refused = self._backfill.refused
        if refused and not at_once:
            embedder.documents(["one more"])  # raises when the model, not those texts, is the cause

        def change(tx: Transaction) -> bool:
            left = [] if at_once else tx.without_vectors(target["fingerprint"], len(refused) + 1)
            if tx.meta(REEMBEDDING) != target or any(id not in refused for id in left):
                return False
            _set_meta(tx, EMBEDDING, target)
            _set_meta(tx, REEMBEDDING, None)
            return True

        if not self._store.commit(change):
            return False
        self._gate.adopt(embedder)
        log.info("the store works with %s now", target["name"])
        return True


def _target(name: str, embedder: Embedder) -> dict[str, Any]:
    return {
        "name": name,
        "fingerprint": embedder.fingerprint,
        "dimension": embedder.dimension,
    }


def _set_meta(tx: Transaction, key: str, value: dict[str, Any] | None) -> None:
    if tx.meta(key) != value:
        tx.append(Change("meta", key, {"value": value}, source="reembed"))
