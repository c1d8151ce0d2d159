"""The life of an engine with a clock that is set by hand: how long it stays, and what ends it."""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from memory_core.errors import Busy
from memory_core.records import Identity
from server.cli import main
from server.engine import client, endpoint, engine, launch, wanted, wire
from server.engine.engine import IDLE_SECONDS, Engine

pytestmark = pytest.mark.usefixtures("processes")


class Told:
    """What clients share, without a memory: it answers calls with what it was asked."""

    def __init__(self) -> None:
        self._server = MCPServer("told")
        self.open = threading.Event()
        self.open.set()
        self.site = self
        self.page_is_open = False

    def server(self) -> MCPServer[Any]:
        return self._server

    def in_use(self) -> bool:
        return self.page_is_open

    def answered(self) -> None: ...

    async def call(self, who: Identity, asked: Any) -> Any:
        await asyncio.to_thread(self.open.wait, 30)
        if asked["operation"] == "fail":
            raise Busy("no place is free", "repeat the call")
        return {"agent": who.agent, "team": who.team, "arguments": asked["arguments"]}

    async def hook(self, who: Identity, payload: Any) -> Any:
        return {"payload": payload}


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield Path(made)


@pytest.fixture(params=["on", "tcp"])
def asked(request: pytest.FixtureRequest, folder: Path) -> wanted.WantedEngine:
    environment = {"ANAMNESIS_SHARED": request.param, "ANAMNESIS_AGENT": "ann"}
    return wanted.find({"data_dir": str(folder)}, environment)


class Running:
    """An engine in a thread, whose clock is set and whose looks are made by hand."""

    def __init__(
        self,
        asked: wanted.WantedEngine,
        clock: Any,
        make: Callable[[Told], Any] = lambda told: told,
    ) -> None:
        self.told = Told()
        self.engine = Engine(endpoint.of(asked), lambda: make(self.told), clock=clock)
        self.loop = asyncio.new_event_loop()
        listening = threading.Event()
        self._main = self.engine.run(listening.set)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert listening.wait(30)

    def _run(self) -> None:
        self.loop.run_until_complete(self._main)
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def look(self) -> None:
        asyncio.run_coroutine_threadsafe(self._look(), self.loop).result(30)

    async def _look(self) -> None:
        self.engine.look()

    def left(self, seconds: float = 30.0) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()


@pytest.fixture
def running(asked: wanted.WantedEngine, clock: Any) -> Iterator[Running]:
    one = Running(asked, clock)
    yield one
    one.told.open.set()
    if not one.left(0):
        one.loop.call_soon_threadsafe(one.engine._leaving.set)
        assert one.left()


def test_it_leaves_ten_minutes_after_its_last_client(
    running: Running, asked: wanted.WantedEngine, clock: Any, until: Any, folder: Path
) -> None:
    link = _open(asked)
    clock.pass_by(10 * IDLE_SECONDS)
    running.look()
    assert client.call(asked, "one", {})["agent"] == "ann"  # it stays while it has a client
    link.close()
    until(lambda: client.status(asked)["clients"] == [])
    clock.pass_by(IDLE_SECONDS - 1)
    running.look()
    assert client.status(asked)["clients"] == []
    clock.pass_by(1)
    running.look()
    assert running.left()
    assert list(folder.glob("engine-*")) == []


def test_it_stays_while_a_page_is_open(
    running: Running, asked: wanted.WantedEngine, clock: Any
) -> None:
    assert client.call(asked, "one", {})["agent"] == "ann"  # what is shared is loaded
    running.told.page_is_open = True
    clock.pass_by(10 * IDLE_SECONDS)
    running.look()
    assert client.status(asked)["clients"] == []
    running.told.page_is_open = False
    clock.pass_by(IDLE_SECONDS)
    running.look()
    assert running.left()


def test_it_leaves_when_what_clients_share_cannot_be_loaded(
    asked: wanted.WantedEngine, clock: Any, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(told: Told) -> Any:
        raise OSError("the disk is full")

    assert Running(asked, clock, fail).left()
    assert "the engine cannot serve" in caplog.text
    assert list(folder.glob("engine-*")) == []


def test_it_leaves_when_another_engine_took_its_name_over(
    running: Running, asked: wanted.WantedEngine, folder: Path
) -> None:
    other = endpoint.of(asked)
    with other.listen():
        running.look()
        assert running.left()
        assert other.ours()  # it has not removed the other one's name
    other.leave()


def test_it_leaves_when_it_is_told_to_after_open_calls(
    running: Running, asked: wanted.WantedEngine, until: Any
) -> None:
    running.told.open.clear()
    answers: list[Any] = []
    calling = threading.Thread(target=lambda: answers.append(client.call(asked, "one", {"x": 1})))
    calling.start()
    until(lambda: [each["kind"] for each in client.status(asked)["clients"]] == ["call"])
    stopping = threading.Thread(target=lambda: client.stop(asked))
    stopping.start()
    assert answers == []
    running.told.open.set()
    stopping.join(30)
    calling.join(30)
    assert answers == [{"agent": "ann", "team": "", "arguments": {"x": 1}}]
    assert running.left()


def test_status_names_the_engine_and_its_clients(
    running: Running, asked: wanted.WantedEngine, clock: Any
) -> None:
    link = _open(asked)
    clock.pass_by(60)
    told = client.status(asked)
    assert told["seconds"] == 60
    assert told["socket"] == endpoint.of(asked).path
    (one,) = told["clients"]
    assert (one["kind"], one["agent"], one["team"]) == ("mcp", "ann", "")
    link.close()


def test_an_engine_that_takes_no_more_clients_still_says_so_and_stops(
    running: Running, asked: wanted.WantedEngine, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(engine, "CONNECTIONS", 1)
    link = _open(asked)
    with pytest.raises(wire.Refused, match="busy: the engine has 1 clients"):
        client.call(asked, "one", {})
    assert main.main(["engine", "status", "--data-dir", asked.folder, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert [each["kind"] for each in told["clients"]] == ["mcp"]
    assert main.main(["engine", "stop", "--data-dir", asked.folder]) == 0
    link.close()
    assert running.left()


def test_an_engine_that_stands_still_is_said_to_be_there(
    asked: wanted.WantedEngine, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(launch, "ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(endpoint, "PROOF_SECONDS", 0.1)
    for words, code in ((["status"], 0), (["stop"], 1)):
        place = endpoint.of(asked)
        with place.listen():
            assert main.main(["engine", *words, "--data-dir", asked.folder]) == code
            assert f"an engine at {place.path} does not answer" in capsys.readouterr().out
        assert main.main(["engine", *words, "--data-dir", asked.folder]) == 0
        assert "does not answer" not in capsys.readouterr().out


def test_a_failed_call_keeps_its_code(running: Running, asked: wanted.WantedEngine) -> None:
    with pytest.raises(client.CallFailed) as failed:
        client.call(asked, "fail", {})
    assert str(failed.value) == "busy: no place is free; repeat the call"
    assert client.hook(asked, {"a": 1}, seconds=30, start=False) == {"payload": {"a": 1}}


@pytest.mark.parametrize(
    ("preamble", "problem", "exit"),
    [
        ({"kind": "nonsense"}, "does not know this kind", 1),
        ({"kind": "call", "agent": " ann"}, "setting agent", 2),
        ({"kind": "mcp", "team": "x\ny"}, "setting team", 2),
    ],
)
def test_a_wrong_preamble_is_refused_with_its_reason(
    running: Running, asked: wanted.WantedEngine, preamble: Any, problem: str, exit: int
) -> None:
    connection = endpoint.of(asked).connect()
    with connection, pytest.raises(wire.Refused, match=problem) as refused:
        wire.opened(connection, preamble, 30.0)
    assert refused.value.exit == exit


@pytest.mark.parametrize("noise", [b"hello\n", b"[1]\n", b"{\n", b"\xff\xfe\n", b"half a line"])
def test_noise_ends_its_connection_and_nothing_else(
    running: Running, asked: wanted.WantedEngine, noise: bytes
) -> None:
    with endpoint.of(asked).connect() as connection:
        connection.sendall(noise)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(wire.lines(connection))
    assert b'"ok"' not in answer
    assert client.call(asked, "one", {})["agent"] == "ann"


def _open(asked: wanted.WantedEngine) -> socket.socket:
    """An MCP connection that says nothing."""
    connection = endpoint.of(asked).connect()
    wire.opened(connection, {"kind": "mcp", "agent": asked.agent, "team": asked.team}, 30.0)
    return connection
