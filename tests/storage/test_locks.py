"""Locks between processes and between threads."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import Busy, ReadOnly, StorageError
from memory_core.storage import locks
from memory_core.storage.locks import FileLock, RWLock

pytestmark = pytest.mark.usefixtures("processes")

ROOT = Path(__file__).parents[2]
LONG = 30.0

HOLDER = """
import sys
from pathlib import Path
from memory_core.storage.locks import FileLock
lock = FileLock(Path(sys.argv[1]))
assert lock.acquire()
print("held", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_only_one_of_two_objects_holds_the_lock(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire()
    assert first.held
    assert not second.acquire()
    assert not second.acquire(0.01)
    assert not second.held
    first.release()
    assert not first.held
    assert second.acquire()
    second.release()


def test_the_holder_asking_again_is_an_error_of_the_program(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    with pytest.raises(RuntimeError, match="already held"):
        lock.acquire()
    lock.release()


def test_releasing_a_free_lock_does_nothing(tmp_path: Path) -> None:
    FileLock(tmp_path / "lock").release()
    assert not (tmp_path / "lock").exists()


def test_hold_raises_busy_when_the_time_is_over(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    with first.hold(0):
        with pytest.raises(Busy, match="lock"), second.hold(0.01):
            pytest.fail("the lock was given twice")
        assert first.held
    assert not first.held
    with second.hold(0):
        assert second.held


def test_a_waiting_process_gets_the_lock_when_it_is_released(tmp_path: Path) -> None:
    process = holder(tmp_path / "lock")
    lock = FileLock(tmp_path / "lock")
    got: list[bool] = []
    waiting = threading.Thread(target=lambda: got.append(lock.acquire(LONG)))
    try:
        assert not lock.acquire()
        waiting.start()
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        waiting.join(LONG)
        assert got == [True]
    finally:
        lock.release()
        end(process)


HOLDING = HOLDER.replace("assert lock.acquire()", "held = lock.hold(0); held.__enter__()")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says that a process is stopped")
def test_busy_names_the_process_and_how_to_continue_a_stopped_one(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path / "lock")],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    lock = FileLock(tmp_path / "lock")
    try:
        with pytest.raises(Busy) as running, lock.hold(0.0):
            pytest.fail("the lock was given twice")
        assert running.value.problem == f"process {process.pid} holds lock"
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        with pytest.raises(Busy, match="was stopped") as stopped, lock.hold(0.0):
            pytest.fail("the lock was given twice")
        assert f"kill -CONT {process.pid}" in stopped.value.next_step
    finally:
        end(process)
    with lock.hold(LONG):
        assert lock.owner() == os.getpid()


def test_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    process = holder(tmp_path / "lock")
    lock = FileLock(tmp_path / "lock")
    assert not lock.acquire()
    end(process)
    assert lock.acquire(LONG)
    lock.release()


def test_an_abandoned_wait_does_not_keep_the_lock(tmp_path: Path) -> None:
    first, second, third = (FileLock(tmp_path / "lock") for _ in range(3))
    assert first.acquire()
    assert not second.acquire(0.01)
    first.release()
    assert third.acquire()
    third.release()


@pytest.mark.skipif(sys.platform == "win32", reason="no file modes")
def test_the_lock_file_is_private_under_any_umask(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; os.umask(int(sys.argv[2], 8));"
        "from memory_core.storage.locks import FileLock; FileLock(Path(sys.argv[1])).acquire()"
    )
    for mask in ("000", "022", "377"):
        path = tmp_path / f"lock{mask}"
        subprocess.run([sys.executable, "-c", code, str(path), mask], cwd=ROOT, check=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_unwritable_place_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(locks, "open_private", refuse)
    with pytest.raises(ReadOnly, match="lock"):
        FileLock(tmp_path / "lock").acquire()


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
@pytest.mark.parametrize("later", [False, True])
def test_a_file_system_without_locks_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    answers = [BlockingIOError(errno.EWOULDBLOCK, "taken")] if later else []

    def refuse(file: int, how: int) -> None:
        raise answers.pop() if answers else OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    lock = FileLock(tmp_path / "lock")
    with pytest.raises(StorageError, match="No locks available"):
        lock.acquire(LONG)
    assert not lock.held


@pytest.mark.skipif(sys.platform == "win32", reason="SIGSTOP")
def test_one_who_waits_and_is_stopped_keeps_nobody_from_the_lock(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    code = HOLDER.replace("lock.acquire()", "(print('here', flush=True), lock.acquire(60))[1]")
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "lock")],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        lock.release()
        assert lock.acquire()
        lock.release()
        process.send_signal(signal.SIGCONT)
        assert process.stdout.readline() == "held\n"
        assert not lock.acquire()
    finally:
        end(process)


def test_readers_share_and_a_writer_is_alone() -> None:
    lock = RWLock()
    inside = threading.Barrier(3)
    log: list[str] = []

    def read() -> None:
        with lock.read():
            inside.wait(LONG)  # passes only when two readers are in together
            inside.wait(LONG)
            log.append("read")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    inside.wait(LONG)
    writer = threading.Thread(target=lambda: write(lock, log))
    writer.start()
    assert log == []
    inside.wait(LONG)
    for thread in (*readers, writer):
        thread.join(LONG)
    assert log == ["read", "read", "write"]


def write(lock: RWLock, log: list[str]) -> None:
    with lock.write():
        log.append("write")


def test_a_waiting_writer_goes_before_readers_that_come_later(until: Any) -> None:
    lock = RWLock()
    log: list[str] = []

    def read() -> None:
        with lock.read():
            log.append("read")

    with lock.read():
        writer = threading.Thread(target=write, args=(lock, log))
        writer.start()
        until(lambda: lock._waiting_writers)
        later = threading.Thread(target=read)
        later.start()
        later.join(0.05)
        assert log == []
    writer.join(LONG)
    later.join(LONG)
    assert log == ["write", "read"]


def test_the_lock_is_free_again_after_an_exception() -> None:
    lock = RWLock()
    for enter in (lock.write, lock.read):
        with pytest.raises(ValueError, match="inside"), enter():
            raise ValueError("inside")
    with lock.write():
        pass
