"""Files that go away under an open journal or store: an error is told, or nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import MemoryCoreError, StorageError
from memory_core.records import Change
from memory_core.storage.backup import backup
from memory_core.storage.journal.journal import Journal
from memory_core.storage.locks import FileLock

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted")

ROOT = Path(__file__).parents[2]
FILES = ("journal.db", "journal.db-wal", "journal.db-shm", "write.lock")

OTHER = """
import sys
from pathlib import Path
from memory_core.records import Change
from memory_core.storage.journal.journal import Journal
journal = Journal.open(Path(sys.argv[1]), clock=lambda: 0.0)
for line in sys.stdin:
    change = Change("meta", line.strip(), {"value": 1})
    print(journal.write(lambda tx: tx.append(change)), flush=True)
journal.close()
"""


class Other:
    """A second process that writes into the journal in *folder*."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", OTHER, str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def write(self, name: str) -> bool:
        """Whether the write of *name* was acknowledged."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip().isdigit()

    def end(self) -> None:
        self._process.communicate()


@pytest.fixture
def other(tmp_path: Path, processes: Any) -> Iterator[Callable[[], Other]]:
    started: list[Other] = []

    def start() -> Other:
        started.append(Other(tmp_path / "store"))
        return started[-1]

    yield start
    for each in started:
        each.end()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal.open(tmp_path / "store", clock=lambda: 0.0)
    note(opened, "first")
    yield opened
    opened.close()


def note(journal: Journal, name: str) -> int:
    return journal.write(lambda tx: tx.append(Change("meta", name, {"value": 1})))


def names(folder: Path) -> list[str]:
    """What a program that opens *folder* now finds."""
    journal = Journal.open(folder, clock=lambda: 0.0)
    try:
        assert journal.check() == []
        return [change.target for change in journal.changes(0, 1000)]
    finally:
        journal.close()


def delete_all(folder: Path) -> None:
    for path in folder.glob("journal.db*"):
        path.unlink()


def move(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))


def replace(folder: Path) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    copy.rename(folder)


def restore_over(folder: Path) -> None:
    saved = folder.with_name("saved")
    backup.create(folder, saved, lambda: 0.0)
    shutil.rmtree(folder)
    backup.restore(saved, folder)


def replace_in_place(folder: Path) -> None:
    """As tools do that write a file under another name and rename it."""
    copy = folder / "incoming"
    shutil.copy(folder / "journal.db", copy)
    copy.replace(folder / "journal.db")


@pytest.mark.parametrize(
    "attack", [delete_all, shutil.rmtree, move, replace, restore_over, replace_in_place]
)
def test_nothing_is_acknowledged_once_the_journal_went_away(
    tmp_path: Path, journal: Journal, attack: Callable[[Path], None]
) -> None:
    folder = tmp_path / "store"
    attack(folder)
    there = sorted(folder.iterdir()) if folder.exists() else None
    for _ in range(2):
        with pytest.raises(StorageError, match="while it was open") as told:
            note(journal, "second")
        assert str(folder / "journal.db") in told.value.problem
        assert "restart" in told.value.next_step
    for call in (journal.require_present, journal.check, journal.checkpoint):
        with pytest.raises(StorageError, match="while it was open"):
            call()
    with pytest.raises(StorageError, match="while it was open"):
        journal.backup(tmp_path / "late.db")
    assert not list(tmp_path.glob("late.db*"))
    assert (sorted(folder.iterdir()) if folder.exists() else None) == there


def test_a_folder_that_was_moved_back_is_served_again(tmp_path: Path, journal: Journal) -> None:
    folder, away = tmp_path / "store", tmp_path / "away"
    folder.rename(away)
    with pytest.raises(StorageError):
        note(journal, "second")
    away.rename(folder)
    note(journal, "third")
    journal.close()
    assert names(folder) == ["first", "third"]


@pytest.mark.usefixtures("processes")
def test_closing_leaves_the_files_of_a_journal_that_came_instead(
    tmp_path: Path, journal: Journal, other: Callable[[], Other]
) -> None:
    folder = tmp_path / "store"
    shutil.rmtree(folder)
    new = other()
    assert new.write("new")
    journal.close()
    assert new.write("newer")
    new.end()
    assert names(folder) == ["new", "newer"]


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    "gone", [("journal.db-wal",), ("journal.db-shm",), ("write.lock",), FILES[1:]]
)
def test_the_files_beside_the_journal_are_made_again_and_nothing_is_lost(
    tmp_path: Path, journal: Journal, gone: tuple[str, ...], other: Callable[[], Other]
) -> None:
    folder = tmp_path / "store"
    for name in gone:
        (folder / name).unlink()
    note(journal, "second")
    assert all((folder / name).exists() for name in FILES)
    beside = other()
    assert beside.write("beside")
    note(journal, "third")
    beside.end()
    journal.close()
    assert names(folder) == ["first", "second", "beside", "third"]


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("gone", ["journal.db-wal", "journal.db-shm"])
def test_two_processes_survive_the_loss_of_a_file_beside_the_journal(
    tmp_path: Path, journal: Journal, gone: str, other: Callable[[], Other]
) -> None:
    folder = tmp_path / "store"
    beside, told = other(), ["first"]
    for number in range(3):
        assert beside.write(f"theirs {number}")
        note(journal, f"mine {number}")
        (folder / gone).unlink()
        told += [f"theirs {number}", f"mine {number}"]
        assert beside.write(f"later {number}")
        told.append(f"later {number}")
        note(journal, f"mine later {number}")
        told.append(f"mine later {number}")
    beside.end()
    journal.close()
    assert names(folder) == told


def test_a_log_that_another_program_replaced_is_told(tmp_path: Path, journal: Journal) -> None:
    """An empty log in the place of one that held an acknowledged change: the loss is named."""
    folder = tmp_path / "store"
    (folder / "journal.db-wal").unlink()
    (folder / "journal.db-shm").unlink()
    (folder / "journal.db-wal").touch()
    with pytest.raises(MemoryCoreError, match=r"journal\.db-wal was deleted.*changes 1 to 1"):
        note(journal, "second")


def test_a_lock_whose_file_was_deleted_is_no_longer_held(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire()
    (tmp_path / "lock").unlink()
    assert not first.held
    assert second.acquire()
    assert not first.acquire()
    second.release()
    assert first.acquire()
    first.release()


def test_a_lock_that_waited_for_a_deleted_file_takes_the_new_one(tmp_path: Path) -> None:
    """The waiter has the deleted file open; two would hold the lock when the first lets go."""
    path = tmp_path / "lock"
    first, second, third = (FileLock(path) for _ in range(3))
    assert first.acquire()
    real, polled = os.open, []

    def deleted_meanwhile(*given: object, **more: object) -> int:
        file = real(*given, **more)  # type: ignore[arg-type]
        if not polled:
            polled.append(True)
            path.unlink()
            assert third.acquire()
            first.release()
        return file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", deleted_meanwhile)
        assert not second.acquire(0.0)
    third.release()
