"""LanceDB's errors as ours. Does not import the vendor: its errors are recognised by their text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec

from memory_core.errors import DiskFull, MemoryCoreError, ReadOnly, StorageError

# The numbers are what Rust's standard library appends; the words are what Python says.
_FULL = ("os error 28)", "os error 122)", "No space left", "Disk quota exceeded")
_REFUSED = ("os error 1)", "os error 13)", "os error 30)", "Permission denied", "Read-only file")

_PANICS = frozenset({"PanicException", "RustPanic"})


class DamagedTable(StorageError):
    """The table cannot be used as it is; it is rebuilt from the journal."""


def damaged(problem: str) -> DamagedTable:
    """The error for *problem*."""
    return DamagedTable(problem, "the table is rebuilt from the journal; run health with repair")


@contextmanager
def lance_errors(doing: str) -> Iterator[None]:
    """Raise DiskFull, ReadOnly or StorageError in place of what LanceDB or pyarrow raise inside.

    *doing* begins the message ("merging into the table"). A panic in native code arrives as a
    BaseException that only its name identifies, and becomes a StorageError too (measured: one
    flipped bit in a data file is enough).
    """
    try:
        yield
    except MemoryCoreError:
        raise
    except (OSError, RuntimeError, ValueError) as problem:
        raise _translated(doing, problem) from problem
    except BaseException as problem:
        if type(problem).__name__ not in _PANICS:
            raise
        raise _translated(doing, problem) from problem


def _translated(doing: str, problem: BaseException) -> StorageError:
    said = str(problem)
    if any(mark in said for mark in _FULL):
        return DiskFull(f"{doing} found no room", "free some space; nothing remembered is lost")
    if any(mark in said for mark in _REFUSED):
        return ReadOnly(f"{doing} was refused", "make the data directory writable")
    reason = said.splitlines()[0][:200] if said else type(problem).__name__
    return damaged(f"{doing} failed ({reason})")


REST_CLIENT = "lance_namespace_urllib3_client"
"""The client of a REST catalogue: lancedb needs its data models and imports its calls as well."""


def leave_out_rest_client() -> None:
    """Make the modules of REST_CLIENT importable one by one, without running its `__init__`.

    Call before lancedb is imported for the first time. Measured with lancedb 0.40.0: its import
    takes half the time and 14 MiB less (tests/bench/table.py). The models that lancedb uses are the
    real ones; only names exported by the package itself are missing, and they serve connections to
    a REST catalogue.
    """
    spec = None if REST_CLIENT in sys.modules else find_spec(REST_CLIENT)
    if spec is not None:
        sys.modules[REST_CLIENT] = module_from_spec(spec)
