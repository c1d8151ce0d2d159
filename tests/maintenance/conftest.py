"""A house for upkeep: one directory, a clock set by hand, a room for each process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.maintenance.loop import Maintenance, MaintenanceTuning
from memory_core.records import Change, MemoryRecord, content_hash, new_id, to_fields
from memory_core.representation import embed, index_text
from memory_core.storage.store import MemoryStore
from tests.views import view_of

START = 1_700_000_000.0


class House:
    """One data directory, a clock set by hand, and processes' worth of stores on it."""

    def __init__(self, directory: Path, toy: Any) -> None:
        self.directory = directory
        self.toy = toy
        self.now = START
        self.tuning = MaintenanceTuning(snapshot_changes=5)
        self.rooms: list[Room] = []

    def room(self, *, model: bool = True) -> Room:
        self.rooms.append(Room(self, model=model))
        return self.rooms[-1]

    def files(self, folder: str) -> bytes:
        """Every byte under *folder*; never of the journal, whose locks a plain read would drop."""
        found = (self.directory / folder).rglob("*")
        return b"\n".join(path.read_bytes() for path in sorted(found) if path.is_file())


class Room:
    """What one process has: a store, a gate, maintenance by hand."""

    def __init__(self, house: House, *, model: bool) -> None:
        self.house = house
        self.store = MemoryStore(
            house.directory,
            clock=lambda: house.now,
            index_text=index_text,
        )
        self.store.catch_up()
        self.model = model
        self.gate = EmbedderGate(self.load)
        self.upkeep = Maintenance(
            self.store, self.gate, lambda: house.now, embed, tuning=house.tuning
        )
        self.gate.start()
        self.gate.wait(120)

    def load(self) -> Any:
        if not self.model:
            raise EncoderUnavailable("there is no model", "get one")
        toy = self.house.toy
        self.store.adopt(toy.name, toy.fingerprint, toy.dimension)
        return toy

    def model_comes(self) -> None:
        self.model = True
        self.gate.retry()
        assert self.gate.wait(120) is not None

    def put(self, text: str, **fields: Any) -> str:
        """Write a memory without vectors, as while no model is ready."""
        self.house.now += 1.0
        now = self.house.now
        values = {"agent": "me", "occurred_at": now, "content_hash": content_hash(text), **fields}
        memory = MemoryRecord(id=new_id(now), text=text, **values)
        self.store.commit(lambda tx: tx.append(Change("put", memory.id, to_fields(memory))))
        return memory.id

    def forget(self, id: str, *, erase: bool = True) -> None:
        body = {"digests": [], "reason": "", "erase": erase}
        self.store.commit(lambda tx: tx.forget(Change("forget", id, body)))

    def embedded(self) -> int:
        vectors = view_of(self.store).vectors
        return 0 if vectors is None else vectors.rows_with_vectors

    def rounds(self, number: int = 4) -> None:
        for _ in range(number):
            self.upkeep.round()

    def close(self) -> None:
        self.upkeep.stop()
        self.store.close()


@pytest.fixture
def house(tmp_path: Path, toy: Any) -> Iterator[House]:
    made = House(tmp_path / "house", toy)
    yield made
    for room in made.rooms:
        room.close()


@pytest.fixture
def start() -> float:
    """When the clock of the house begins."""
    return START
