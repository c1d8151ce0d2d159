"""The errors that a caller can see, with their codes.

    MemoryCoreError
    ├── InvalidInput          invalid_input         the argument is named, with what is allowed
    │   └── TooLarge          too_large             the text is over the limit; it was not cut
    ├── NotFound              not_found             no such memory, or none that you may read
    ├── ScopeDenied           scope_denied          the memory is not yours to change
    ├── ChangedMeanwhile      changed_meanwhile     not the version that the caller has seen
    ├── Busy                  busy                  a lock or place was not free; try again
    ├── EncoderUnavailable    encoder_unavailable   the configured model cannot be used
    ├── IncompatibleStore     incompatible_store    the data was written by another version
    └── StorageError          storage               reading or writing a file failed
        ├── DiskFull          disk_full
        └── ReadOnly          read_only

The text of every error begins with its code and ends with the next step:
``disk_full: the journal could not grow; free some space and repeat the call``.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import ClassVar


class MemoryCoreError(Exception):
    """Base of all errors that callers handle; `code` is stable and part of the interface."""

    code: ClassVar[str] = "storage"

    def __init__(self, problem: str, next_step: str) -> None:
        """Describe the *problem* and the *next_step* that the caller can take."""
        super().__init__(f"{self.code}: {problem}; {next_step}")
        self.problem = problem
        self.next_step = next_step


class InvalidInput(MemoryCoreError):
    """An argument is out of range, malformed or unknown."""

    code = "invalid_input"


class TooLarge(InvalidInput):
    """A text is longer than a memory may be."""

    code = "too_large"


class NotFound(MemoryCoreError):
    """The id is unknown, or the caller may not read it; the two look alike by design."""

    code = "not_found"


class ScopeDenied(MemoryCoreError):
    """The caller may read the memory but not change it, or asked for a scope it does not have."""

    code = "scope_denied"


class ChangedMeanwhile(MemoryCoreError):
    """The memory is not as the caller has seen it; nothing was changed."""

    code = "changed_meanwhile"


class Busy(MemoryCoreError):
    """A lock or a queue was not free in time; nothing was changed."""

    code = "busy"


class EncoderUnavailable(MemoryCoreError):
    """An embedding or gist model is missing, damaged or does not answer."""

    code = "encoder_unavailable"


class IncompatibleStore(MemoryCoreError):
    """The data directory was written by a program whose files this one must not change."""

    code = "incompatible_store"


class StorageError(MemoryCoreError):
    """Reading or writing the data directory failed."""

    code = "storage"


class DiskFull(StorageError):
    """There is no room left on the device, or the quota is used up."""

    code = "disk_full"


class ReadOnly(StorageError):
    """The data directory cannot be written."""

    code = "read_only"


abandoned: ContextVar[threading.Event | None] = ContextVar("abandoned", default=None)
"""Set once nobody waits any more for the call that this thread works on; None: somebody does."""


def stop_if_abandoned() -> None:
    """Raise Busy when nobody waits for the call any more: for loops that may take long.

    Not while something is half written: what is stopped must have changed nothing, or all of it.
    """
    flag = abandoned.get()
    if flag is not None and flag.is_set():
        raise Busy("nobody waits for this call any more", "it was stopped; repeat it")
