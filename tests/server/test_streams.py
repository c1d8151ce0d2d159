"""Streams that stay open: those of agents and of pages are bounded, for each token and for all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memory_core.records import Identity
from server.http import listener, streams
from server.http.app import build_app
from server.http.tokens import Tokens
from server.protocol.server import build_server
from server.rest.mount import rest

SECONDS = 60.0
EVENTS = "/api/v1/events"


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path)


@pytest.fixture
def url(fake: Any, tokens: Tokens, processes: Any) -> Iterator[str]:
    owner = Identity("me")
    app = build_app(build_server(fake, owner=owner), tokens=tokens, more=rest(fake, owner, None))
    socket = listener.bind("127.0.0.1", 0)
    end = listener.begin(app, socket)
    yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    end()


@pytest.fixture
def http(url: str, tokens: Tokens) -> Iterator[Callable[[str], httpx2.Client]]:
    """A client of its own token: (agent) -> client."""
    with ExitStack() as opened:

        def client(agent: str) -> httpx2.Client:
            headers = {"authorization": f"Bearer {tokens.add(agent)}"}
            one = httpx2.Client(base_url=url, headers=headers, timeout=SECONDS)
            return opened.enter_context(one)

        yield client


@contextmanager
def watching(client: httpx2.Client, path: str) -> Iterator[None]:
    """An open stream of *client*, of which the first bytes have come."""
    with client.stream("GET", path) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        parts = answer.iter_raw()
        next(parts)
        yield


def refused(client: httpx2.Client, path: str) -> dict[str, Any]:
    """The problem with which a stream of *client* is refused."""
    with client.stream("GET", path) as answer:
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        return dict(json.loads(answer.read()))


def opens(client: httpx2.Client, path: str) -> bool:
    with client.stream("GET", path) as answer:
        return answer.status_code == 200


@pytest.mark.parametrize(("path", "name"), [("/sse", "AGENTS"), (EVENTS, "PAGES")])
def test_a_token_with_too_many_streams_is_told_what_to_do(
    http: Any, monkeypatch: pytest.MonkeyPatch, until: Any, path: str, name: str
) -> None:
    monkeypatch.setattr(streams, name, 2)
    ann, bob = http("ann"), http("bob")
    with watching(ann, path):
        with watching(ann, path):
            problem = refused(ann, path)
            assert problem["code"] == "busy"
            assert problem["detail"] == f"2 streams of this token are open at {path}"
            assert problem["next_step"] == "close one, then connect again"
            with watching(bob, path):  # another token has room of its own
                pass
            assert ann.get("/api/v1/meta").status_code == 200, "calls are no streams"
        until(lambda: opens(ann, path))  # one was closed


def test_agents_and_pages_do_not_take_each_others_room(
    http: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "AGENTS", 1)
    monkeypatch.setattr(streams, "PAGES", 1)
    ann = http("ann")
    with watching(ann, "/sse"), watching(ann, EVENTS):
        assert refused(ann, "/sse")["code"] == refused(ann, EVENTS)["code"] == "busy"


def test_all_tokens_together_have_so_many_streams(
    http: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "ALL", 2)
    with watching(http("ann"), "/sse"), watching(http("bob"), EVENTS):
        problem = refused(http("cid"), "/sse")
    assert problem["detail"] == "2 streams are open"
    assert problem["next_step"] == "wait until another client closes one"


def test_the_stream_of_a_session_counts_too(http: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "AGENTS", 1)
    ann = http("ann")
    with watching(ann, "/sse"):
        assert refused(ann, "/mcp")["code"] == "busy"
