"""The store against a plain dict, and what one process sees of another's writes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from memory_core.errors import InvalidInput, StorageError
from memory_core.records import Change, Identity, Memory, from_fields, to_fields
from memory_core.storage.columns import Columns
from memory_core.storage.graph import Graph
from memory_core.storage.lexical_index import LexicalIndex
from memory_core.storage.store import SLICE, MemoryStore
from memory_core.storage.vector_index import VectorIndex
from memory_core.wording import index_text

ME = Identity("me")
WORDS = ("heron", "weir", "mill", "5432", "likes", "not", "Graz", "Birch", "Lane", "?")
NUMBERS = (
    *("live", "visibility", "kind", "role", "trust", "tier", "position", "occurred_at"),
    *("recorded_at", "importance", "access_count", "last_accessed", "valid_from", "valid_until"),
    *("superseded", "replaced", "superseded_at", "retired_at", "stale", "words", "question"),
    "summary",
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


def as_memory(fields: dict[str, Any]) -> Memory:
    return from_fields(fields)


class StoreMachine(RuleBasedStateMachine):
    """Two stores on one directory, each with maintenance by hand, against dicts."""

    def __init__(self, make_shop: Any) -> None:
        super().__init__()
        self.shop = make_shop(snapshot_changes=12, apply_batch=3, compact_commits=4)
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
            assert store.behind == {}
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
            assert store.troubles.count == 0
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

    def same_columns(self, store: MemoryStore, wanted: dict[str, Memory]) -> None:
        fresh, held = Columns(), store.columns
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

    def same_words(self, store: MemoryStore, wanted: dict[str, Memory]) -> None:
        fresh, ids = LexicalIndex(), list(wanted)
        fresh.put_many(range(len(ids)), [index_text(memory) for memory in wanted.values()])
        query = "heron mill 5432 graz may"
        scores = fresh.scores(query, np.arange(len(ids)))
        rows = np.array([store.columns.row(id) for id in ids], np.int64)
        np.testing.assert_allclose(store.lexical.scores(query, rows), scores, rtol=1e-5)
        assert len(store.lexical) == len(ids)

    def same_graph(self, store: MemoryStore, wanted: dict[str, Memory]) -> None:
        held: Graph = store.graph
        links = set()
        for id, memory in wanted.items():
            row = store.columns.row(id)
            assert row is not None
            for kind in ("updates", "derived_from"):
                for other in held.targets(row, kind):
                    links.add((id, store.columns.id(other), kind))
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
        index = store.vectors
        if index is None:
            assert not self.vectors
            return
        fresh = VectorIndex(8)
        ids = sorted(self.vectors)
        for number, id in enumerate(ids):
            fresh.put(number, *self.vectors[id])
        assert index.rows_with_vectors == len(ids)
        rows = np.array([store.columns.row(id) for id in ids], np.int64)
        np.testing.assert_array_equal(index.wholes(rows), fresh.wholes(np.arange(len(ids))))
        query = self.shop.vectors("a question")[0].astype(np.float32)
        for part in ("whole", "passage"):
            found, scores = index.search(query, 5, part=part)  # type: ignore[arg-type]
            wanted, best = fresh.search(query, 5, part=part)  # type: ignore[arg-type]
            np.testing.assert_allclose(scores, best, rtol=1e-5)
            if len(set(best.tolist())) == len(best):
                assert [store.columns.id(int(r)) for r in found] == [ids[r] for r in wanted]


def test_any_history_equals_a_dict(make_shop: Any) -> None:
    run_machine(
        lambda: StoreMachine(make_shop),
        settings=settings(
            max_examples=25,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def words(store: MemoryStore, query: str) -> list[str]:
    """Texts that BM25 finds, best first."""
    store.catch_up()
    with store.reading():
        rows, _ = store.lexical.search(query, 10, store.readable(ME))
        ids = [store.columns.id(int(row)) for row in rows]
    found = store.memories(ids)
    return [found[id].text for id in ids if id in found]  # one may have been forgotten just now


def test_a_write_of_one_store_is_read_by_the_other_at_its_next_call(shop: Any) -> None:
    one, two = shop.open(), shop.open()
    heron = shop.put(one, "a heron")
    assert words(two, "heron") == ["a heron"]
    shop.change(two, heron.id, tags=["bird"])
    assert words(one, "bird") == ["a heron"]
    shop.forget(one, heron.id)
    assert words(two, "heron") == []
    assert two.memories([heron.id]) == {}


def test_a_store_that_lags_many_slices_behind_catches_up_with_all_of_them(shop: Any) -> None:
    late, busy = shop.open(), shop.open()
    memories = [shop.memory(f"mill {number}") for number in range(2 * SLICE + 10)]
    for start in range(0, len(memories), 100):
        batch = memories[start : start + 100]

        def build(tx: Any, batch: list[Memory] = batch) -> None:
            for memory in batch:
                tx.append(Change("put", memory.id, to_fields(memory)))

        busy.journal.write(build)
    shop.forget(busy, memories[0].id)
    shop.change(busy, memories[1].id, speaker="Ana")
    late.catch_up()
    assert late.applied == busy.journal.last()
    assert int(late.columns.live.sum()) == len(memories) - 1
    assert late.memories([memories[1].id])[memories[1].id].speaker == "Ana"


def test_what_comes_back_under_its_old_id_is_there_also_after_a_restart(shop: Any) -> None:
    """clear and then import; a replay sees forget and put in one slice."""
    store = shop.open()
    heron = shop.put(store, "a heron")
    shop.forget(store, heron.id)
    store.commit(lambda tx: tx.append(Change("put", heron.id, to_fields(heron))))
    assert words(store, "heron") == ["a heron"]
    assert words(shop.open(), "heron") == ["a heron"]


def test_a_source_that_comes_back_is_linked_again_in_every_process(shop: Any) -> None:
    store, other = shop.open(), shop.open()
    source = shop.put(store, "a heron")
    summary = shop.put(store, "birds", derived_from=(source.id,))
    shop.forget(store, source.id)
    other.catch_up()
    store.commit(lambda tx: tx.append(Change("put", source.id, to_fields(source))))
    for each in (store, other, shop.open()):
        each.catch_up()
        rows = each.columns.row(summary.id), each.columns.row(source.id)
        assert each.graph.targets(rows[0], "derived_from") == [rows[1]]


def test_a_source_that_is_no_longer_named_is_no_longer_linked(shop: Any) -> None:
    store = shop.open()
    source = shop.put(store, "a heron")
    summary = shop.put(store, "birds", derived_from=(source.id,))
    shop.change(store, summary.id, derived_from=[])
    assert store.graph.edges() == 0


def test_an_access_count_set_by_a_put_is_not_undone_by_an_older_access(shop: Any) -> None:
    store, late = shop.open(), shop.open()
    heron = shop.put(store, "a heron")
    late.catch_up()
    body = {"ids": [heron.id], "counts": [3], "last": [5.0]}
    store.commit(lambda tx: tx.append(Change("access", "", body)))
    shop.change(store, heron.id, access_count=9)
    for each in (store, late, shop.open()):
        each.catch_up()
        assert each.memories([heron.id])[heron.id].access_count == 9
        assert each.memories([heron.id])[heron.id].last_accessed == 5.0


# One bad entry


BAD = {
    "date that is none": {"dates": ["not-a-date"]},
    "day that is none": {"dates": ["2024-13-40"]},
    "far future": {"occurred_at": 1e300},
    "far past": {"recorded_at": -1e300, "valid_from": -1e300},
    "unknown kind": {"kind": "wish"},
    "unknown words": {"visibility": "galaxy", "role": "oracle", "trust": "fate", "tier": "lost"},
    "huge position": {"session": "s", "position": 2**40},
    "huge count": {"access_count": 2**40},
    "numbers for words": {"tags": [1, 2]},
    "text for a number": {"importance": "high"},
    "entity that is none": {"entities": [None]},
    "text for a list": {"derived_from": "abc"},
    "unknown field": {"mood": "blue"},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_memory_with_odd_values_stops_nothing(shop: Any, bad: dict[str, Any]) -> None:
    store, other = shop.open(), shop.open()
    first = shop.put(store, "a heron")
    odd = to_fields(shop.memory("an odd heron")) | bad
    store.journal.write(lambda tx: tx.append(Change("put", odd["id"], odd)))
    shop.put(store, "a third heron")
    for each in (store, other, shop.open()):
        assert {"a heron", "a third heron"} <= set(words(each, "heron"))
        assert each.applied == store.journal.last()
        assert each.memories([first.id]) == {first.id: first}
    shop.change(store, first.id, speaker="Ana")
    assert store.memories([first.id])[first.id].speaker == "Ana"
    upkeep = shop.upkeep(store)
    upkeep.round()
    assert upkeep.problems == {}
    assert store.memories([first.id])[first.id].speaker == "Ana"
    shop.forget(store, odd["id"])
    assert store.memories([odd["id"]]) == {}


@pytest.mark.parametrize("name", ["unknown kind", "far future", "huge position", "far past"])
def test_odd_but_usable_values_are_found_and_returned_as_they_are(shop: Any, name: str) -> None:
    store = shop.open()
    odd = to_fields(shop.memory("an odd heron")) | BAD[name]
    store.commit(lambda tx: tx.append(Change("put", odd["id"], odd)))
    assert words(store, "heron") == ["an odd heron"]
    assert store.memories([odd["id"]]) == {odd["id"]: as_memory(odd)}
    assert store.troubles.count == 0


def test_an_unknown_scope_of_a_newer_version_is_shown_to_its_owner_alone(shop: Any) -> None:
    store = shop.open()
    odd = to_fields(shop.memory("an odd heron", visibility="galaxy"))
    store.commit(lambda tx: tx.append(Change("put", odd["id"], odd)))
    assert store.may_read(ME, odd["id"])
    assert not store.may_read(Identity("other"), odd["id"])


def test_index_text_that_raises_leaves_the_text_itself_searchable(make_shop: Any) -> None:
    shop = make_shop()

    def refuses(memory: Memory) -> str:
        raise ValueError("no")

    store = MemoryStore(
        shop.directory, clock=shop.clock, settings=shop.settings.storage, index_text=refuses
    )
    shop.opened.append(store)
    heron = shop.put(store, "a heron")
    assert words(store, "heron") == ["a heron"]
    assert list(store.troubles.entries) == [heron.id]


def damage(shop: Any, statement: str) -> None:
    """Change the journal behind everybody's back, through SQLite."""
    import apsw

    connection = apsw.Connection(str(shop.directory / "journal.db"))
    connection.execute(statement)
    connection.close()


def test_a_damaged_change_is_passed_over_and_named(shop: Any) -> None:
    store = shop.open(model=False)
    shop.put(store, "a heron")
    weir = shop.put(store, "a weir")
    shop.put(store, "a mill")
    damage(
        shop, f"UPDATE changes SET body = replace(body, 'weir', 'wair') WHERE target = '{weir.id}'"
    )
    again = shop.open(model=False)
    assert words(again, "heron mill weir wair") == ["a heron", "a mill"]
    assert again.memories([weir.id]) == {}
    assert again.applied == again.journal.last()
    assert "change 2" in again.troubles.entries
    shop.put(again, "another weir")
    assert words(again, "weir") == ["another weir"]


def test_a_memory_whose_later_change_is_damaged_does_not_hide_the_others(shop: Any) -> None:
    store = shop.open(model=False)
    ids = [shop.put(store, f"heron {number}").id for number in range(9)]
    for id in ids:
        shop.change(store, id, speaker="Ana")
    damage(shop, f"UPDATE changes SET body = '{{}}' WHERE target = '{ids[4]}' AND seq > 9")
    again = shop.open(model=False)
    assert set(again.memories(ids)) == {*ids} - {ids[4]}


def test_damaged_vectors_of_one_memory_leave_the_others_searchable(shop: Any) -> None:
    store = shop.open()
    memories = [shop.put(store, f"heron {number}") for number in range(5)]
    damage(shop, f"UPDATE vectors SET data = zeroblob(16) WHERE memory = '{memories[2].id}'")
    again = shop.open()
    assert again.vectors is not None
    assert again.vectors.rows_with_vectors == 4
    assert again.troubles.vectors == {memories[2].id}
    assert set(again.memories(m.id for m in memories)) == {m.id for m in memories}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_leave_the_others_searchable(shop: Any, value: float) -> None:
    store, other = shop.open(), shop.open()
    heron = shop.put(store, "a heron")
    bad = np.full((1, 8), value, np.float16)
    store.commit(lambda tx: tx.put_vectors(heron.id, "toy-1", [0], bad))
    shop.put(store, "a weir")
    for each in (store, other, shop.open()):
        each.catch_up()
        assert each.vectors is not None
        assert each.vectors.rows_with_vectors == 1
        assert each.troubles.vectors == {heron.id}
    store.commit(lambda tx: tx.put_vectors(heron.id, "toy-1", [0], shop.vectors("a heron")))
    assert store.troubles.vectors == set()


def test_a_switch_of_the_model_takes_the_vectors_of_the_new_one(shop: Any) -> None:
    store, other = shop.open(), shop.open()
    heron = shop.put(store, "a heron")
    wide = np.eye(1, 12, dtype=np.float16)
    value = {"name": "wide", "fingerprint": "wide-1", "dimension": 12}

    def switch(tx: Any) -> None:
        tx.put_vectors(heron.id, "wide-1", [0], wide)
        tx.append(Change("meta", "embedding", {"value": value}))

    store.commit(switch)
    for each in (store, other, shop.open(model=False)):
        each.catch_up()
        assert each.fingerprint == "wide-1"
        assert each.vectors is not None
        row = each.columns.row(heron.id)
        np.testing.assert_array_equal(each.vectors.wholes(np.array([row]))[0], wide[0])


# Writing


def test_the_first_model_stays_the_model_of_the_store(shop: Any) -> None:
    store, other = shop.open(model=False), shop.open(model=False)
    assert store.adopt("one", "one-1", 8) == "one-1"
    sequence = store.journal.last()
    assert other.adopt("two", "two-1", 12) == "one-1"
    assert store.journal.last() == sequence


def test_a_store_that_has_a_model_is_not_written_to_when_one_is_loaded(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that cannot be written is searched by meaning all the same."""
    shop.put(shop.open(), "a heron")
    storage = shop.settings.storage
    late = MemoryStore(shop.directory, clock=shop.clock, settings=storage, index_text=index_text)
    shop.opened.append(late)
    monkeypatch.setattr(late.journal, "write", lambda build: pytest.fail("written"))
    assert late.adopt("toy", "toy-1", 8) == "toy-1"
    assert late.vectors is not None
    assert late.vectors.rows_with_vectors == 1


def test_a_refused_transaction_leaves_nothing(shop: Any) -> None:
    store = shop.open()
    heron = shop.put(store, "a heron")
    before = store.journal.last()

    def build(tx: Any) -> None:
        tx.append(Change("put", heron.id, {"speaker": "Ana"}))
        raise InvalidInput("no", "no")

    with pytest.raises(InvalidInput):
        store.commit(build)
    assert store.journal.last() == before
    assert store.memories([heron.id]) == {heron.id: heron}


def test_a_write_that_cannot_be_indexed_at_once_is_acknowledged_and_indexed_later(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = shop.open()

    def fails(*_: object) -> None:
        raise StorageError("the disk did not answer", "repeat")

    with monkeypatch.context() as broken:
        broken.setattr(store.journal, "changes", fails)
        heron = shop.put(store, "a heron")
        with pytest.raises(StorageError, match="did not answer"):
            store.catch_up()
    assert words(store, "heron") == ["a heron"]
    assert heron.id in store.memories([heron.id])


def test_writers_and_readers_of_two_stores_agree_in_the_end(shop: Any) -> None:
    stores = [shop.open(), shop.open()]
    wrong: list[BaseException] = []

    def work(store: MemoryStore, number: int) -> None:
        try:
            for step in range(15):
                memory = replace(
                    shop.memory(f"heron {number} {step}"), id=f"{number:010d}{step:010d}"
                )
                store.commit(
                    lambda tx, memory=memory: tx.append(Change("put", memory.id, to_fields(memory)))
                )
                assert memory.text in words(store, memory.text)
                if step % 3 == 0:
                    shop.forget(store, memory.id)
                    assert store.memories([memory.id]) == {}
        except BaseException as problem:
            wrong.append(problem)

    threads = [
        threading.Thread(target=work, args=(stores[number % 2], number)) for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    for store in stores:
        store.catch_up()
        assert int(store.columns.live.sum()) == 6 * 10
        assert store.applied == store.journal.last()


def test_close_makes_every_later_call_raise(shop: Any) -> None:
    store = shop.open()
    shop.put(store, "a heron")
    store.close()
    calls: list[Callable[[], object]] = [
        store.catch_up,
        lambda: store.memories(["x"]),
        lambda: store.commit(lambda tx: tx.meta("x")),
    ]
    for call in calls:
        with pytest.raises(StorageError, match="closed"):
            call()
    store.close()
