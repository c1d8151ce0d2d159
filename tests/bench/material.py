"""What the benchmarks of whole calls share: notes made from a seed, an embedder that was asked
before, a store filled with both, and the line that says on what a figure was measured."""

from __future__ import annotations

import compileall
import os
import platform
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import choose
from memory_core.errors import Busy
from memory_core.memory import Memory
from memory_core.records import (
    Change,
    Identity,
    MemoryRecord,
    Receipt,
    content_hash,
    new_id,
    to_fields,
)
from memory_core.remember.request import RememberRequest

ROOT = Path(__file__).parents[2]
FILLERS = 32
BATCH = 500

PACKAGES = ("mcp", "lancedb", "faiss-cpu", "apsw", "onnxruntime", "numpy")
PEOPLE = (
    "Ada", "Bruno", "Carla", "Dmitri", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kaya",
    "Liam", "Mei", "Noor", "Otto",
)  # fmt: skip
THINGS = (
    "the invoice", "the red bicycle", "the spare key", "the contract", "the violin", "the tent",
    "the router", "the vaccine record", "the passport", "the sourdough", "the old laptop",
    "the deposit", "the greenhouse", "the boiler", "the telescope", "the recipe book",
    "the camera", "the permit",
)  # fmt: skip
PLACES = (
    "Lisbon", "the north office", "the cellar", "Tampere", "the harbour", "room 14", "the clinic",
    "Aunt Vera's flat", "the workshop", "Osaka", "the locker by the gym", "the allotment",
)  # fmt: skip
DEEDS = (
    "left {thing} in {place}", "wants {thing} moved to {place}", "repaired {thing} at {place}",
    "paid {number} euros for {thing} in {place}", "lost {thing} somewhere near {place}",
    "promised to bring {thing} to {place}", "sold {thing} to somebody from {place}",
    "is allergic to the paint on {thing} since the week in {place}",
)  # fmt: skip
REASONS = (
    "because the lease ends in {month}", "so that {other} can use it from {month}",
    "and {other} did not like it at all", "after {number} days of waiting",
    "although {other} had asked for {month}", "and keeps reference {number} for it",
)  # fmt: skip
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def compiled() -> None:
    """Compile the program, as pip does when it installs it, and let each process use that.

    Otherwise what is measured is the compiler, at every start.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for name in ("server", "memory_core"):
        assert compileall.compile_dir(ROOT / name, quiet=1)


def notes(count: int, seed: int) -> list[str]:
    """*count* different notes of about fifteen words, the same ones for the same *seed*."""
    rng = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        sentence = f"{rng.choice(PEOPLE)} {rng.choice(DEEDS)} {rng.choice(REASONS)}."
        made[
            sentence.format(
                thing=rng.choice(THINGS),
                place=rng.choice(PLACES),
                other=rng.choice(PEOPLE),
                month=rng.choice(MONTHS),
                number=rng.randrange(2, 10_000),
            )
        ] = None
    return list(made)


def questions(count: int, seed: int) -> list[str]:
    """*count* questions about such notes."""
    rng = random.Random(seed)
    shapes = (
        "Where is {thing} that {who} had?",
        "What happened with {thing} in {place}?",
        "What did {who} promise about {thing}?",
        "Who has been to {place} with {thing}?",
    )
    return [
        rng.choice(shapes).format(
            thing=rng.choice(THINGS), who=rng.choice(PEOPLE), place=rng.choice(PLACES)
        )
        for _ in range(count)
    ]


class Prepared:
    """The built-in embedder, with answers ready for texts it was given before.

    With it a store is filled as fast as it can be written; what was not prepared is embedded.
    """

    def __init__(self) -> None:
        self.inner: Embedder = choose(Settings(offline=True))
        self.name, self.fingerprint = self.inner.name, self.inner.fingerprint
        self.dimension, self.profile = self.inner.dimension, self.inner.profile
        self._known: dict[str, NDArray[np.float32]] = {}

    def prepare(self, texts: Sequence[str]) -> None:
        """Embed *texts* in bulk."""
        self._known.update(zip(texts, self.inner.documents(texts), strict=True))

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if all(text in self._known for text in texts):
            return np.stack([self._known[text] for text in texts])
        return self.inner.documents(texts)

    def query(self, text: str) -> NDArray[np.float32]:
        return self.inner.query(text)


class Asked(Prepared):
    """Prepared, with the vectors of questions kept too: a recall then costs no model."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[str, NDArray[np.float32]] = {}

    def query(self, text: str) -> NDArray[np.float32]:
        if text not in self._asked:
            self._asked[text] = super().query(text)
        return self._asked[text]


def fill(memory: Memory, embedder: Prepared, texts: Sequence[str]) -> float:
    """Remember *texts*; the seconds it took with their vectors ready."""
    embedder.prepare(texts)
    started = time.perf_counter()
    with ThreadPoolExecutor(FILLERS) as pool:
        for receipt in pool.map(lambda text: _remembered(memory, text), texts):
            assert receipt.status == "stored", receipt
    return time.perf_counter() - started


def _remembered(memory: Memory, text: str, seconds: float = 120.0) -> Receipt:
    """Remember *text*, again and again while the memory is busy with the others."""
    end = time.monotonic() + seconds
    while True:
        try:
            return memory.remember(Identity("me"), RememberRequest(text))
        except Busy:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def write(memory: Memory, embedder: Prepared, texts: Sequence[str]) -> None:
    """Put *texts*, said ten minutes apart, into the journal; none is compared with another.

    A hundred times as fast as `fill`, for what only reads.
    """
    store, now = memory._runtime.parts().store, time.time()
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        vectors = embedder.documents(batch).astype(np.float16)

        def build(tx: Any, start: int = start, batch: Any = batch, vectors: Any = vectors) -> None:
            for number, (text, vector) in enumerate(zip(batch, vectors, strict=True), start):
                at = now - 600.0 * (len(texts) - number)
                record = MemoryRecord(
                    id=new_id(at),
                    text=text,
                    agent="me",
                    occurred_at=at,
                    recorded_at=at,
                    content_hash=content_hash(text),
                )
                tx.append(Change("put", record.id, to_fields(record)))
                tx.put_vectors(record.id, embedder.fingerprint, [0], vector[np.newaxis])

        store.commit(build)


def settled(memory: Memory, seconds: float = 120.0) -> None:
    """Wait until LanceDB holds everything, as it does soon after a busy time."""
    store = memory._runtime.parts().store
    end = time.monotonic() + seconds
    while (store.table is None or store.unsynced) and time.monotonic() < end:
        time.sleep(0.1)


def machine(seed: int) -> str:
    """Machine, versions and seed, on two lines."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    where = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{where}, Python {platform.python_version()}, seed {seed}\n{versions}"
