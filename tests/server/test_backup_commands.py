"""doctor, backup and restore as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from command_line import read

from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.records import Check, Identity
from memory_core.remember.request import RememberRequest
from server.cli import doctor, main

ME = Identity("me")


@pytest.fixture
def data(tmp_path: Path, toy: Any) -> Path:
    folder = tmp_path / "data"
    with Memory(Settings(data_dir=folder), embedder=toy) as memory:
        assert memory.wait_ready(20.0)
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
    code, out, _ = run("doctor")
    assert f"data directory: chmod 700 '{data}'" in out
    assert "journal: anamnesis restore BACKUP --data-dir DIR" in out
    assert out.rstrip().endswith("status: failing")


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
