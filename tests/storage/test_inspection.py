"""The daily look through everything: what it finds, when it is due, and what follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import StorageError
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.storage.inspection import EVERY_SECONDS, FILE, HEAD_START, Inspection

ME = Identity("me")


class Passing:
    """Monotonic seconds, set by hand."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def upkeep(memory: Memory) -> Any:
    memory.remember(ME, "The heron waits by the weir.")
    found = memory._engine.parts().maintenance
    found.round()
    return found


def test_it_is_due_once_a_day_and_not_at_once(upkeep: Any, memory: Memory, clock: Any) -> None:
    passing = Passing()
    inspection = Inspection(memory._engine.parts().store, clock, passing)
    inspection.keep()
    assert inspection.last() == {}
    passing.now += HEAD_START
    inspection.keep()
    first = inspection.last()
    assert first == {"at": clock(), "problems": []}
    clock.pass_by(EVERY_SECONDS - 1)
    passing.now += HEAD_START
    inspection.keep()
    assert inspection.last() == first
    clock.pass_by(1)
    inspection.keep()
    assert inspection.last()["at"] == clock()
    clock.pass_by(-10 * EVERY_SECONDS)  # a clock that went back must not put it off for days
    passing.now += HEAD_START
    inspection.keep()
    assert inspection.last()["at"] == clock()


def test_a_row_that_changed_on_the_disk_is_found_and_the_table_built_anew(
    upkeep: Any, memory: Memory
) -> None:
    store = memory._engine.parts().store
    table = store.directory / "table"
    for path in table.rglob("*.lance"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"heron waits", b"heron naits"))
    problems = upkeep.inspection.run()
    assert len(problems) == 1
    assert store.table is None
    checks = {check.name: check for check in memory.health(ME).checks}
    assert "it found" in checks["upkeep"].detail
    upkeep.nudge()
    upkeep.round()
    assert upkeep.mirror.rebuilds == 1
    assert upkeep.inspection.run() == []
    assert {check.name: check.status for check in memory.health(ME).checks}["upkeep"] == "ok"


@pytest.mark.parametrize("body", ["", "[]", "{", '{"at": null, "problems": []}', '{"at": 1}'])
def test_a_damaged_report_is_as_good_as_none(upkeep: Any, memory: Memory, body: str) -> None:
    upkeep.inspection.run()
    path = memory._engine.parts().store.directory / FILE
    path.write_text(body)
    assert upkeep.inspection.last() == {}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_report_that_cannot_be_written_is_told(upkeep: Any, memory: Memory) -> None:
    path = Path(memory._engine.parts().store.directory) / FILE
    path.unlink(missing_ok=True)
    path.mkdir()
    with pytest.raises(StorageError, match="inspection"):
        upkeep.inspection.run()
