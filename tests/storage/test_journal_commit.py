"""Many writers: shared commits, failures that stay with their caller, other processes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from memory_core.errors import Busy, DiskFull, MemoryCoreError, ReadOnly, StorageError
from memory_core.records import Change
from memory_core.storage.journal import group_commit
from memory_core.storage.journal.group_commit import GroupCommit
from memory_core.storage.journal.journal import Journal, Transaction
from memory_core.storage.locks import FileLock

ROOT = Path(__file__).parents[2]
LONG = 30.0
Build = Callable[[Transaction], Any]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal.open(tmp_path / "data", clock=lambda: 0.0)
    yield opened
    opened.close()


def note(name: str) -> Build:
    return lambda transaction: transaction.append(Change("meta", name, {"value": name}))


def names(journal: Journal) -> list[str]:
    return [change.target for change in journal.changes(0, 100_000)]


class Crowd:
    """Threads that all write at once, each keeping its result or its exception."""

    def __init__(self, journal: Journal, builds: dict[str, Build]) -> None:
        self.results: dict[str, Any] = {}
        self._journal = journal
        self._threads = [threading.Thread(target=self._write, args=each) for each in builds.items()]
        for thread in self._threads:
            thread.start()

    def _write(self, name: str, build: Build) -> None:
        try:
            self.results[name] = self._journal.write(build)
        except BaseException as error:
            self.results[name] = error

    def queued(self) -> None:
        """Wait until all but the leader are in the queue."""
        deadline = time.monotonic() + LONG
        while len(self._journal._group._queue) < len(self._threads):
            assert time.monotonic() < deadline
            threading.Event().wait(0.001)

    def join(self) -> dict[str, Any]:
        for thread in self._threads:
            thread.join(LONG)
            assert not thread.is_alive()
        return self.results


def test_writers_that_wait_together_are_committed_together(journal: Journal) -> None:
    """While the lock is held elsewhere 64 writers queue; then one commit serves them all."""
    lock = FileLock(journal._path.parent / "write.lock")
    journal.write(note("first"))
    before = journal.commits
    assert lock.acquire()
    crowd = Crowd(journal, {f"n{i}": note(f"n{i}") for i in range(64)})
    crowd.queued()
    lock.release()
    results = crowd.join()
    assert journal.commits - before == 1
    assert sorted(results.values()) == list(range(2, 66))
    assert {names(journal)[seq - 1]: seq for seq in results.values()} == results


def test_every_acknowledged_write_of_a_crowd_is_there_once(journal: Journal) -> None:
    def many(i: int) -> Build:
        def build(transaction: Transaction) -> Any:
            return note(f"n{i}")(transaction)

        return build

    for wave in range(8):
        crowd = Crowd(journal, {f"n{i}": many(i) for i in range(wave * 64, wave * 64 + 64)})
        assert sorted(crowd.join().values()) == list(range(wave * 64 + 1, wave * 64 + 65))
    assert sorted(names(journal)) == sorted(f"n{i}" for i in range(512))
    assert journal.commits < 512


def test_a_failing_build_harms_only_its_caller(journal: Journal) -> None:
    def fail(transaction: Transaction) -> None:
        note("half done")(transaction)
        raise ValueError("mine")

    def constraint(transaction: Transaction) -> None:
        transaction._db.execute("INSERT INTO meta VALUES('a', NULL)")

    lock = FileLock(journal._path.parent / "write.lock")
    assert lock.acquire()
    builds: dict[str, Build] = {f"n{i}": note(f"n{i}") for i in range(8)}
    crowd = Crowd(journal, {**builds, "bad": fail, "worse": constraint})
    crowd.queued()
    lock.release()
    results = crowd.join()
    assert journal.commits == 1
    assert isinstance(results.pop("bad"), ValueError)
    assert isinstance(results.pop("worse"), StorageError)
    assert sorted(results.values()) == list(range(1, 9))
    assert sorted(names(journal)) == sorted(builds)


def test_a_write_inside_a_write_is_refused_instead_of_waiting_for_itself(journal: Journal) -> None:
    with pytest.raises(RuntimeError, match="another"):
        journal.write(lambda transaction: journal.write(note("inner")))
    assert names(journal) == []
    assert journal.write(note("after")) == 1


def test_entries_of_one_commit_see_the_earlier_ones(journal: Journal) -> None:
    """Two writers of the same text in one commit: the second finds the first."""

    def once(transaction: Transaction) -> int:
        if transaction.receipt("key") is not None:
            return 0
        transaction.save_receipt("key", {}, [])
        return transaction.append(Change("meta", "k", {"value": 1}))

    lock = FileLock(journal._path.parent / "write.lock")
    assert lock.acquire()
    crowd = Crowd(journal, {f"n{i}": once for i in range(16)})
    crowd.queued()
    lock.release()
    assert sorted(crowd.join().values()) == [0] * 15 + [1]
    assert journal.commits == 1


def test_a_lock_held_too_long_is_busy_and_changes_nothing(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path, clock=lambda: 0.0, lock_seconds=0.05)
    lock = FileLock(tmp_path / "write.lock")
    with lock.hold(0):
        crowd = Crowd(journal, {f"n{i}": note(f"n{i}") for i in range(4)})
        assert all(isinstance(each, Busy) for each in crowd.join().values())
        assert journal.checkpoint() is False
        assert journal.last() == 0
    assert journal.write(note("after")) == 1
    journal.close()


def test_an_open_transaction_of_another_program_is_busy(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path, clock=lambda: 0.0, lock_seconds=0.05)
    other = apsw.Connection(str(tmp_path / "journal.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy):
        journal.write(note("a"))
    other.execute("ROLLBACK")
    other.close()
    assert journal.write(note("a")) == 1
    journal.close()


def test_a_checkpoint_waits_for_no_reader(journal: Journal, tmp_path: Path) -> None:
    journal.write(note("a"))
    reader = apsw.Connection(str(tmp_path / "data" / "journal.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM changes").fetchall()
    journal.write(note("b"))
    assert journal.checkpoint() is False
    assert journal.checkpoint(truncate=True) is False
    assert journal.write(note("c")) == 3
    reader.execute("COMMIT")
    reader.close()
    assert journal.checkpoint() is True
    assert journal.checkpoint(truncate=True) is True
    assert journal.stats()["wal_bytes"] == 0
    assert names(journal) == ["a", "b", "c"]


class Refusing:
    """A connection whose COMMIT fails once, as a full or failing disk makes it fail."""

    def __init__(self, real: apsw.Connection, error: apsw.Error, number: int) -> None:
        self.real = real
        self.error = error
        self.system_errno = number

    def execute(self, statements: str, bindings: Any = None) -> Any:
        if statements == "COMMIT":
            raise self.error
        return self.real.execute(statements, bindings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def vendor_error(kind: type[apsw.Error], code: int) -> apsw.Error:
    error = kind("made up")
    error.result = code
    return error


@pytest.mark.parametrize(
    ("kind", "code", "number", "expected", "checked"),
    [
        (apsw.FullError, 13, 0, DiskFull, False),
        (apsw.IOError, 10, 28, DiskFull, True),
        (apsw.IOError, 10, 122, DiskFull, True),
        (apsw.IOError, 10, 27, DiskFull, True),
        (apsw.IOError, 10, 5, StorageError, True),
        (apsw.ReadOnlyError, 8, 0, ReadOnly, True),
        (apsw.CantOpenError, 14, 30, ReadOnly, True),
        (apsw.CorruptError, 11, 0, StorageError, True),
        (apsw.BusyError, 5, 0, Busy, False),
    ],
)
def test_a_failed_commit_acknowledges_nobody_and_is_checked_before_the_next(
    journal: Journal,
    kind: type[apsw.Error],
    code: int,
    number: int,
    expected: type[MemoryCoreError],
    checked: bool,
) -> None:
    journal.write(note("kept"))
    assert journal._writer is not None
    real = journal._writer
    journal._writer = Refusing(real, vendor_error(kind, code), number)  # type: ignore[assignment]
    lock = FileLock(journal._path.parent / "write.lock")
    assert lock.acquire()
    crowd = Crowd(journal, {f"n{i}": note(f"n{i}") for i in range(4)})
    crowd.queued()
    lock.release()
    errors = list(crowd.join().values())
    assert [type(each) for each in errors] == [expected] * 4
    assert len({id(each) for each in errors}) == 4
    assert names(journal) == ["kept"]
    assert journal._doubtful is checked
    if expected is Busy:
        journal._writer = real
    else:
        assert journal._writer is None
    assert journal.write(note("after")) == 2
    assert journal._doubtful is False
    assert names(journal) == ["kept", "after"]
    assert journal.check() == []


class FailingCheckpoint(Refusing):
    """A connection that cannot copy its log, and commits."""

    def execute(self, statements: str, bindings: Any = None) -> Any:
        return self.real.execute(statements, bindings)

    def wal_checkpoint(self, **_: Any) -> Any:
        raise self.error


def test_a_checkpoint_that_fails_is_a_typed_error_and_writing_goes_on(journal: Journal) -> None:
    journal.write(note("a"))
    assert journal._writer is not None
    error = vendor_error(apsw.FullError, 13)
    journal._writer = FailingCheckpoint(journal._writer, error, 0)  # type: ignore[assignment]
    with pytest.raises(DiskFull):
        journal.checkpoint()
    assert journal.write(note("b")) == 2


@pytest.mark.parametrize("doubtful", [False, True])
def test_a_log_that_cannot_be_copied_stops_writers_only_after_a_failed_sync(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, doubtful: bool
) -> None:
    journal.write(note("a"))
    assert journal._writer is not None
    journal._writer.close()
    journal._writer = None
    journal._doubtful = doubtful
    real, error = journal._connect, vendor_error(apsw.IOError, 10)
    monkeypatch.setattr(journal, "_connect", lambda: FailingCheckpoint(real(), error, 5))
    if doubtful:
        with pytest.raises(StorageError, match="after a failed write"):
            journal.write(note("b"))
        monkeypatch.undo()
    assert journal.write(note("b")) == 2


def test_a_long_commit_of_this_process_is_busy(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path, clock=lambda: 0.0, lock_seconds=0.02)
    with journal._writing, pytest.raises(Busy):
        journal.write(note("a"))
    assert journal.write(note("a")) == 1
    journal.close()


def test_a_journal_found_damaged_after_a_failure_takes_no_more_writes(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.write(note("kept"))
    journal._doubtful = True
    assert journal._writer is not None
    journal._writer.close()
    journal._writer = None
    real = journal._connect

    class Sick:
        def __init__(self) -> None:
            self.real = real()

        def execute(self, statements: str, bindings: Any = None) -> Any:
            if "quick_check" in statements:
                return self.real.execute("SELECT 'row 7 missing from index'")
            return self.real.execute(statements, bindings)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.real, name)

    monkeypatch.setattr(journal, "_connect", Sick)
    for _ in range(2):
        with pytest.raises(StorageError, match="row 7"):
            journal.write(note("no"))
    assert names(journal) == ["kept"]
    monkeypatch.undo()
    assert journal.write(note("healed")) == 2


def test_an_interrupted_leader_leaves_the_queue_working(journal: Journal, until: Any) -> None:
    def interrupt(transaction: Transaction) -> None:
        note("half done")(transaction)
        raise KeyboardInterrupt

    lock = FileLock(journal._path.parent / "write.lock")
    assert lock.acquire()
    crowd = Crowd(journal, {"n1": note("n1"), "n2": note("n2")})
    crowd.queued()
    outcome: list[BaseException] = []

    def third() -> None:
        try:
            journal.write(interrupt)
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=third)
    thread.start()
    until(lambda: len(journal._group._queue) >= 3)
    lock.release()
    thread.join(LONG)
    results = crowd.join()
    # Whoever led saw the interrupt itself; the others are told that nothing was stored.
    everybody = [*results.values(), *outcome]
    assert all(isinstance(each, StorageError | KeyboardInterrupt) for each in everybody)
    assert names(journal) == []
    assert journal.write(note("after")) == 1


@pytest.mark.parametrize("elected", [False, True])
def test_an_interrupted_follower_leaves_the_queue_or_hands_on_the_lead(
    monkeypatch: pytest.MonkeyPatch, elected: bool, until: Any
) -> None:
    """The follower is interrupted while it waits, or just when it has become the leader."""
    committing, go = threading.Event(), threading.Event()
    done: list[str] = []

    def commit(entries: list[group_commit.PendingWrite]) -> None:
        done.extend(entry.build(None) for entry in entries)
        committing.set()
        assert go.wait(LONG)

    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if elected:
                assert super().wait(LONG)
            raise KeyboardInterrupt

    class InterruptedEntry(group_commit.PendingWrite):
        def __init__(self, build: Callable[[Any], Any], deadline: float) -> None:
            super().__init__(build, deadline)
            self.woken = Interrupted()

    group = GroupCommit(lambda _: contextlib.nullcontext(), commit)

    def start(name: str) -> threading.Thread:
        def run() -> None:
            with contextlib.suppress(KeyboardInterrupt):
                group.run(lambda _: name, LONG)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    leader = start("leader")
    assert committing.wait(LONG)
    monkeypatch.setattr(group_commit, "PendingWrite", InterruptedEntry)
    follower = start("gone")
    if elected:
        until(lambda: len(group._queue) == 1)
    else:
        follower.join(LONG)
    monkeypatch.undo()
    last = start("last")
    until(lambda: len(group._queue) == (2 if elected else 1))
    go.set()
    for thread in (leader, follower, last):
        thread.join(LONG)
        assert not thread.is_alive()
    assert done == ["leader", "last"]
    assert group._leading is False


WRITER = """
import sys, time
from pathlib import Path
from memory_core.records import Change
from memory_core.storage.journal.journal import Journal
journal = Journal.open(Path(sys.argv[1]), clock=time.time)
for i in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}.{i}"
    seq = journal.write(lambda t: t.append(Change("meta", name, {"value": i})))
    assert name in {c.target for c in journal.changes(seq - 1)}
    print(seq, name, flush=True)
journal.close()
"""


@pytest.mark.usefixtures("processes")
def test_two_processes_lose_nothing_and_number_everything_once(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name, "200"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("p", "q")
    ]
    said = [process.communicate(timeout=100)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    told = {int(seq): name for each in said for seq, name in zip(*[iter(each)] * 2, strict=True)}
    assert sorted(told) == list(range(1, 401))
    journal = Journal.open(tmp_path, clock=lambda: 0.0)
    assert {c.seq: c.target for c in journal.changes(0, 1000)} == told
    assert journal.check() == []
    journal.close()


@pytest.mark.usefixtures("processes")
def test_processes_that_create_the_same_journal_at_once_all_succeed(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "new"), str(i), "1"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
        )
        for i in range(4)
    ]
    assert [process.wait(LONG * 2) for process in processes] == [0] * 4
    journal = Journal.open(tmp_path / "new", clock=lambda: 0.0)
    assert sorted(names(journal)) == [f"{i}.0" for i in range(4)]
    journal.close()
