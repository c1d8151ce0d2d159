"""After a forget and the next maintenance: no version of the table, no snapshot, no journal, no log
line holds what was forgotten, and no file from before it is left."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.maintenance.loop import MaintenanceTuning
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning
from memory_core.storage.table.lance import light_import
from memory_core.storage.table.table import NAME

with light_import():
    import lancedb

pytestmark = pytest.mark.usefixtures("processes")

ME = Identity("me")
SECRET = "The spare key of the Nordkette hut hangs behind the quillon"
WORD = "quillon"
RHYTHM = MaintenanceTuning(compact_commits=1000, snapshot_changes=4, table_batch=2)

SEARCH = """
import sys
from pathlib import Path
word = sys.argv[2].lower().encode()
for path in sorted(Path(sys.argv[1]).rglob("*")):
    if path.is_file() and word in path.read_bytes().lower():
        print(path.relative_to(sys.argv[1]))
"""


def holding(folder: Path) -> list[str]:
    """Files that hold the word; told by a process that has not opened the journal."""
    command = [sys.executable, "-c", SEARCH, str(folder), WORD]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def files(folder: Path) -> set[str]:
    """What is derived: the files of all generations of table and snapshot."""
    found = [path for name in ("table", "index") for path in (folder / name).rglob("*")]
    return {path.relative_to(folder).as_posix() for path in found if path.is_file()}


def versions(folder: Path) -> Iterator[tuple[str, str]]:
    """Every version of every generation of the table, as LanceDB reads it: name, all its rows."""
    for generation in sorted((folder / "table").iterdir()):
        table = lancedb.connect(generation).open_table(NAME)
        for version in table.list_versions():
            table.checkout(version["version"])
            rows = table.to_arrow().to_pylist()
            yield f"{generation.name}@{version['version']}", repr(rows)


def rounds(memory: Memory, count: int) -> None:
    upkeep = memory._runtime.parts().maintenance
    for _ in range(count):
        upkeep.nudge()
        upkeep.round()


@pytest.fixture
def lived_in(open_memory: Any) -> tuple[Memory, str]:
    """A store whose table has many versions, with a secret that was corrected and summed up."""
    memory = open_memory(tuning=Tuning(maintenance=RHYTHM))
    told = [memory.remember(ME, RememberRequest(f"{SECRET}, said Mara.", session="hut")).id]
    for number in range(6):
        text = f"The Nordkette hut has {number} blankets behind the key, said Mara."
        told.append(memory.remember(ME, RememberRequest(text, session="hut")).id)
        rounds(memory, 1)
    memory.remember(ME, RememberRequest(f"No, {SECRET} on the left.", replaces=told[0]))
    memory.consolidate(ME)
    rounds(memory, 2)
    memory._runtime.parts().maintenance.snapshots.write()
    return memory, told[0]


def test_no_version_no_snapshot_no_journal_and_no_log_line_holds_it(
    lived_in: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory, id = lived_in
    folder = tmp_path / "store"
    caplog.set_level(logging.DEBUG)
    known = [text for _, text in versions(folder) if WORD in text]
    assert len(known) > 3, "several versions of the table hold it"
    correction = memory.get(ME, id).superseded_by
    before = files(folder)
    assert {"table", "index"} == {name.split("/")[0] for name in before}
    memory.forget(ME, ids=[id, correction], confirm=True)
    rounds(memory, 1)
    upkeep = memory._runtime.parts().maintenance
    assert not upkeep.erasing, "one round does it: half a second, while a server runs"
    assert not before & files(folder)
    read = dict(versions(folder))
    assert read
    assert [name for name, text in read.items() if WORD in text or id in text] == []
    assert any("blankets" in text for text in read.values())
    assert holding(folder) == []
    wal = folder / "journal.db-wal"
    assert wal.exists()
    kept = [row for row in memory.export(ME) if row["kind"] == "episode"]
    assert len(kept) == 6
    memory.remember(ME, RememberRequest("The hut has a stove."))
    memory.consolidate(ME)
    rounds(memory, 2)
    assert [name for name, text in versions(folder) if WORD in text] == []
    memory.close()
    assert holding(folder) == []
    assert WORD not in caplog.text
