"""What stdout does not take is an error of one line: a full disk, a closed stream."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_core.config import load
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ROOT = Path(__file__).parents[2]
ROOM = 8_192
"""Bytes that a file may have: 16 blocks of a shell."""
FULL = "anamnesis: disk_full: the output cannot be written (File too large); "
CLOSED = "anamnesis: storage: the output cannot be written (Bad file descriptor); "

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(os.name != "posix", reason="limits of a shell"),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of a memory that fills more than ROOM."""
    folder = tmp_path / "data"
    with Memory(load({}, {"data_dir": folder, "embedder": "none"})) as memory:
        for number in range(20):
            text = f"Heron {number} waits by the weir. " + "It rains there. " * 30
            memory.remember(Identity("me"), RememberRequest(text))
    return folder


def said(data: Path, shell: str, *words: str, **variables: str) -> tuple[int, str]:
    """Exit code and stderr of a command that a *shell* runs as "$@"; stdout is the file out."""
    with (data.parent / "out").open("wb") as out:
        done = subprocess.run(
            ["/bin/sh", "-c", shell, "sh", sys.executable, "-m", "server", *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={
                "PATH": os.defpath,
                "HOME": str(data.parent),
                "ANAMNESIS_DATA_DIR": str(data),
                "ANAMNESIS_EMBEDDER": "none",
                "PYTHONDONTWRITEBYTECODE": "1",  # a limit would cut what is cached
                "ANAMNESIS_SHARED": "off",
                **variables,
            },
            timeout=90,
        )
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", [("list", "--limit", "500"), ("export",)], ids=" ".join)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_is_full_ends_no_command_as_if_all_were_written(
    data: Path, tmp_path: Path, words: tuple[str, ...], unbuffered: str
) -> None:
    code, err = said(data, 'ulimit -f 16; exec "$@"', *words, PYTHONUNBUFFERED=unbuffered)
    assert (tmp_path / "out").stat().st_size <= ROOM
    assert (code, err.count("\n")) == (1, 1), err
    assert err.startswith(FULL)


@pytest.mark.parametrize("words", [("stats",), ("export",), ("--help",)], ids=" ".join)
def test_a_closed_output_is_said(data: Path, words: tuple[str, ...]) -> None:
    code, err = said(data, 'exec "$@" >&-', *words)
    assert (code, err.count("\n")) == (1, 1), err
    assert err.startswith(CLOSED)


def test_a_command_needs_no_open_input(data: Path) -> None:
    assert said(data, 'exec "$@" <&-', "recall", "heron")[0] == 0
