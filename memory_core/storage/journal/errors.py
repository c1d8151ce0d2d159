"""Result codes of SQLite as errors of ours, each with its next step."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from memory_core.errors import (
    Busy,
    IncompatibleStore,
    MemoryCoreError,
    ReadOnly,
    StorageError,
)
from memory_core.storage.errors import from_errno
from memory_core.storage.ownership import foreign, remedy

RESTORE = "restore a backup into an empty folder: `anamnesis restore BACKUP --data-dir DIR`"
SALVAGE = "or save what is whole: `anamnesis salvage NEW_FOLDER`, with no server running"

# Primary result codes of SQLite (sqlite.org/rescode.html), frozen by its compatibility promise.
_PERM, _BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL = 3, 5, 6, 8, 10, 11, 13
_CANTOPEN, _NOTADB = 14, 26


def from_sqlite(
    code: int, number: int, doing: str, reason: str, directory: Path | None = None
) -> MemoryCoreError:
    """The error for SQLite's primary result *code* and the system's errno *number* behind it.

    *directory* is the data directory, as in from_errno.
    """
    if code in (_BUSY, _LOCKED):
        return Busy(f"the journal is in use ({reason})", "repeat the call")
    if code == _CANTOPEN and number == errno.EACCES:
        return from_errno(number, doing, "Permission denied", directory)
    if code == _NOTADB:
        return IncompatibleStore(
            "journal.db is not a journal, or its first page is damaged",
            f"choose another data directory or {RESTORE}; nothing was changed",
        )
    if code == _CORRUPT:
        return StorageError(f"the journal is damaged ({reason})", f"{RESTORE}; {SALVAGE}")
    if code == _FULL:
        return from_errno(errno.ENOSPC, doing, os.strerror(errno.ENOSPC))  # a copy has no text
    if code in (_READONLY, _PERM):
        return from_errno(errno.EACCES, doing, reason, directory)
    return from_errno(number if code in (_IOERR, _CANTOPEN) else 0, doing, reason, directory)


def closed() -> StorageError:
    """The error of a call on a closed journal."""
    return StorageError("the journal is closed", "open it again")


def unwritable(directory: Path) -> ReadOnly:
    """The error of a write where the journal could only be opened for reading, which lasts."""
    if whose := foreign(directory):
        return ReadOnly(
            f"the data directory cannot be written: {whose}",
            f"run {remedy(directory)} and start this program again, or choose another directory",
        )
    return ReadOnly(
        "the data directory cannot be written",
        "give this user write access to the data directory and start this program again, or "
        "choose another",
    )
