"""What a store makes of the journal, and what one sees of another's writes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memory_core.errors import InvalidInput, StorageError
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.representation import index_text
from memory_core.storage.store import BATCH, MemoryStore
from tests.views import view_of


def test_a_write_of_one_store_is_read_by_the_other_at_its_next_call(shop: Any) -> None:
    one, two = shop.open(), shop.open()
    heron = shop.put(one, "a heron")
    assert shop.words(two, "heron") == ["a heron"]
    shop.change(two, heron.id, tags=["bird"])
    assert shop.words(one, "bird") == ["a heron"]
    shop.forget(one, heron.id)
    assert shop.words(two, "heron") == []
    assert two.memories([heron.id]) == {}


def test_a_store_that_lags_many_slices_behind_catches_up_with_all_of_them(shop: Any) -> None:
    late, busy = shop.open(), shop.open()
    memories = [shop.memory(f"mill {number}") for number in range(2 * BATCH + 10)]
    for start in range(0, len(memories), 100):
        batch = memories[start : start + 100]

        def build(tx: Any, batch: list[MemoryRecord] = batch) -> None:
            for memory in batch:
                tx.append(Change("put", memory.id, to_fields(memory)))

        busy.journal.write(build)
    shop.forget(busy, memories[0].id)
    shop.change(busy, memories[1].id, speaker="Ana")
    late.catch_up()
    assert late.applied == busy.journal.last()
    assert int(view_of(late).columns.live.sum()) == len(memories) - 1
    assert late.memories([memories[1].id])[memories[1].id].speaker == "Ana"


def test_what_comes_back_under_its_old_id_is_there_also_after_a_restart(shop: Any) -> None:
    """clear and then import; a replay sees forget and put in one slice."""
    store = shop.open()
    heron = shop.put(store, "a heron")
    shop.forget(store, heron.id)
    store.commit(lambda tx: tx.append(Change("put", heron.id, to_fields(heron))))
    assert shop.words(store, "heron") == ["a heron"]
    assert shop.words(shop.open(), "heron") == ["a heron"]


def test_a_source_that_comes_back_is_linked_again_in_every_process(shop: Any) -> None:
    store, other = shop.open(), shop.open()
    source = shop.put(store, "a heron")
    summary = shop.put(store, "birds", derived_from=(source.id,))
    shop.forget(store, source.id)
    other.catch_up()
    store.commit(lambda tx: tx.append(Change("put", source.id, to_fields(source))))
    for each in (store, other, shop.open()):
        each.catch_up()
        rows = view_of(each).columns.row(summary.id), view_of(each).columns.row(source.id)
        assert view_of(each).graph.targets(rows[0], "derived_from") == [rows[1]]


def test_a_source_that_is_no_longer_named_is_no_longer_linked(shop: Any) -> None:
    store = shop.open()
    source = shop.put(store, "a heron")
    summary = shop.put(store, "birds", derived_from=(source.id,))
    shop.change(store, summary.id, derived_from=[])
    assert view_of(store).graph.edges() == 0


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
    late = MemoryStore(shop.directory, clock=shop.clock, index_text=index_text)
    shop.opened.append(late)
    monkeypatch.setattr(late.journal, "write", lambda build: pytest.fail("written"))
    assert late.adopt("toy", "toy-1", 8) == "toy-1"
    vectors = view_of(late).vectors
    assert vectors is not None
    assert vectors.rows_with_vectors == 1


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
    assert shop.words(store, "heron") == ["a heron"]
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
                assert memory.text in shop.words(store, memory.text)
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
        assert int(view_of(store).columns.live.sum()) == 6 * 10
        assert store.applied == store.journal.last()


def test_the_index_and_the_journal_tell_alike_what_has_no_vectors(shop: Any) -> None:
    store = shop.open()
    made = [shop.put(store, f"heron {number}") for number in range(6)]
    bare = [shop.memory(f"weir {number}") for number in range(4)]
    for memory in bare:
        store.commit(lambda tx, m=memory: tx.append(Change("put", m.id, to_fields(m))))
    shop.forget(store, bare.pop(1).id, erase=False)
    shop.forget(store, made.pop(2).id, erase=False)
    wanted = sorted(memory.id for memory in bare)
    assert store.without_vectors("toy-1", 9) == wanted == store.journal.without_vectors("toy-1", 9)
    assert store.without_vectors("toy-1", 2) == wanted[:2]
    everything = sorted(memory.id for memory in (*made, *bare))
    assert store.without_vectors("other", 99) == everything


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
