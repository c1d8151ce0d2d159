"""Rights and scopes over REST are those of the tools: what MCP would not show, REST does not."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.dependencies.models import Dependant

from memory_core.records import Identity
from server.http.app import build_app
from server.http.tokens import Tokens
from server.protocol.server import build_server
from server.rest import compat
from server.rest.app import build_compat, build_rest, shared_calls
from server.rest.calls import Needs
from server.rest.mount import rest

pytestmark = pytest.mark.anyio

DOCUMENT = Path(__file__).parents[3] / "docs/openapi.json"
SECRET = "the anvil lies in the harbour office"
BODIES: dict[str, Any] = {
    "/memories": {"text": "A new note."},
    "/seed": {"facts": ["A new fact."]},
    "/memories/{id}": {"tags": ["x"]},
    "/memories/{id}/pin": {},
    "/memories/{id}/retire": {},
    "/memories/{id}/undo": {"change": 1},
    "/memories/{id}/votes": {"query": "x", "value": 1},
    "/forget": {"ids": ["{id}"]},
    "/recall": {"query": "anvil harbour office"},
    "/explain": {"query": "anvil harbour office"},
    "/chat": {"text": "Where is the anvil of the harbour office?"},
    "/observe": {"role": "user", "content": "Something about the anvil in the office."},
    "/extract": {"text": "The anvil was sold."},
    "/consolidate": {"dry_run": True},
    "/runs/{id}/undo": {},
    "/contradictions": {},
    "/contradictions/decide": {"older": "{id}", "newer": "{id}", "decision": "merge"},
    "/health/repair": {},
    "/sessions/end": {"session": "talk"},
    "/import": {"text": "An imported note."},
    "/import/file": {"text": "An imported note."},
    "/clear": {"confirm": True},
}
WRITES_ALONE = {
    "remember",
    "seed",
    "observe",
    "extract",
    "forget",
    "consolidate",
    "undo_run",
    "end_session",
    "import_memories",
    "import_file",
    "meta",
}
"""What a token without the right read may do."""
ADMINS = {"repair", "clear"}


@cache
def operations() -> list[tuple[str, str, str]]:
    """(operation, method, path) of every operation of the document that is published."""
    made = json.loads(DOCUMENT.read_text("utf-8"))
    return [
        (operation["operationId"], method.upper(), path)
        for path, methods in made["paths"].items()
        for method, operation in methods.items()
    ]


async def call(client: Any, method: str, path: str, id: str, agent: str = "ana") -> Any:
    body = json.loads(json.dumps(BODIES.get(path, {})).replace("{id}", id))
    target = path.replace("{id}", id).replace("{agent}", agent)
    if path in ("/import", "/import/file"):
        kind = "application/x-ndjson" if path == "/import" else "application/octet-stream"
        types = {"content-type": kind}
        return await client.post(target, content=json.dumps(body).encode(), headers=types)
    if method == "GET":
        return await client.get(target)
    return await client.request(method, target, json=body)


async def of_each(check: Callable[[str, str, str, str], Awaitable[None]]) -> None:
    """Call *check* with each operation and an agent of its own, all over one application."""
    wrong: dict[str, str] = {}
    for number, (name, method, path) in enumerate(operations()):
        try:
            await check(f"ana{number}", name, method, path)
        except AssertionError as error:
            wrong[name] = str(error)
    assert wrong == {}


async def test_what_a_token_without_a_right_may_not_do(http: Callable[..., Any]) -> None:
    async def check(agent: str, name: str, method: str, path: str) -> None:
        team = f"team of {agent}"
        if name == "events":
            async with http(agent, team, ("write",)) as writer:
                assert (await writer.get("/events")).status_code == 403
            return
        async with http(agent, team) as owner:
            id = (await owner.post("/memories", json={"text": SECRET})).json()["id"]
        async with http(agent, team, ("write",)) as writer:
            done = await call(writer, method, path, id, agent)
        assert "anvil lies" not in done.text, "a writer reads nothing"
        if name not in WRITES_ALONE:
            assert (done.status_code, done.json()["code"]) == (403, "scope_denied")
        else:
            assert done.status_code in (200, 404), done.text
        async with http(agent, team, ("read",)) as reader:
            done = await call(reader, method, path, id, agent)
            changes = method != "GET" and name not in ("recall", "explain")
            assert (done.status_code == 403) is changes, done.text
        async with http(agent, team, ("read", "write")) as both:
            done = await call(both, method, path, id, agent)
            assert (done.status_code == 403) is (name in ADMINS), done.text

    assert len(operations()) > 40
    await of_each(check)


async def test_every_token_may_ask_whose_it_is(http: Callable[..., Any]) -> None:
    for right in ("read", "write", "admin"):
        async with http("ana", "north", (right,)) as client:
            told = (await client.get("/meta")).json()
            assert (told["agent"], told["team"], told["rights"]) == ("ana", "north", [right])
    async with http("ana", "north", ("write",), authorization="Bearer wrong") as stranger:
        assert (await stranger.get("/meta")).status_code == 401


HOSTILE: tuple[dict[str, Any], ...] = (
    {"content": b"{", "headers": {"content-type": "application/json"}},
    {"content": b"", "headers": {"content-type": "application/json"}},
    {"content": b'{"surprise": 1}', "headers": {"content-type": "application/json"}},
    {"content": b"\xff" * 2000, "headers": {"content-type": "application/json"}},
    {"json": [], "params": {"surprise": "1"}},
    {"json": {}, "params": {"limit": "none"}},
)
"""Requests that no operation takes."""


async def test_a_right_is_asked_for_before_a_request_is_read(memory: Any, tmp_path: Any) -> None:
    owner, tokens = Identity("me"), Tokens(tmp_path)
    more = rest(memory, owner, None, compat=True)
    app = build_app(build_server(memory, owner=owner), tokens=tokens, more=more)
    calls = shared_calls(memory, owner, None)
    routes = [("/api/v1", build_rest(memory, owner))]
    routes += [("/api", build_compat(calls, compat.under_api))]
    routes += [("", build_compat(calls, compat.at_root))]
    asked = 0
    for right in ("read", "write", "admin"):
        others = [each for each in ("read", "write", "admin") if each != right]
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app),
            base_url="http://127.0.0.1:7832",
            headers={"authorization": f"Bearer {tokens.add('ana', 'north', others)}"},
        ) as client:
            for prefix, made in routes:
                for route in made.routes:
                    if right not in needed(route):
                        continue
                    target = prefix + re.sub(r"{\w+}", "ana", route.path)
                    for hostile in HOSTILE:
                        done = await client.request(next(iter(route.methods)), target, **hostile)
                        assert done.status_code == 403, (target, hostile, done.text)
                        assert done.json()["code"] == "scope_denied"
                        asked += 1
    assert asked > 300


def needed(route: Any) -> set[str]:
    """The rights that the operation at *route* needs, as its signature has them."""
    calls = [each.call for each in getattr(route, "dependant", Dependant()).dependencies]
    return {right for call in calls if isinstance(call, Needs) for right in call.rights}


@pytest.mark.parametrize("scope", ["team", pytest.param("private", marks=pytest.mark.long)])
async def test_no_operation_shows_or_changes_what_is_another_agents(
    http: Callable[..., Any], memory: Any, scope: str
) -> None:
    async def check(agent: str, name: str, method: str, path: str) -> None:
        if name == "events":
            return
        given = {"text": SECRET, "scope": scope, "session": "talk", "tags": ["anvil lies"],
                 "speaker": "anvil lies"}  # fmt: skip
        async with http(agent) as owner:
            id = (await owner.post("/memories", json=given)).json()["id"]
        before = memory.get(Identity(agent, "north"), id)
        for other, team, rights in (
            ("ben", "south", ("read", "write")),
            ("cleo", "", ("read", "write")),
            ("dora", "south", ("read", "write", "admin")),
        ):
            async with http(other, team, rights) as stranger:
                done = await call(stranger, method, path, id, agent)
                assert "anvil lies" not in done.text, (other, done.text)
                if "{id}" in path and not path.startswith("/runs"):
                    unknown = await call(stranger, method, path, "0" * 20, agent)
                    assert done.status_code == unknown.status_code == 404
                    assert done.text.replace(id, "") == unknown.text.replace("0" * 20, "")
        assert memory.get(Identity(agent, "north"), id) == before
        assert memory.stats(Identity(agent, "north"))["memories"] >= 1

    await of_each(check)


async def test_a_team_reads_and_only_the_owner_changes(ana: Any, ben: Any) -> None:
    id = (await ana.post("/memories", json={"text": SECRET, "scope": "team"})).json()["id"]
    assert (await ben.get(f"/memories/{id}")).json()["text"] == SECRET
    for path, body in (("", {"tags": ["x"]}), ("", {"text": "Another text."})):
        done = await ben.patch(f"/memories/{id}{path}", json=body)
        assert (done.status_code, done.json()["code"]) == (403, "scope_denied")
    for path in ("pin", "retire"):
        assert (await ben.post(f"/memories/{id}/{path}", json={})).status_code == 403
    done = await ben.post("/forget", json={"ids": [id], "confirm": True})
    assert done.status_code == 403


async def test_what_an_admin_corrects_stays_its_owners(ana: Any, ben: Any, chief: Any) -> None:
    ids = []
    for text in ("The parcel box hangs left of the dor.", "The bell is brocken."):
        told = await ana.post("/memories", json={"text": text, "scope": "team"})
        ids.append(told.json()["id"])
    done = await chief.patch(f"/memories/{ids[0]}", json={"text": "The parcel box hangs left."})
    assert done.json()["warnings"] == []
    patched = done.json()["id"]
    done = await chief.post("/memories", json={"text": "The bell is broken.", "replaces": ids[1]})
    (warning,) = done.json()["warnings"]
    assert warning == "the scope is team, as of the other agent's memory that this replaces"
    replaced = done.json()["id"]
    for id in (patched, replaced):
        seen = (await ben.get(f"/memories/{id}")).json()
        assert (seen["agent"], seen["team"], seen["visibility"]) == ("ana", "north", "team")
        changes = (await ana.get(f"/memories/{id}/history")).json()["changes"]
        assert changes[0]["actor"] == "chief"
    assert (await chief.post("/clear", json={"confirm": True})).json()["deleted"] == 0
    assert (await ana.patch(f"/memories/{patched}", json={"tags": ["post"]})).status_code == 200
    gone = {"ids": [patched, ids[0]], "confirm": True}
    assert (await ana.post("/forget", json=gone)).json()["status"] == "forgotten"
    for id in gone["ids"]:
        assert (await ben.get(f"/memories/{id}")).status_code == 404


async def test_an_argument_names_no_other_agent(ana: Any) -> None:
    done = await ana.post("/memories", json={"text": "x", "agent": "ben"})
    assert done.status_code == 422
    imported = await ana.post(
        "/import",
        content=b'{"text": "Told as another.", "agent": "ben", "team": "south"}\n',
        headers={"content-type": "application/x-ndjson"},
    )
    assert imported.status_code == 200
    assert (await ana.get("/stats")).json()["by_agent"] == {"ana": 1}
