"""Two stores on one directory against a plain dict, whatever happens to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from memory_core.errors import InvalidInput
from memory_core.records import Change, Identity, MemoryRecord, from_fields, to_fields
from memory_core.representation import index_text
from memory_core.storage.index.bm25 import LexicalIndex
from memory_core.storage.index.columns import Columns
from memory_core.storage.index.graph import Graph
from memory_core.storage.index.vectors import VectorIndex
from memory_core.storage.store import MemoryStore
from tests.views import view_of

ME = Identity("me")
WORDS = ("heron", "weir", "mill", "5432", "likes", "not", "Graz", "Birch", "Lane", "?")
NUMBERS = (
    *("live", "visibility", "kind", "role", "trust", "tier", "position", "occurred_at"),
    *("recorded_at", "importance", "access_count", "last_accessed", "valid_from", "valid_until"),
    *("superseded", "replaced", "superseded_at", "retired_at", "words", "question"),
)

pick = st.integers(0, 10_000)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
changes = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.lists(st.sampled_from(WORDS), max_size=3, unique=True),
        "importance": st.floats(0, 1),
        "retired_at": st.none() | st.floats(0, 2e9),
        "topic": st.sampled_from(["", "birds", "ports"]),
        "speaker": st.sampled_from(["", "Ana", "Ben"]),
        "entities": st.lists(st.sampled_from(["Graz", "Birch Lane"]), unique=True),
        "kind": st.sampled_from(["episode", "fact", "summary"]),
        "access_count": st.integers(0, 9),
        "dates": st.lists(st.sampled_from(["2024-05-07", "2024-05", "2024"]), unique=True),
    },
)


def as_memory(fields: dict[str, Any]) -> MemoryRecord:
    return from_fields(fields)


class StoreMachine(RuleBasedStateMachine):
    """Two stores on one directory, each with maintenance by hand, against dicts."""

    def __init__(self, make_shop: Any) -> None:
        super().__init__()
        self.shop = make_shop(snapshot_changes=12, table_batch=3, compact_commits=4)
        self.fields: dict[str, dict[str, Any]] = {}
        self.vectors: dict[str, tuple[list[int], Any]] = {}
        self.links: dict[tuple[str, str, str], float] = {}
        self.forgotten: dict[str, dict[str, Any]] = {}
        self.stores = [self.shop.open(model=False) for _ in range(2)]
        self.upkeep = [self.shop.upkeep(store) for store in self.stores]

    # What happens

    @initialize(model=st.booleans())
    def begin(self, model: bool) -> None:
        if model:
            self.model_arrives(0)

    @precondition(lambda self: not self.stores[0].fingerprint)
    @rule(which=st.integers(0, 1))
    def model_arrives(self, which: int) -> None:
        self.stores[which].adopt("toy", "toy-1", 8)
        self.level()

    @rule(
        which=st.integers(0, 1),
        text=texts,
        more=changes,
        session=st.sampled_from(["", "s", "t"]),
        parts=st.integers(0, 3),
        source=pick,
    )
    def put(
        self, which: int, text: str, more: dict[str, Any], session: str, parts: int, source: int
    ) -> None:
        memory = self.shop.memory(text, session=session)
        if source % 2 == 0 and self.fields:
            more = {**more, "derived_from": [self.some(source)]}
        self.write(which, {**to_fields(memory), **more}, parts)

    @precondition(lambda self: self.forgotten)
    @rule(which=st.integers(0, 1), number=pick, parts=st.integers(0, 2))
    def bring_back(self, which: int, number: int, parts: int) -> None:
        """As import does after clear: under the same id."""
        id = sorted(self.forgotten)[number % len(self.forgotten)]
        self.write(which, self.forgotten.pop(id), parts)

    def write(self, which: int, fields: dict[str, Any], parts: int) -> None:
        id = fields["id"]
        data = self.shop.vectors(id, parts)

        def build(tx: Any) -> None:
            memory = as_memory(fields)
            if memory.session:
                fields["position"] = tx.next_position(memory.thread)
            tx.append(Change("put", id, fields))
            if parts and self.stores[0].fingerprint:
                tx.put_vectors(id, "toy-1", range(parts), data)

        try:
            self.stores[which].commit(build)
        except InvalidInput:  # an exact repeat
            return
        self.fields[id] = fields
        if parts and self.stores[0].fingerprint:
            self.vectors[id] = (list(range(parts)), data)

    @precondition(lambda self: self.fields)
    @rule(which=st.integers(0, 1), number=pick, more=changes, source=pick)
    def put_again(self, which: int, number: int, more: dict[str, Any], source: int) -> None:
        id = self.some(number)
        if source % 3 == 0:
            more = {**more, "derived_from": [self.some(source)] if source % 2 else []}
        self.stores[which].commit(lambda tx: tx.append(Change("put", id, more)))
        self.fields[id] = {**self.fields[id], **more}

    @precondition(lambda self: self.fields and self.stores[0].fingerprint)
    @rule(which=st.integers(0, 1), number=pick, parts=st.integers(1, 3), salt=pick)
    def vectors_come(self, which: int, number: int, parts: int, salt: int) -> None:
        id = self.some(number)
        data = self.shop.vectors(f"{id}{salt}", parts)
        self.stores[which].commit(lambda tx: tx.put_vectors(id, "toy-1", range(parts), data))
        self.vectors[id] = (list(range(parts)), data)

    @precondition(lambda self: self.fields)
    @rule(which=st.integers(0, 1), number=pick, count=st.integers(1, 99))
    def access(self, which: int, number: int, count: int) -> None:
        id = self.some(number)
        body = {"ids": [id], "counts": [count], "last": [float(count)]}
        self.stores[which].commit(lambda tx: tx.append(Change("access", "", body)))
        self.fields[id] = {**self.fields[id], "access_count": count, "last_accessed": float(count)}

    @precondition(lambda self: len(self.fields) > 1)
    @rule(a=pick, b=pick, weight=st.sampled_from([0.0, 0.5, 1.0]))
    def link(self, a: int, b: int, weight: float) -> None:
        one, two = self.some(a), self.some(b)
        body = {"b": two, "kind": "updates", "weight": weight}
        self.stores[0].commit(lambda tx: tx.append(Change("link", one, body)))
        self.links.pop((one, two, "updates"), None)
        if weight and one != two:
            self.links[one, two, "updates"] = weight

    @precondition(lambda self: self.fields)
    @rule(which=st.integers(0, 1), number=pick, erase=st.booleans())
    def forget(self, which: int, number: int, erase: bool) -> None:
        id = self.some(number)
        self.shop.forget(self.stores[which], id, erase=erase)
        self.forgotten[id] = self.fields.pop(id)
        self.vectors.pop(id, None)
        self.links = {key: weight for key, weight in self.links.items() if id not in key[:2]}

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        self.upkeep[which].stop()
        self.stores[which].close()
        self.stores[which] = self.shop.open(model=False)
        self.upkeep[which] = self.shop.upkeep(self.stores[which])

    @rule(which=st.integers(0, 1))
    def maintain(self, which: int) -> None:
        upkeep, store = self.upkeep[which], self.stores[which]
        upkeep.round()
        assert upkeep.problems == {}
        if upkeep.holder:
            assert store.unsynced == {}
            assert not upkeep.erasing
            assert store.table is not None
            assert sorted(store.table.ids()) == sorted(self.fields)
            self.same_table(store)

    @precondition(lambda self: self.upkeep[0].holder or self.upkeep[1].holder)
    @rule()
    def rebuild(self) -> None:
        which = 0 if self.upkeep[0].holder else 1
        self.upkeep[which].repair()
        self.same_table(self.stores[which])

    # What has to hold

    @invariant()
    def equal_the_dict(self) -> None:
        self.level()
        wanted = {id: as_memory(fields) for id, fields in self.fields.items()}
        for store in self.stores:
            assert store.memories([*wanted, *self.forgotten]) == wanted
            assert store.unusable.count == 0
            self.same_columns(store, wanted)
            self.same_words(store, wanted)
            self.same_graph(store, wanted)
            self.same_vectors(store)

    def level(self) -> None:
        for store in self.stores:
            store.catch_up()

    def some(self, number: int) -> str:
        return sorted(self.fields)[number % len(self.fields)]

    def same_table(self, store: MemoryStore) -> None:
        assert store.table is not None
        for id, memory in store.table.get(list(self.fields)).items():
            assert store.with_access(memory) == as_memory(self.fields[id])

    def same_columns(self, store: MemoryStore, wanted: dict[str, MemoryRecord]) -> None:
        fresh, held = Columns(), view_of(store).columns
        for memory in wanted.values():
            fresh.put(memory)
        assert int(held.live.sum()) == len(wanted)
        for id, memory in wanted.items():
            row, other = held.row(id), fresh.row(id)
            assert row is not None
            assert other is not None
            assert held.id(row) == id
            for name in NUMBERS:
                np.testing.assert_equal(getattr(held, name)[row], getattr(fresh, name)[other])
            assert held.name(int(held.speaker[row]), "speaker") == memory.speaker
            assert held.topic(row) == memory.topic
            assert held.tags(row) == frozenset(memory.tags)
            assert held.derived_from(row) == memory.derived_from
            assert [held.id(int(each)) for each in held.thread_rows(memory.thread)] == [
                fresh.id(int(each)) for each in fresh.thread_rows(memory.thread)
            ] or not memory.session

    def same_words(self, store: MemoryStore, wanted: dict[str, MemoryRecord]) -> None:
        fresh, ids = LexicalIndex(), list(wanted)
        for row, memory in enumerate(wanted.values()):
            fresh.put(row, index_text(memory))
        query = "heron mill 5432 graz may"
        scores = fresh.match(query).scores
        rows = np.array([view_of(store).columns.row(id) for id in ids], np.int64)
        np.testing.assert_allclose(
            view_of(store).lexical.match(query).scores[rows], scores, rtol=1e-5
        )
        assert len(view_of(store).lexical) == len(ids)

    def same_graph(self, store: MemoryStore, wanted: dict[str, MemoryRecord]) -> None:
        held: Graph = view_of(store).graph
        links = set()
        for id, memory in wanted.items():
            row = view_of(store).columns.row(id)
            assert row is not None
            for kind in ("updates", "derived_from"):
                for other in held.targets(row, kind):
                    links.add((id, view_of(store).columns.id(other), kind))
            for entity in memory.entities:
                assert row in held.entity_rows(entity)
        expected = set(self.links) | {
            (id, source, "derived_from")
            for id, memory in wanted.items()
            for source in memory.derived_from
            if source in wanted and source != id
        }
        assert links == expected
        assert held.edges() == len(expected)

    def same_vectors(self, store: MemoryStore) -> None:
        index = view_of(store).vectors
        if index is None:
            assert not self.vectors
            return
        fresh = VectorIndex(8)
        ids = sorted(self.vectors)
        for number, id in enumerate(ids):
            fresh.put(number, *self.vectors[id])
        assert index.rows_with_vectors == len(ids)
        rows = np.array([view_of(store).columns.row(id) for id in ids], np.int64)
        np.testing.assert_array_equal(index.wholes(rows), fresh.wholes(np.arange(len(ids))))
        query = self.shop.vectors("a question")[0].astype(np.float32)
        for part in ("whole", "passage"):
            found, scores = index.search(query, 5, part=part)  # type: ignore[arg-type]
            wanted, best = fresh.search(query, 5, part=part)  # type: ignore[arg-type]
            np.testing.assert_allclose(scores, best, rtol=1e-5)
            if len(set(best.tolist())) == len(best):
                assert [view_of(store).columns.id(int(r)) for r in found] == [
                    ids[r] for r in wanted
                ]


def test_any_history_equals_a_dict(make_shop: Any) -> None:
    run_machine(
        lambda: StoreMachine(make_shop),
        settings=settings(
            max_examples=4,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
