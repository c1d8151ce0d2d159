"""The engines that tests start: which live, and how they end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from processes import commands, ended

from server.engine import client, endpoint, wire
from server.engine.launch import NoEngine

SECONDS = 30.0


def alive(folder: Path) -> list[int]:
    """The processes that are engines of data directories in *folder*, where there is /proc."""
    return sorted(directories(folder))


def directories(folder: Path) -> dict[int, str]:
    """The data directories in *folder* by the process that is its engine."""
    found, sought = {}, os.fsencode(folder)
    for process, command in commands():
        words = command.split(b"\0") if sought in command else []
        if b"--launched" in words:
            found[process] = next(os.fsdecode(word) for word in words if sought in word)
    return found


def end(folder: Path) -> None:
    """Let every engine of the data directory *folder* finish, and wait until it is gone."""
    until_gone(folder, lambda: _stop(folder))
    endpoint.sweep(str(folder))  # of those that a test killed


def until_gone(
    folder: Path, meanwhile: Callable[[], None] = lambda: None, *, of: Collection[int] = ()
) -> None:
    """Wait until no engine of *folder* lives, or none *of* these. Fails when it takes too long.

    A client with an open call starts another engine at once.
    """
    deadline = time.monotonic() + SECONDS
    while (left := _left(folder, of)) and time.monotonic() < deadline:
        meanwhile()  # one may only be about to listen
        again = time.monotonic() + 0.5  # to look at these costs little, to look at all does not
        while not all(map(ended, left)) and time.monotonic() < again:
            threading.Event().wait(0.02)
    assert left == []


def _left(folder: Path, of: Collection[int]) -> list[int]:
    return [process for process in alive(folder) if not of or process in of]


def _stop(folder: Path) -> None:
    for each in client.engines(str(folder)):
        with suppress(NoEngine, wire.Refused):
            client.stop(each)
