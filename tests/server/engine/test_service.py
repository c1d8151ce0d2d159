"""The service that keeps an engine: its file on each system, and what is done to it."""

from __future__ import annotations

import math
import os
import plistlib
import shlex
import shutil
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import InvalidInput
from server.cli import main, serve
from server.cli.invocation import Invocation
from server.cli.service import _wanted
from server.engine import launch, service, wanted
from server.engine.service import MARK

pytestmark = pytest.mark.usefixtures("processes")

ODD = 'a "b" \\ 50% $HOME; c ü'
SCHEMA = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a service manager that notes what it is told; its exit code is in a file."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("systemctl", "launchctl"):
        tool = tools / name
        tool.write_text(
            f'#!/bin/sh\necho "{name} $@" >> {tmp_path}/told\nexit $(cat {tmp_path}/code)\n'
        )
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "code").write_text("0")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in [name for name in os.environ if name.startswith("ANAMNESIS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANAMNESIS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "home"


def run(capsys: Any, *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main.main(["service", *words])
    found = capsys.readouterr()
    return code, found.out, found.err


def told(home: Path) -> list[str]:
    note = home.parent / "told"
    return note.read_text("utf-8").splitlines() if note.exists() else []


def test_install_writes_and_enables_once_and_uninstall_takes_it_back(
    home: Path, capsys: Any
) -> None:
    unit = home / ".config" / "systemd" / "user" / "anamnesis.service"
    assert run(capsys, "status") == (0, f"missing: {unit}\n", "")
    assert run(capsys, "install", "--print")[1].startswith(f"{unit}:\n# {MARK}\n[Unit]\n")
    assert not unit.exists()
    assert told(home) == []
    assert run(capsys, "install") == (0, f"written: {unit}\nenabled\n", "")
    text = unit.read_text("utf-8")
    assert f'Environment="ANAMNESIS_DATA_DIR={home.parent / "data"}"\n' in text
    assert '"engine" "run" "--stay"\n' in text
    enabling = ["systemctl --user daemon-reload", "systemctl --user enable --now anamnesis.service"]
    assert told(home) == enabling
    assert run(capsys, "install") == (0, f"needs no change: {unit}\nenabled\n", "")
    assert unit.read_text("utf-8") == text
    assert run(capsys, "status") == (0, f"installed: {unit}\n", "")
    assert run(capsys, "status", "--data-dir", "elsewhere")[1].startswith(f"outdated: {unit}; ")
    assert run(capsys, "install", "--data-dir", "elsewhere")[1].startswith("written: ")
    assert run(capsys, "uninstall") == (0, f"removed: {unit}\n", "")
    assert list(unit.parent.iterdir()) == []
    assert told(home)[-1] == "systemctl --user disable --now anamnesis.service"
    assert run(capsys, "uninstall") == (0, "no service is installed\n", "")


def test_without_a_manager_it_says_what_to_run(home: Path, capsys: Any) -> None:
    (home.parent / "code").write_text("1")
    code, out, _ = run(capsys, "install")
    assert (code, out.splitlines()[1:]) == (
        0,
        [
            "then run:",
            "  systemctl --user daemon-reload",
            "  systemctl --user enable --now anamnesis.service",
        ],
    )
    assert "then run:\n  systemctl --user disable" in run(capsys, "uninstall")[1]


@pytest.mark.parametrize("words", [["install"], ["uninstall"], ["status"]])
def test_a_file_of_somebody_else_is_left_alone(home: Path, capsys: Any, words: list[str]) -> None:
    unit = home / ".config" / "systemd" / "user" / "anamnesis.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert "was not written by this program, and was left as it is" in err
    assert unit.read_text() == "[Service]\nExecStart=/bin/true\n"
    assert told(home) == []


def test_the_engine_of_the_service_is_that_which_clients_want(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its variables give the key of the settings that were in force."""
    monkeypatch.setenv("ANAMNESIS_OFFLINE", "1")
    call = Invocation()
    assert 'Environment="ANAMNESIS_OFFLINE=1"' in _wanted(call).text.splitlines()
    given = dict(
        shlex.split(line.removeprefix("Environment="))[0].split("=", 1)
        for line in _wanted(call).text.splitlines()
        if line.startswith("Environment=")
    )
    mine, its = wanted.find({}, call.environment), wanted.find({}, given)
    assert (its.key, its.folder) == (mine.key, mine.folder)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_reads_the_unit_as_it_is_meant(tmp_path: Path) -> None:
    made = service.systemd(tmp_path, [sys.executable, "-c", ODD], {"ANAMNESIS_TEAM": ODD})
    made.path.parent.mkdir(parents=True)
    made.path.write_text(made.text, "utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(made.path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    ours = [line for line in done.stderr.splitlines() if "anamnesis.service" in line]
    assert ours == []


def test_a_unit_escapes_what_systemd_would_replace(tmp_path: Path) -> None:
    made = service.systemd(tmp_path, ["/bin/x", ODD], {"A": ODD})
    assert 'ExecStart="/bin/x" "a \\"b\\" \\\\ 50%% $$HOME; c ü"\n' in made.text
    assert 'Environment="A=a \\"b\\" \\\\ 50%% $HOME; c ü"\n' in made.text


def test_launchd_gets_words_and_variables_as_they_are(tmp_path: Path) -> None:
    made = service.launchd(tmp_path, 501, ["/bin/x", ODD], {"A": ODD})
    about = plistlib.loads(made.text.encode("utf-8"))
    assert about["ProgramArguments"] == ["/bin/x", ODD]
    assert about["EnvironmentVariables"] == {"A": ODD}
    assert about["KeepAlive"] == {"SuccessfulExit": False}
    assert about["RunAtLoad"] is True
    assert MARK in made.text
    assert made.path == tmp_path / "Library" / "LaunchAgents" / "anamnesis.engine.plist"
    assert made.enable == (("launchctl", "bootstrap", "gui/501", str(made.path)),)


def test_a_task_of_windows_carries_its_settings_as_flags(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = service.task(home, ["C:\\x\\anamnesis.exe", "engine", "--team", ODD])
    root = ET.fromstring(made.text)
    command = root.find(f"{SCHEMA}Actions/{SCHEMA}Exec")
    assert command is not None
    assert command.findtext(f"{SCHEMA}Command") == "C:\\x\\anamnesis.exe"
    assert command.findtext(f"{SCHEMA}Arguments") == (
        f"engine --team {subprocess.list2cmdline([ODD])}"
    )
    assert MARK in made.text
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("ANAMNESIS_TEAM", "barn")
    assert "--team barn" in _wanted(Invocation()).text
    monkeypatch.setenv("ANAMNESIS_OFFLINE", "1")
    with pytest.raises(InvalidInput, match="ANAMNESIS_OFFLINE"):
        _wanted(Invocation())


def test_the_hooks_of_a_client_name_it(home: Path, capsys: Any) -> None:
    assert main.main(["install", "claude-code", "--hooks"]) == 0
    assert "anamnesis service install" in capsys.readouterr().out
    assert main.main(["install", "cursor"]) == 0
    assert "anamnesis service" not in capsys.readouterr().out


@pytest.mark.parametrize(("words", "seconds"), [([], None), (["--stay"], math.inf)])
def test_only_an_engine_that_stays_needs_no_client(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], seconds: float | None
) -> None:
    found: list[float | None] = []

    class Ended(Exception):
        """In place of the end of the process."""

    def run(self: object, asked: object, listening: Any, **more: Any) -> None:
        found.append(more.get("idle_seconds"))
        release[0]()
        raise Ended

    release: list[Any] = []
    alone = launch.alone

    def noted(asked: wanted.WantedEngine) -> Any:
        release.append(alone(asked))
        return release[0]

    monkeypatch.setattr(launch, "alone", noted)
    monkeypatch.setattr(serve._Serving, "run", run)
    with pytest.raises(Ended):
        main.main(["engine", "run", *words])
    assert found == [seconds]
