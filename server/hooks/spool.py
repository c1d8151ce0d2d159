"""The spool: what hooks were told and the memory has not taken over yet, a private file each.

A hook writes here before anything else, so that nothing is lost when its process is killed or no
memory can be opened; whoever opens the memory next takes it over (draining.py). Only modules that
are loaded anyway are imported.
"""

# ruff: noqa: PTH103, PTH105, PTH118, PTH208
from __future__ import annotations

import os
import time

from server.engine import plain
from server.engine.plain import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FOLDER = "spool"
DROPPED = "dropped"
"""A file whose bytes count what was dropped: appending one needs no lock."""
_UNFINISHED = 60.0
"""Seconds after which nobody writes a file any more."""
MOST_FILES = 1_000
MOST_BYTES = 64 * 2**20
"""Of all that waits; what would exceed it is dropped, and counted."""


def put(data: str, agent: str, team: str, payload: Mapping[str, Any], at: float) -> str:
    """Keep *payload*, reported at epoch seconds *at*, for *agent*; the path of its file.

    "" when the spool is full: then it is counted as dropped. Raises OSError.
    """
    folder = _made(data)
    told = {"agent": agent, "team": team, "at": at, "payload": payload}
    content = plain.dumps(told).encode("utf-8", "replace")
    held = sizes(data)
    if len(held) >= MOST_FILES or sum(held) + len(content) > MOST_BYTES:
        drop(data)
        return ""
    path = os.path.join(folder, f"{time.time_ns():020d}-{os.getpid()}")
    file = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "wb") as stream:
        stream.write(content)
    os.replace(f"{path}.new", f"{path}.json")
    return f"{path}.json"


def waiting(data: str) -> list[str]:
    """The paths of what waits, in the order in which it was reported."""
    folder = os.path.join(data, FOLDER)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names]


def sizes(data: str) -> list[int]:
    """The bytes of each file that waits."""
    found = []
    for path in waiting(data):
        with suppress(OSError):
            found.append(os.stat(path).st_size)  # noqa: PTH116
    return found


def tidy(data: str) -> None:
    """Remove what writers that were killed have left unfinished."""
    folder = os.path.join(data, FOLDER)
    with suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if name.endswith(".new") and time.time() - os.stat(path).st_mtime > _UNFINISHED:  # noqa: PTH116
                os.unlink(path)  # noqa: PTH108


def drop(data: str) -> None:
    """Count one payload as dropped. Raises OSError."""
    path = os.path.join(_made(data), DROPPED)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(file, "wb") as stream:
        stream.write(b".")


def _made(data: str) -> str:
    """The folder of the spool, which exists then."""
    folder = os.path.join(data, FOLDER)
    os.makedirs(data, mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)  # noqa: PTH102
    return folder
