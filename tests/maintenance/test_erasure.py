"""What was forgotten is gone from every file, and every process says truly whether it is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from typing import Any

import pytest

from memory_core.errors import DiskFull, StorageError
from memory_core.maintenance import loop
from memory_core.storage.generations import Generations
from memory_core.storage.table.table import Table

SECRET = "the door code of the house in Graz is 4711"
PART = "Graz"  # no digits: those of a UUID can be 4711 by chance
NEIGHBOUR = "the garden needs water twice a week"

SEARCH = """
import sys
from pathlib import Path
found = [
    path.name
    for path in sorted(Path(sys.argv[1]).rglob("*"))
    if path.is_file() and any(word.encode() in path.read_bytes() for word in sys.argv[2:])
]
print(" ".join(found))
"""


def holding(house: Any, *words: str) -> list[str]:
    """Files that hold one of *words*, as a process sees them that has not opened the journal."""
    command = [sys.executable, "-c", SEARCH, str(house.directory), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_thread_touches_the_table_for_many_changes_at_once(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    ids = [room.put(f"heron {number}") for number in range(3)]
    room.rounds()
    built, settled = room.upkeep.table_sync.since, room.store.table_sequence
    for id in ids[:2]:
        room.forget(id)
        room.put(f"a stork for {id}")
        room.upkeep.round(hurry=False)
        assert room.upkeep.erasing
        assert (room.upkeep.table_sync.since, room.store.table_sequence) == (built, settled)
    later = time.monotonic() + loop.FILES_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    room.upkeep.round(hurry=False)
    assert not room.upkeep.erasing
    assert not room.store.unsynced


def test_a_table_that_fails_is_looked_at_in_the_next_round(house: Any) -> None:
    room = house.room()
    room.put("a heron")
    room.rounds()
    shutil.rmtree(house.directory / "table")
    room.store.detach_table(room.store.table, StorageError("it is gone", "wait"))
    room.upkeep.round(hurry=False)
    assert room.store.table is not None


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("model", [True, False])
def test_what_was_forgotten_is_erased_from_every_file(house: Any, model: bool) -> None:
    room = house.room(model=model)
    secret = room.put(SECRET, gist=SECRET, session="s")
    garden = room.put(NEIGHBOUR, session="s")
    for number in range(8):  # enough for a snapshot
        room.put(f"heron {number}")
    room.rounds()
    room.upkeep.snapshots.write()
    assert "journal.db" in " ".join(holding(house, SECRET))
    assert SECRET.encode() in house.files("table")
    assert (secret.encode() in house.files("index")) is model
    assert not room.upkeep.erasing
    room.forget(secret)
    assert room.upkeep.erasing
    assert SECRET.encode() in house.files("table")
    room.rounds(1)
    assert not room.upkeep.erasing
    assert holding(house, SECRET, PART) == []
    assert secret.encode() not in house.files("index")
    assert NEIGHBOUR.encode() in house.files("table")
    assert list(room.store.memories([secret, garden])) == [garden]
    for folder in ("table", *(("index",) if model else ())):
        assert len(list((house.directory / folder).iterdir())) == 1
    again = house.room(model=model)
    assert not again.upkeep.erasing
    assert list(again.store.memories([secret, garden])) == [garden]
    room.rounds()
    assert not room.upkeep.erasing


@pytest.mark.usefixtures("processes")
def test_every_process_tells_truly_whether_something_is_left(house: Any) -> None:
    holder, other = house.room(), house.room()
    secret = holder.put(SECRET)
    holder.rounds()
    other.rounds()
    other.forget(secret)
    assert other.upkeep.erasing
    other.rounds()
    assert other.upkeep.erasing  # it is not the one that works
    assert SECRET.encode() in house.files("table")
    holder.rounds(1)
    other.rounds(1)
    assert not other.upkeep.erasing
    assert holding(house, SECRET) == []


@pytest.mark.usefixtures("processes")
def test_an_erasure_cut_short_by_a_kill_is_finished_by_the_next_holder(house: Any) -> None:
    """Killed after the switch to the new generation, before the old one was removed."""
    room = house.room()
    secret = room.put(SECRET)
    for number in range(8):
        room.put(f"heron {number}")
    room.rounds()
    kept = {name: house.directory / f"kept-{name}" for name in ("table", "index")}
    for name, copy in kept.items():
        generation = next((house.directory / name).iterdir())
        shutil.copytree(generation, copy / generation.name)
    room.forget(secret)
    room.upkeep._erase = lambda: None  # type: ignore[method-assign]
    room.rounds(1)
    room.close()
    for name, copy in kept.items():
        shutil.copytree(next(copy.iterdir()), house.directory / name / next(copy.iterdir()).name)
        shutil.rmtree(copy)
    assert SECRET.encode() in house.files("table")
    again = house.room()
    assert again.upkeep.erasing
    again.rounds(2)
    assert not again.upkeep.erasing
    assert holding(house, SECRET) == []
    assert secret.encode() not in house.files("index")


@pytest.mark.usefixtures("processes")
def test_an_erasure_that_fails_is_pending_and_done_later(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    secret = room.put(SECRET)
    garden = room.put(NEIGHBOUR)
    room.rounds()
    room.forget(secret)
    with monkeypatch.context() as patch:
        patch.setattr(room.store.journal, "checkpoint", lambda **_: False)  # a reader is in the way
        room.rounds(1)
        assert room.upkeep.erasing
        assert "reader" in room.upkeep.problems["erasure"]
    with monkeypatch.context() as patch:

        def full(*_: object, **__: object) -> None:
            raise DiskFull("no room", "free some")

        patch.setattr(Table, "merge", full)
        other = room.put("another")
        room.forget(other)
        room.upkeep.nudge()
        room.rounds(1)
        assert room.upkeep.erasing
        assert house.files("table") == b""  # there was no room for a new one
        assert list(room.store.memories([garden, secret, other])) == [garden]
    room.upkeep.nudge()
    room.rounds(1)
    assert not room.upkeep.erasing
    assert room.upkeep.problems == {}
    assert holding(house, SECRET, "another") == []


@pytest.mark.usefixtures("processes")
def test_an_old_generation_that_cannot_be_removed_keeps_the_erasure_pending(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    secret = room.put(SECRET)
    room.rounds()
    room.forget(secret)

    def refused(*_: object, **__: object) -> None:
        raise StorageError("a file is in use", "close it")

    with monkeypatch.context() as patch:
        patch.setattr(Generations, "remove_others", refused)
        for _ in range(3):
            room.upkeep.nudge()
            room.rounds(1)
            assert room.upkeep.erasing
    assert SECRET.encode() in house.files("table")
    room.upkeep.nudge()
    room.rounds(1)
    assert not room.upkeep.erasing
    assert holding(house, SECRET) == []


def test_a_forget_that_asks_for_no_erasure_leaves_the_generations_alone(house: Any) -> None:
    """The health probe: its words are no secret, and it comes often."""
    room = house.room()
    room.put("a heron")
    room.rounds()
    before = sorted(path.name for path in (house.directory / "table").iterdir())
    for _ in range(5):
        room.forget(room.put("a probe"), erase=False)
        room.rounds(1)
    assert not room.upkeep.erasing
    assert sorted(path.name for path in (house.directory / "table").iterdir()) == before


@pytest.mark.usefixtures("processes")
def test_an_erasure_is_finished_when_the_process_ends(house: Any) -> None:
    """As after one command without a server: nobody else would do it."""
    room = house.room()
    secret = room.put(SECRET)
    garden = room.put(NEIGHBOUR)
    room.rounds()
    room.upkeep.snapshots.write()
    room.close()
    later = house.room()
    later.forget(secret)
    assert later.upkeep.erasing
    assert SECRET.encode() in house.files("table")
    later.close()
    assert holding(house, SECRET, PART) == []
    again = house.room()
    assert not again.upkeep.erasing
    again.rounds()
    assert list(again.store.memories([secret, garden])) == [garden]
    assert NEIGHBOUR.encode() in house.files("table")
    assert again.upkeep.problems == {}


def test_a_process_that_ends_leaves_the_erasure_to_the_one_that_keeps_the_files(
    house: Any,
) -> None:
    keeper, other = house.room(), house.room()
    secret = keeper.put(SECRET)
    keeper.rounds()
    other.forget(secret)
    assert not other.upkeep.finish_erasing(0.2)
    other.close()
    assert SECRET.encode() in house.files("table")
    keeper.rounds(1)
    assert SECRET.encode() not in house.files("table")
    assert not keeper.upkeep.erasing
    assert keeper.upkeep.finish_erasing(0.0)


@pytest.mark.usefixtures("processes")
def test_a_disk_that_fails_leaves_the_erasure_pending(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    secret = room.put(SECRET)
    room.rounds()
    room.forget(secret)

    def refused(*_: object, **__: object) -> None:
        raise StorageError("a file is in use", "close it")

    with monkeypatch.context() as patch:
        patch.setattr(Generations, "remove_others", refused)
        assert not room.upkeep.finish_erasing(5.0)
    assert room.upkeep.erasing
    assert room.upkeep.finish_erasing(5.0)
    assert holding(house, SECRET) == []


def test_how_long_an_erasure_is_pending_is_known_to_every_process(house: Any) -> None:
    keeper, other = house.room(), house.room()
    secret = keeper.put(SECRET)
    keeper.rounds()
    assert other.upkeep.pending_seconds == 0.0
    keeper.forget(secret)
    house.now += 90.0
    other.store.catch_up()
    assert other.upkeep.pending_seconds == 90.0
    assert other.upkeep.kept
    keeper.close()
    assert not other.upkeep.kept
    assert other.upkeep.pending_seconds == 0.0
