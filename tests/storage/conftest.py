"""A shop for stores: one data directory, a clock set by hand, and what is put into it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.maintenance.loop import Maintenance, MaintenanceTuning
from memory_core.maintenance.snapshots import Snapshots
from memory_core.maintenance.table_sync import TableSync
from memory_core.records import Change, Identity, MemoryRecord, content_hash, new_id, to_fields
from memory_core.representation import index_text
from memory_core.storage.index.bm25 import best
from memory_core.storage.store import MemoryStore
from tests.views import view_of

DIMENSION = 8
FINGERPRINT = "toy-1"


class Shop:
    """Opens stores on one directory and keeps the small change."""

    def __init__(self, directory: Path, **tuning: Any) -> None:
        self.directory = directory
        self.now = 1_700_000_000.0
        self.tuning = MaintenanceTuning(**tuning)
        self.opened: list[MemoryStore] = []
        self.kept: list[Maintenance] = []

    def clock(self) -> float:
        return self.now

    def open(self, *, model: bool = True) -> MemoryStore:
        """A store that is level with the journal; *model*: of the toy embedder."""
        store = MemoryStore(
            self.directory,
            clock=self.clock,
            index_text=index_text,
        )
        self.opened.append(store)
        store.catch_up()
        if model:
            store.adopt("toy", FINGERPRINT, DIMENSION)
        return store

    def upkeep(self, store: MemoryStore) -> Maintenance:
        """Maintenance of *store*, by hand, without a model to embed with."""
        gate = EmbedderGate(_no_model)
        made = Maintenance(store, gate, self.clock, _embed, tuning=self.tuning)
        self.kept.append(made)
        return made

    def table_sync(
        self, store: MemoryStore, stopping: Callable[[], bool] = lambda: False
    ) -> TableSync:
        own = self.tuning
        return TableSync(
            store, stopping, batch=own.table_batch, compact_commits=own.compact_commits
        )

    def snapshots(self, store: MemoryStore) -> Snapshots:
        return Snapshots(store, self.tuning.snapshot_changes)

    def memory(self, text: str, **fields: Any) -> MemoryRecord:
        self.now += 60.0
        memory = MemoryRecord(
            id=new_id(self.now),
            text=text,
            agent="me",
            occurred_at=self.now,
            recorded_at=self.now,
            content_hash=content_hash(text),
        )
        return replace(memory, **fields)

    def put(self, store: MemoryStore, text: str, **fields: Any) -> MemoryRecord:
        """Write a memory of that text, with a vector when the store has a model."""
        memory = self.memory(text, **fields)

        def build(tx: Any) -> None:
            tx.append(Change("put", memory.id, to_fields(memory)))
            if store.fingerprint:
                tx.put_vectors(memory.id, FINGERPRINT, [0], self.vectors(text))

        store.commit(build)
        return memory

    def vectors(self, text: str, parts: int = 1) -> NDArray[np.float16]:
        """Unit vectors (parts, dimension) that belong to *text*."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        rows = np.random.default_rng(seed).normal(size=(parts, DIMENSION))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)

    def change(self, store: MemoryStore, id: str, **fields: Any) -> None:
        store.commit(lambda tx: tx.append(Change("put", id, fields)))

    def forget(self, store: MemoryStore, id: str, *, erase: bool = True) -> None:
        body = {"digests": [], "reason": "", "erase": erase}
        store.commit(lambda tx: tx.forget(Change("forget", id, body)))

    def words(self, store: MemoryStore, query: str) -> list[str]:
        """Texts that BM25 finds, best first."""
        store.catch_up()
        with store.reading() as view:
            rows, _ = best(view.lexical.match(query).scores, 10, view.readable(Identity("me")))
            ids = [view.columns.id(int(row)) for row in rows]
        found = store.memories(ids)
        return [found[id].text for id in ids if id in found]  # one may be forgotten just now

    def close(self) -> None:
        for upkeep in self.kept:
            upkeep.stop()
        for store in self.opened:
            store.close()


def _no_model() -> Embedder:
    raise EncoderUnavailable("no model", "none is needed")


def _embed(embedder: Embedder, memory: MemoryRecord) -> tuple[list[int], NDArray[np.float32]]:
    return [0], embedder.documents([memory.text])


MakeShop = Callable[..., Shop]


@pytest.fixture
def make_shop(tmp_path: Path) -> Iterator[MakeShop]:
    """Shops, each in a directory of its own."""
    made: list[Shop] = []

    def make(**tuning: Any) -> Shop:
        made.append(Shop(tmp_path / f"shop{len(made)}", **tuning))
        return made[-1]

    yield make
    for shop in made:
        shop.close()


@pytest.fixture
def shop(make_shop: MakeShop) -> Shop:
    return make_shop()


class Holder:
    """A store with its mirror, as the process that holds maintenance.lock has them."""

    def __init__(self, shop: Shop, **options: Any) -> None:
        self.shop = shop
        self.store: MemoryStore = shop.open(**options)
        self.table_sync = shop.table_sync(self.store)

    @property
    def folder(self) -> Path:
        return self.shop.directory / "table"

    def generations(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def fill(self, number: int = 30, bird: str = "heron") -> dict[str, MemoryRecord]:
        memories = [self.shop.put(self.store, f"{bird} {each}") for each in range(number)]
        return {memory.id: memory for memory in memories}

    def filled(self) -> dict[str, MemoryRecord]:
        """A table of several commits, with a changed row in it."""
        memories = self.fill(6)
        self.table_sync.update()
        memories |= self.fill(3, "stork")
        first = next(iter(memories))
        self.shop.change(self.store, first, speaker="Ana")
        self.table_sync.update()
        memories = self.store.memories(memories)
        assert memories[first].speaker == "Ana"
        self.level()
        return memories

    def level(self) -> None:
        """The table holds exactly what the journal holds."""
        store = self.store
        assert store.unsynced == {}
        assert store.table is not None
        ids = store.table.ids()
        assert sorted(ids) == sorted(store.journal.fold(ids))
        assert len(ids) == int(view_of(store).columns.live.sum()) == store.table.count()
        assert store.table.applied() <= store.journal.last()


@pytest.fixture
def make_holder() -> Callable[..., Holder]:
    """Holders on a shop: what several processes have of it."""
    return Holder


@pytest.fixture
def holder(shop: Shop) -> Holder:
    return Holder(shop)
