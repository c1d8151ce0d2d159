"""What recall rehearsed is journalled late, and once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_core.errors import DiskFull


def counts(room: Any, ids: list[str]) -> list[int]:
    room.store.catch_up()
    found = room.store.memories(ids)
    return [found[id].access_count for id in ids]


def test_accesses_are_journalled_in_time_and_survive_a_restart(house: Any, start: float) -> None:
    room = house.room()
    ids = [room.put("a heron"), room.put("a weir")]
    room.upkeep.accesses.record(ids)
    room.upkeep.accesses.record(ids[:1])
    room.rounds()
    assert counts(room, ids) == [0, 0]
    sequence = room.store.journal.last()
    house.now += house.tuning.access_seconds
    room.rounds()
    assert room.store.journal.last() == sequence + 1
    assert counts(room, ids) == [2, 1]
    again = house.room()
    assert counts(again, ids) == [2, 1]
    assert again.store.memories(ids)[ids[0]].last_accessed == start + 2.0


def test_accesses_of_two_processes_add_up(house: Any) -> None:
    first, second = house.room(), house.room()
    ids = [first.put("a heron"), first.put("a weir")]
    for _ in range(3):
        first.upkeep.accesses.record(ids)
        second.upkeep.accesses.record(ids[1:])
    house.now += house.tuning.access_seconds
    first.rounds(1)
    second.rounds(1)
    assert counts(first, ids) == counts(second, ids) == [3, 6]


def test_many_accesses_are_journalled_ahead_of_time(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.storage.accesses.MOST", 3)
    room = house.room()
    ids = [room.put(f"heron {number}") for number in range(3)]
    room.upkeep.accesses.record(ids[:2])
    room.rounds(1)
    assert counts(room, ids) == [0, 0, 0]
    room.upkeep.accesses.record(ids[2:])
    room.rounds(1)
    assert counts(room, ids) == [1, 1, 1]


def test_stopping_journals_the_last_accesses(house: Any) -> None:
    room = house.room()
    ids = [room.put("a heron")]
    room.upkeep.accesses.record(ids)
    room.close()
    assert counts(house.room(), ids) == [1]


def test_a_kill_loses_the_last_batch_of_accesses_and_no_other(house: Any) -> None:
    room = house.room()
    ids = [room.put("a heron")]
    room.upkeep.accesses.record(ids)
    room.upkeep.accesses.flush()
    room.upkeep.accesses.record(ids)  # and then nothing more of this process
    assert counts(house.room(), ids) == [1]


def test_accesses_that_cannot_be_written_are_kept_for_the_next_time(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    ids = [room.put("a heron"), room.put("a weir")]

    def full(build: Callable[[Any], Any]) -> None:
        if not room.upkeep.problems:
            room.upkeep.accesses.record(ids[:1])  # meanwhile
        raise DiskFull("no room", "free some")

    room.upkeep.accesses.record(ids)
    with monkeypatch.context() as patch:
        patch.setattr(room.store.journal, "write", full)
        house.now += house.tuning.access_seconds
        room.rounds(1)
        assert "no room" in room.upkeep.problems["accesses"]
    house.now += house.tuning.access_seconds
    room.upkeep.nudge()
    room.rounds(1)
    assert counts(room, ids) == [2, 1]


def test_an_access_of_what_was_forgotten_is_left_out(house: Any) -> None:
    room = house.room()
    ids = [room.put("a heron"), room.put("a weir")]
    room.upkeep.accesses.record(ids)
    room.forget(ids[0])
    room.upkeep.accesses.flush()
    assert counts(room, ids[1:]) == [1]
    room.upkeep.accesses.record(ids[:1])
    sequence = room.store.journal.last()
    room.upkeep.accesses.flush()
    assert room.store.journal.last() == sequence


def test_a_clock_that_is_set_back_ten_years_holds_no_access_up(house: Any) -> None:
    room = house.room()
    ids = [room.put("a heron")]
    room.upkeep.accesses.record(ids)
    house.now -= 3650 * 86_400.0
    room.rounds(1)
    assert counts(room, ids) == [1]
    room.upkeep.accesses.record(ids)
    room.rounds(1)
    assert counts(room, ids) == [1]  # from there on it waits as ever
    house.now += house.tuning.access_seconds
    room.rounds(1)
    assert counts(room, ids) == [2]
