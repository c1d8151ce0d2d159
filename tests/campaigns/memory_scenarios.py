"""What is done to a whole memory while it is hindered: the six calls and every kind of upkeep, in
one thread, so that the file operations come in much the same order each time."""

from __future__ import annotations

import hashlib
import importlib.util
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

# Imported before the fork and not used there; LanceDB makes itself new threads in the child.
import faiss  # noqa: F401
import pyarrow  # noqa: F401

from memory_core.config import Settings
from memory_core.errors import MemoryCoreError
from memory_core.maintenance.loop import Maintenance, MaintenanceTuning
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from memory_core.runtime import Tuning
from memory_core.storage.table.lance import light_import

with light_import():
    import lancedb.expr
    import lancedb.index
    import lancedb.query  # noqa: F401

Say = Callable[..., None]
ME = Identity("me")
TUNING = Tuning(
    lock_seconds=60.0,
    maintenance=MaintenanceTuning(
        snapshot_changes=8, compact_commits=3, table_batch=3, access_seconds=1
    ),
)

_file = Path(__file__).parents[1] / "conftest.py"
_spec = importlib.util.spec_from_file_location("shared", _file)
assert _spec is not None
assert _spec.loader is not None
shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(shared)


WORDS = (
    "heron", "stork", "weir", "ferry", "violin", "tent", "router", "passport", "laptop", "deposit",
    "boiler", "recipe", "camera", "permit", "cellar", "harbour", "clinic", "workshop", "locker",
    "garden", "lease", "invoice", "contract", "vaccine", "bicycle", "mirror", "ladder", "kettle",
    "saddle", "anchor", "candle", "barrel",
)  # fmt: skip


def text_of(key: str) -> str:
    """The text that belongs to *key*; no two are nearly the same."""
    chosen = [WORDS[byte % len(WORDS)] for byte in hashlib.sha256(key.encode()).digest()[:9]]
    return f"Number {key}: {' '.join(chosen)}."


def open_memory(directory: Path) -> Memory:
    """A memory whose upkeep runs when round() is called, and not by itself."""
    with mock.patch.object(Maintenance, "start"):
        memory = Memory(Settings(data_dir=directory), embedder=shared.ToyEmbedder(), tuning=TUNING)
        memory.wait_ready(120)
    return memory


class Client:
    """Does keyed steps on a memory and says what was acknowledged, or which error it got."""

    def __init__(self, memory: Memory, say: Say) -> None:
        self.memory, self.say = memory, say
        self.ids: dict[str, str] = {}

    def _do(self, word: str, key: str, call: Callable[[], Any]) -> Any:
        self.say("trying", word, key, self.ids.get(key, "-"))
        try:
            result = call()
        except MemoryCoreError as problem:
            self.say("failed", word, key, problem.code)
            return None
        self.say(word, key, result if isinstance(result, str) else "-")
        return result

    def remember(self, key: str) -> None:
        def call() -> str:
            return self.memory.remember(
                ME, RememberRequest(text_of(key), key=key, session=key[0])
            ).id

        if id := self._do("remember", key, call):
            self.ids[key] = id

    def observe(self, key: str) -> None:
        turn = ConversationTurn("user", text_of(key), session=key[0])

        def call() -> str:
            receipt = self.memory.observe(ME, turn).receipt
            assert receipt is not None, "not kept"
            return receipt.id

        if id := self._do("remember", key, call):
            self.ids[key] = id

    def recall(self, key: str) -> None:
        """What was acknowledged is found by its words; an error is said."""
        if (id := self.ids.get(key)) is None:
            return
        found = self._do(
            "recall", key, lambda: self.memory.recall(ME, RecallRequest(text_of(key), k=5))
        )
        if found is not None:
            hits = [hit.memory.id for hit in (*found.hits, *found.partial)]
            assert id in hits, f"{key} is not recalled"

    def forget(self, key: str) -> None:
        if (id := self.ids.get(key)) is None:
            return

        def call() -> str:
            self.memory.forget(ME, ids=[id], confirm=True, never_again=False)
            return id

        if self._do("forget", key, call):
            del self.ids[key]

    def consolidate(self) -> None:
        self._do("consolidate", "-", lambda: self.memory.consolidate(ME))

    def round(self) -> None:
        """One round of upkeep: apply, compact, snapshot, erase, as far as there is need."""
        maintenance = self.memory._runtime.parts().maintenance
        maintenance.nudge()
        maintenance.round()
        for step, problem in maintenance.problems.items():
            self.say("problem", step, *problem.split())

    def compact(self) -> None:
        """Compact now, whatever the number of commits."""
        mirror = self.memory._runtime.parts().maintenance.table_sync
        mirror._commits = 10_000
        self.round()


def every_call(directory: Path, say: Say) -> None:
    """Every call once or twice, and every kind of upkeep."""
    memory = open_memory(directory)
    try:
        calls(Client(memory, say))
    except MemoryCoreError as problem:
        say("failed", "open", "-", problem.code)
    finally:
        memory.close()


def calls(client: Client) -> None:
    for key in ("a1", "a2", "a3"):
        client.remember(key)
    client.observe("b1")
    client.round()
    client.remember("c1")
    client.recall("a2")
    client.consolidate()
    client.round()
    client.compact()
    client.forget("a1")
    client.round()
    client.remember("c2")
    client.recall("c1")
    client.round()


def at_random(
    directory: Path, say: Say, seed: int, steps: int, known: dict[str, str] | None = None
) -> None:
    """*steps* steps in an order that *seed* decides; *known* are keys and ids of earlier runs."""
    memory = open_memory(directory)
    order, client = random.Random(seed), Client(memory, say)
    client.ids.update(known or {})
    try:
        for step in range(steps):
            one_step(client, order, f"{seed}.{step}")
    except MemoryCoreError as problem:
        say("failed", "open", "-", problem.code)
    finally:
        memory.close()


def one_step(client: Client, order: random.Random, key: str) -> None:
    way, keys = order.random(), list(client.ids)
    if way < 0.3 or not keys:
        client.remember(key)
    elif way < 0.4:
        client.observe(key)
    elif way < 0.5:
        client.recall(order.choice(keys))
    elif way < 0.6:
        client.forget(order.choice(keys))
    elif way < 0.66:
        client.consolidate()
    elif way < 0.75:
        client.compact()
    else:
        client.round()


class Account:
    """What clients were told, over any number of runs on one directory."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self.tried: set[str] = set()
        self.forgot: set[str] = set()
        self.forgetting: set[str] = set()

    def take(self, said: Iterable[list[str]]) -> None:
        """Add what a run said; an answer that contradicts an earlier one is an error."""
        for words in said:
            if words[:2] == ["trying", "remember"]:
                self.tried.add(words[2])
            elif words[:2] == ["trying", "forget"]:
                self.forgetting.add(words[3])
            elif words[0] == "remember":
                key, id = words[1:]
                first = self.ids.setdefault(key, id)
                assert first in (id, *self.forgetting), f"{key} was stored twice"
                self.ids[key] = id
            elif words[0] == "forget":
                self.forgot.add(words[2])

    def verify(self, memory: Memory) -> int:
        """Everything acknowledged is there, once, in every part; what was forgotten is not."""
        records = {record["id"]: record for record in memory.export(ME)}
        told = {r["id"]: r["text"] for r in records.values() if r["kind"] == "episode"}
        counted = Counter(told.values())
        assert set(counted.values()) <= {1}, "stored twice"
        assert counted.keys() <= {text_of(key) for key in self.tried}
        assert not self.forgot & records.keys(), "forgotten, and there again"
        for key, id in self.ids.items():
            if id in records:
                assert records[id]["text"] == text_of(key)
            else:
                assert id in self.forgetting, f"{key} was lost"
        self._parts(memory, set(records))
        return len(records)

    def _parts(self, memory: Memory, ids: set[str]) -> None:
        parts = memory._runtime.parts()
        parts.maintenance.round()
        parts.maintenance.inspection.run()  # what is damaged is found now, not by whoever reads it
        for _ in range(3):
            parts.maintenance.nudge()
            parts.maintenance.round()
        assert parts.maintenance.problems == {}, parts.maintenance.problems
        assert not parts.maintenance.erasing
        assert parts.store.table is not None
        assert set(parts.store.table.ids()) == ids
        with parts.store.reading() as view:
            vectors = view.vectors
        assert vectors is not None
        assert vectors.rows_with_vectors == len(ids)
        assert {record["id"] for record in memory.export(ME)} == ids
        assert parts.store.journal.check() == []
        report = memory.health(ME)
        wrong = [c for c in report.checks if c.status not in ("ok", "repaired")]
        assert wrong == [], wrong
