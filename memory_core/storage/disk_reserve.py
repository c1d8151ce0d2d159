"""Room on the disk for what makes room: forgetting and compaction need some to begin with."""

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
"""The reserve is made anew once this many times its size is free."""


class DiskReserve:
    """A file of BYTES bytes that means nothing, and goes when the disk is full."""

    def __init__(self, directory: Path) -> None:
        """Look after the reserve in *directory*; nothing is written yet."""
        self._path = directory / FILE

    def ensure(self) -> None:
        """Make the reserve if there is none and there is room enough. Raises StorageError."""
        try:
            if self._size() == BYTES or shutil.disk_usage(self._path.parent).free < SPARE * BYTES:
                return
            whole = False
            file = open_private(self._path)
            try:
                _fill(file)
                whole = True
            finally:
                os.close(file)
                if not whole:
                    self._path.unlink()
        except OSError as error:
            raise from_os_error(error, "keep a reserve") from error

    def with_room(self, work: Callable[[], R]) -> R:
        """The result of *work*, which is done once more without the reserve if it found no room.

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
        """Give the room back to the disk; False when there was none."""
        with suppress(OSError):
            self._path.unlink()
            return True
        return False

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


def _fill(file: int) -> None:
    """Make *file* take its room on the disk: random, as some file systems store no zeros."""
    os.ftruncate(file, 0)
    block = os.urandom(2**20)
    for _ in range(BYTES // len(block)):
        if os.write(file, block) < len(block):
            raise StorageError("the disk took a part of the reserve", "it is tried again")
