"""Upkeep: who works, what a round does, and that no step blocks another."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import Busy, DiskFull, StorageError
from memory_core.maintenance.backfill import RETRY_SECONDS
from memory_core.maintenance.loop import MOST_SKIPPED
from memory_core.records import new_id

ROOT = Path(__file__).parents[2]

# Who works


def test_one_works_and_the_next_takes_over_when_it_closes(house: Any) -> None:
    first, second = house.room(), house.room()
    first.upkeep.round()
    second.upkeep.round()
    assert (first.upkeep.holder, second.upkeep.holder) == (True, False)
    heron = second.put("a heron")
    first.rounds()
    second.rounds()
    assert second.store.table is not None
    assert second.store.unsynced == {}
    assert second.store.table.ids() == [heron]
    first.close()
    second.upkeep.round()
    assert second.upkeep.holder
    assert not first.upkeep.holder


HOLDER = """
import sys, time
from pathlib import Path
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.maintenance.loop import Maintenance
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.storage.store import MemoryStore
from memory_core.representation import embed, index_text

store = MemoryStore(Path(sys.argv[1]), clock=time.time, index_text=index_text)
upkeep = Maintenance(store, EmbedderGate(lambda: None), time.time, embed)
upkeep.round()
print(upkeep.holder, flush=True)
for line in sys.stdin:
    word, id, text = line.split(maxsplit=2)
    if word == "put":
        memory = MemoryRecord(id=id, text=text.strip(), agent="me")
        store.commit(lambda tx: tx.append(Change("put", id, to_fields(memory))))
        print("done", flush=True)
    else:
        store.catch_up()
        found = store.memories([id])
        print(found[id].text if id in found else "nothing", flush=True)
"""


@pytest.fixture
def other(house: Any, processes: Any) -> Iterator[subprocess.Popen[str]]:
    """Another process on the same directory, which holds maintenance.lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(house.directory)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    yield process
    process.kill()
    process.communicate()


def ask(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.mark.usefixtures("processes")
def test_two_processes_see_each_others_writes_at_the_next_call(
    house: Any, other: subprocess.Popen[str]
) -> None:
    here = house.room(model=False)
    heron = here.put("a heron")
    assert ask(other, f"get {heron} -") == "a heron"
    id = new_id(house.now)
    assert ask(other, f"put {id} a weir") == "done"
    here.store.catch_up()
    assert here.store.memories([id])[id].text == "a weir"
    here.forget(heron)
    assert ask(other, f"get {heron} -") == "nothing"


@pytest.mark.usefixtures("processes")
@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
def test_the_lock_passes_on_when_its_holder_is_killed(
    house: Any, other: subprocess.Popen[str]
) -> None:
    here = house.room(model=False)
    here.put("a heron")
    here.rounds(2)
    assert not here.upkeep.holder
    assert here.store.memories([]) == {}
    other.send_signal(signal.SIGKILL)
    other.wait()
    here.rounds(2)
    assert here.upkeep.holder
    assert here.store.unsynced == {}
    assert here.upkeep.problems == {}


def test_a_lock_is_kept_while_a_step_is_still_at_work(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else another process would begin to write the table beside it."""
    room, second = house.room(model=False), house.room(model=False)
    begun, end = threading.Event(), threading.Event()
    room.put("a heron")

    def slow() -> None:
        begun.set()
        end.wait(30)

    with monkeypatch.context() as patch:
        patch.setattr(room.upkeep.table_sync, "update", slow)
        working = threading.Thread(target=room.upkeep.round)
        working.start()
        assert begun.wait(30)
        room.upkeep.stop()
        second.upkeep.round()
        assert (room.upkeep.holder, second.upkeep.holder) == (True, False)
        end.set()
        working.join(30)
    room.upkeep.stop()
    second.upkeep.round()
    assert second.upkeep.holder


# What a round does


def test_a_round_in_which_nothing_was_new_does_nothing(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, follower = house.room(), house.room()
    room.put("a heron")
    room.rounds()
    follower.rounds()
    sequence = room.store.journal.last()
    for each in (room, follower):
        for part in ("update", "follow", "tidy"):
            monkeypatch.setattr(each.upkeep.table_sync, part, lambda: pytest.fail("not idle"))
        monkeypatch.setattr(each.upkeep.snapshots, "write_if_due", lambda: pytest.fail("not idle"))
        monkeypatch.setattr(each.store.journal, "meta", lambda key: pytest.fail("not idle"))
        each.rounds(3)
        assert each.upkeep.problems == {}
    assert room.store.journal.last() == sequence


def test_a_step_that_fails_keeps_no_other_from_its_work(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    house.toy.refuses = lambda text: True
    heron = room.put("a heron")
    gone = room.put("a weir")
    room.forget(gone)
    room.rounds()
    assert "refuses" in room.upkeep.refused[heron][1]
    assert room.store.table is not None
    assert room.store.table.ids() == [heron]
    assert not room.upkeep.erasing
    assert room.store.journal.stats()["wal_bytes"] < 100_000

    def full() -> None:
        raise DiskFull("no room", "free some")

    house.toy.refuses = lambda text: False
    house.now += RETRY_SECONDS
    room.put("a mill")
    room.upkeep.nudge()
    monkeypatch.setattr(room.upkeep.table_sync, "update", full)
    room.rounds()
    assert list(room.upkeep.problems) == ["table"]
    assert room.embedded() == 2


def test_a_step_that_goes_on_failing_is_tried_ever_more_rarely_until_a_nudge(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    room.rounds()
    tried: list[int] = []

    def full() -> None:
        tried.append(1)
        raise DiskFull("no room", "free some")

    with monkeypatch.context() as patch:
        patch.setattr(room.upkeep.table_sync, "update", full)
        room.put("a heron")
        room.rounds(1000)
        assert 1000 // (MOST_SKIPPED + 1) <= len(tried) <= 20
        room.upkeep.nudge()
        room.rounds(1)
        before = len(tried)
        room.rounds(1)
        assert len(tried) == before
    room.upkeep.nudge()
    room.rounds()
    assert room.upkeep.problems == {}
    assert room.store.unsynced == {}


def test_a_round_never_raises_whatever_happens(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    room = house.room()
    monkeypatch.setattr(room.store, "catch_up", lambda: 1 / 0)
    room.upkeep.round()
    assert "division" in room.upkeep.problems["journal"]


def test_the_log_is_folded_into_the_journal_when_it_has_grown(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.maintenance.loop.WAL_BYTES", 50_000)
    room = house.room()
    for number in range(20):
        room.put(f"heron {number} " * 200)
    assert room.store.journal.stats()["wal_bytes"] > 50_000
    room.rounds()
    assert room.store.journal.stats()["wal_bytes"] < 50_000


# Repair


def test_repair_builds_table_and_snapshot_anew(house: Any) -> None:
    room = house.room()
    ids = [room.put(f"heron {number}") for number in range(3)]
    room.rounds()
    for path in (house.directory / "table").rglob("*.lance"):
        if path.is_file():
            path.write_bytes(b"")
    room.upkeep.repair()
    assert room.store.table is not None
    assert sorted(room.store.table.ids()) == sorted(ids)
    assert len(list((house.directory / "table").iterdir())) == 1
    assert (house.directory / "index").is_dir()


def test_repair_where_another_process_works_says_so(house: Any) -> None:
    first, second = house.room(), house.room()
    first.rounds(1)
    with pytest.raises(Busy, match=r"maintenance\.lock"):
        second.upkeep.repair()


def test_repair_while_a_failing_model_waits_for_its_time_tries_it_again(house: Any) -> None:
    room = house.room()
    house.toy.refuses = lambda text: True
    room.put("a heron")
    room.rounds()
    house.toy.refuses = lambda text: False
    room.upkeep.repair()
    room.rounds(1)
    assert room.embedded() == 1


# The thread


def test_the_thread_does_the_rounds_and_stops(house: Any) -> None:
    room = house.room()
    done = threading.Event()
    original = room.upkeep.table_sync.update

    def keep() -> None:
        original()
        done.set()

    room.upkeep.table_sync.update = keep  # type: ignore[method-assign]
    heron = room.put("a heron")
    room.upkeep.start()
    assert done.wait(30)
    room.upkeep.stop()
    assert not room.upkeep.holder
    assert room.store.table is not None
    assert room.store.table.ids() == [heron]
    room.upkeep.round()  # after the end: nothing
    assert not room.upkeep.holder


def test_closed_files_under_the_thread_are_a_problem_and_no_crash(house: Any) -> None:
    room = house.room()
    room.put("a heron")
    room.upkeep.start()
    room.store.close()
    room.upkeep.stop()
    with pytest.raises(StorageError):
        room.store.catch_up()
