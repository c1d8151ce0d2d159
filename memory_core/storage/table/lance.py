"""LanceDB's errors as ours. Does not import the vendor: its errors are recognised by their text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

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
"""The client of a REST catalogue: lancedb needs a few of its data models and imports it whole."""


@contextmanager
def light_import() -> Iterator[None]:
    """Import lancedb for the first time in this block: it takes half the processor time.

    Measured with lancedb 0.40.0 on Python 3.11: 0.95 s and 0.52 s (tests/bench/table.py). Left out
    is what serves a REST catalogue, and what checks lancedb's own classes at each import. Nothing
    changes when lancedb, or the part concerned, was imported before.
    """
    if "lancedb" not in sys.modules:
        _leave_out_rest_client()
        with _unchecked_overrides():
            yield
    else:
        yield


def _leave_out_rest_client() -> None:
    """Make the modules of REST_CLIENT importable one by one, without running an `__init__`.

    The models that lancedb takes from their own modules are the real ones. Those that it takes from
    the package are stand-ins: they name the types of calls to a catalogue.
    """
    for package in (REST_CLIENT, f"{REST_CLIENT}.models"):
        spec = None if package in sys.modules else find_spec(package)
        if spec is not None:
            sys.modules[package] = module = module_from_spec(spec)
            if package != REST_CLIENT:
                module.__dict__["__getattr__"] = _stand_in


def _stand_in(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)

    def refuse(*_: object, **__: object) -> None:
        raise NotImplementedError(f"{name} was left out: import lancedb before memory_core")

    return type(name, (), {"__init__": refuse})


@contextmanager
def _unchecked_overrides() -> Iterator[None]:
    """Do as lancedb does from Python 3.12 on: its methods are marked, their signatures unchecked.

    Before, it takes marks from the package `overrides`, which compares each method with its base.
    """
    if sys.version_info >= (3, 12):
        yield
        return
    overrides: Any = import_module("overrides")
    checked = overrides.override, overrides.EnforceOverrides
    overrides.override, overrides.EnforceOverrides = lambda method: method, object
    try:
        yield
    finally:
        overrides.override, overrides.EnforceOverrides = checked
