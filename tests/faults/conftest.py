"""Fixtures for hindering the store; what they share with the campaigns lies in tests/campaigns."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "campaigns"))

from yard import NoShim, Yard, build_shim


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory, processes_of_a_file: Any) -> Path:
    """The shim, built now with this machine's compiler."""
    try:
        return build_shim(tmp_path_factory.mktemp("shim"))
    except NoShim as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def journal_yards(shim: Path) -> Iterator[list[Yard]]:
    """Two yards, so that both cores have something to do."""
    yards = [Yard(shim, "journal_scenarios") for _ in range(2)]
    yield yards
    for yard in yards:
        yard.close()


@pytest.fixture(scope="session")
def memory_yard(shim: Path) -> Iterator[Yard]:
    yard = Yard(shim, "memory_scenarios")
    yield yard
    yard.close()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory where there is one: a kill and a refused call need no real disk."""
    ram = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=ram if ram.is_dir() else None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def small_disk(tmp_path: Path, processes: Any) -> Iterator[Path]:
    """A file system of its own, of 48 MiB."""
    point = tmp_path / "disk"
    point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=700", "tmpfs", str(point)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("mounting a small tmpfs needs rights that this user does not have")
    yield point
    subprocess.run(["umount", "--lazy", str(point)], check=True, timeout=20)
