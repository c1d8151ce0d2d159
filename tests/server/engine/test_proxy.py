"""The proxy among engines that die one after another before they hear of a call."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from server.engine import wanted
from server.engine.launch import EngineLink, Late
from server.stdio import proxy
from server.stdio.proxy import RESTART_SECONDS, Proxy
from server.stdio.session import GONE

HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "recall"}}


class Written:
    """In place of stdin and stdout: what the client is told."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def write(self, line: bytes) -> None:
        self.lines.append(json.loads(line))


class Engines:
    """Engines of which the first *dying* die over the handshake, each after 8 seconds.

    Before them none comes up for as many calls as *late* says, each for 25 seconds.
    """

    def __init__(self, dying: int, late: int) -> None:
        self.dying = dying
        self.late = late
        self.now = 0.0
        self.heard: list[socket.socket] = []
        self.links: list[socket.socket] = []

    def connect(self, asked: Any, preamble: Any) -> EngineLink:
        del asked, preamble
        if self.late:
            self.late -= 1
            self.now += 25.0
            raise Late("none came up")
        ours, theirs = socket.socketpair()
        self.heard.append(theirs)
        self.links.append(ours)
        return EngineLink(ours, self._lines(len(self.heard) > self.dying))

    def _lines(self, lives: bool) -> Iterator[bytes]:
        if lives:
            yield b'{"jsonrpc": "2.0", "id": "anamnesis/initialize", "result": {}}\n'
        else:
            self.now += 8.0

    def told(self) -> list[dict[str, Any]]:
        """What the last engine was told."""
        return [json.loads(line) for line in self.heard[-1].recv(100_000).splitlines()]


@contextmanager
def passed(
    dying: int, monkeypatch: pytest.MonkeyPatch, late: int = 0, *more: bytes
) -> Iterator[tuple[Written, Engines]]:
    """A call that is made when the engine is gone, and *dying* others die over the handshake.

    The client says *more* while it waits.
    """
    written, engines = Written(), Engines(dying, late)
    monkeypatch.setattr(proxy.launch, "connect", engines.connect)
    monkeypatch.setattr(proxy.time, "monotonic", lambda: engines.now)
    one = Proxy(written, wanted.find({}, {}), lambda: pytest.fail("no own"))  # type: ignore[arg-type]
    one._session.sent(json.dumps(HELLO).encode())
    one._session.heard(b'{"jsonrpc": "2.0", "id": 0, "result": {}}\n')
    one._answered = True
    for line in more:
        one._events.put(line)
    one._pass(json.dumps(CALL).encode() + b"\n")
    for _ in range(1000):  # its listener ends with the last engine's lines
        if one._events.qsize():
            break
        threading.Event().wait(0.01)
    yield written, engines
    for each in (*engines.heard, *engines.links):
        each.close()


def test_a_call_outlives_two_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    with passed(2, monkeypatch) as (written, engines):
        assert written.lines == []
        assert [each["id"] for each in engines.told()] == ["anamnesis/initialize", 7]


def test_a_call_is_answered_when_no_engine_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    with passed(6, monkeypatch) as (written, engines):
        (answer,) = written.lines
        assert engines.now > RESTART_SECONDS
        assert (answer["id"], answer["result"]["isError"]) == (7, True)
        assert answer["result"]["content"][0]["text"] == GONE
        assert [each["id"] for each in engines.told()] == ["anamnesis/initialize"]


def test_every_call_is_answered_while_no_engine_comes_up(monkeypatch: pytest.MonkeyPatch) -> None:
    listing = {"jsonrpc": "2.0", "id": 8, "method": "tools/list"}
    more = [json.dumps(each).encode() + b"\n" for each in ({**CALL, "id": 6}, listing)]
    with passed(0, monkeypatch, 1, *more) as (written, engines):
        assert [(each["id"], each["result"]["isError"]) for each in written.lines] == [
            (7, True),
            (6, True),
        ]
        told = engines.told()  # what only asks is asked of the engine that came up
        assert [each["id"] for each in told] == ["anamnesis/initialize", 8]
    with passed(0, monkeypatch, 3, *more) as (written, engines):
        assert [each["id"] for each in written.lines] == [7, 6, 8]
        assert [each["id"] for each in engines.told()] == ["anamnesis/initialize"]
