"""A backup is one moment of the memory, whole or not there; restoring never replaces anything."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from memory_core import runtime
from memory_core.config import Settings
from memory_core.errors import DiskFull, IncompatibleStore, InvalidInput, ReadOnly, StorageError
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Identity, MemoryRecord, to_fields
from memory_core.storage.backup import backup
from memory_core.storage.journal import format
from memory_core.storage.journal.journal import Journal

NOW = 1_717_200_000.0


def put(journal: Journal, number: int) -> str:
    memory = MemoryRecord(id=f"{number:020d}", text=f"heron number {number}", agent="me")
    journal.write(lambda tx: tx.append(Change("put", memory.id, to_fields(memory))))
    return memory.id


def opened(directory: Path, **options: Any) -> Journal:
    return Journal.open(directory, clock=lambda: NOW, **options)


def held(directory: Path) -> list[str]:
    journal = opened(directory)
    try:
        return [change.target for change in journal.changes(0, 10_000)]
    finally:
        journal.close()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    journal = opened(tmp_path / "store")
    for number in range(3):
        put(journal, number)
    journal.close()
    return tmp_path / "store"


def test_what_was_backed_up_comes_back(store: Path, tmp_path: Path) -> None:
    made = backup.create(store, tmp_path / "copy", lambda: NOW)
    assert (made.memories, made.sequence, made.at, made.damaged) == (3, 3, NOW, ())
    assert backup.restore(tmp_path / "copy", tmp_path / "again") == (made, "")
    assert held(tmp_path / "again") == held(store)


def test_a_backup_holds_two_private_files(store: Path, tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        backup.create(store, tmp_path / "deep" / "copy", lambda: NOW)
        backup.restore(tmp_path / "deep" / "copy", tmp_path / "again")
    finally:
        os.umask(umask)
    folders = {tmp_path / "deep", tmp_path / "deep" / "copy", tmp_path / "again"}
    files = {path for folder in folders for path in folder.iterdir() if path.is_file()}
    assert {path.name for path in files} == {"journal.db", "backup.json"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


def test_a_copy_made_while_others_write_is_one_moment(store: Path, tmp_path: Path) -> None:
    journal, stop = opened(store), threading.Event()

    def write() -> None:
        number = 3
        while not stop.is_set():
            put(journal, number)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    made: list[backup.Backup] = []
    try:
        while len(made) < 5 or made[-1].sequence == made[0].sequence:
            assert writer.is_alive()
            made.append(backup.create(store, tmp_path / f"copy{len(made)}", lambda: NOW))
    finally:
        stop.set()
        writer.join()
    journal.close()
    everything = held(store)
    assert [one.sequence for one in made] == sorted(one.sequence for one in made)
    for number, one in enumerate(made):
        backup.restore(tmp_path / f"copy{number}", tmp_path / f"again{number}")
        assert held(tmp_path / f"again{number}") == everything[: one.sequence]


def test_a_backup_goes_to_an_empty_folder_only(store: Path, tmp_path: Path) -> None:
    backup.create(store, tmp_path / "copy", lambda: NOW)
    before = (tmp_path / "copy" / "journal.db").read_bytes()
    for target in (tmp_path / "copy", store, store / "journal.db"):
        with pytest.raises(InvalidInput, match="not an empty folder"):
            backup.create(store, target, lambda: NOW)
    assert (tmp_path / "copy" / "journal.db").read_bytes() == before


@pytest.mark.parametrize("inside", ["store/copy", "store/new/copy", "link/copy"])
def test_a_backup_does_not_go_into_the_data_directory(
    store: Path, tmp_path: Path, inside: str
) -> None:
    (tmp_path / "link").symlink_to(store)
    before = sorted(store.rglob("*"))
    with pytest.raises(InvalidInput, match=r"is in the data directory .*; name one outside of it"):
        backup.create(store, tmp_path / inside, lambda: NOW)
    assert sorted(store.rglob("*")) == before
    backup.create(store, tmp_path / "store-copy", lambda: NOW)


def test_nothing_is_made_where_there_is_no_memory(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no memory"):
        backup.create(tmp_path / "nowhere", tmp_path / "copy", lambda: NOW)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["journal.db", "journal.db-wal", "table", "index"])
def test_a_restore_refuses_where_anything_of_a_memory_is(
    store: Path, tmp_path: Path, name: str
) -> None:
    backup.create(store, tmp_path / "copy", lambda: NOW)
    there = tmp_path / "there"
    there.mkdir()
    (there / name).write_bytes(b"mine")
    with pytest.raises(InvalidInput, match="holds a memory already"):
        backup.restore(tmp_path / "copy", there)
    assert {path.name: path.read_bytes() for path in there.iterdir()} == {name: b"mine"}


def test_a_restore_does_not_replace_what_came_meanwhile(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup.create(store, tmp_path / "copy", lambda: NOW)
    copy = backup._copy

    def slow(source: Path, target: Path) -> str:
        (tmp_path / "there" / "journal.db").write_bytes(b"mine")
        return copy(source, target)

    monkeypatch.setattr(backup, "_copy", slow)
    with pytest.raises(InvalidInput, match="just created"):
        backup.restore(tmp_path / "copy", tmp_path / "there")
    assert [p.read_bytes() for p in (tmp_path / "there").iterdir()] == [b"mine"]


def test_other_files_in_the_folder_do_not_matter(store: Path, tmp_path: Path) -> None:
    backup.create(store, tmp_path / "copy", lambda: NOW)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "tokens.json").write_text("[]")
    backup.restore(tmp_path / "copy", tmp_path / "there")
    assert held(tmp_path / "there") == held(store)


def test_a_damaged_backup_is_not_restored(store: Path, tmp_path: Path) -> None:
    backup.create(store, tmp_path / "copy", lambda: NOW)
    file = tmp_path / "copy" / "journal.db"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(StorageError, match="damaged"):
        backup.restore(tmp_path / "copy", tmp_path / "again")
    assert list((tmp_path / "again").iterdir()) == []


def test_damage_in_the_source_is_told_and_copied_all_the_same(store: Path, tmp_path: Path) -> None:
    import apsw

    connection = apsw.Connection(str(store / "journal.db"))
    connection.execute("UPDATE changes SET body = replace(body, 'number 1', 'number 7')")
    connection.close()
    made = backup.create(store, tmp_path / "copy", lambda: NOW)
    assert len(made.damaged) == 1
    assert "change 2" in made.damaged[0]
    assert backup.read_manifest(tmp_path / "copy").damaged == made.damaged


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"version": 1}', '{"version": "x"}', "[" * 100_000]
)
def test_a_bad_manifest_is_said_so(store: Path, tmp_path: Path, text: str) -> None:
    backup.create(store, tmp_path / "copy", lambda: NOW)
    (tmp_path / "copy" / "backup.json").write_text(text)
    with pytest.raises(InvalidInput, match="damaged"):
        backup.restore(tmp_path / "copy", tmp_path / "again")


def test_a_newer_backup_and_a_newer_journal_are_refused(store: Path, tmp_path: Path) -> None:
    backup.create(store, tmp_path / "copy", lambda: NOW)
    manifest = tmp_path / "copy" / "backup.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": 2}))
    with pytest.raises(InvalidInput, match="upgrade"):
        backup.restore(tmp_path / "copy", tmp_path / "again")
    import apsw

    connection = apsw.Connection(str(store / "journal.db"))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(IncompatibleStore, match="99"):
        backup.create(store, tmp_path / "newer", lambda: NOW)
    assert not (tmp_path / "newer").exists()


def test_without_a_manifest_it_is_no_backup(store: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no complete backup"):
        backup.restore(store, tmp_path / "again")
    with pytest.raises(InvalidInput, match="no complete backup"):
        backup.restore(tmp_path / "nowhere", tmp_path / "again")


@pytest.mark.parametrize("was_there", [False, True])
def test_a_backup_that_finds_no_room_leaves_nothing(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_there: bool
) -> None:
    if was_there:
        (tmp_path / "copy").mkdir()

    def full(self: Journal, target: Path) -> None:
        target.write_bytes(b"half")
        raise DiskFull("write the backup found no room", "free some space")

    monkeypatch.setattr(Journal, "backup", full)
    with pytest.raises(DiskFull):
        backup.create(store, tmp_path / "copy", lambda: NOW)
    assert (tmp_path / "copy").exists() is was_there
    assert not was_there or list((tmp_path / "copy").iterdir()) == []


def test_a_journal_that_could_only_be_read_says_that_the_program_has_to_start_again(
    store: Path,
) -> None:
    journal = opened(store, read_only=True)
    try:
        with pytest.raises(ReadOnly, match="start this program again"):
            put(journal, 9)
    finally:
        journal.close()


def test_a_journal_opened_for_reading_changes_no_byte(store: Path) -> None:
    before = {path.name: path.read_bytes() for path in store.iterdir()}
    journal = opened(store, read_only=True)
    assert journal.read_only
    assert journal.last() == 3
    with pytest.raises(StorageError, match="read_only"):
        put(journal, 9)
    journal.close()
    assert {path.name: path.read_bytes() for path in store.iterdir()} == before


def forge(copy: Path, change: Callable[[apsw.Connection], object]) -> None:
    """Make a *change* in the backup *copy*, so that its manifest fits."""
    file = copy / "journal.db"
    connection = apsw.Connection(str(file))
    change(connection)
    connection.close()
    manifest = json.loads((copy / "backup.json").read_text())
    manifest |= {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    (copy / "backup.json").write_text(json.dumps(manifest))


def entry(kind: str, body: str) -> Callable[[apsw.Connection], None]:
    """Adds a change of *kind* with *body*, under a checksum that is right."""

    def add(connection: apsw.Connection) -> None:
        seq = format.first(connection, "SELECT max(seq) + 1 FROM changes")
        row = [seq, NOW, kind, "0" * 20, "me", "", "", "", format.FORMAT, body, None, 0]
        row.append(format.seal(row))
        places = ", ".join("?" * len(row))
        connection.execute(
            f"INSERT INTO changes({format.COLUMNS}, checksum) VALUES ({places})", row
        )

    return add


def named(key: str, value: str) -> Callable[[apsw.Connection], None]:
    """Sets a value of the table meta."""

    def put(connection: apsw.Connection) -> None:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    return put


HOSTILE = {
    "cut off": entry("put", '{"text":'),
    "deep": entry("put", "[" * 3_000 + "]" * 3_000),
    "a number": entry("forget", "7"),
    "a list": entry("put", "[1]"),
    "no text": entry("put", '{"text": 7}'),
    "endless": entry("put", json.dumps({"text": "x" * 1_000_001})),
    "no model": named("embedding", "5"),
    "half a model": named("reembedding", '{"name": "x", "fingerprint": "y"}'),
    "not JSON": named("embedding", "{"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_backup_that_holds_what_no_memory_writes_is_refused(
    store: Path, tmp_path: Path, what: str
) -> None:
    """All checksums fit: they tell damage, and not who wrote it."""
    backup.create(store, tmp_path / "copy", lambda: NOW)
    forge(tmp_path / "copy", HOSTILE[what])
    with pytest.raises((StorageError, IncompatibleStore), match=r"change 4|names no model"):
        backup.restore(tmp_path / "copy", tmp_path / "again")
    assert list((tmp_path / "again").iterdir()) == []


@pytest.mark.parametrize("what", ["cut off", "deep", "a number", "a list", "no text"])
def test_such_an_entry_of_a_memory_is_skipped_and_named(
    store: Path, open_memory: Any, what: str
) -> None:
    connection = apsw.Connection(str(store / "journal.db"))
    HOSTILE[what](connection)
    connection.close()
    memory = open_memory("store")
    found = memory.recall(Identity("me"), RecallRequest("heron number 2"))
    assert "heron number 2" in [hit.memory.text for hit in found.hits]
    told = [check.detail for check in memory.health(Identity("me")).checks if check.status != "ok"]
    assert any("change 4" in detail or "0" * 20 in detail for detail in told), told


def test_a_backup_does_not_decide_which_model_gets_the_texts(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy: Any
) -> None:
    evil = json.dumps({"name": "openai:evil", "fingerprint": "f", "dimension": 3})
    backup.create(store, tmp_path / "copy", lambda: NOW)

    def change(connection: apsw.Connection) -> None:
        entry("meta", json.dumps({"value": json.loads(evil)}))(connection)
        named("embedding", evil)(connection)
        named("reembedding", evil)(connection)

    forge(tmp_path / "copy", change)
    made, model = backup.restore(tmp_path / "copy", tmp_path / "again", lambda: NOW)
    assert (made.memories, model) == (3, "openai:evil")
    asked: list[str] = []

    def choose(settings: Settings) -> Any:
        asked.append(settings.embedder)
        return toy

    monkeypatch.setattr(runtime, "choose", choose)
    with Memory(Settings(data_dir=tmp_path / "again")) as memory:
        memory.wait_ready(60.0)
        found = memory.recall(Identity("me"), RecallRequest("heron number 2"))
        assert "heron number 2" in [hit.memory.text for hit in found.hits]
        model_check = next(c for c in memory.health(Identity("me")).checks if c.name == "model")
        assert "openai:evil" in model_check.detail
        assert "reembed" in model_check.fix
        assert asked == []
        assert memory.reembedding.target is None
        memory.reembedding.begin("minilm")
        assert asked == ["minilm"]
    with Memory(Settings(data_dir=tmp_path / "again", embedder="openai:evil")) as memory:
        memory.wait_ready(60.0)
    assert asked[-1] == "minilm", "as always after a change of the setting"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("CREATE TRIGGER x AFTER INSERT ON changes BEGIN DELETE FROM heads; END", "trigger x"),
        ("CREATE TABLE x(y)", "table x"),
        ("CREATE VIEW x AS SELECT 1", "view x"),
        ("CREATE INDEX x ON changes(at)", "index x"),
        ("DROP INDEX heads_repeat", "index heads_repeat"),
        ("ALTER TABLE heads ADD COLUMN x", "table heads"),
    ],
)
def test_a_journal_with_another_schema_is_refused(
    store: Path, tmp_path: Path, change: str, named: str
) -> None:
    """A hostile backup: its manifest fits, and its trigger would run with each write."""
    backup.create(store, tmp_path / "copy", lambda: NOW)
    forge(tmp_path / "copy", lambda connection: connection.execute(change))
    with pytest.raises(IncompatibleStore, match=named):
        backup.restore(tmp_path / "copy", tmp_path / "again")
    assert list((tmp_path / "again").iterdir()) == []
    for read_only in (True, False) if named.startswith(("trigger", "view")) else ():
        with pytest.raises(IncompatibleStore, match=named):
            Journal.open(tmp_path / "copy", clock=lambda: NOW, read_only=read_only)


def test_a_restore_that_was_killed_is_repeated(store: Path, tmp_path: Path) -> None:
    backup.create(store, tmp_path / "copy", lambda: NOW)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "journal.db.restoring").write_bytes(b"half")
    backup.restore(tmp_path / "copy", tmp_path / "again")
    assert held(tmp_path / "again") == held(store)
    assert not (tmp_path / "again" / "journal.db.restoring").exists()
