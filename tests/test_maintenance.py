"""Upkeep: who works, what is left behind, what is erased, and that no step blocks another."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.config import Settings, StorageSettings
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import Busy, DiskFull, EncoderUnavailable, StorageError
from memory_core.maintenance import BACKFILL, MOST_SKIPPED, RETRY_SECONDS, Maintenance
from memory_core.records import Change, Memory, content_hash, new_id, to_fields
from memory_core.storage.generations import Generations
from memory_core.storage.store import MemoryStore
from memory_core.storage.table import Table
from memory_core.wording import embed, index_text

ROOT = Path(__file__).parents[1]
START = 1_700_000_000.0


class House:
    """One data directory, a clock set by hand, and processes' worth of stores on it."""

    def __init__(self, directory: Path, toy: Any) -> None:
        self.directory = directory
        self.toy = toy
        self.now = START
        self.settings = Settings(data_dir=directory, storage=StorageSettings(snapshot_changes=5))
        self.rooms: list[Room] = []

    def room(self, *, model: bool = True) -> Room:
        self.rooms.append(Room(self, model=model))
        return self.rooms[-1]

    def files(self, folder: str) -> bytes:
        """Every byte under *folder*; never of the journal, whose locks a plain read would drop."""
        found = (self.directory / folder).rglob("*")
        return b"\n".join(path.read_bytes() for path in sorted(found) if path.is_file())


class Room:
    """What one process has: a store, a gate, maintenance by hand."""

    def __init__(self, house: House, *, model: bool) -> None:
        self.house = house
        self.store = MemoryStore(
            house.directory,
            clock=lambda: house.now,
            settings=house.settings.storage,
            index_text=index_text,
        )
        self.store.catch_up()
        self.model = model
        self.gate = EmbedderGate(self.load)
        self.upkeep = Maintenance(self.store, self.gate, house.settings, lambda: house.now, embed)
        self.gate.start()
        self.gate.wait(10)

    def load(self) -> Any:
        if not self.model:
            raise EncoderUnavailable("there is no model", "get one")
        toy = self.house.toy
        self.store.adopt(toy.name, toy.fingerprint, toy.dimension)
        return toy

    def model_comes(self) -> None:
        self.model = True
        self.gate.retry()
        assert self.gate.wait(10) is not None

    def put(self, text: str, **fields: Any) -> str:
        """Write a memory without vectors, as while no model is ready."""
        self.house.now += 1.0
        now = self.house.now
        values = {"agent": "me", "occurred_at": now, "content_hash": content_hash(text), **fields}
        memory = Memory(id=new_id(now), text=text, **values)
        self.store.commit(lambda tx: tx.append(Change("put", memory.id, to_fields(memory))))
        return memory.id

    def forget(self, id: str, *, erase: bool = True) -> None:
        body = {"digests": [], "reason": "", "erase": erase}
        self.store.commit(lambda tx: tx.forget(Change("forget", id, body)))

    def embedded(self) -> int:
        return 0 if self.store.vectors is None else self.store.vectors.rows_with_vectors

    def rounds(self, number: int = 4) -> None:
        for _ in range(number):
            self.upkeep.round()

    def close(self) -> None:
        self.upkeep.stop()
        self.store.close()


@pytest.fixture
def house(tmp_path: Path, toy: Any) -> Iterator[House]:
    made = House(tmp_path / "house", toy)
    yield made
    for room in made.rooms:
        room.close()


# Who works


def test_one_works_and_the_next_takes_over_when_it_closes(house: House) -> None:
    first, second = house.room(), house.room()
    first.upkeep.round()
    second.upkeep.round()
    assert (first.upkeep.holder, second.upkeep.holder) == (True, False)
    heron = second.put("a heron")
    first.rounds()
    second.rounds()
    assert second.store.table is not None
    assert second.store.behind == {}
    assert second.store.table.ids() == [heron]
    first.close()
    second.upkeep.round()
    assert second.upkeep.holder
    assert not first.upkeep.holder


HOLDER = """
import sys, time
from pathlib import Path
from memory_core.config import Settings
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.maintenance import Maintenance
from memory_core.records import Change, Memory, to_fields
from memory_core.storage.store import MemoryStore
from memory_core.wording import embed, index_text

settings = Settings(data_dir=Path(sys.argv[1]))
store = MemoryStore(
    settings.data_dir, clock=time.time, settings=settings.storage, index_text=index_text
)
upkeep = Maintenance(store, EmbedderGate(lambda: None), settings, time.time, embed)
upkeep.round()
print(upkeep.holder, flush=True)
for line in sys.stdin:
    word, id, text = line.split(maxsplit=2)
    if word == "put":
        memory = Memory(id=id, text=text.strip(), agent="me")
        store.commit(lambda tx: tx.append(Change("put", id, to_fields(memory))))
        print("done", flush=True)
    else:
        store.catch_up()
        found = store.memories([id])
        print(found[id].text if id in found else "nothing", flush=True)
"""


@pytest.fixture
def other(house: House) -> Iterator[subprocess.Popen[str]]:
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


def test_two_processes_see_each_others_writes_at_the_next_call(
    house: House, other: subprocess.Popen[str]
) -> None:
    here = house.room(model=False)
    heron = here.put("a heron")
    assert ask(other, f"get {heron} -") == "a heron"
    id = new_id(START)
    assert ask(other, f"put {id} a weir") == "done"
    here.store.catch_up()
    assert here.store.memories([id])[id].text == "a weir"
    here.forget(heron)
    assert ask(other, f"get {heron} -") == "nothing"


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
def test_the_lock_passes_on_when_its_holder_is_killed(
    house: House, other: subprocess.Popen[str]
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
    assert here.store.behind == {}
    assert here.upkeep.problems == {}


def test_a_lock_is_kept_while_a_step_is_still_at_work(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else another process would begin to write the table beside it."""
    room, second = house.room(model=False), house.room(model=False)
    begun, end = threading.Event(), threading.Event()
    room.put("a heron")

    def slow() -> None:
        begun.set()
        end.wait(30)

    with monkeypatch.context() as patch:
        patch.setattr(room.upkeep.mirror, "keep", slow)
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
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, follower = house.room(), house.room()
    room.put("a heron")
    room.rounds()
    follower.rounds()
    sequence = room.store.journal.last()
    for each in (room, follower):
        for part in ("keep", "follow", "tidy"):
            monkeypatch.setattr(each.upkeep.mirror, part, lambda: pytest.fail("not idle"))
        monkeypatch.setattr(each.upkeep.snapshots, "keep", lambda: pytest.fail("not idle"))
        monkeypatch.setattr(each.store.journal, "meta", lambda key: pytest.fail("not idle"))
        each.rounds(3)
        assert each.upkeep.problems == {}
    assert room.store.journal.last() == sequence


def test_a_step_that_fails_keeps_no_other_from_its_work(
    house: House, monkeypatch: pytest.MonkeyPatch
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
    monkeypatch.setattr(room.upkeep.mirror, "keep", full)
    room.rounds()
    assert list(room.upkeep.problems) == ["table"]
    assert room.embedded() == 2


def test_a_step_that_goes_on_failing_is_tried_ever_more_rarely_until_a_nudge(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    room.rounds()
    tried: list[int] = []

    def full() -> None:
        tried.append(1)
        raise DiskFull("no room", "free some")

    with monkeypatch.context() as patch:
        patch.setattr(room.upkeep.mirror, "keep", full)
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
    assert room.store.behind == {}


def test_a_round_never_raises_whatever_happens(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    monkeypatch.setattr(room.store, "catch_up", lambda: 1 / 0)
    room.upkeep.round()
    assert "division" in room.upkeep.problems["journal"]


def test_the_log_is_folded_into_the_journal_when_it_has_grown(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.maintenance.WAL_BYTES", 50_000)
    room = house.room()
    for number in range(20):
        room.put(f"heron {number} " * 200)
    assert room.store.journal.stats()["wal_bytes"] > 50_000
    room.rounds()
    assert room.store.journal.stats()["wal_bytes"] < 50_000


# Vectors that come later


def test_memories_written_before_the_model_was_ready_get_their_vectors(house: House) -> None:
    room = house.room(model=False)
    ids = [room.put(f"heron {number}") for number in range(BACKFILL + 10)]
    room.rounds()
    assert room.store.table is not None
    assert room.embedded() == 0
    room.model_comes()
    room.rounds()
    assert room.embedded() == len(ids)
    assert room.store.vectors is not None
    row = room.store.columns.row(ids[3])
    wanted = house.toy.documents(["heron 3"]).astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(room.store.vectors.wholes(np.array([row])), wanted)
    again = house.room()
    assert again.embedded() == len(ids)
    asked = house.toy.asked
    room.rounds()
    again.rounds()
    assert house.toy.asked == asked


def test_only_the_holder_embeds_and_the_others_get_what_it_made(house: House) -> None:
    first, second = house.room(), house.room()
    first.rounds(1)
    second.put("a heron")
    second.rounds(1)
    assert house.toy.asked == 0
    first.rounds(1)
    second.rounds(1)
    assert (house.toy.asked, second.embedded()) == (1, 1)


@pytest.mark.parametrize("place", [0, 1, 70])
def test_a_memory_that_the_model_refuses_blocks_no_other(house: House, place: int) -> None:
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


def test_more_refused_ones_than_a_batch_hold_up_nothing(house: House) -> None:
    room = house.room()
    house.toy.refuses = lambda text: "poison" in text
    for each in range(BACKFILL + 5):
        room.put(f"poison {each}")
    ids = [room.put(f"heron {each}") for each in range(5)]
    for _ in range(BACKFILL):
        room.upkeep.nudge()
        room.rounds(1)
    assert room.embedded() == len(ids)


def test_a_refused_memory_that_is_forgotten_is_no_longer_told_of(house: House) -> None:
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
    house: House, monkeypatch: pytest.MonkeyPatch
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
    house: House, monkeypatch: pytest.MonkeyPatch
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


def test_a_model_of_another_store_embeds_nothing(house: House) -> None:
    room = house.room(model=False)
    room.store.adopt("other", "other-1", 8)
    room.put("a heron")
    room.model_comes()
    room.rounds()
    assert house.toy.asked == 0
    assert room.upkeep.problems == {}


def test_damaged_vectors_are_made_again(house: House) -> None:
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
    assert again.store.troubles.count == 0
    assert house.room().embedded() == 4


# Accesses


def counts(room: Room, ids: list[str]) -> list[int]:
    room.store.catch_up()
    found = room.store.memories(ids)
    return [found[id].access_count for id in ids]


def test_accesses_are_journalled_in_time_and_survive_a_restart(house: House) -> None:
    room = house.room()
    ids = [room.put("a heron"), room.put("a weir")]
    room.upkeep.accesses.note(ids)
    room.upkeep.accesses.note(ids[:1])
    room.rounds()
    assert counts(room, ids) == [0, 0]
    sequence = room.store.journal.last()
    house.now += house.settings.storage.access_seconds
    room.rounds()
    assert room.store.journal.last() == sequence + 1
    assert counts(room, ids) == [2, 1]
    again = house.room()
    assert counts(again, ids) == [2, 1]
    assert again.store.memories(ids)[ids[0]].last_accessed == START + 2.0


def test_accesses_of_two_processes_add_up(house: House) -> None:
    first, second = house.room(), house.room()
    ids = [first.put("a heron"), first.put("a weir")]
    for _ in range(3):
        first.upkeep.accesses.note(ids)
        second.upkeep.accesses.note(ids[1:])
    house.now += house.settings.storage.access_seconds
    first.rounds(1)
    second.rounds(1)
    assert counts(first, ids) == counts(second, ids) == [3, 6]


def test_many_accesses_are_journalled_ahead_of_time(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.storage.accesses.MOST", 3)
    room = house.room()
    ids = [room.put(f"heron {number}") for number in range(3)]
    room.upkeep.accesses.note(ids[:2])
    room.rounds(1)
    assert counts(room, ids) == [0, 0, 0]
    room.upkeep.accesses.note(ids[2:])
    room.rounds(1)
    assert counts(room, ids) == [1, 1, 1]


def test_stopping_journals_the_last_accesses(house: House) -> None:
    room = house.room()
    ids = [room.put("a heron")]
    room.upkeep.accesses.note(ids)
    room.close()
    assert counts(house.room(), ids) == [1]


def test_a_kill_loses_the_last_batch_of_accesses_and_no_other(house: House) -> None:
    room = house.room()
    ids = [room.put("a heron")]
    room.upkeep.accesses.note(ids)
    room.upkeep.accesses.flush()
    room.upkeep.accesses.note(ids)  # and then nothing more of this process
    assert counts(house.room(), ids) == [1]


def test_accesses_that_cannot_be_written_are_kept_for_the_next_time(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = house.room()
    ids = [room.put("a heron"), room.put("a weir")]

    def full(build: Callable[[Any], Any]) -> None:
        if not room.upkeep.problems:
            room.upkeep.accesses.note(ids[:1])  # meanwhile
        raise DiskFull("no room", "free some")

    room.upkeep.accesses.note(ids)
    with monkeypatch.context() as patch:
        patch.setattr(room.store.journal, "write", full)
        house.now += house.settings.storage.access_seconds
        room.rounds(1)
        assert "no room" in room.upkeep.problems["accesses"]
    house.now += house.settings.storage.access_seconds
    room.upkeep.nudge()
    room.rounds(1)
    assert counts(room, ids) == [2, 1]


def test_an_access_of_what_was_forgotten_is_left_out(house: House) -> None:
    room = house.room()
    ids = [room.put("a heron"), room.put("a weir")]
    room.upkeep.accesses.note(ids)
    room.forget(ids[0])
    room.upkeep.accesses.flush()
    assert counts(room, ids[1:]) == [1]
    room.upkeep.accesses.note(ids[:1])
    sequence = room.store.journal.last()
    room.upkeep.accesses.flush()
    assert room.store.journal.last() == sequence


# Erasing

SECRET = "the door code of the house in Graz is 4711"
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


def holding(house: House, *words: str) -> list[str]:
    """Files that hold one of *words*, as a process sees them that has not opened the journal."""
    command = [sys.executable, "-c", SEARCH, str(house.directory), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("model", [True, False])
def test_what_was_forgotten_is_erased_from_every_file(house: House, model: bool) -> None:
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
    assert holding(house, SECRET, "4711") == []
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


def test_every_process_tells_truly_whether_something_is_left(house: House) -> None:
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


def test_an_erasure_cut_short_by_a_kill_is_finished_by_the_next_holder(house: House) -> None:
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


def test_an_erasure_that_fails_is_pending_and_done_later(
    house: House, monkeypatch: pytest.MonkeyPatch
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


def test_an_old_generation_that_cannot_be_removed_keeps_the_erasure_pending(
    house: House, monkeypatch: pytest.MonkeyPatch
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


def test_a_forget_that_asks_for_no_erasure_leaves_the_generations_alone(house: House) -> None:
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


# Repair


def test_repair_builds_table_and_snapshot_anew(house: House) -> None:
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


def test_repair_where_another_process_works_says_so(house: House) -> None:
    first, second = house.room(), house.room()
    first.rounds(1)
    with pytest.raises(Busy, match=r"maintenance\.lock"):
        second.upkeep.repair()


def test_repair_while_a_failing_model_waits_for_its_time_tries_it_again(house: House) -> None:
    room = house.room()
    house.toy.refuses = lambda text: True
    room.put("a heron")
    room.rounds()
    house.toy.refuses = lambda text: False
    room.upkeep.repair()
    room.rounds(1)
    assert room.embedded() == 1


# The thread


def test_the_thread_does_the_rounds_and_stops(house: House) -> None:
    room = house.room()
    done = threading.Event()
    original = room.upkeep.mirror.keep

    def keep() -> None:
        original()
        done.set()

    room.upkeep.mirror.keep = keep  # type: ignore[method-assign]
    heron = room.put("a heron")
    room.upkeep.start()
    assert done.wait(30)
    room.upkeep.stop()
    assert not room.upkeep.holder
    assert room.store.table is not None
    assert room.store.table.ids() == [heron]
    room.upkeep.round()  # after the end: nothing
    assert not room.upkeep.holder


def test_closed_files_under_the_thread_are_a_problem_and_no_crash(house: House) -> None:
    room = house.room()
    room.put("a heron")
    room.upkeep.start()
    room.store.close()
    room.upkeep.stop()
    with pytest.raises(StorageError):
        room.store.catch_up()
