"""Numbered folders: table/<n> and index/<n>.

Derived files are never repaired in place: they are built anew beside the old ones, under the next
number. The journal holds the current number (the caller writes it), so a half-built folder is never
used. Files only; no vendors here.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_core.errors import DiskFull, StorageError
from memory_core.storage.errors import not_allowed
from memory_core.text.lazy_pattern import lazy_pattern

_NUMBER = lazy_pattern(r"[1-9][0-9]{0,8}")
_QUARANTINED = lazy_pattern(r"([1-9][0-9]{0,8})\.damaged(-[1-9][0-9]*)?")


class Generations:
    """The numbered folders under one *root*, such as table/.

    Keeps no state between calls. One process changes them at a time, the holder of
    maintenance.lock. Every method raises StorageError (DiskFull, ReadOnly) when the disk fails.
    """

    def __init__(self, root: Path) -> None:
        """Manage *root*; it is created with the first generation."""
        self._root = root

    def path(self, number: int) -> Path:
        """The folder of generation *number* (from 1), whether or not it exists."""
        if number < 1:
            raise ValueError(f"generations count from 1, not {number}")
        return self._root / str(number)

    def place(self, number: int) -> tuple[int, int] | None:
        """Device and inode of the folder of generation *number*; None when it does not exist."""
        try:
            status = self.path(number).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_dev, status.st_ino

    def numbers(self) -> list[int]:
        """The generations on disk, lowest first; folders with other names are ignored."""
        return sorted(int(name) for name in self._folders() if _NUMBER.fullmatch(name))

    def create(self) -> int:
        """Create the next folder, empty and with mode 0700, and return its number.

        The data directory must exist: one that was deleted is not made again for a table.

        Numbers rise, and none is used twice while a folder of it exists, quarantined or not, so a
        process that still has an old generation open never finds another one's files there.
        """
        taken = [*self.numbers(), *(int(name.split(".")[0]) for name in self._quarantined_names())]
        number = max(taken, default=0) + 1
        with self._disk(f"creating generation {number} in {self._root.name}"):
            self._root.mkdir(mode=0o700, exist_ok=True)
            self._root.chmod(0o700)
            folder = self.path(number)
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)
        return number

    def quarantine(self, number: int) -> Path:
        """Rename a damaged generation to <number>.damaged, for people to inspect; its new path.

        Renaming needs no space, so this works on a full disk. Raises StorageError when there is no
        such generation.
        """
        source = self.path(number)
        target = self._root / f"{number}.damaged"
        copy = 2
        while target.exists():
            target, copy = self._root / f"{number}.damaged-{copy}", copy + 1
        with self._disk(f"setting aside generation {number} in {self._root.name}"):
            return source.rename(target)

    def make_private(self, number: int) -> None:
        """Set the modes 0700 and 0600 on everything in generation *number*.

        LanceDB and FAISS leave modes to the umask, which belongs to the process and cannot be
        changed safely in a thread. Files that vanish during the walk are skipped. Raises
        StorageError.
        """
        if os.name != "posix":
            return
        with self._disk(f"closing generation {number} in {self._root.name} to others"):
            for path in self.path(number).rglob("*"):
                with suppress(FileNotFoundError):
                    wanted = 0o700 if path.is_dir() else 0o600
                    if path.stat().st_mode & 0o777 != wanted:
                        path.chmod(wanted)

    def replace_quarantined(self, number: int) -> None:
        """Quarantine generation *number* and delete the ones quarantined before: one is enough.

        Does nothing when there is no such generation. Raises StorageError.
        """
        if number in self.numbers():
            self.remove_others(number, quarantined=True)
            self.quarantine(number)

    def quarantined(self) -> list[Path]:
        """The quarantined folders, in order of name."""
        return [self._root / name for name in sorted(self._quarantined_names())]

    def remove_others(self, current: int | None, *, quarantined: bool = False) -> list[int]:
        """Delete every generation but *current*; with *quarantined* also the quarantined ones.

        Returns the deleted numbers. None as *current* deletes all. Erasure relies on this: after a
        forget nothing old may stay, so a folder that cannot be deleted raises StorageError.
        """
        gone = [number for number in self.numbers() if number != current]
        folders = [self.path(number) for number in gone]
        folders += self.quarantined() if quarantined else []
        for folder in folders:
            with self._disk(f"removing {folder.name} in {self._root.name}"):
                shutil.rmtree(folder)
        return gone

    def _folders(self) -> list[str]:
        with self._disk(f"listing {self._root.name}"):
            if not self._root.exists():
                return []
            return [entry.name for entry in self._root.iterdir() if entry.is_dir()]

    def _quarantined_names(self) -> list[str]:
        return [name for name in self._folders() if _QUARANTINED.fullmatch(name)]

    @contextmanager
    def _disk(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            if problem.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(
                    f"{doing} found no room", "free some space and try again"
                ) from problem
            if problem.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise not_allowed(f"{doing} was refused", self._root.parent) from problem
            raise StorageError(
                f"{doing} failed ({problem.strerror})", "look at the folder"
            ) from problem
