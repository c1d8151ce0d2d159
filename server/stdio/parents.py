"""The parent processes of a server on stdin, up to the client that started it.

A wrapper (npx, uvx, a shell) may outlive the client and keep the server's pipe open. So where a
parent's own stdin is a pipe, its parent is watched too. That needs /proc; elsewhere only the direct
parent is watched.
"""

from __future__ import annotations

import os
import select
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_MOST = 8
"""Nested wrappers that are watched."""


class Ancestry:
    """The parents of this process when it was made, up to the client."""

    def __init__(self) -> None:
        """Read the parents of this process."""
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
        """True once the parent has ended, or the process that started a wrapper."""
        if os.getppid() != self._parent:
            return True
        return any(_orphaned(process, parent) for process, parent in self._wrappers)


def _orphaned(process: int, parent: int) -> bool:
    """True when *process* has lost its *parent* and its stdin has no writer."""
    return _parent_of(process) not in (parent, None) and _hung_up(process)


def _stdin(process: int) -> str:
    """The kind of stdin of *process* when it is "pipe" or "socket"; else ""."""
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
    """True when the stdin of *process* has no writer, or is a socket, which cannot be asked."""
    if _stdin(process) == "socket":
        return True
    try:
        file = os.open(_PROC / str(process) / "fd" / "0", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return True  # the process has ended
    try:
        poll = select.poll()
        poll.register(file, select.POLLIN)
        return any(events & select.POLLHUP for _, events in poll.poll(0))
    finally:
        os.close(file)
