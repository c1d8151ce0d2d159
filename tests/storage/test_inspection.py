"""The daily look through everything: what it finds, when it is due, and what follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import StorageError
from memory_core.maintenance.inspection import EVERY_SECONDS, FILE, HEAD_START, Inspection
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.storage.table.table import Table

ME = Identity("me")


class Passing:
    """Monotonic seconds, set by hand."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def upkeep(memory: Memory) -> Any:
    memory.remember(ME, RememberRequest("The heron waits by the weir."))
    found = memory._runtime.parts().maintenance
    found.round()
    return found


def test_it_is_due_once_a_day_and_not_at_once(upkeep: Any, memory: Memory, clock: Any) -> None:
    passing = Passing()
    inspection = Inspection(memory._runtime.parts().store, clock, passing)
    inspection.run_if_due()
    assert inspection.last() == {}
    passing.now += HEAD_START
    inspection.run_if_due()
    first = inspection.last()
    assert first == {"at": clock(), "problems": []}
    clock.pass_by(EVERY_SECONDS - 1)
    passing.now += HEAD_START
    inspection.run_if_due()
    assert inspection.last() == first
    clock.pass_by(1)
    inspection.run_if_due()
    assert inspection.last()["at"] == clock()
    clock.pass_by(-10 * EVERY_SECONDS)  # a clock that went back must not put it off for days
    passing.now += HEAD_START
    inspection.run_if_due()
    assert inspection.last()["at"] == clock()


def test_a_row_that_changed_on_the_disk_is_found_and_the_table_built_anew(
    upkeep: Any, memory: Memory
) -> None:
    store = memory._runtime.parts().store
    table = store.directory / "table"
    for path in table.rglob("*.lance"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"heron waits", b"heron naits"))
    problems = upkeep.inspection.run()
    assert len(problems) == 1
    assert store.table is None
    checks = {check.name: check for check in memory.health(ME).checks}
    assert checks["table"].status == "degraded"
    assert "is damaged" in checks["table"].detail
    upkeep.nudge()
    upkeep.round()
    assert upkeep.table_sync.rebuilds == 1
    checks = {check.name: check for check in memory.health(ME).checks}
    assert (checks["table"].status, checks["upkeep"].status) == ("repaired", "ok")
    assert upkeep.inspection.run() == []


def test_what_the_journal_lost_stays_in_the_report(
    upkeep: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = memory._runtime.parts().store
    monkeypatch.setattr(store.journal, "check", lambda: ["change 3 is damaged"])
    assert upkeep.inspection.run() == ["change 3 is damaged"]
    upkeep.nudge()
    upkeep.round()
    checks = {check.name: check for check in memory.health(ME).checks}
    assert checks["upkeep"].status == "degraded"
    assert "damage found: change 3 is damaged" in checks["upkeep"].detail


@pytest.mark.parametrize("body", ["", "[]", "{", '{"at": null, "problems": []}', '{"at": 1}'])
def test_a_damaged_report_is_as_good_as_none(upkeep: Any, memory: Memory, body: str) -> None:
    upkeep.inspection.run()
    path = memory._runtime.parts().store.directory / FILE
    path.write_text(body)
    assert upkeep.inspection.last() == {}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_report_that_cannot_be_written_is_told(upkeep: Any, memory: Memory) -> None:
    path = Path(memory._runtime.parts().store.directory) / FILE
    path.unlink(missing_ok=True)
    path.mkdir()
    with pytest.raises(StorageError, match="inspection"):
        upkeep.inspection.run()


WRONG = {
    "labels": "''",
    "live": "false",
    "occurred": "cast('1970-01-01' as timestamp)",
    "gist": "'something else'",
}


@pytest.mark.parametrize("column", [*WRONG, "vector", "no vector", "no row"])
def test_everything_in_a_row_is_compared(upkeep: Any, memory: Memory, column: str) -> None:
    id = memory.remember(ME, RememberRequest("The stork stands on the mill.", tags=["birds"])).id
    upkeep.round()
    assert upkeep.inspection.run() == []
    table, where = memory._runtime.parts().store.table._open, f"id = '{id}'"  # type: ignore[union-attr]
    if column == "no row":
        table.delete(where)
    elif column.endswith("vector"):
        vector = table.search().where(where).to_arrow().to_pylist()[0]["vector"]
        vector[3] += 0.25
        table.update(where, {"vector": vector if column == "vector" else None})
    else:
        table.update(where, values_sql={column: WRONG[column]})
    assert len(upkeep.inspection.run()) == 1
    upkeep.nudge()
    upkeep.round()
    assert upkeep.table_sync.rebuilds == 1
    assert upkeep.inspection.run() == []


def test_an_index_that_hides_a_row_is_found(
    upkeep: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Table, "get", lambda self, ids: {})
        assert "hides" in upkeep.inspection.run()[0]
    upkeep.nudge()
    upkeep.round()
    assert upkeep.inspection.run() == []


def test_vectors_of_the_model_before_are_no_damage(upkeep: Any, memory: Memory) -> None:
    store = memory._runtime.parts().store
    store.model_changed_at = store.applied + 1
    store.table._open.update("true", {"vector": [0.5] * 64})  # type: ignore[union-attr]
    assert upkeep.inspection.run() == []
