"""One store with a clock set by hand and a model that needs no weights, for all of sleep."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_core.config import DecaySettings
from memory_core.consolidate.run import Consolidator, no_model
from memory_core.consolidate.steps import ConsolidationTuning
from memory_core.embedding.base import Profile
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.records import (
    Change,
    Identity,
    MemoryRecord,
    RunReport,
    content_hash,
    new_id,
    to_fields,
)
from memory_core.representation import index_text
from memory_core.storage.store import MemoryStore

ME = Identity("me", "crew")
START = 1_700_000_000.0


class BagOfWords:
    """An honest stand-in: texts that share words are close, deterministically."""

    name = "bag"
    fingerprint = "bag-1"
    dimension = 256
    profile = Profile(near_duplicate=0.9, related=0.5, topic=0.4, cluster=0.5)

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        total = np.zeros(self.dimension)
        for word in "".join(c if c.isalnum() else " " for c in text.casefold()).split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
            total += np.random.default_rng(seed).normal(size=self.dimension)
        return (total / np.linalg.norm(total)).astype(np.float32)


class World:
    """One store with a clock that is set by hand, and two things to talk about."""

    sailing = (
        "Mara sails her small blue boat on the lake every Sunday morning.",
        "On the lake the small boat of Mara leaks since a storm broke its blue rudder.",
        "A new sail for the small blue boat of Mara costs too much, says the lake harbour.",
    )
    bread = (
        "Tomas bakes dark rye bread with sour dough in his old brick oven.",
        "Sour dough needs two nights before Tomas bakes rye bread in his oven.",
        "Neighbours buy the dark rye bread that Tomas bakes from sour dough.",
    )

    def __init__(self, directory: Path, *, model: bool = True, **tuning: Any) -> None:
        self.now = START
        self.store = MemoryStore(directory, clock=self.clock, index_text=index_text)
        self.bag = BagOfWords()
        self.gate = EmbedderGate(lambda: self.bag if model else _no_model())
        self.gate.start()
        self.gate.wait(120)
        if model:
            self.store.adopt("bag", self.bag.fingerprint, self.bag.dimension)
        self.store.catch_up()
        self.consolidator = Consolidator(
            self.store,
            self.gate,
            no_model,
            DecaySettings(),
            self.clock,
            tuning=ConsolidationTuning(**tuning),
        )

    def clock(self) -> float:
        return self.now

    def tell(self, text: str, *, who: Identity = ME, **fields: Any) -> str:
        """Write one memory as it is; a minute passes."""
        self.now += 60.0
        session = fields.get("session", "")
        memory = MemoryRecord(id=new_id(self.now), text=text, agent=who.agent, team=who.team)
        memory = replace(
            memory,
            **{
                "occurred_at": self.now,
                "recorded_at": self.now,
                "content_hash": content_hash(text),
                **fields,
            },
        )

        def build(tx: Any) -> None:
            place = tx.next_position(memory.thread) if session else -1
            tx.append(Change("put", memory.id, to_fields(replace(memory, position=place))))
            if self.gate.ready:
                vectors = self.bag.documents([text]).astype(np.float16)
                tx.put_vectors(memory.id, self.bag.fingerprint, [0], vectors)

        self.store.commit(build)
        return memory.id

    def put(self, id: str, **fields: Any) -> None:
        self.store.commit(lambda tx: tx.append(Change("put", id, fields)))

    def access(self, id: str, count: int, last: float) -> None:
        body = {"ids": [id], "counts": [count], "last": [last]}
        self.store.commit(lambda tx: tx.append(Change("access", "", body)))

    def run(self, mode: str = "sleep", *, who: Identity = ME, **options: Any) -> RunReport:
        values = {"session": "", "dry_run": False, "progress": None, **options}
        return self.consolidator.run(who, mode=mode, **values)

    def __getitem__(self, id: str) -> MemoryRecord:
        return self.store.memories([id])[id]

    def ids(self) -> list[str]:
        with self.store.reading() as view:
            columns = view.columns
            return [columns.id(row) for row in range(len(columns)) if columns.id(row)]

    def export(self) -> str:
        """All memories with all their fields, as the journal folds them."""
        folded = self.store.journal.fold(sorted(self.ids()))
        return json.dumps([_all_fields(fields) for fields in folded.values()], sort_keys=True)

    def links(self) -> set[tuple[str, str, str]]:
        with self.store.reading() as view:
            columns = view.columns
            return {
                (columns.id(row), columns.id(other), kind)
                for row in range(len(columns))
                for other, kind, _ in view.graph.neighbours(row)
                if kind != "derived_from"
            }

    def state(self, run: str) -> str:
        marks = {change.target: change for change in self.store.journal.runs()}
        return str((marks[run].body or {})["state"])

    @staticmethod
    def steps(report: RunReport) -> dict[str, int]:
        return {step.name: step.changed for step in report.steps}


def _no_model() -> Any:
    raise EncoderUnavailable("no model", "none in this test")


def _all_fields(fields: dict[str, Any]) -> dict[str, Any]:
    blank = MemoryRecord(id="", text="")
    defaults = {name: getattr(blank, name) for name in MemoryRecord.__dataclass_fields__}
    plain = {n: list(v) if isinstance(v, tuple) else v for n, v in defaults.items()}
    return {**plain, **fields}


Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[World] = []

    def build(**options: Any) -> World:
        made.append(World(tmp_path / f"store{len(made)}", **options))
        return made[-1]

    yield build
    for world in made:
        world.store.close()


@pytest.fixture
def world(make: Make) -> World:
    return make()
