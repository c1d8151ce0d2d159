"""The memory for programs: `from anamnesis import Memory`, then remember and recall.

Names load when they are first used, so importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anamnesis.memory import AsyncMemory, Memory
    from anamnesis.transport import wrap
    from memory_core.config import Settings
    from memory_core.errors import (
        Busy,
        ChangedMeanwhile,
        DiskFull,
        EncoderUnavailable,
        IncompatibleStore,
        InvalidInput,
        MemoryCoreError,
        NotFound,
        ReadOnly,
        ScopeDenied,
        StorageError,
        TooLarge,
    )
    from memory_core.overview.pages import Page
    from memory_core.overview.request import PageRequest
    from memory_core.recall.request import Weights
    from memory_core.records import (
        Change,
        DoubtfulPair,
        ForgetReport,
        HealthReport,
        Hit,
        Identity,
        Link,
        MemoryRecord,
        Receipt,
        Recollection,
        RunReport,
        Similar,
    )
    from memory_core.remember.capture import Observation

_ROOMS = {
    "anamnesis.memory": ("AsyncMemory", "Memory"),
    "anamnesis.transport": ("wrap",),
    "memory_core.config": ("Settings",),
    "memory_core.errors": (
        "Busy", "ChangedMeanwhile", "DiskFull", "EncoderUnavailable", "IncompatibleStore",
        "InvalidInput", "MemoryCoreError", "NotFound", "ReadOnly", "ScopeDenied", "StorageError",
        "TooLarge",
    ),
    "memory_core.overview.pages": ("Page",),
    "memory_core.overview.request": ("PageRequest",),
    "memory_core.recall.request": ("Weights",),
    "memory_core.records": (
        "Change", "DoubtfulPair", "ForgetReport", "HealthReport", "Hit", "Identity", "Link",
        "MemoryRecord", "Receipt", "Recollection", "RunReport", "Similar",
    ),
    "memory_core.remember.capture": ("Observation",),
}  # fmt: skip
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [  # noqa: PLE0604, RUF100 - the names of _HOMES, written out for type checkers
    "AsyncMemory", "Busy", "Change", "ChangedMeanwhile", "DiskFull", "DoubtfulPair",
    "EncoderUnavailable",
    "ForgetReport", "HealthReport", "Hit", "Identity", "IncompatibleStore", "InvalidInput", "Link",
    "Memory", "MemoryCoreError", "MemoryRecord", "NotFound", "Observation", "Page", "PageRequest",
    "ReadOnly", "Receipt", "Recollection", "RunReport", "ScopeDenied", "Settings", "Similar",
    "StorageError", "TooLarge", "Weights", "wrap",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load *name* from where it is made."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """What can be imported from here."""
    return sorted(__all__)
