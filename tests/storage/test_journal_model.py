"""The journal against a plain dict, through any sequence of calls and reopenings."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memory_core.errors import InvalidInput
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.storage.journal.journal import Journal, Transaction

TEXTS = ("tea", "Tea.", "coffee", "Kaffee?", "咖啡", "tea 5")
SAME = {"tea": "tea", "Tea.": "tea", "coffee": "coffee", "Kaffee?": "k", "咖啡": "c", "tea 5": "5"}
IDS = tuple(f"{n:020d}" for n in range(12))
SESSIONS = ("", "s", "t")

ids = st.sampled_from(IDS)


class JournalMachine(RuleBasedStateMachine):
    """Keeps beside the journal what each call should have left."""

    @initialize()
    def start(self) -> None:
        self.directory = Path(tempfile.mkdtemp())
        self.now = 0.0
        self.rows: dict[str, dict[str, Any]] = {}
        self.vectors: dict[str, list[list[float]]] = {}
        self.tombstones: list[tuple[str, str]] = []
        self.receipts: dict[str, tuple[dict[str, Any], list[str]]] = {}
        self.kinds: list[str] = []
        self.open()

    def open(self) -> None:
        self.journal = Journal.open(self.directory, clock=lambda: self.now)

    def teardown(self) -> None:
        if hasattr(self, "journal"):
            assert self.journal.check() == []
            self.journal.close()
            shutil.rmtree(self.directory)

    def append(self, change: Change) -> int:
        self.now += 1
        return self.journal.write(lambda transaction: transaction.append(change))

    def holder(self, text: str, session: str) -> str | None:
        for id, row in self.rows.items():
            same = SAME[row["text"]] == SAME[text] and row.get("session", "") == session
            if same and not row.get("replaced"):
                return id
        return None

    @rule(id=ids, text=st.sampled_from(TEXTS), session=st.sampled_from(SESSIONS))
    def remember(self, id: str, text: str, session: str) -> None:
        if id in self.rows:
            return
        memory = MemoryRecord(id=id, text=text, session=session)
        threads = [row["position"] for row in self.rows.values() if row.get("session") == session]
        expected = max(threads, default=-1) + 1 if session else 0

        def build(transaction: Transaction) -> int:
            assert transaction.find_repeat(memory) == self.holder(text, session)
            assert transaction.next_position(memory.thread) == expected
            fields = to_fields(memory) | {"position": expected}
            return transaction.append(Change("put", id, fields))

        if self.holder(text, session) is not None:
            with pytest.raises(InvalidInput):
                self.journal.write(build)
            return
        assert self.journal.write(build) == len(self.kinds) + 1
        self.rows[id] = to_fields(memory) | {"position": expected}
        self.kinds.append("put")

    @rule(id=ids, importance=st.floats(0, 1), tags=st.lists(st.text(max_size=3), max_size=2))
    def update(self, id: str, importance: float, tags: list[str]) -> None:
        if id in self.rows:
            self.append(Change("put", id, {"importance": importance, "tags": tags}))
            self.rows[id] |= {"importance": importance, "tags": tags}
            self.kinds.append("put")

    @rule(id=ids, by=ids)
    def replace(self, id: str, by: str) -> None:
        if id in self.rows and by != id:
            self.append(Change("put", id, {"superseded_by": by, "replaced": True}))
            self.rows[id] |= {"superseded_by": by, "replaced": True}
            self.kinds.append("put")

    @rule(some=st.dictionaries(ids, st.integers(1, 9), min_size=1, max_size=4))
    def access(self, some: dict[str, int]) -> None:
        body = {"ids": list(some), "counts": list(some.values()), "last": [self.now] * len(some)}
        seq = self.append(Change("access", "", body))
        known = {id: count for id, count in some.items() if id in self.rows}
        assert (seq > 0) == bool(known)
        for id, count in known.items():
            self.rows[id] |= {"access_count": count, "last_accessed": self.now - 1}
        self.kinds += ["access"] * bool(known)

    @rule(a=ids, b=ids)
    def link(self, a: str, b: str) -> None:
        seq = self.append(Change("link", a, {"b": b, "kind": "extends", "weight": 0.5}))
        both = a != b and {a, b} <= self.rows.keys()
        assert (seq > 0) == both
        self.kinds += ["link"] * both

    @rule(id=ids, values=st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=3))
    def embed(self, id: str, values: list[float]) -> None:
        if id in self.rows:
            rows = [[value, -value] for value in values]
            data = np.array(rows, np.float16)
            self.journal.write(lambda t: t.put_vectors(id, "fp", range(len(rows)), data))
            self.vectors[id] = rows
            self.kinds.append("vectors")

    @rule(id=ids, digest=st.sampled_from("xyz"))
    def forget(self, id: str, digest: str) -> None:
        if id in self.rows:
            change = Change("forget", id, {"digests": [digest], "reason": ""})
            self.journal.write(lambda transaction: transaction.forget(change))
            del self.rows[id]
            self.vectors.pop(id, None)
            self.tombstones.append((id, digest))
            self.receipts = {k: v for k, v in self.receipts.items() if id not in v[1]}
            self.kinds.append("forget")

    @rule(id=ids)
    def lift(self, id: str) -> None:
        known = any(each == id for each, _ in self.tombstones)
        assert self.journal.write(lambda transaction: transaction.remove_tombstone(id)) == known
        self.tombstones = [each for each in self.tombstones if each[0] != id]

    @rule(key=st.sampled_from("klm"), some=st.lists(ids, max_size=2))
    def receipt(self, key: str, some: list[str]) -> None:
        if key not in self.receipts:
            self.journal.write(lambda transaction: transaction.save_receipt(key, {"k": key}, some))
            self.receipts[key] = ({"k": key}, some)

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def fail_half_way(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.rows)))

        def build(transaction: Transaction) -> None:
            transaction.append(Change("put", id, {"topic": "no"}))
            transaction.forget(Change("forget", id, {"digests": ["x"], "reason": ""}))
            raise ValueError("half way")

        with pytest.raises(ValueError, match="half way"):
            self.journal.write(build)

    @rule(truncate=st.booleans())
    def checkpoint(self, truncate: bool) -> None:
        assert self.journal.checkpoint(truncate=truncate)

    @rule()
    def reopen(self) -> None:
        self.journal.close()
        self.open()

    @invariant()
    def rows_agree(self) -> None:
        assert self.journal.fold(IDS) == dict(sorted(self.rows.items()))
        assert self.journal.stats()["live"] == len(self.rows)

    @invariant()
    def changes_agree(self) -> None:
        changes = self.journal.changes(0, 10_000)
        assert [change.seq for change in changes] == list(range(1, len(self.kinds) + 1))
        assert [change.kind for change in changes] == self.kinds
        assert self.journal.last() == len(self.kinds)

    @invariant()
    def vectors_agree(self) -> None:
        stored = self.journal.vectors(IDS, "fp")
        assert {id: data.tolist() for id, (_, data) in stored.items()} == self.vectors
        assert self.journal.without_vectors("fp", 99) == sorted(self.rows.keys() - self.vectors)

    @invariant()
    def tombstones_and_receipts_agree(self) -> None:
        def look(transaction: Transaction) -> list[tuple[str, str, float]]:
            return transaction.tombstones(["x", "y", "z"])

        assert [each[:2] for each in self.journal.write(look)] == self.tombstones
        for key in "klm":
            expected = self.receipts.get(key, (None, []))[0]
            assert self.journal.receipt(key) == expected


JournalMachine.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestJournal = JournalMachine.TestCase
