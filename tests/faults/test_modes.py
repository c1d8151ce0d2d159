"""Nobody else can read what is remembered, whatever the umask."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")


ROOT_ONLY = pytest.mark.skipif(
    sys.platform != "win32" and os.getuid() != 0,
    reason="only root gets at what LanceDB writes so before its modes are set",
)


@pytest.mark.parametrize(
    "umask", [0o000, 0o022, 0o077, pytest.param(0o777, marks=ROOT_ONLY, id="everything")]
)
def test_folders_are_0700_and_files_0600_under_any_umask(tmp_path: Path, umask: int) -> None:
    import memory_scenarios as scenarios

    before = os.umask(umask)
    try:
        memory = scenarios.open_memory(tmp_path / "new" / "store")
        try:
            scenarios.calls(scenarios.Client(memory, lambda *words: None))
            wrong = modes(tmp_path / "new")
        finally:
            memory.close()
    finally:
        os.umask(before)
    assert wrong == {}
    assert modes(tmp_path / "new") == {}


def modes(folder: Path) -> dict[str, Any]:
    """What has another mode than it should, by path."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode != (0o700 if path.is_dir() else 0o600):
            found[str(path)] = oct(mode)
    assert len(list(folder.rglob("*"))) > 20
    return found
