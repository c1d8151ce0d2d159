"""What the proxy of a client remembers, and what a new engine and the client hear of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.stdio.session import GONE, ProxySession

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


def asked(id: Any, method: str, **params: Any) -> bytes:
    return line(id=id, method=method, params=params)


def answered(id: Any) -> bytes:
    return line(id=id, result={})


def read(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(each) for each in lines]


@pytest.fixture
def session() -> ProxySession:
    """A client that has shaken hands."""
    made = ProxySession()
    made.sent(asked(0, "initialize", protocolVersion="2025-06-18"))
    assert made.heard(answered(0))
    made.sent(line(method="notifications/initialized"))
    return made


def test_nothing_is_replayed_before_the_client_spoke() -> None:
    session = ProxySession()
    assert session.replay() == ([], [])
    assert not session.waiting


def test_the_handshake_is_replayed_and_its_answer_is_not_heard_again(session: ProxySession) -> None:
    for _ in range(2):
        first, rest = session.replay()
        hello, initialized = read(first)
        assert (hello["method"], hello["params"]) == (
            "initialize",
            {"protocolVersion": "2025-06-18"},
        )
        assert initialized["method"] == "notifications/initialized"
        assert rest == []
        assert not session.heard(answered(hello["id"]))
        session.died()


def test_a_handshake_that_was_never_answered_is_asked_again_under_its_own_id() -> None:
    session = ProxySession()
    session.sent(asked("h", "initialize"))
    assert session.died() == []
    assert session.replay() == ([], [asked("h", "initialize")])
    assert session.heard(answered("h"))


def test_a_call_is_not_repeated_but_answered(session: ProxySession) -> None:
    session.sent(asked(1, "tools/call", name="remember"))
    session.sent(asked("one", "tools/call", name="recall", _meta=MODERN))
    first, second = read(session.died())
    text = {"content": [{"type": "text", "text": GONE}], "isError": True}
    assert (first["id"], first["result"]) == (1, text)
    assert (second["id"], second["result"]) == ("one", {**text, "resultType": "complete"})
    assert session.died() == []
    assert session.replay()[1] == []


def test_what_only_asks_is_repeated_once(session: ProxySession) -> None:
    ask = asked(1, "tools/list")
    assert session.sent(ask)
    assert session.waiting
    assert session.died() == []
    assert session.replay()[1] == [ask]
    (lost,) = read(session.died())
    assert lost["id"] == 1
    assert lost["error"]["message"] == GONE
    assert session.replay()[1] == []


def test_an_answered_or_cancelled_request_is_forgotten(session: ProxySession) -> None:
    session.sent(asked(1, "tools/list"))
    session.sent(asked(2, "tools/call", name="recall"))
    session.sent(line(method="notifications/cancelled", params={"requestId": 2}))
    assert session.heard(answered(1))
    assert session.died() == []
    assert not session.waiting


def test_subscriptions_are_replayed_until_they_end(session: ProxySession) -> None:
    for id, uri in enumerate(("memory://recent", "memory://review", "memory://recent"), 10):
        session.sent(asked(id, "resources/subscribe", uri=uri))
        assert session.heard(answered(id))
    session.sent(asked(20, "resources/subscribe", uri="memory://nothing"))
    assert session.heard(line(id=20, error={"code": 1, "message": "no"}))
    session.sent(asked(21, "resources/unsubscribe", uri="memory://review"))
    assert session.heard(answered(21))
    assert session.waiting
    (again,) = read(session.replay()[1])
    assert (again["method"], again["params"]) == (
        "resources/subscribe",
        {"uri": "memory://recent"},
    )
    assert not session.heard(answered(again["id"]))
    assert session.heard(line(method="notifications/resources/updated", params={"uri": "x"}))


def test_an_open_stream_is_asked_for_again_and_acknowledged_once() -> None:
    session = ProxySession()
    ask = asked("l", "subscriptions/listen", _meta=MODERN)
    session.sent(ask)
    acknowledged = line(
        method="notifications/subscriptions/acknowledged",
        params={"_meta": {"io.modelcontextprotocol/subscriptionId": "l"}},
    )
    assert session.heard(acknowledged)
    for _ in range(3):
        assert session.died() == []
        assert session.replay() == ([], [ask])
        assert not session.heard(acknowledged)
    assert session.heard(answered("l"))
    assert session.replay() == ([], [])


@pytest.mark.parametrize(
    "noise", [b"hello\n", b"[]\n", b"{}\n", b"\xff\n", b"[" * 5000 + b"\n", b'{"id": [1]}\n']
)
def test_noise_is_passed_on_and_not_kept(session: ProxySession, noise: bytes) -> None:
    assert not session.sent(noise)
    assert session.heard(noise)
    assert session.died() == []
    assert not session.waiting
