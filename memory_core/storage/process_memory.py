"""Settings of the C heap, for a process that runs for weeks with a dozen threads."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

_M_ARENA_MAX = -8  # malloc.h of the GNU C library
_ARENAS = 2


def limit_arenas() -> bool:
    """Limit malloc to two arenas shared by all threads; False where that is not possible.

    One thread then reuses what another freed. Measured on a server with 10,000 memories: 12 MiB
    less resident. Call it before the first thread starts.
    """
    adjust = _function("mallopt")
    return adjust is not None and bool(adjust(_M_ARENA_MAX, _ARENAS))


def trim() -> bool:
    """Return freed memory to the system; False when there was none, or no way to.

    Call it after long work. Measured with 10,000 memories: 15 to 30 MiB after the table was
    compacted, 15 after a snapshot, 100 after a run of consolidation. Takes milliseconds.
    """
    release = _function("malloc_trim")
    return release is not None and bool(release(0))


def _function(name: str) -> Any:
    """The function *name* of the GNU C library; None where there is none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):  # another C library
        return None
