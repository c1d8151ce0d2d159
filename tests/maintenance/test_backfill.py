"""Vectors that come later, whatever the model refuses."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

from memory_core.maintenance.backfill import BACKFILL, RETRY_SECONDS
from tests.views import view_of


def test_memories_written_before_the_model_was_ready_get_their_vectors(house: Any) -> None:
    room = house.room(model=False)
    ids = [room.put(f"heron {number}") for number in range(BACKFILL + 10)]
    room.rounds()
    assert room.store.table is not None
    assert room.embedded() == 0
    room.model_comes()
    room.rounds()
    assert room.embedded() == len(ids)
    view = view_of(room.store)
    assert view.vectors is not None
    row = view.columns.row(ids[3])
    wanted = house.toy.documents(["heron 3"]).astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(view.vectors.wholes(np.array([row])), wanted)
    again = house.room()
    assert again.embedded() == len(ids)
    asked = house.toy.asked
    room.rounds()
    again.rounds()
    assert house.toy.asked == asked


def test_only_the_holder_embeds_and_the_others_get_what_it_made(house: Any) -> None:
    first, second = house.room(), house.room()
    first.rounds(1)
    second.put("a heron")
    second.rounds(1)
    assert house.toy.asked == 0
    first.rounds(1)
    second.rounds(1)
    assert (house.toy.asked, second.embedded()) == (1, 1)


@pytest.mark.parametrize("place", [0, 1, 70])
def test_a_memory_that_the_model_refuses_blocks_no_other(house: Any, place: int) -> None:
    room = house.room()
    number = BACKFILL + 20
    for each in range(number):
        room.put("poison" if each == place else f"heron {each}")
    house.toy.refuses = lambda text: "poison" in text
    room.rounds(6)
    assert room.embedded() == number - 1
    assert len(room.upkeep.refused) == 1
    house.toy.refuses = lambda text: False
    room.rounds(3)
    assert room.embedded() == number - 1  # not before its time
    house.now += RETRY_SECONDS
    room.upkeep.nudge()
    room.rounds(3)
    assert room.embedded() == number
    assert room.upkeep.refused == {}
    assert room.upkeep.problems == {}


def test_a_refused_memory_is_tried_again_when_the_clock_was_set_back(house: Any) -> None:
    room = house.room()
    room.put("poison")
    house.toy.refuses = lambda text: True
    room.rounds(2)
    house.toy.refuses = lambda text: False
    room.rounds(2)
    assert room.embedded() == 0
    house.now -= 3650 * 86_400.0
    room.upkeep.nudge()
    room.rounds(2)
    assert room.embedded() == 1


def test_more_refused_ones_than_a_batch_hold_up_nothing(house: Any) -> None:
    room = house.room()
    house.toy.refuses = lambda text: "poison" in text
    for each in range(BACKFILL + 5):
        room.put(f"poison {each}")
    ids = [room.put(f"heron {each}") for each in range(5)]
    for _ in range(BACKFILL):
        room.upkeep.nudge()
        room.rounds(1)
    assert room.embedded() == len(ids)


def test_a_refused_memory_that_is_forgotten_is_no_longer_told_of(house: Any) -> None:
    room = house.room()
    house.toy.refuses = lambda text: True
    heron = room.put("a heron")
    room.rounds(1)
    assert list(room.upkeep.refused) == [heron]
    room.forget(heron)
    room.upkeep.nudge()
    room.rounds(1)
    assert room.upkeep.refused == {}
    assert room.upkeep.problems == {}


def test_a_model_that_gives_no_numbers_is_refused_itself(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    heron = room.put("a heron")
    nothing = np.full((1, 64), np.nan, np.float32)
    with monkeypatch.context() as patch:
        patch.setattr(house.toy, "documents", lambda texts: nothing)
        room.rounds()
    assert "no numbers" in room.upkeep.refused[heron][1]
    house.now += RETRY_SECONDS
    room.upkeep.nudge()
    room.rounds()
    assert room.embedded() == 1


def test_a_memory_forgotten_while_it_was_embedded_gets_no_vectors(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    heron, weir = room.put("a heron"), room.put("a weir")
    original = house.toy.documents

    def forgets(texts: list[str]) -> Any:
        if heron in room.store.memories([heron]):
            room.forget(heron)
        return original(texts)

    with monkeypatch.context() as patch:
        patch.setattr(house.toy, "documents", forgets)
        room.rounds(1)
    assert room.upkeep.problems == {}
    assert room.embedded() == 1
    assert list(room.store.journal.vectors([heron, weir], "toy-1")) == [weir]
    room.rounds()
    assert room.upkeep.refused == {}


def test_a_model_of_another_store_embeds_nothing(house: Any) -> None:
    room = house.room(model=False)
    room.store.adopt("other", "other-1", 8)
    room.put("a heron")
    room.model_comes()
    room.rounds()
    assert house.toy.asked == 0
    assert room.upkeep.problems == {}


def test_damaged_vectors_are_made_again(house: Any) -> None:
    room = house.room()
    ids = [room.put(f"heron {number}") for number in range(4)]
    room.rounds()
    room.close()
    import apsw

    connection = apsw.Connection(str(house.directory / "journal.db"))
    connection.execute("UPDATE vectors SET data = zeroblob(128) WHERE memory = ?", (ids[2],))
    connection.close()
    shutil.rmtree(house.directory / "index", ignore_errors=True)
    again = house.room()
    assert again.embedded() == 3
    again.rounds()
    assert again.embedded() == 4
    assert again.store.unusable.count == 0
    assert house.room().embedded() == 4
