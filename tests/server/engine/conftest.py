"""Clients that share an engine, over both transports."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import engines
import pytest
from talking import Talk

from server.engine import wanted


@pytest.fixture
def shared() -> str:
    """The transport: a Unix socket. Tests that it matters to ask for loopback TCP, too."""
    return "on"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def environment(folder: Path, shared: str, processes: Any) -> dict[str, str]:
    return {
        **os.environ,
        "ANAMNESIS_DATA_DIR": str(folder),
        "ANAMNESIS_OFFLINE": "1",
        "ANAMNESIS_SHARED": shared,
    }


@pytest.fixture
def asked(environment: dict[str, str]) -> wanted.WantedEngine:
    return wanted.find({}, environment)


@pytest.fixture
def talk(environment: dict[str, str], folder: Path) -> Iterator[Callable[..., Talk]]:
    """Starts a client's process: (flags, more environment)."""
    started: list[Talk] = []

    def start(*flags: str, command: Sequence[str] = (), **more: str) -> Talk:
        words = [sys.executable, *(command or ("-m", "server", *flags))]
        started.append(Talk(words, {**environment, **more}))
        return started[-1]

    yield start
    for one in started:
        one.finish()
    engines.end(folder)


@pytest.fixture
def kill(folder: Path) -> Callable[[], None]:
    """Kills the one engine of the folder."""

    def end() -> None:
        (engine,) = engines.alive(folder)
        os.kill(engine, signal.SIGKILL)
        engines.until_gone(folder, of=[engine])

    return end
