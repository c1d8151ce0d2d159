"""Files of another user in the data folder, as one command with sudo leaves them, and open folders.

What belongs to root is met by a process that has become another user.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import PATIENCE, Processes

from memory_core.errors import IncompatibleStore, StorageError
from memory_core.health import rights
from memory_core.records import Change
from memory_core.storage.disk_reserve import DiskReserve
from memory_core.storage.journal.journal import Journal
from memory_core.storage.locks import FileLock, open_private
from memory_core.storage.ownership import foreign
from tests.conftest import OpenMemory

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX"),
]
ROOT_ONLY = pytest.mark.skipif(
    sys.platform == "win32" or os.getuid() != 0, reason="only root can become another user"
)

ROOT = Path(__file__).parents[2]
NOBODY = 65534

AS_NOBODY = """
import json, os, sys, tempfile
from pathlib import Path
from memory_core.config import Settings
from memory_core.errors import MemoryCoreError
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from tests.conftest import ToyEmbedder

def play(folder):
    said = {}
    try:
        memory = Memory(Settings(data_dir=folder), embedder=ToyEmbedder())
        memory.wait_ready(120.0)
        try:
            memory.remember(Identity("me"), RememberRequest("The heron waits by the weir."))
        except MemoryCoreError as problem:
            said["remember"] = str(problem)
        memory._runtime.parts().maintenance.round()
        found = memory.health(Identity("me"))
        said["health"] = found.status
        said["checks"] = {c.name: f"{c.status}: {c.detail}; {c.fix}" for c in found.checks}
        memory.close()
    except MemoryCoreError as problem:
        said["open"] = str(problem)
    return said

with tempfile.TemporaryDirectory() as root_s:  # imports what nobody could not read
    play(Path(root_s))
os.setgid(65534); os.setuid(65534)
for line in sys.stdin:
    print(json.dumps(play(Path(line.removesuffix("\\n")))), flush=True)
"""

COMMANDS_AS_NOBODY = """
import json, os, sys, tempfile, traceback, html
from server.cli import main
with tempfile.TemporaryDirectory() as root_s:  # imports what nobody could not read
    os.environ["ANAMNESIS_DATA_DIR"] = root_s
    for words in (["stats"], ["doctor"], ["backup", root_s + "/b"], ["salvage", root_s + "/s"]):
        main.main(words)
os.environ["ANAMNESIS_DATA_DIR"] = sys.argv[1]
os.setgid(65534); os.setuid(65534)
for words in json.loads(sys.argv[2]):
    for stream in (sys.stdout, sys.stderr):
        print("as nobody", file=stream, flush=True)
    print("exit status", main.main(words), flush=True)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder of nobody, with a memory, where nobody may go."""
    above = Path(tempfile.mkdtemp())
    above.chmod(0o755)
    made = above / "store"
    made.mkdir(mode=0o700)
    journal = Journal.open(made, clock=lambda: 0.0)
    journal.write(lambda tx: tx.append(Change("meta", "x", {"value": 1})))
    journal.close()
    give(made, NOBODY)
    yield made
    shutil.rmtree(above)


def give(path: Path, user: int) -> None:
    for each in (path, *path.rglob("*")):
        os.chown(each, user, user)


AsNobody = Callable[[Path], dict[str, Any]]


@pytest.fixture(scope="module")
def as_nobody(processes_of_a_file: Any) -> Iterator[AsNobody]:
    """What comes of opening, remembering and health in a folder, in one process of nobody."""
    with processes_of_a_file() as started:
        process = started.start(
            *[sys.executable, "-c", AS_NOBODY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**started.environment, "HOME": "/nonexistent", "PYTHONPATH": str(ROOT)},
        )

        def ask(folder: Path) -> dict[str, Any]:
            print(folder, file=process.stdin, flush=True)
            line = process.stdout.readline()
            assert line, started.told(process)
            return dict(json.loads(line))

        yield ask
        process.stdin.close()
        assert process.wait(PATIENCE) == 0, started.told(process)


@ROOT_ONLY
@pytest.mark.parametrize("name", ["journal.db", "write.lock", "."])
def test_the_error_names_the_file_its_owner_and_the_command(
    as_nobody: AsNobody, folder: Path, name: str
) -> None:
    give(folder / name, 0)
    said = as_nobody(folder)
    error = said.get("open") or said["remember"]
    assert error.startswith("read_only: ")
    assert f"{(folder / name).absolute()} belongs to root" in error
    assert f"sudo chown -R nobody {folder}" in error
    if "checks" in said:
        assert f"sudo chown -R nobody {folder}" in said["checks"]["rights"]
        assert said["health"] in ("degraded", "failing")


@ROOT_ONLY
def test_health_names_derived_files_of_root(as_nobody: AsNobody, folder: Path) -> None:
    """The memory works, but the table is never built again."""
    (folder / "table" / "1").mkdir(parents=True)
    (folder / "table").chmod(0o700)
    os.chown(folder / "table" / "1", NOBODY, NOBODY)
    said = as_nobody(folder)
    assert "remember" not in said
    assert said["health"] != "ok"
    assert f"{folder / 'table'} belongs to root" in said["checks"]["rights"]
    assert f"sudo chown -R nobody {folder}" in said["checks"]["rights"]
    assert "belongs to root" in said["checks"]["table"]


@ROOT_ONLY
def test_commands_on_a_folder_that_may_not_be_read_end_with_words(
    folder: Path, processes: Processes
) -> None:
    give(folder, 0)
    lines = [["doctor"], ["backup", "/tmp/none"], ["salvage", "/tmp/none"], ["stats"]]
    done = processes.run(
        *[sys.executable, "-c", COMMANDS_AS_NOBODY, folder, json.dumps(lines)],
        env={
            **processes.environment,
            **{"PATH": "/usr/bin", "HOME": "/nonexistent", "COLUMNS": "400"},
        },
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    printed, told = (each.split("as nobody\n")[1:] for each in (done.stdout, done.stderr))
    for words, out, err in zip(lines, printed, told, strict=True):
        assert out.endswith("exit status 1\n"), (words, out, err)
        said = out + err
        assert "Traceback" not in said
        assert "belongs to root" in said.replace("\n", " "), (words, said)
        assert f"sudo chown -R nobody {folder}" in said, (words, said)


def test_root_finds_nothing_foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    assert foreign(tmp_path) == ""
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert str(tmp_path) in foreign(tmp_path)


# Folders and files that others could use


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o711])
def test_an_open_folder_is_closed_and_told(
    open_memory: OpenMemory, tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    folder.chmod(mode)
    memory = open_memory()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert f"{mode:o}" in caplog.text
    check = rights(memory._runtime.parts().store)
    assert (check.status, f"{mode:o}" in check.detail) == ("repaired", True)
    memory.close()
    folder.chmod(mode)
    assert rights(open_memory()._runtime.parts().store).status == "repaired"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_an_open_folder_with_other_things_in_it_keeps_its_mode_and_is_told(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    """Closing a folder of a project, or a home directory, to its other users would be worse."""
    folder = tmp_path / "store"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "notes.txt").touch()
    memory = open_memory()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    check = rights(memory._runtime.parts().store)
    assert (check.status, "755" in check.detail, "chmod" in check.fix) == ("degraded", True, True)


@pytest.mark.parametrize("name", ["journal.db", "journal.db-wal", "journal.db-shm"])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_journal_that_is_a_symbolic_link_is_refused(
    tmp_path: Path, name: str, read_only: bool
) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "store"
    Journal.open(folder, clock=lambda: 0.0).close()
    (folder / name).unlink(missing_ok=True)
    victim.write_bytes(b"something else")
    (folder / name).symlink_to(victim)
    with pytest.raises(IncompatibleStore, match=f"{name} is a symbolic link"):
        Journal.open(folder, clock=lambda: 0.0, read_only=read_only)
    assert victim.read_bytes() == b"something else"


def test_a_data_folder_may_be_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    journal = Journal.open(tmp_path / "link", clock=lambda: 0.0)
    journal.write(lambda tx: tx.append(Change("meta", "x", {"value": 1})))
    journal.close()
    assert (tmp_path / "real" / "journal.db").exists()


def test_locks_and_the_reserve_follow_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"something else")
    for name in ("lock", "reserve"):
        (tmp_path / name).symlink_to(victim)
    with pytest.raises(StorageError, match="symbolic link"):
        FileLock(tmp_path / "lock").acquire()
    with pytest.raises(StorageError, match="symbolic link"):
        DiskReserve(tmp_path).ensure()
    with pytest.raises(OSError, match="symbolic links"):
        open_private(tmp_path / "lock")
    assert victim.read_bytes() == b"something else"
