"""The data folder goes away under a running memory: each call says so, nothing is made there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_core.errors import MemoryCoreError, StorageError
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.storage.backup import backup
from tests.conftest import Clock, OpenMemory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted")

ME = Identity("me")


def delete_journal(folder: Path) -> None:
    for path in folder.glob("journal.db*"):
        path.unlink()


def move(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))


def replace_by_another_memory(folder: Path) -> None:
    saved = folder.with_name("saved")
    backup.create(folder, saved, lambda: 0.0)
    shutil.rmtree(folder)
    backup.restore(saved, folder)


ATTACKS = (delete_journal, shutil.rmtree, move, replace_by_another_memory)


def told(memory: Memory, text: str) -> str:
    return memory.remember(ME, RememberRequest(text)).id


def held(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_call_says_that_the_folder_went_away(
    open_memory: OpenMemory, tmp_path: Path, clock: Clock, attack: Callable[[Path], None]
) -> None:
    folder = tmp_path / "store"
    memory = open_memory()
    id = told(memory, "The heron nests on the north weir.")
    memory._runtime.parts().maintenance.round()
    attack(folder)
    there = held(folder)
    calls: tuple[Callable[[], object], ...] = (
        lambda: told(memory, "The stork came back in March."),
        lambda: memory.recall(ME, RecallRequest("heron")),
        lambda: memory.get(ME, id),
        lambda: list(memory.export(ME)),
        lambda: memory.forget(ME, ids=[id], confirm=True),
    )
    for call in calls:
        with pytest.raises(StorageError, match="while it was open"):
            call()
    report = memory.health(ME)
    assert report.status == "failing"
    journal = next(check for check in report.checks if check.name == "journal")
    assert "while it was open" in journal.detail
    assert "restart" in journal.fix
    clock.pass_by(1000.0)
    memory._runtime.parts().maintenance.round()
    with pytest.raises(MemoryCoreError):
        memory._runtime.parts().maintenance.repair()
    memory.close()
    assert held(folder) == there, "something was made or deleted at the old path"


def test_a_backup_can_be_restored_where_the_folder_was_deleted(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory()
    id = told(memory, "The heron nests on the north weir.")
    backup.create(tmp_path / "store", tmp_path / "saved", lambda: 0.0)
    shutil.rmtree(tmp_path / "store")
    memory._runtime.parts().maintenance.round()
    with pytest.raises(StorageError):
        told(memory, "The stork came back in March.")
    backup.restore(tmp_path / "saved", tmp_path / "store")
    with pytest.raises(StorageError, match="replaced"):
        told(memory, "The stork came back in March.")
    memory.close()
    assert open_memory().get(ME, id).text.startswith("The heron")


@pytest.mark.parametrize("part", ["table", "index"])
def test_a_table_or_snapshot_that_went_away_is_built_again(
    open_memory: OpenMemory, tmp_path: Path, part: str
) -> None:
    """No change of the journal and no call is needed: the next round sees it."""
    memory = open_memory()
    id = told(memory, "The heron nests on the north weir.")
    maintenance = memory._runtime.parts().maintenance
    maintenance.snapshots.write()
    for _ in range(3):
        maintenance.round()
    folder = tmp_path / "store" / part
    before = sorted(folder.iterdir())
    assert before
    shutil.rmtree(folder)
    for _ in range(3):
        maintenance.round()
    assert sorted(folder.iterdir())
    assert memory.get(ME, id).text.startswith("The heron")
    assert memory.health(ME).status == "ok"


def test_a_table_that_was_replaced_by_an_older_copy_is_found(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory()
    maintenance = memory._runtime.parts().maintenance
    told(memory, "The heron nests on the north weir.")
    maintenance.round()
    shutil.copytree(tmp_path / "store" / "table", tmp_path / "older")
    second = told(memory, "The stork came back in March.")
    maintenance.round()
    shutil.rmtree(tmp_path / "store" / "table")
    (tmp_path / "older").rename(tmp_path / "store" / "table")
    for _ in range(3):
        maintenance.round()
    store = memory._runtime.parts().store
    assert store.table is not None
    assert second in store.table.ids()
