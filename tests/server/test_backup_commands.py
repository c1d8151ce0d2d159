"""doctor, backup and restore as a person runs them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from command_line import read

from memory_core.config import Settings
from memory_core.errors import StorageError
from memory_core.forget import ERASED
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Check, Identity, MemoryRecord
from memory_core.remember.request import RememberRequest
from memory_core.storage.backup import backup
from memory_core.storage.table.table import Table
from server.cli import doctor, import_export, main

ME = Identity("me")


@pytest.fixture
def data(tmp_path: Path, toy: Any) -> Path:
    folder = tmp_path / "data"
    with Memory(Settings(data_dir=folder), embedder=toy) as memory:
        assert memory.wait_ready(120.0)
        memory.remember(ME, RememberRequest("The heron waits by the weir."))
    return folder


@pytest.fixture
def run(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("os.environ", {"ANAMNESIS_DATA_DIR": str(tmp_path / "data")})

    def running(*argv: str) -> tuple[int, str, str]:
        code = main.main(argv)
        said = capsys.readouterr()
        return code, said.out, said.err

    return running


@pytest.fixture
def toy_model(monkeypatch: pytest.MonkeyPatch, toy: Any) -> None:
    monkeypatch.setattr("memory_core.runtime.choose", lambda settings: toy)


def test_backup_and_restore(run: Any, data: Path, tmp_path: Path, toy: Any) -> None:
    code, out, _ = run("backup", str(tmp_path / "copy"))
    assert code == 0
    assert out.startswith("1 memories")
    code, _, err = run("restore", str(tmp_path / "copy"))
    assert code == 2
    assert "holds a memory already" in err
    assert "nothing was changed" in err
    code, out, _ = run("restore", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "b"))
    assert code == 0
    with Memory(Settings(data_dir=tmp_path / "b"), embedder=toy) as again:
        assert [m.text for m in again.listing(ME)] == ["The heron waits by the weir."]


def test_a_backup_of_a_damaged_journal_is_made_and_exits_with_1(
    run: Any, data: Path, tmp_path: Path
) -> None:
    connection = apsw.Connection(str(data / "journal.db"))
    connection.execute("UPDATE changes SET body = replace(body, 'weir', 'wear')")
    connection.close()
    code, out, _ = run("backup", str(tmp_path / "copy"))
    assert code == 1
    assert "damaged: " in out


@pytest.mark.usefixtures("toy_model")
def test_doctor_is_content(run: Any, data: Path, weights_available: bool) -> None:
    code, out, _ = run("doctor", "--json")
    found = json.loads(out)
    names = {check["name"] for check in found["checks"]}
    assert code == 0
    assert {"data directory", "weights", "round trip", "upkeep", "disk", "clock"} <= names
    bad = [c for c in found["checks"] if c["status"] not in ("ok", "repaired")]
    assert weights_available is (bad == [])


def test_doctor_makes_nothing_where_there_is_no_memory(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("doctor")
    assert code == 0
    assert "made by the first memory" in " ".join(out.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("toy_model")
def test_doctor_names_the_command_for_what_is_wrong(run: Any, data: Path) -> None:
    data.chmod(0o755)
    connection = apsw.Connection(str(data / "journal.db"))
    connection.execute("UPDATE changes SET body = replace(body, 'weir', 'wear')")
    connection.close()
    code, out, _ = run("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert code == 1
    assert checks["data directory"]["command"] == f"chmod 700 '{data}'"
    assert checks["journal"]["command"] == "anamnesis restore BACKUP --data-dir DIR"
    data.chmod(0o755)  # opening the memory has closed it
    code, out, _ = run("doctor")
    assert f"data directory: chmod 700 '{data}'" in out
    assert "journal: anamnesis restore BACKUP --data-dir DIR" in out
    assert out.rstrip().endswith("status: failing")


@pytest.mark.parametrize("emptied", [False, True])
def test_doctor_names_a_journal_that_is_lost(run: Any, data: Path, emptied: bool) -> None:
    (data / "table" / "1" / "memories.lance").mkdir(parents=True, exist_ok=True)
    for path in data.glob("journal.db*"):
        path.unlink()
    if emptied:
        (data / "journal.db").touch()
    code, out, _ = run("doctor", "--json")
    found = {check["name"]: check for check in json.loads(out)["checks"]}["data directory"]
    assert (code, found["status"]) == (1, "failing")
    assert "is lost or empty" in found["detail"]
    assert "restore a backup" in found["fix"]


def test_a_lost_journal_is_salvaged_from_the_table(
    run: Any, data: Path, tmp_path: Path, toy: Any
) -> None:
    said = MemoryRecord(id="0" * 20, text="The heron waits by the weir.", agent="me")
    shutil.rmtree(data)
    table = Table.create(data / "table" / "1", dimension=4)
    table.merge([said], {}, applied=1)
    table.close()
    code, _, error = run("recall", "heron")
    assert code == 1
    assert "anamnesis salvage NEW_FOLDER" in error
    code, out, _ = run("salvage", str(tmp_path / "saved"))
    assert code == 1  # something is lost
    assert out.startswith(f"1 memories salvaged to {tmp_path / 'saved'}, from table 1\n")
    assert "lost: history, links" in out
    with Memory(Settings(data_dir=tmp_path / "saved"), embedder=toy) as memory:
        assert memory.wait_ready(120.0)
        found = memory.recall(ME, RecallRequest("Where does the heron wait?"))
        assert [hit.memory.text for hit in found.hits] == [said.text]


def test_doctor_says_why_a_memory_cannot_be_opened(run: Any, data: Path) -> None:
    connection = apsw.Connection(str(data / "journal.db"))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    code, out, _ = run("doctor")
    assert code == 1
    assert "format 99" in " ".join(out.split())
    assert "memory: upgrade anamnesis-mcp" in out


def test_doctor_says_that_the_folder_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = doctor._folder(tmp_path / "file" / "inside")
    assert (found.status, bool(found.fix)) == ("failing", True)


def test_doctor_says_nothing_of_a_pause_in_a_folder_that_it_may_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hooks-paused.json").mkdir()
    assert [check.name for check in doctor._pause(tmp_path)] == ["pause"]
    monkeypatch.setattr("os.access", lambda *_: False)
    assert doctor._pause(tmp_path) == []


def test_doctor_names_setup_when_the_weights_are_missing(tmp_path: Path) -> None:
    found = doctor._weights(Settings(data_dir=tmp_path, model_dir=tmp_path / "none"))
    assert found.status == "degraded"
    assert doctor.repair_command(found) == "anamnesis setup"
    assert doctor._weights(Settings(data_dir=tmp_path, embedder="ollama:x")).status == "ok"


def test_the_commands_that_it_names_exist() -> None:
    root = Path(__file__).parents[2]
    files = [*root.glob("memory_core/**/*.py"), *root.glob("server/**/*.py")]
    commands = {
        found
        for file in files
        for found in doctor._COMMAND.findall(file.read_text("utf-8"))
        if found.startswith("anamnesis ")
    }
    assert "anamnesis health --repair" in commands
    for each in commands:
        if "{" not in each:
            read(each.split()[1:])
    assert doctor.repair_command(Check("x", "failing", "", "free some space")) == ""


# reembed


class Other:
    """The toy under another fingerprint."""

    def __init__(self, toy: Any) -> None:
        self.__dict__.update(toy.__dict__)
        self.fingerprint, self.name = "other-1", "other"
        self.dimension, self.profile = toy.dimension, toy.profile
        self.documents, self.query = toy.documents, toy.query


@pytest.fixture
def two_models(monkeypatch: pytest.MonkeyPatch, toy: Any) -> None:
    by_name = {"minilm": toy, "ollama:other": Other(toy)}
    monkeypatch.setattr("memory_core.runtime.choose", lambda settings: by_name[settings.embedder])


@pytest.mark.usefixtures("two_models")
def test_reembed_changes_the_model_and_back(run: Any, data: Path) -> None:
    code, out, _ = run("reembed", "ollama:other", "--json")
    assert code == 0
    assert json.loads(out) == {"model": "ollama:other", "changed": True, "left": 0}
    code, out, _ = run("health", "--json")
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert "works with ollama:other" in checks["model"]["detail"]
    assert run("reembed")[:2] == (0, "the store works with minilm\n")
    assert "64 dimensions" in run("health")[1]


@pytest.mark.usefixtures("two_models")
def test_reembed_without_waiting_leaves_it_to_the_next(run: Any, data: Path) -> None:
    code, out, _ = run("reembed", "ollama:other", "--no-wait")
    assert code == 0
    assert "1 memories to go" in out
    assert "changed" in run("reembed", "ollama:other", "--json")[1]


@pytest.mark.usefixtures("two_models")
def test_reembed_lets_go_when_nothing_moves(
    run: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.cli.commands.STALLED_SECONDS", 0.0)
    code, out, _ = run("reembed", "ollama:other")
    assert code == 1
    assert "repeat the command" in out


def kept(data: Path, toy: Any) -> str:
    """The id of the memory, once it is in the table and in a snapshot too."""
    with Memory(Settings(data_dir=data), embedder=toy) as memory:
        assert memory.wait_ready(120.0)
        maintenance = memory._runtime.parts().maintenance
        maintenance.round()
        maintenance.snapshots.write()
        return str(memory.listing(ME)[0].id)


def holding(data: Path, word: str) -> list[str]:
    """The files in which *word* can be read; no process has the journal open."""
    files = [path for path in data.rglob("*") if path.is_file()]
    return [path.name for path in files if word.encode() in path.read_bytes()]


@pytest.mark.parametrize("command", ["forget", "clear"])
def test_what_a_command_deletes_is_in_no_file_when_it_returns(
    run: Any, data: Path, toy: Any, toy_model: None, command: str
) -> None:
    id = kept(data, toy)
    assert len(holding(data, "heron")) > 1
    ids = [id] if command == "forget" else []
    code, out, _ = run("--agent", "me", command, *ids, "--yes")
    assert code == 0
    assert holding(data, "heron") == []
    if command == "forget":
        assert ERASED in out, "and not: within a minute"
    code, out, err = run("health", "--json")
    assert err == "", "what was erased is not missed"
    erasure = next(each for each in json.loads(out)["checks"] if each["name"] == "erasure")
    assert erasure["status"] == "ok"
    assert "no file" in erasure["detail"]


def test_forget_names_the_copies_that_hold_the_text(
    run: Any, data: Path, toy: Any, toy_model: None, tmp_path: Path
) -> None:
    id = kept(data, toy)
    run("backup", str(tmp_path / "early"))
    run("--agent", "me", "export", str(tmp_path / "early.jsonl"))
    run("--agent", "me", "export")
    run("--agent", "you", "export", str(tmp_path / "yours.jsonl"))
    _, out, _ = run("--agent", "me", "remember", "The stork came back in March.", "--json")
    later = json.loads(out)["id"]
    _, out, _ = run("--agent", "me", "forget", later, "--yes")
    assert "copies" not in out, "nothing was copied since"
    _, preview, _ = run("--agent", "me", "forget", id)
    _, done, _ = run("--agent", "me", "forget", id, "--yes")
    for said in (preview, done):
        note = next(line for line in said.splitlines() if "copies" in line)
        assert f"in {tmp_path / 'early'}" in note.replace("early.jsonl", "")
        assert str(tmp_path / "early.jsonl") in note
        assert "to standard output" in note
        assert "yours" not in note, "its agent cannot read the memory"


def copied(data: Path, folder: Path, at: float) -> None:
    made = backup.create(data, folder, lambda: at)
    backup.note(data, folder, made, lambda: at)


def test_a_restored_memory_knows_the_backup_that_it_came_from(
    run: Any, data: Path, toy: Any, tmp_path: Path
) -> None:
    run("backup", str(tmp_path / "copy"))
    run("restore", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "b"))
    with Memory(Settings(data_dir=tmp_path / "b"), embedder=toy) as memory:
        note = memory.forget(ME, ids=[memory.listing(ME)[0].id]).note
    assert f"in {tmp_path / 'copy'}" in note


def test_who_is_no_admin_learns_no_place(data: Path, toy: Any, tmp_path: Path) -> None:
    copied(data, tmp_path / "early", 86_400.0)
    with Memory(Settings(data_dir=data), embedder=toy) as memory:
        reader = Identity("me", "", frozenset({"read", "write"}))
        note = memory.forget(reader, ids=[memory.listing(ME)[0].id]).note
    assert "the backup of 1970-01-02" in note
    assert "early" not in note


def test_a_backup_that_was_moved_is_named_as_gone(data: Path, toy: Any, tmp_path: Path) -> None:
    for number in range(7):
        copied(data, tmp_path / f"copy{number}", 86_400.0 * number)
    (tmp_path / "copy6").rename(tmp_path / "elsewhere")
    with Memory(Settings(data_dir=data), embedder=toy) as memory:
        note = memory.forget(ME, ids=[memory.listing(ME)[0].id]).note
    assert f"the backup of 1970-01-07 in {tmp_path / 'copy6'}, which is no longer there" in note
    assert f"in {tmp_path / 'copy2'}" in note
    assert f"in {tmp_path / 'copy1'}" not in note
    assert "2 older ones" in note


KILLED = """
import os, signal, sys
from pathlib import Path
from server.cli.import_export import _replace
def lines():
    yield "a private line"
    os.kill(os.getpid(), signal.SIGKILL)
    yield "another"
_replace(Path(sys.argv[1]), lines())
"""


@pytest.mark.usefixtures("processes")
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no files without a name")
def test_a_killed_export_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "out" / "memories.jsonl"
    target.parent.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(target)], cwd=Path(__file__).parents[2]
    )
    assert done.returncode == -signal.SIGKILL
    assert list(target.parent.iterdir()) == []


def test_an_export_without_nameless_files_clears_what_a_killed_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_export, "_nameless", lambda folder: None)
    target, left = tmp_path / "memories.jsonl", tmp_path / ".memories.jsonl.partial"
    left.write_text("private")
    assert import_export._replace(target, ["a\n", "b\n"]) == 2
    assert target.read_text() == "a\nb\n"
    assert target.stat().st_mode & 0o777 == 0o600

    def broken() -> Iterator[str]:
        yield "a"
        raise OSError(28, "full")

    with pytest.raises(StorageError):
        import_export._replace(target, broken())
    assert target.read_text() == "a\nb\n"
    assert not left.exists()


@pytest.mark.parametrize(
    "words",
    ["list", "recall x", "show 0", "history 0", "stats", "health", "topics", "review", "export"],
)
def test_a_mistyped_folder_stays_what_it_is(run: Any, tmp_path: Path, words: str) -> None:
    """No empty memory answers for one that is elsewhere."""
    for folder in (tmp_path / "typo", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        code, out, err = run(*words.split(), "--data-dir", str(folder))
        assert (code, out) == (1, "")
        assert err.startswith(f"anamnesis: not_found: there is no memory in {folder}; check")
        assert not folder.exists() or not list(folder.iterdir())


@pytest.mark.usefixtures("toy_model")
def test_what_stores_begins_a_memory_where_it_is_told(run: Any, tmp_path: Path) -> None:
    where = ("--data-dir", str(tmp_path / "new"))
    assert run("remember", "The tin is blue.", *where)[0] == 0
    assert "The tin is blue." in run("list", *where)[1]
