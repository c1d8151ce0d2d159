"""Whether the journal's open files are still the ones at their paths.

A deleted, moved or replaced file stays open: SQLite goes on writing to it, and all of that is gone
when the process ends. SQLite itself looks for this only without a write-ahead log.
"""

from __future__ import annotations

from pathlib import Path

from memory_core.errors import StorageError
from memory_core.storage.errors import from_os_error
from memory_core.storage.journal import files

_Place = tuple[int, int] | None
"""Device and inode of the file at a path; None when there is none. The inode of an open file is
not used again, so two equal places are one file."""


class Presence:
    """Compares device and inode of the journal and its companions with those that were opened."""

    def __init__(self, journal: Path) -> None:
        """Watch *journal*, which exists and is opened next."""
        self._journal = journal
        self._log = files.log_of(journal)
        self._beside = (self._log, files.index_of(journal))
        self._own = _place(journal)
        self._others: tuple[_Place, ...] = ()

    def note(self) -> None:
        """Take what is at the companions' paths for what SQLite has just opened.

        Raises StorageError when the journal was replaced since this object was made.
        """
        self._others = tuple(map(_place, self._beside))
        self.require_journal()

    @property
    def intact(self) -> bool:
        """True while every file is in its place; costs three calls of stat."""
        if _place(self._journal) != self._own:
            return False
        return not self._others or tuple(map(_place, self._beside)) == self._others

    @property
    def log_missing(self) -> bool:
        """True when there is no write-ahead log at its path."""
        return _place(self._log) is None

    def require_journal(self) -> None:
        """Raise StorageError unless the journal at its path is the one that was opened."""
        found = _place(self._journal)
        if found == self._own:
            return
        restart = "restart this program to go on with what is there now"
        if found is None:
            raise StorageError(
                f"{self._journal} was deleted or moved away while it was open; nothing is stored",
                f"move the data folder back, or restore a backup there, and {restart}",
            )
        raise StorageError(
            f"{self._journal} was replaced by another file while it was open; nothing is stored",
            f"stop what replaces it (a sync tool, a restored backup), then {restart}",
        )


def _place(path: Path) -> _Place:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise from_os_error(error, f"look at {path}", path.parent) from error
    return status.st_dev, status.st_ino
