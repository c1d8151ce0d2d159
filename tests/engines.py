"""The engines that tests start: which live, and how they end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from server.engine import client, endpoint, wire
from server.engine.launch import NoEngine

SECONDS = 30.0


def alive(folder: Path) -> list[int]:
    """The processes that are engines of data directories in *folder*, where there is /proc."""
    return sorted(directories(folder))


def directories(folder: Path) -> dict[int, str]:
    """The data directories in *folder* by the process that is its engine."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = place.read_bytes().split(b"\0")
            named = [os.fsdecode(word) for word in words if os.fsencode(folder) in word]
            if b"--launched" in words and named:
                found[int(place.parent.name)] = named[0]
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
        threading.Event().wait(0.05)  # to look at all processes takes 0.01
    assert left == []


def _left(folder: Path, of: Collection[int]) -> list[int]:
    return [process for process in alive(folder) if not of or process in of]


def _stop(folder: Path) -> None:
    for each in client.engines(str(folder)):
        with suppress(NoEngine, wire.Refused):
            client.stop(each)
