"""Errors of the operating system as errors of ours, each with its next step."""

from __future__ import annotations

import errno
from pathlib import Path

from memory_core.errors import DiskFull, ReadOnly, StorageError
from memory_core.storage.ownership import foreign, remedy

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""EFBIG: the limit of the process or of the file system for one file."""

NO_PERMISSION = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def from_errno(number: int, doing: str, reason: str, directory: Path | None = None) -> StorageError:
    """The error for *number* while *doing* something ("grow the journal"); *reason* in words.

    *directory* is the data directory: where it holds files of another user, the error says so.
    """
    if number in NO_ROOM:
        return DiskFull(
            f"no room to {doing} ({reason})", "free some space or raise the quota, then repeat"
        )
    if number in NO_PERMISSION:
        return not_allowed(f"not allowed to {doing} ({reason})", directory)
    if number == errno.ELOOP:
        return StorageError(
            f"not allowed to {doing} (it is a symbolic link)", "put a file in its place"
        )
    return StorageError(f"could not {doing} ({reason})", "check the disk, then repeat the call")


def not_allowed(problem: str, directory: Path | None) -> ReadOnly:
    """The error for missing rights in *directory*, with the command that helps if there is one."""
    whose = "" if directory is None else foreign(directory)
    if directory is None or not whose:
        return ReadOnly(
            problem, "give this user write access to the data directory, or choose another"
        )
    return ReadOnly(f"{problem}: {whose}", f"run {remedy(directory)}, or choose another directory")


def from_os_error(error: OSError, doing: str, directory: Path | None = None) -> StorageError:
    """The same for an OSError."""
    return from_errno(error.errno or 0, doing, error.strerror or str(error), directory)
