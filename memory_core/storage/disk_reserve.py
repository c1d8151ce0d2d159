"""The disk reserve: room for forgetting and compaction, which free space but need some first."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from memory_core.errors import DiskFull, StorageError
from memory_core.storage.errors import from_os_error
from memory_core.storage.locks import open_private

log = logging.getLogger(__name__)

R = TypeVar("R")

FILE = "reserve"
BYTES = 8 * 2**20
"""Enough for a batch of forgotten memories in the write-ahead log (500 take 1 to 6 MB, measured)
and for compacting the table of some thousand memories."""

SPARE = 4
"""The reserve is created again once this many times its size is free."""

SHARE = 8
"""On a volume so small that BYTES never has that room, the reserve is one in so many of its bytes:
too little for a batch of 500, enough for single memories."""


class DiskReserve:
    """A file of BYTES meaningless bytes, less on a small volume, deleted when the disk is full."""

    def __init__(self, directory: Path) -> None:
        """Manage the reserve in *directory*; writes nothing yet."""
        self._path = directory / FILE

    def ensure(self) -> None:
        """Create the reserve unless it exists or there is too little room. Raises StorageError."""
        try:
            usage = shutil.disk_usage(self._path.parent)
            wanted = BYTES if usage.total >= SPARE * BYTES else usage.total // SHARE
            if self._size() == wanted or usage.free < SPARE * wanted:
                return
            whole = False
            file = open_private(self._path)
            try:
                _fill(file, wanted)
                whole = True
            finally:
                os.close(file)
                if not whole:
                    self._path.unlink()
        except OSError as error:
            raise from_os_error(error, "keep a reserve", self._path.parent) from error

    def with_room(self, work: Callable[[], R]) -> R:
        """The result of *work*; on DiskFull the reserve is deleted and *work* runs once more.

        *work* must have changed nothing when it raises DiskFull.
        """
        try:
            return work()
        except DiskFull:
            if not self._release():
                raise
        log.warning("the disk is full; the reserve makes room")
        return work()

    def _release(self) -> bool:
        """Delete the reserve; False when there was none."""
        with suppress(OSError):
            self._path.unlink()
            return True
        return False

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


def _fill(file: int, size: int) -> None:
    """Fill *file* with *size* random bytes: some file systems store no zeros."""
    os.ftruncate(file, 0)
    block = os.urandom(2**20)
    while size:
        piece = block[:size]
        if os.write(file, piece) < len(piece):
            raise StorageError("the disk took a part of the reserve", "it is tried again")
        size -= len(piece)
