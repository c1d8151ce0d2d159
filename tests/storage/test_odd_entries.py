"""One entry that is damaged or odd does not take the others with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memory_core.records import Change, Identity, MemoryRecord, from_fields, to_fields
from memory_core.storage.store import MemoryStore
from tests.views import view_of

ME = Identity("me")


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
    "numbers for keywords": {"keywords": [1, 2]},
    "numbers for lead": {"lead": [1, 2]},
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
        assert {"a heron", "a third heron"} <= set(shop.words(each, "heron"))
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
    assert shop.words(store, "heron") == ["an odd heron"]
    assert store.memories([odd["id"]]) == {odd["id"]: from_fields(odd)}
    assert store.unusable.count == 0


def test_an_unknown_scope_of_a_newer_version_is_shown_to_its_owner_alone(shop: Any) -> None:
    store = shop.open()
    odd = to_fields(shop.memory("an odd heron", visibility="galaxy"))
    store.commit(lambda tx: tx.append(Change("put", odd["id"], odd)))
    assert store.may_read(ME, odd["id"])
    assert not store.may_read(Identity("other"), odd["id"])


def test_index_text_that_raises_leaves_the_text_itself_searchable(make_shop: Any) -> None:
    shop = make_shop()

    def refuses(memory: MemoryRecord) -> str:
        raise ValueError("no")

    store = MemoryStore(shop.directory, clock=shop.clock, index_text=refuses)
    shop.opened.append(store)
    heron = shop.put(store, "a heron")
    assert shop.words(store, "heron") == ["a heron"]
    assert list(store.unusable.entries) == [heron.id]


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
    assert shop.words(again, "heron mill weir wair") == ["a heron", "a mill"]
    assert again.memories([weir.id]) == {}
    assert again.applied == again.journal.last()
    assert "change 2" in again.unusable.entries
    shop.put(again, "another weir")
    assert shop.words(again, "weir") == ["another weir"]


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
    vectors = view_of(again).vectors
    assert vectors is not None
    assert vectors.rows_with_vectors == 4
    assert again.unusable.vectors == {memories[2].id}
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
        vectors = view_of(each).vectors
        assert vectors is not None
        assert vectors.rows_with_vectors == 1
        assert each.unusable.vectors == {heron.id}
    store.commit(lambda tx: tx.put_vectors(heron.id, "toy-1", [0], shop.vectors("a heron")))
    assert store.unusable.vectors == set()


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
        vectors = view_of(each).vectors
        assert vectors is not None
        row = view_of(each).columns.row(heron.id)
        np.testing.assert_array_equal(vectors.wholes(np.array([row]))[0], wide[0])
