"""The engine's log: one file in the data directory, which an engine begins anew when it is long."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from server.engine.launch import LOG

MOST_BYTES = 1_000_000
"""Length at which the log is set aside as `engine.log.1`, in place of the one before."""


def follow(folder: Path) -> None:
    """Let stdout and stderr of this process go to the log in *folder*, as it is named now.

    It is set aside first when it is long. Other engines of the directory write to it too.
    """
    file = folder / LOG
    with suppress(OSError):
        if file.exists() and file.stat().st_size > MOST_BYTES:
            file.replace(file.with_name(f"{LOG}.1"))
        if file.exists() and os.path.samestat(file.stat(), os.fstat(2)):
            return
        log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 2)
        os.close(log)


def last(folder: Path, lines: int) -> str:
    """The last *lines* of the log; "" when there is none."""
    found: list[str] = []
    for name in (f"{LOG}.1", LOG):
        with suppress(OSError):
            found += (folder / name).read_text("utf-8", "replace").splitlines()
    return "\n".join(found[-lines:])
