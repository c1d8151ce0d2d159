"""The memory that this process uses, as the system counts it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from server import __version__

_ROLLUP = Path("/proc/self/smaps_rollup")
_NAMES = {"Rss:": "resident", "Pss:": "proportional"}


def own() -> dict[str, Any]:
    """What a process says of itself that shares its memory with no client."""
    return {
        "shared": False,
        "version": __version__,
        "pid": os.getpid(),
        "memory": of_this_process(),
    }


def of_this_process() -> dict[str, int]:
    """Bytes: `resident`, and `proportional` with shared pages counted in parts; {} if unknown."""
    found: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for line in _ROLLUP.read_text("ascii").splitlines():
            name, *rest = line.split()
            if name in _NAMES:
                found[_NAMES[name]] = int(rest[0]) * 1024
    return found
