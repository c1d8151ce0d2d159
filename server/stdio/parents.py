"""Whom a server on stdin lives for: its parent and, behind wrappers, the client.

A wrapper (npx, uvx, a shell) may outlive the client and keep the pipe open that it made. So beyond
a parent whose own stdin is a pipe its parent is looked at too, as far as Linux tells; elsewhere the
parent alone counts.
"""

from __future__ import annotations

import os
import select
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_MOST = 8
"""Wrappers around wrappers that are looked at."""


class Line:
    """The parents of this process at one moment, up to the client."""

    def __init__(self) -> None:
        """Look at the parents now."""
        self._parent = os.getppid()
        self._wrappers: list[tuple[int, int]] = []
        process = self._parent
        while len(self._wrappers) < _MOST and process > 1 and _stdin(process):
            parent = _parent_of(process)
            if parent is None:
                break
            self._wrappers.append((process, parent))
            process = parent

    def broken(self) -> bool:
        """True once the parent is gone, or the process that a wrapper worked for."""
        if os.getppid() != self._parent:
            return True
        return any(_orphaned(process, parent) for process, parent in self._wrappers)


def _orphaned(process: int, parent: int) -> bool:
    """True when *process* has lost its *parent* and nobody writes to its stdin any more."""
    return _parent_of(process) not in (parent, None) and _hung_up(process)


def _stdin(process: int) -> str:
    """What *process* reads from when that is a pipe or socket, by that word; else ""."""
    with suppress(OSError):
        kind = str((_PROC / str(process) / "fd" / "0").readlink()).partition(":")[0]
        return kind if kind in ("pipe", "socket") else ""
    return ""


def _parent_of(process: int) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        stat = (_PROC / str(process) / "stat").read_text("utf-8", "replace")
        return int(stat.rpartition(")")[2].split()[1])
    return None


def _hung_up(process: int) -> bool:
    """True when the pipe that *process* reads from has no writer; a socket tells nobody else."""
    if _stdin(process) == "socket":
        return True
    try:
        file = os.open(_PROC / str(process) / "fd" / "0", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return True  # it is gone, and with it what it kept open
    try:
        poll = select.poll()
        poll.register(file, select.POLLIN)
        return any(events & select.POLLHUP for _, events in poll.poll(0))
    finally:
        os.close(file)
