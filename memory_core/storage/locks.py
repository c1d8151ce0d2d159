"""Locks between processes (one file each) and between the threads of one process."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_core.errors import Busy
from memory_core.storage.errors import from_os_error

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

POLL_SECONDS = 0.0003
"""How often a waiting lock polls. With a blocking flock the next waiter owned the lock before its
process, or its interpreter, could run: five busy writers committed half as often, and one whose
interpreter was held by an import delayed all others for 1.4 s (measured)."""

_TAKEN = frozenset({errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN, errno.EDEADLK})


class FileLock:
    """An exclusive lock between processes, freed by the system when its holder dies.

    flock on POSIX, LockFileEx on Windows; a waiting lock polls. The file stays, with mode 0600, and
    holds at most the id of a process. Not re-entrant: one holder, also among the threads and the
    FileLock objects of one process.
    """

    def __init__(self, path: Path) -> None:
        """Name the lock file; it is created when the lock is first taken."""
        self._path = path
        self._file: int | None = None

    @property
    def held(self) -> bool:
        """True while this object holds the lock, in the file that is at its path.

        Who deletes or replaces the file frees the lock for others.
        """
        return self._file is not None and _is_at(self._file, self._path)

    def acquire(self, seconds: float = 0.0) -> bool:
        """Take the lock, waiting at most *seconds*; False when it was not free in time.

        Raises ReadOnly, DiskFull or StorageError when the lock file cannot be opened.
        """
        if self.held:
            raise RuntimeError(f"{self._path.name} is already held by this object")
        self.release()
        try:
            self._file = self._try(seconds)
        except OSError as error:
            raise from_os_error(error, f"lock {self._path.name}", self._path.parent) from error
        return self._file is not None

    def release(self) -> None:
        """Free the lock. Does nothing when it is not held."""
        file, self._file = self._file, None
        if file is not None:
            _unlock(file)
            os.close(file)

    def record_owner(self) -> None:
        """Write the id of this process into the file of the lock, which it holds.

        For people to read; the lock works without it, so a full disk does not matter.
        """
        assert self._file is not None
        with suppress(OSError):
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, f" {os.getpid():<20d}\n".encode())

    def owner(self) -> int:
        """The process id of the last holder, which may have ended since; 0 when there was none."""
        try:
            with self._path.open("rb") as file:
                file.seek(1)  # Windows locks the first byte for reading too
                return int(file.read(20) or 0)
        except (OSError, ValueError):
            return 0

    @contextmanager
    def hold(self, seconds: float) -> Iterator[None]:
        """Hold the lock for a block. Raises Busy when it was not free within *seconds*.

        The error names the process that holds it, and whether that was stopped.
        """
        if not self.acquire(seconds):
            raise self._taken()
        if self.owner() != os.getpid():  # a write only when another process was the last one
            self.record_owner()
        try:
            yield
        finally:
            self.release()

    def _taken(self) -> Busy:
        owner = self.owner()
        name = f"process {owner}" if owner else "another process"
        problem = f"{name} holds {self._path.name}"
        if owner and _is_stopped(owner):
            return Busy(
                f"{problem} and was stopped, as by Ctrl-Z",
                f"continue it with `kill -CONT {owner}`, or end it with `kill -9 {owner}`",
            )
        return Busy(problem, "repeat the call")

    def _try(self, seconds: float) -> int | None:
        deadline = time.monotonic() + seconds
        while True:
            file = open_private(self._path)
            taken = False
            try:
                while not (taken := _try_lock(file)) and time.monotonic() < deadline:
                    time.sleep(POLL_SECONDS)
                if taken and _is_at(file, self._path):
                    return file
            except BaseException:
                os.close(file)
                raise
            os.close(file)  # not free in time, or the file was deleted meanwhile
            if not taken:
                return None


def _is_stopped(process: int) -> bool:
    """True when Linux says that *process* is stopped; False elsewhere."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[:1] in (["T"], ["t"])


def _is_at(file: int, path: Path) -> bool:
    """True when *file* is the file that is at *path* now."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def open_private(path: Path) -> int:
    """A descriptor of *path*, read and write; created with mode 0600 under any umask.

    A symbolic link is not followed: whoever made it would choose what is overwritten.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    if sys.platform != "win32":
        os.fchmod(file, 0o600)
    return file


if sys.platform == "win32":

    def _try_lock(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


class RWLock:
    """Many readers or one writer, among the threads of one process.

    A waiting writer goes before later readers, so a stream of recalls cannot starve a write. Not
    re-entrant: a thread that holds it must not acquire it again.
    """

    def __init__(self) -> None:
        """Start free."""
        self._changed = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting_writers = 0

    @contextmanager
    def read(self) -> Iterator[None]:
        """Share the lock with other readers for a block."""
        with self._changed:
            while self._writing or self._waiting_writers:
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                if not self._readers:
                    self._changed.notify_all()

    @contextmanager
    def write(self) -> Iterator[None]:
        """Hold the lock exclusively for a block."""
        with self._changed:
            self._waiting_writers += 1
            try:
                while self._writing or self._readers:
                    self._changed.wait()
                self._writing = True
            finally:
                self._waiting_writers -= 1
                if not self._writing:
                    self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
