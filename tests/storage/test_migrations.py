"""A format that comes later: old journals are brought to it whole, older programs keep off."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from memory_core.errors import IncompatibleStore, ReadOnly
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.storage.journal import files
from memory_core.storage.journal.format import FORMAT
from memory_core.storage.journal.journal import Journal

GOLDEN = Path(__file__).parent / "golden"
NEXT = FORMAT + 1


def step(connection: Any) -> None:
    """What a next format might bring: a column, filled for what is there."""
    connection.execute("ALTER TABLE heads ADD COLUMN colour TEXT NOT NULL DEFAULT ''")
    connection.execute("UPDATE heads SET colour = 'grey'")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN / f"format_{FORMAT}", tmp_path / "data")
    (tmp_path / "data" / "expected.json").unlink()
    return tmp_path / "data"


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """This program, one format on."""
    monkeypatch.setattr(files, "FORMAT", NEXT)
    monkeypatch.setattr(files.migrate, "__defaults__", ({FORMAT: step}, NEXT))
    return monkeypatch


def opened(data: Path, **options: Any) -> Journal:
    return Journal.open(data, clock=lambda: 0.0, **options)


def asked(data: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(data / "journal.db"))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def write(journal: Journal) -> None:
    memory = MemoryRecord(id="1" * 20, text="a heron", agent="me")
    journal.write(lambda tx: tx.append(Change("put", memory.id, to_fields(memory))))


def test_every_older_format_has_its_step_and_every_format_its_golden_directory() -> None:
    assert set(files.STEPS) == set(range(1, FORMAT))
    numbers = {int(path.name.split("_")[1]) for path in GOLDEN.glob("format_*")}
    assert numbers == set(range(1, FORMAT + 1))


@pytest.mark.usefixtures("newer")
def test_an_old_journal_is_migrated_when_it_is_opened(data: Path) -> None:
    heads = asked(data, "SELECT count(*) FROM heads")
    changes = asked(data, "SELECT * FROM changes")
    journal = opened(data)
    expected = json.loads((GOLDEN / f"format_{FORMAT}" / "expected.json").read_text())
    assert journal.fold(list(expected["folded"])) == expected["folded"]
    assert journal.check() == []
    journal.close()
    assert asked(data, "PRAGMA user_version") == [(NEXT,)]
    assert asked(data, "SELECT count(*) FROM heads WHERE colour = 'grey'") == heads
    assert asked(data, "SELECT * FROM changes") == changes
    opened(data).close()
    assert asked(data, "PRAGMA user_version") == [(NEXT,)]


def test_a_migration_that_is_interrupted_leaves_the_old_format(
    data: Path, newer: pytest.MonkeyPatch
) -> None:
    def fails(connection: Any) -> None:
        step(connection)
        raise OSError("the power went")

    before = asked(data, "SELECT sql FROM sqlite_schema ORDER BY name")
    newer.setattr(files.migrate, "__defaults__", ({FORMAT: fails}, NEXT))
    with pytest.raises(OSError, match="power"):
        opened(data)
    assert asked(data, "PRAGMA user_version") == [(FORMAT,)]
    assert asked(data, "SELECT sql FROM sqlite_schema ORDER BY name") == before
    newer.setattr(files.migrate, "__defaults__", ({FORMAT: step}, NEXT))
    opened(data).close()
    assert asked(data, "PRAGMA user_version") == [(NEXT,)]


def test_an_older_program_that_is_running_writes_nothing_more(
    data: Path, newer: pytest.MonkeyPatch
) -> None:
    with newer.context() as now:
        now.setattr(files, "FORMAT", FORMAT)
        old = opened(data)
    opened(data).close()
    last = old.last()
    with newer.context() as now:
        now.setattr(files, "FORMAT", FORMAT)
        with pytest.raises(IncompatibleStore, match=f"format {NEXT}"):
            write(old)
        old.close()
        with pytest.raises(IncompatibleStore, match="upgrade"):
            opened(data)
    again = opened(data)
    assert again.last() == last
    write(again)
    again.close()


@pytest.mark.usefixtures("newer")
def test_an_old_journal_that_cannot_be_written_says_what_it_needs(data: Path) -> None:
    with pytest.raises(ReadOnly, match="older format"):
        opened(data, read_only=True)
    assert asked(data, "PRAGMA user_version") == [(FORMAT,)]
