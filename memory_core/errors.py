"""What can go wrong, as the caller sees it.

    MemoryCoreError
    ├── InvalidInput          invalid_input         your argument; named, with what is allowed
    │   └── TooLarge          too_large             the text is over the limit; nothing was cut
    ├── NotFound              not_found             no such memory, or none that you may read
    ├── ScopeDenied           scope_denied          it is not yours to change
    ├── Busy                  busy                  somebody else holds the lock; try again
    ├── EncoderUnavailable    encoder_unavailable   the model that was asked for cannot be used
    ├── IncompatibleStore     incompatible_store    the directory belongs to something newer
    └── StorageError          storage               the disk or a file failed
        ├── DiskFull          disk_full
        └── ReadOnly          read_only

The text of every error begins with its code and ends with the next step:
``disk_full: the journal could not grow; free some space and repeat the call``.
"""

from __future__ import annotations

from typing import ClassVar


class MemoryCoreError(Exception):
    """Base of all errors raised on purpose; `code` is stable and part of the contract."""

    code: ClassVar[str] = "storage"

    def __init__(self, problem: str, next_step: str) -> None:
        """State the *problem* and the *next_step* that the caller can take."""
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
    """The id is unknown, or the caller may not read it; the two look alike on purpose."""

    code = "not_found"


class ScopeDenied(MemoryCoreError):
    """The caller may read the memory but not change it, or asked for a scope it does not have."""

    code = "scope_denied"


class Busy(MemoryCoreError):
    """A lock or a queue was not free in time; nothing was changed."""

    code = "busy"


class EncoderUnavailable(MemoryCoreError):
    """An embedding or gist model is missing, damaged or refuses to answer."""

    code = "encoder_unavailable"


class IncompatibleStore(MemoryCoreError):
    """The data directory was written by something this program must not touch."""

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
