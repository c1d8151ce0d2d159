"""The heap of a process that runs for weeks with a dozen threads."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

_M_ARENA_MAX = -8  # malloc.h of the GNU C library
_ARENAS = 2


def limit_arenas() -> bool:
    """Let all threads share two heaps instead of having one each; False where that is unknown.

    What a thread frees is then used by the others. Measured on a server with 10,000 memories:
    12 MiB less resident. Call it before the first thread starts.
    """
    adjust = _function("mallopt")
    return adjust is not None and bool(adjust(_M_ARENA_MAX, _ARENAS))


def trim() -> bool:
    """Give freed memory back to the system; False where nothing was, or that is unknown.

    For the end of a long piece of work. Measured with 10,000 memories: 15 to 30 MiB after the
    table was compacted, 15 after a snapshot, 100 after a run of sleep. Takes milliseconds.
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
