"""Who gets through the door: Host, Origin, size, token, rights; and whose identity counts."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.responses import Response
from starlette.routing import Route

from memory_core.errors import InvalidInput
from memory_core.records import Identity
from server.hooks.hooks import Hooks
from server.hooks.route import route
from server.http.app import MAX_BODY, build_app, is_loopback
from server.http.tokens import Tokens
from server.protocol.server import build_server
from server.protocol.tools import DESCRIPTIONS

pytestmark = pytest.mark.anyio

BASE = "http://127.0.0.1:7832"
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


class Served:
    """The application in this process, with its lifespan running."""

    def __init__(self, app: Any, tokens: Tokens | None) -> None:
        self.app = app
        self.tokens = tokens

    def http(self, token: str = "", base: str = BASE) -> httpx2.AsyncClient:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=self.app), base_url=base, headers=headers
        )

    @asynccontextmanager
    async def client(self, token: str, mode: str = "auto") -> AsyncIterator[Client]:
        async with (
            self.http(token) as http,
            Client(streamable_http_client(f"{BASE}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client


@asynccontextmanager
async def serving(app: Any, tokens: Tokens | None = None) -> AsyncIterator[Served]:
    """Run the ASGI lifespan around the application."""
    started, ended = anyio.Event(), anyio.Event()
    requests = [{"type": "lifespan.startup"}]

    async def receive() -> Any:
        if requests:
            return requests.pop()
        await ended.wait()
        return {"type": "lifespan.shutdown"}

    async def send(message: Any) -> None:
        assert message["type"] in ("lifespan.startup.complete", "lifespan.shutdown.complete")
        started.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            app, {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send
        )
        await started.wait()
        yield Served(app, tokens)
        ended.set()


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path)


@pytest.fixture
def app(fake: Any, tokens: Tokens) -> Any:
    owner = Identity("me")
    hook = route(Hooks(fake, time.time), owner)
    return build_app(build_server(fake, owner=owner), tokens=tokens, more=[hook])


async def test_the_door_checks_host_origin_token_and_path(app: Any, tokens: Tokens) -> None:
    secret = tokens.add("ann", rights=("read",))
    hosts = {
        "127.0.0.1:7832": 0,
        "localhost:1": 0,
        "[::1]:7832": 0,
        "evil.example": 421,
        "127.0.0.1.evil.example:7832": 421,
        "localhost@evil.example": 421,
        "localhost:7832/..": 421,
        "": 421,
    }
    origins = {
        None: 0,
        "http://localhost:6274": 0,
        "http://evil.example": 403,
        "null": 403,
        "http://localhost.evil.example": 403,
        "file://": 403,
    }
    credentials = {
        f"Bearer {secret}": 0,
        f"bearer {secret}": 0,
        "": 401,
        "Bearer x": 401,
        f"Basic {secret}": 401,
    }
    async with serving(app) as served, served.http() as http:
        for path in ("/mcp", "/sse/nothing", "/messages/", "/elsewhere", "/healthz"):
            for host, bad_host in hosts.items():
                for origin, bad_origin in origins.items():
                    for credential, no_token in credentials.items():
                        headers = {**JSON, "host": host, "authorization": credential}
                        if origin is not None:
                            headers["origin"] = origin
                        method = "GET" if path == "/healthz" else "POST"
                        answer = await http.request(method, path, headers=headers, content=b"{}")
                        refused = bad_host or bad_origin or (no_token if path != "/healthz" else 0)
                        case = (path, host, origin, credential[:8])
                        if refused:
                            assert answer.status_code == refused, case
                        else:
                            assert answer.status_code not in (401, 403, 421), case
                        assert "access-control-allow-origin" not in answer.headers


TABLE = """
# method path         host                            origin                        token    type      status
POST     /mcp         127.0.0.1:7832                  -                             good     json      200
POST     /mcp         127.0.0.1                       -                             good     json      200
POST     /mcp         localhost:7832                  -                             good     json      200
POST     /mcp         LOCALHOST:1                     -                             good     json      200
POST     /mcp         [::1]:7832                      -                             good     json      200
POST     /mcp         evil.example                    -                             good     json      421
POST     /mcp         evil.example:7832               -                             good     json      421
POST     /mcp         127.0.0.1.evil.example:7832     -                             good     json      421
POST     /mcp         localhost.evil.example          -                             good     json      421
POST     /mcp         localhost@evil.example          -                             good     json      421
POST     /mcp         localhost:x                     -                             good     json      421
POST     /mcp         10.0.0.1:7832                   -                             good     json      421
POST     /mcp         -                               -                             good     json      421
POST     /mcp         localhost:7832                  http://localhost:6274         good     json      200
POST     /mcp         localhost:7832                  https://localhost             good     json      200
POST     /mcp         localhost:7832                  http://127.0.0.1:7832         good     json      200
POST     /mcp         localhost:7832                  http://[::1]:1                good     json      200
POST     /mcp         localhost:7832                  http://evil.example           good     json      403
POST     /mcp         localhost:7832                  https://evil.example          good     json      403
POST     /mcp         localhost:7832                  http://localhost.evil.example good     json      403
POST     /mcp         localhost:7832                  http://localhost@evil.example good     json      403
POST     /mcp         localhost:7832                  null                          good     json      403
POST     /mcp         localhost:7832                  file://                       good     json      403
POST     /mcp         localhost:7832                  vscode-webview://localhost    good     json      403
POST     /mcp         localhost:7832                  -                             lower    json      200
POST     /mcp         localhost:7832                  -                             none     json      401
POST     /mcp         localhost:7832                  -                             empty    json      401
POST     /mcp         localhost:7832                  -                             wrong    json      401
POST     /mcp         localhost:7832                  -                             basic    json      401
POST     /mcp         localhost:7832                  -                             revoked  json      401
POST     /mcp         localhost:7832                  -                             query    json      401
POST     /mcp         localhost:7832                  -                             good     charset   200
POST     /mcp         localhost:7832                  -                             good     plain     415
POST     /mcp         localhost:7832                  -                             good     form      415
POST     /mcp         localhost:7832                  -                             good     multipart 415
POST     /mcp         localhost:7832                  -                             good     jsonx     415
POST     /mcp         localhost:7832                  -                             good     none      415
GET      /mcp         localhost:7832                  -                             good     json      400
DELETE   /mcp         localhost:7832                  -                             good     json      400
PUT      /mcp         localhost:7832                  -                             good     json      405
PATCH    /mcp         localhost:7832                  -                             good     json      405
OPTIONS  /mcp         localhost:7832                  http://localhost:1            good     json      405
POST     /sse         localhost:7832                  -                             good     json      405
POST     /messages/   localhost:7832                  -                             good     json      400
GET      /messages/   localhost:7832                  -                             good     json      405
POST     /messages/   localhost:7832                  -                             good     plain     415
GET      /healthz     localhost:7832                  -                             none     none      200
HEAD     /healthz     localhost:7832                  -                             none     none      200
GET      /healthz     evil.example                    -                             good     none      421
GET      /healthz     localhost:7832                  http://evil.example           good     none      403
POST     /healthz     localhost:7832                  -                             good     json      405
GET      /elsewhere   localhost:7832                  -                             good     json      404
POST     /elsewhere   localhost:7832                  -                             good     json      404
GET      /elsewhere   localhost:7832                  -                             none     json      401
GET      /sse         localhost:7832                  -                             none     json      401
GET      /sse         evil.example                    -                             good     json      421
GET      /sse         localhost:7832                  http://evil.example           good     json      403
POST     /messages/   localhost:7832                  -                             none     json      401
POST     /messages/   localhost:7832                  null                          good     json      403
POST     /messages/   evil.example                    -                             good     json      421
GET      /mcp         localhost:7832                  -                             none     json      401
DELETE   /mcp         localhost:7832                  -                             wrong    json      401
OPTIONS  /mcp         localhost:7832                  http://evil.example           none     none      403
OPTIONS  /mcp         localhost:7832                  http://localhost:1            none     none      401
POST     /hook        localhost:7832                  -                             good     json      200
GET      /hook        localhost:7832                  -                             good     json      405
POST     /hook        evil.example                    -                             good     json      421
POST     /hook        localhost:7832                  http://evil.example           good     json      403
POST     /hook        localhost:7832                  -                             none     json      401
POST     /hook        localhost:7832                  -                             revoked  json      401
POST     /hook        localhost:7832                  -                             good     plain     415
OPTIONS  /hook        localhost:7832                  http://evil.example           none     none      403
POST     /mcp         evil.example                    http://evil.example           none     plain     421
POST     /mcp         localhost:7832                  http://evil.example           none     plain     403
POST     /mcp         localhost:7832                  -                             none     plain     401
"""  # noqa: E501
TYPES = {
    "json": "application/json",
    "charset": "application/json; charset=utf-8",
    "plain": "text/plain",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data; boundary=x",
    "jsonx": "application/jsonx",
}


def matrix() -> list[list[str]]:
    return [line.split() for line in TABLE.strip().splitlines() if not line.startswith("#")]


def test_the_matrix_has_more_than_sixty_cases() -> None:
    assert len({" ".join(line[:-1]) for line in matrix()}) >= 60


async def test_who_gets_through(app: Any, fake: Any, tokens: Tokens) -> None:
    good, revoked = tokens.add("ann", rights=("read",)), tokens.add("bob")
    tokens.revoke(tokens.all()[1].id)
    credentials = {
        "good": f"Bearer {good}",
        "lower": f"bearer {good}",
        "empty": "Bearer ",
        "wrong": f"Bearer {good[:-1]}x",
        "basic": f"Basic {good}",
        "revoked": f"Bearer {revoked}",
    }
    async with serving(app) as served, served.http() as http:
        for line in matrix():
            method, path, host, origin, token, type, status = line
            headers = {"host": "" if host == "-" else host, "accept": JSON["accept"]}
            headers |= {"origin": origin} if origin != "-" else {}
            headers |= {"authorization": credentials[token]} if token in credentials else {}
            headers |= {"content-type": TYPES[type]} if type in TYPES else {}
            query = {"token": good, "access_token": good} if token == "query" else None
            body = json.dumps(HELLO).encode() if method == "POST" else b""
            answer = await http.request(method, path, headers=headers, params=query, content=body)
            assert answer.status_code == int(status), (line, answer.text)
            shared = [name for name in answer.headers if name.startswith("access-control-")]
            assert shared == [], line
            asked = answer.headers.get("www-authenticate") == "Bearer"
            assert asked is (status == "401"), line
            assert good not in answer.text, line
    assert fake.calls == [], "nothing of this reaches the memory"


def routes(app: Any) -> list[tuple[str, str]]:
    """Every method and path that the application answers, behind whatever stands before it."""
    while not hasattr(app, "routes"):
        app = getattr(app, "app", None) or app._app
    return [
        (method, route.path if isinstance(route, Route) else f"{route.path}/")
        for route in app.routes
        for method in sorted(getattr(route, "methods", None) or ("POST",))
    ]


async def test_no_route_is_outside_the_door(app: Any, fake: Any, tokens: Tokens) -> None:
    good = {"authorization": f"Bearer {tokens.add('ann')}", **JSON}
    found = routes(app)
    assert {path for _, path in found} == {"/healthz", "/hook", "/mcp", "/sse", "/messages/"}
    refused = {
        421: {**good, "host": "evil.example"},
        403: {**good, "origin": "http://evil.example"},
        413: {**good, "content-length": str(MAX_BODY + 1)},
        401: JSON,
    }
    async with serving(app) as served, served.http() as http:
        for method, path in found:
            for status, headers in refused.items():
                answer = await http.request(method, path, headers=headers)
                open_to_all = path == "/healthz" and status == 401
                assert answer.status_code == (200 if open_to_all else status), (method, path)
    assert fake.calls == []


async def test_idle_sessions_are_dropped(
    fake: Any, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.http.app.SESSION_SECONDS", 0.05)
    server = build_server(fake)
    secret = tokens.add("ann")
    async with serving(build_app(server, tokens=tokens)) as served, served.http(secret) as http:
        opened = await http.post("/mcp", headers=JSON, json=HELLO)
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        with anyio.fail_after(60):
            while server.session_manager._server_instances:
                await anyio.sleep(0.01)
        late = await http.post("/mcp", headers={**JSON, **session}, json=LIST)
    assert late.status_code == 404


async def test_sessions_are_bounded(
    fake: Any, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.http.app.SESSIONS", 2)
    app = build_app(build_server(fake), tokens=tokens)
    async with serving(app) as served, served.http(tokens.add("ann")) as http:
        opened = [await http.post("/mcp", headers=JSON, json=HELLO) for _ in range(3)]
        assert [answer.status_code for answer in opened] == [200, 200, 503]
        session = {"mcp-session-id": opened[0].headers["mcp-session-id"]}
        await http.delete("/mcp", headers={**JSON, **session})
        assert (await http.post("/mcp", headers=JSON, json=HELLO)).status_code == 200


async def test_a_token_that_opens_sessions_in_a_loop_locks_nobody_out(
    fake: Any, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.http.app.SESSIONS", 12)
    monkeypatch.setattr("server.http.sessions.EACH", 4)
    server = build_server(fake)
    app = build_app(server, tokens=tokens)
    async with (
        serving(app) as served,
        served.http(tokens.add("ann")) as ann,
        served.http(tokens.add("bob")) as bob,
    ):

        async def opened(http: Any) -> dict[str, str]:
            answer = await http.post("/mcp", headers=JSON, json=HELLO)
            assert answer.status_code == 200
            return {**JSON, "mcp-session-id": answer.headers["mcp-session-id"]}

        async def lists(http: Any, session: dict[str, str]) -> int:
            return int((await http.post("/mcp", headers=session, json=LIST)).status_code)

        older = [await opened(bob), await opened(bob)]
        mine, idle = await opened(ann), await opened(ann)
        for _ in range(40):
            await opened(ann)
            assert await lists(ann, mine) == 200  # in use, so others go first
        assert [await lists(bob, session) for session in older] == [200, 200]
        assert await lists(ann, idle) == 404
        assert len(server.session_manager._server_instances) == 6
        assert await lists(bob, mine) == 404  # and this closes nothing of ann's
        assert await lists(ann, mine) == 200


async def test_a_token_that_keeps_streams_open_locks_nobody_out(
    fake: Any, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.http.app.OPEN_EACH", 3)
    go_on, begun = anyio.Event(), anyio.Semaphore(0)

    async def stream(_: Any) -> Response:
        begun.release()
        await go_on.wait()
        return Response("ended")

    app = build_app(build_server(fake), tokens=tokens, more=[Route("/stream", stream)])
    async with (
        serving(app) as served,
        served.http(tokens.add("ann")) as ann,
        served.http(tokens.add("bob")) as bob,
        anyio.create_task_group() as tasks,
    ):
        for _ in range(3):
            tasks.start_soon(ann.get, "/stream")
            await begun.acquire()
        refused = await ann.get("/stream")
        assert (refused.status_code, refused.json()["status"]) == (429, 429)
        assert (await ann.get("/healthz")).status_code == 200
        assert (await bob.post("/mcp", headers=JSON, json=HELLO)).status_code == 200
        go_on.set()
        while (again := await ann.get("/stream")).status_code == 429:
            await anyio.sleep(0)
        assert again.text == "ended"


async def test_healthz_says_nothing_private(app: Any, fake: Any) -> None:
    async with serving(app) as served, served.http() as http:
        answer = await http.get("/healthz")
    assert answer.json() == {"status": "ok"}
    assert fake.calls == []


async def test_a_preflight_gets_no_cors(app: Any, tokens: Tokens) -> None:
    async with serving(app) as served, served.http() as http:
        answer = await http.options(
            "/mcp",
            headers={"origin": "http://evil.example", "access-control-request-method": "POST"},
        )
    assert answer.status_code == 403


@pytest.mark.parametrize("path", ["/mcp", "/messages/", "/hook"])
async def test_a_large_body_is_refused_declared_or_streamed(
    app: Any, tokens: Tokens, path: str
) -> None:
    secret = tokens.add("ann")

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY // 65536 + 1):
            yield b"x" * 65536

    async with serving(app) as served, served.http(secret) as http:
        declared = await http.post(path, headers=JSON, content=b"x" * (MAX_BODY + 1))
        streamed = await http.post(path, headers=JSON, content=chunks())
    for refused in (declared, streamed):
        assert (refused.status_code, str(MAX_BODY) in refused.text) == (413, True), "how much is"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_is_told_that_a_call_is_too_large_and_goes_on(
    app: Any, tokens: Tokens, mode: str
) -> None:
    async with serving(app) as served, served.client(tokens.add("ann"), mode) as client:
        with pytest.raises(Exception, match=f"too_large: .* over {MAX_BODY} bytes"):
            await client.call_tool("remember", {"text": "x" * MAX_BODY})
        done = await client.call_tool("remember", {"text": "The heron waits."})
    assert done.structured_content["status"] == "stored"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_identity_comes_from_the_token(
    app: Any, fake: Any, tokens: Tokens, mode: str
) -> None:
    ann, bob = tokens.add("ann", "ours"), tokens.add("bob")
    async with serving(app) as served:
        async with served.client(ann, mode) as client:
            done = await client.call_tool("remember", {"text": "only mine"})
            assert done.structured_content["status"] == "stored"
            own = await client.call_tool("recall", {"query": "only mine"})
            uri = f"memory://item/{done.structured_content['id']}"
            await client.read_resource(uri)
        async with served.client(bob, mode) as client:
            foreign = await client.call_tool("recall", {"query": "only mine"})
            with pytest.raises(Exception, match="not_found"):
                await client.read_resource(uri)
    assert own.structured_content["found"] is True
    assert foreign.structured_content["found"] is False
    (memory,) = fake.memories.values()
    assert (memory.agent, memory.team) == ("ann", "ours")


READING = {"recall", "health", "resources", "prompts"}
WRITING = {"remember", "consolidate", "forget"}


@pytest.mark.parametrize(
    ("rights", "allowed"),
    [
        (("read",), READING),
        (("write",), WRITING),
        (("admin",), {"repair"}),
        (("read", "write"), READING | WRITING),
        (("admin", "read", "write"), READING | WRITING | {"repair"}),
    ],
)
async def test_rights_are_checked_for_every_tool_resource_and_prompt(
    app: Any, fake: Any, tokens: Tokens, rights: tuple[str, ...], allowed: set[str]
) -> None:
    secret = tokens.add("ann", rights=rights)
    memory = fake.add("tea", agent="ann", session="s", entities=("Tea",), topic="drinks")
    calls = {
        "recall": ("recall", {"query": "tea"}),
        "remember": ("remember", {"text": "x"}),
        "consolidate": ("consolidate", {}),
        "forget": ("forget", {"query": "tea"}),
        "health": ("health", {}),
        "repair": ("health", {"repair": True}),
    }
    assert {tool for tool, _ in calls.values()} == set(DESCRIPTIONS)
    resources = {
        "memory://recent": "memory://recent",
        "memory://review": "memory://review",
        "memory://health": "memory://health",
        "memory://item/{id}": f"memory://item/{memory.id}",
        "memory://session/{id}": "memory://session/s",
        "memory://entity/{name}": "memory://entity/Tea",
        "memory://topic/{name}": "memory://topic/drinks",
    }
    async with serving(app) as served, served.client(secret) as client:
        for what, (tool, arguments) in calls.items():
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error == (what not in allowed), what
            if answer.is_error:
                assert answer.content[0].text.startswith(
                    "scope_denied: this token lacks the right "
                )
        listed = {str(each.uri) for each in (await client.list_resources()).resources}
        templates = (await client.list_resource_templates()).resource_templates
        assert set(resources) == listed | {each.uri_template for each in templates}
        prompts = [each.name for each in (await client.list_prompts()).prompts]
        for what, ask in (
            *(("resources", client.read_resource(uri)) for uri in resources.values()),
            *(("prompts", client.get_prompt(name, {})) for name in prompts),
        ):
            if what in allowed:
                await ask
            else:
                with pytest.raises(Exception, match="scope_denied"):
                    await ask


@pytest.mark.parametrize("rights", [("read",), ("write",), ("admin",), ("read", "write")])
async def test_a_hook_needs_the_rights_to_read_and_to_write(
    app: Any, fake: Any, tokens: Tokens, rights: tuple[str, ...]
) -> None:
    secret = tokens.add("ann", rights=rights)
    event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/", "source": "startup"}
    async with serving(app) as served, served.http(secret) as http:
        answer = await http.post("/hook", headers=JSON, json=event)
    assert answer.status_code == 200, "a hook never stands in its client's way"
    assert bool(fake.calls) is (rights == ("read", "write"))


@pytest.mark.parametrize("rights", [("read",), ("write", "admin")])
async def test_completions_and_subscriptions_need_the_right_to_read(
    app: Any, fake: Any, tokens: Tokens, rights: tuple[str, ...]
) -> None:
    """And completed are the names that the token's agent may read."""
    for agent, topic in (("ann", "cooking"), ("bob", "sailing"), ("me", "gardening")):
        fake.add("tea", agent=agent, topic=topic)
    asked = {
        "resources/subscribe": {"uri": "memory://recent"},
        "completion/complete": {
            "ref": {"type": "ref/resource", "uri": "memory://topic/{name}"},
            "argument": {"name": "name", "value": ""},
        },
    }
    async with serving(app) as served, served.http(tokens.add("ann", rights=rights)) as http:
        opened = await http.post("/mcp", headers=JSON, json=HELLO)
        session = {**JSON, "mcp-session-id": opened.headers["mcp-session-id"]}
        for method, params in asked.items():
            message = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
            answer = (await http.post("/mcp", headers=session, json=message)).text
            assert ("scope_denied: this token lacks the right read" in answer) is (
                "read" not in rights
            )
            assert ('"result"' in answer) is ("read" in rights)
            assert ("cooking" in answer) is ("complet" in method and "read" in rights)
            assert not any(name in answer for name in ("sailing", "gardening"))


async def test_a_session_serves_only_the_token_that_opened_it(app: Any, tokens: Tokens) -> None:
    ann, bob = tokens.add("ann"), tokens.add("bob")
    async with serving(app) as served, served.http() as http:

        async def post(secret: str, message: Any, session: str = "") -> Any:
            headers = {**JSON, "authorization": f"Bearer {secret}"}
            if session:
                headers["mcp-session-id"] = session
            return await http.post("/mcp", headers=headers, json=message)

        opened = await post(ann, HELLO)
        session = opened.headers["mcp-session-id"]
        assert (await post(ann, LIST, session)).status_code == 200
        assert (await post(bob, LIST, session)).status_code == 404


async def test_a_revoked_token_is_refused_at_once(app: Any, tokens: Tokens) -> None:
    secret = tokens.add("ann")
    async with serving(app) as served, served.http(secret) as http:
        before = await http.post("/mcp", headers=JSON, json=LIST)
        tokens.revoke(tokens.all()[0].id)
        after = await http.post("/mcp", headers=JSON, json=LIST)
    assert before.status_code != 401
    assert after.status_code == 401
    assert after.headers["www-authenticate"] == "Bearer"


async def test_a_lone_surrogate_is_answered_with_a_warning(
    app: Any, fake: Any, tokens: Tokens
) -> None:
    secret = tokens.add("ann")
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tools/call",
            "params": {"name": "remember", "arguments": {"text": "a\ud800b"}},
        }
    )
    async with serving(app) as served, served.http(secret) as http:
        opened = await http.post("/mcp", headers=JSON, json=HELLO)
        headers = {**JSON, "mcp-session-id": opened.headers["mcp-session-id"]}
        answer = await http.post("/mcp", headers=headers, content=body.encode())
    assert "U+FFFD" in answer.text
    assert next(iter(fake.memories.values())).text == "a\ufffdb"


async def test_without_tokens_only_loopback_is_served(fake: Any) -> None:
    server = build_server(fake)
    with pytest.raises(InvalidInput, match="no token is required"):
        build_app(server, tokens=None, host="0.0.0.0")
    async with serving(build_app(server, tokens=None)) as served, served.client("") as client:
        assert not (await client.call_tool("remember", {"text": "x"})).is_error
    (memory,) = fake.memories.values()
    assert memory.agent == "me"


async def test_further_host_names_can_be_allowed(fake: Any, tokens: Tokens) -> None:
    app = build_app(
        build_server(fake), tokens=tokens, host="0.0.0.0", allowed_hosts=["Memory.Example"]
    )
    async with serving(app) as served:
        for host, status in (("memory.example:7832", 200), ("other.example", 421)):
            async with served.http(base=f"http://{host}") as http:
                assert (await http.get("/healthz")).status_code == status


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_loopback_is_recognised(host: str, local: bool) -> None:
    assert is_loopback(host) is local
