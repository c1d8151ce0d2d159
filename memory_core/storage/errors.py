"""Errors of the operating system as errors of ours, each with its next step."""

from __future__ import annotations

import errno

from memory_core.errors import DiskFull, ReadOnly, StorageError

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""EFBIG: the limit of the process or of the file system for one file."""

NO_PERMISSION = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def from_errno(number: int, doing: str, reason: str) -> StorageError:
    """The error for *number* while *doing* something ("grow the journal"); *reason* in words."""
    if number in NO_ROOM:
        return DiskFull(
            f"no room to {doing} ({reason})", "free some space or raise the quota, then repeat"
        )
    if number in NO_PERMISSION:
        return ReadOnly(
            f"not allowed to {doing} ({reason})",
            "give this user write access to the data directory, or choose another",
        )
    return StorageError(f"could not {doing} ({reason})", "check the disk, then repeat the call")


def from_os_error(error: OSError, doing: str) -> StorageError:
    """The same for an OSError."""
    return from_errno(error.errno or 0, doing, error.strerror or str(error))
