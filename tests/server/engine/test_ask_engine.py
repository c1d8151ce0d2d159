"""Commands that a running engine does: the same output as without one, and nothing lost with it."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import engines
import pytest
from command_line import commands
from talking import ROOT

from server import __version__
from server.cli import ask_engine, in_engine, main
from server.engine import client, endpoint, wanted, wire

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="counts processes in /proc"),
    pytest.mark.usefixtures("processes"),
]

HERE = {
    "chat": "it talks on this terminal for as long as its user likes",
    "reembed": "it loads a second model and works for as long as the store is large",
    "edit": "it opens an editor on this terminal",
    "export": "it writes a file, or a stream of any length",
    "import": "it reads a file of any length",
    "sync": "it reads and writes files of any length",
}
"""Commands on memories that no engine does, and why."""

CASES: dict[str, list[tuple[str, ...]]] = {
    "remember": [
        ("remember", "the red kite nests in the old ash", "--tag", "birds"),
        ("remember", "-", "--json"),
        ("remember", "the kite", "--replaces", "0" * 20),
        ("remember", ""),
    ],
    "recall": [
        ("recall", "where does the kite nest?"),
        ("recall", "which day is the market?", "-k", "1", "--json", "--agent", "ann"),
        ("--agent=ann", "recall", "kite", "--since", "yesterday-ish"),
        ("recall", "ID"),
        ("recall",),
    ],
    "forget": [("forget", "ID"), ("forget", "--query", "kite", "--json"), ("forget",)],
    "consolidate": [("consolidate", "--dry-run"), ("consolidate", "--mode", "often")],
    "health": [("health", "--json")],
    "encode": [("encode",)],
    "stats": [("stats",), ("stats", "--json"), ("stats", "--every")],
    "history": [("history", "ID"), ("history", "ID", "--json"), ("history", "0" * 20)],
    "review": [("review",), ("review", "--json"), ("review", "ID", "ID")],
    "list": [("list",), ("list", "--state", "doubtful"), ("list", "--limit", "0")],
    "show": [("show", "ID"), ("show", "0" * 20), ("show",)],
    "pin": [("pin", "ID", "--off"), ("pin", "0" * 20)],
    "tag": [("tag", "ID", "--remove", "stars"), ("tag", "ID")],
    "retire": [("retire", "ID", "--off"), ("retire",)],
    "topics": [("topics",)],
    "people": [("people",), ("people", "--cursor", "x")],
    "sessions": [("sessions", "--json")],
    "observe": [("observe",), ("observe", "FILE", "--json"), ("observe", "no-such-file")],
    "seed": [("seed", "FILE"), ("seed", "-")],
    "clear": [("clear",)],
}
"""Command lines by command, each of which comes to the same when it is done again."""

TURNS = "I moved to Lisbon in May.\nok\n"
SAID = "the red kite nests in the old ash\n"
RUN = (
    "import json, os, sys\n"
    "from server.__main__ import main\n"
    "code = main()\n"
    "loaded = [n for n in ('click', 'numpy', 'memory_core.config', 'lancedb', 'faiss', 'mcp',\n"
    "    'pydantic', 'asyncio', 'rich') if n in sys.modules]\n"
    "open(os.environ['TEST_LOADED'], 'w').write(json.dumps(loaded))\n"
    "sys.exit(code)\n"
)


@pytest.fixture
def shared() -> str:
    return "on"


class Program:
    """Runs command lines in processes of their own, over one data directory."""

    def __init__(self, environment: dict[str, str], note: Path) -> None:
        self.environment = {**environment, "TEST_LOADED": str(note), "PYTHONPATH": str(ROOT)}
        self._note = note

    def run(self, *words: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", RUN, *words],
            input=given,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self._note.parent,
        )

    def loaded(self) -> list[str]:
        """Which of the large modules were loaded in the last process that ended."""
        return list(json.loads(self._note.read_text("utf-8")))


@pytest.fixture
def program(environment: dict[str, str], tmp_path: Path) -> Program:
    return Program(environment, tmp_path / "loaded.json")


@pytest.fixture
def engine(
    asked: wanted.WantedEngine,
    environment: dict[str, str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)  # the engine has that of the process that starts it
    assert client.call(asked, "wait_ready", {"seconds": 60}, start=True)
    yield
    engines.end(folder)


def test_every_command_on_memories_has_a_case_or_a_reason() -> None:
    on_memories = {
        name
        for name, command in commands().items()
        if hasattr(command.callback, "__wrapped__")
        and "memory" in command.callback.__wrapped__.__annotations__  # type: ignore[union-attr]
    }
    assert on_memories == set(CASES) | set(HERE)
    assert set(CASES) == ask_engine.COMMANDS == set(in_engine.program.commands)
    text = (ROOT / "docs" / "clients.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in HERE)


def without_engine(
    words: list[str], given: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> tuple[int, str, str]:
    capsys.readouterr()
    stdin = io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stdin)
    code = main.main(words)
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.mark.parametrize("most", [1, pytest.param(9, marks=pytest.mark.long)])
def test_the_output_is_the_same_with_an_engine_and_without(
    most: int,
    program: Program,
    engine: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turns.txt").write_text(TURNS, "utf-8")
    done = program.run("remember", SAID.strip(), "--tag", "birds", "--json")
    id = json.loads(done.stdout)["id"]
    for agent, text in (("me", "the kite is away in winter"), ("ann", "the market is on Friday")):
        assert program.run("remember", text, "--agent", agent).returncode == 0
    program.run("observe", "turns.txt")
    program.run("seed", "turns.txt")
    for name, lines in CASES.items():
        for line in lines[:most]:
            words = [{"ID": id, "FILE": "turns.txt"}.get(word, word) for word in line]
            # an engine takes what it has just recalled for an echo, so this is something else
            given = TURNS if words == ["observe"] else SAID if "-" in words else ""
            mine = program.run(*words, given=given)
            by_engine = program.loaded()
            alone = without_engine(words, given, monkeypatch, capsys)
            if name == "health":  # of two processes: numbers differ, and one is the engine
                assert mine.returncode == alone[0] == 0
                report, own = json.loads(mine.stdout), json.loads(alone[1])
                assert report.keys() == own.keys()
                assert report["engine"].items() >= {"shared": True, "clients": 1}.items()
                assert report["engine"]["pid"] != own["engine"]["pid"] == os.getpid()
                assert own["engine"]["shared"] is False
                assert report["engine"]["version"] == __version__
                assert report["engine"]["seconds"] >= 0
                assert max(report["engine"]["memory"].values()) > 10 * 2**20
            else:
                assert (mine.returncode, mine.stdout, mine.stderr) == alone, words
            if "no-such-file" not in words:
                assert by_engine == [], words


def on_a_terminal(program: Program, *words: str, **more: str) -> bytes:
    """What *words* print on a terminal of 64 columns."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**program.environment, "TERM": "xterm-256color", "COLUMNS": "64", **more},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65_536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(ours)
    assert process.wait(120) == 0
    return shown


@pytest.mark.long
def test_a_terminal_shows_the_same_with_an_engine_and_without(
    program: Program, engine: None
) -> None:
    long = "the red kite nests in the old ash behind the mill, above the weir and the lock"
    program.run("remember", long)
    shown = on_a_terminal(program, "recall", "where does the kite nest")
    assert program.loaded() == []
    assert b"\x1b[" in shown
    assert long.encode() not in shown  # it is folded at the terminal's width
    assert on_a_terminal(program, "recall", "where does the kite nest", ANAMNESIS_SHARED="off") == (
        shown
    )


def test_an_engine_of_other_settings_is_not_asked(program: Program, engine: None) -> None:
    done = program.run("stats", ANAMNESIS_OFFLINE="0")
    assert done.returncode == 0
    assert "click" in program.loaded()


def test_who_wants_a_log_or_help_has_it_from_its_own_process(
    program: Program, engine: None
) -> None:
    assert "Find memories" in program.run("recall", "--help").stdout
    assert "click" in program.loaded()
    program.run("stats", "--log-level", "INFO")
    assert "click" in program.loaded()


def test_an_engine_that_is_killed_over_a_command_says_busy_and_loses_nothing(
    program: Program, engine: None, folder: Path, kill: Callable[[], None]
) -> None:
    program.run("remember", "the owl sleeps in the barn")
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "remember", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=program.environment,
        text=True,
    )
    asked = wanted.find({}, program.environment)
    while not any(each["kind"] == "command" for each in client.status(asked)["clients"]):
        pass  # it waits for what the client reads
    kill()
    out, err = process.communicate(SAID, timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err == "anamnesis: busy: the engine ended over the command; repeat it\n"
    assert program.run("remember", "-", given=SAID).returncode == 0
    counts = json.loads(program.run("stats", "--json").stdout)
    assert counts["memories"] == 2


def test_an_engine_that_stands_still_and_is_killed_leaves_the_recall_to_its_process(
    program: Program, engine: None, folder: Path
) -> None:
    program.run("remember", SAID.strip())
    (process,) = engines.alive(folder)
    os.kill(process, signal.SIGSTOP)
    found: list[Any] = []
    asking = threading.Thread(target=lambda: found.append(program.run("recall", "kite")))
    asking.start()
    os.kill(process, signal.SIGKILL)
    asking.join(120)
    assert found[0].returncode == 0
    assert SAID.strip() in found[0].stdout


@pytest.fixture
def dying(
    asked: wanted.WantedEngine,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    folder: Path,
) -> Iterator[None]:
    """An engine that accepts a command and is gone."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    folder.mkdir(mode=0o700)
    place = endpoint.of(asked)
    listener = place.listen()

    def die() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.recv(65_536)
            connection.sendall(wire.encode({"ok": True}))
            connection.close()

    threading.Thread(target=die, daemon=True).start()
    yield
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    place.leave()


def test_only_what_reads_is_done_again_when_the_engine_ends(dying: None, capsys: Any) -> None:
    assert ask_engine.run(["recall", "kite"]) is None
    assert ask_engine.run(["stats"]) is None
    assert capsys.readouterr().err == ""
    assert ask_engine.run(["remember", "kite"]) == 1
    assert "busy: the engine ended over the command; repeat it" in capsys.readouterr().err


def test_input_too_long_to_send_is_read_by_the_process_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = "ü" * ask_engine.MOST_BYTES
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(whole.encode()), encoding="utf-8"))
    assert ask_engine._text("-") is None
    assert sys.stdin.read() == whole
