"""Private folders for the time of an import: gone at its end, and at that of the process.

What a killed process left is removed by the next one that sweeps: its lock is free.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_core.errors import StorageError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PREFIX = "anamnesis-import-"
YOUNG_SECONDS = 60.0
"""A folder without a lock is so old before it is swept: its maker may be about to take it."""

_LOCK = ".lock"
_held: dict[Path, int] = {}
"""The folders of this process, each with its open lock."""


def make() -> Path:
    """A new folder that only this user may open; give it to `remove`. Raises a StorageError."""
    sweep()
    try:
        while True:
            path = Path(tempfile.mkdtemp(prefix=PREFIX))
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            if _take(lock) and (path / _LOCK).exists():
                _held[path] = lock
                return path
            os.close(lock)  # another process swept it just now
    except OSError as problem:
        raise StorageError(
            f"{tempfile.gettempdir()} cannot be written ({problem.strerror})", "set TMPDIR"
        ) from None


@contextmanager
def folder() -> Iterator[Path]:
    """A folder of `make` for the time of a block."""
    path = make()
    try:
        yield path
    finally:
        remove(path)


def remove(path: Path) -> None:
    """Delete *path* with everything in it, if it is there."""
    if (lock := _held.pop(path, None)) is not None:
        os.close(lock)
    shutil.rmtree(path, ignore_errors=True)


def remove_all() -> None:
    """Delete every folder of this process: it ends."""
    for path in list(_held):
        remove(path)


def sweep() -> None:
    """Delete the folders of processes that have ended without doing so."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if path not in _held and _is_own(path) and _is_left(path):
            remove(path)


def _is_own(path: Path) -> bool:
    """True for a folder of this user, which no link leads to."""
    try:
        is_mine = path.lstat().st_uid == os.getuid() if hasattr(os, "getuid") else True
    except OSError:
        return False
    return is_mine and path.is_dir() and not path.is_symlink()


def _is_left(path: Path) -> bool:
    """True when no process holds the lock of *path*."""
    try:
        lock = os.open(path / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return _changed(path) < time.time() - YOUNG_SECONDS
    except OSError:
        return False
    try:
        return _take(lock)
    finally:
        os.close(lock)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it went just now
        return math.inf


def _take(lock: int) -> bool:
    """True when the open file *lock* was free; it is taken until it is closed."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
