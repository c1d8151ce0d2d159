"""The paths of earlier servers: their answers, with the rights of today, only when asked for."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from memory_core.records import Identity
from server.http.app import build_app
from server.protocol.server import build_server
from server.rest.mount import rest

pytestmark = pytest.mark.anyio


@pytest.fixture
def old(memory: Any, tokens: Any) -> Any:
    """A client with a token on the paths of earlier servers: (agent, rights)."""
    owner = Identity("me")
    app = build_app(
        build_server(memory, owner=owner),
        tokens=tokens,
        more=rest(memory, owner, None, compat=True),
    )

    def client(agent: str = "ana", rights: Any = ("read", "write")) -> httpx2.AsyncClient:
        headers = {"authorization": f"Bearer {tokens.add(agent, 'north', rights)}"}
        transport = httpx2.ASGITransport(app=app)
        return httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:7832", headers=headers
        )

    return client


async def sent(client: Any, path: str, status: int = 200, **body: Any) -> Any:
    done = await client.post(path, json=body)
    assert done.status_code == status, done.text
    return done.json()


async def test_the_paths_answer_as_they_did(old: Any) -> None:
    async with old("ana", ("read", "write", "admin")) as ana:
        added = await sent(ana, "/api/add", text="Our fence is painted dark green.")
        assert added == {"ids": added["ids"], "count": 1}
        assert (await sent(ana, "/api/add", text="Our fence is painted dark green."))["count"] == 0
        found = await sent(ana, "/api/search", query="Our fence is painted dark green", k=5)
        assert found["count"] == 1
        first = found["results"][0]
        assert (first["id"], first["memory_type"]) == (added["ids"][0], "episode")
        assert first["combined_score"] > 0
        assert (await ana.get("/api/stats")).json() == {"total": 1, "by_type": {"episode": 1}}
        assert (await ana.get("/stats")).json() == {"total": 1, "agents": {"ana": 1}}
        turn = {"role": "user", "content": "Our fence is painted dark green, and so is the gate."}
        both = await sent(ana, "/ingest_and_recall", **turn, agent_id="ana", session_id="s")
        assert "dark green" in both["block"]
        assert both["receipt"]["status"] == "stored"
        hot = (await ana.get("/api/state/ana")).json()["hot"]
        assert added["ids"][0] in hot, "what the last conversation recalled"
        assert (await sent(ana, "/api/seed/ana", facts=["Mara sails."]))["stored"] == 1
        trace = await sent(ana, "/api/explain/ana", query="green fence")
        assert any(each["selected"] for each in trace["candidates"])
        for path in ("/api/meta", "/api/agents", "/api/state", "/api/state/ana", "/api/l4"):
            assert (await ana.get(path)).status_code == 200, path
        assert (await ana.get("/api/state/ana")).json()["counts"]["memories"] == 3
        assert (await ana.get("/api/registry/ana")).json() == []
        assert (await ana.get("/api/jobs")).json() == {"in_flight": 0}
        made = await sent(ana, "/api/abstract/ana")
        assert (made["concepts"], made["count"]) == ([], 0)
        assert (await sent(ana, "/api/kg/dedupe"))["merged"] == 0
        said = await sent(ana, "/api/chat/ana", message="Which colour has our fence?")
        assert "no language model answers" in said["note"]
        assert any("dark green" in each["text"] for each in said["trace"]["candidates"])
        assert "summaries_created" in await sent(ana, "/api/consolidate")
        assert (await sent(ana, "/consolidate", agent_id="ana"))["status"] == "completed"
        tiers = (await ana.get("/api/state/ana")).json()["tiers"]
        assert tiers["active"] or tiers["recent"]
        moved = (await sent(ana, "/api/consolidate/ana"))["moved"]
        assert moved["cold"] == len(tiers["active"]) + len(tiers["recent"]) - moved["unkept"]
        tiers = (await ana.get("/api/state/ana")).json()["tiers"]
        assert (tiers["active"], tiers["recent"]) == ([], [])
        assert (await sent(ana, "/contradictions"))["contradictions"] == []
        assert (await sent(ana, "/api/clear"))["status"] == "cleared"
        assert (await ana.get("/api/stats")).json()["total"] == 0


async def test_what_takes_no_body_is_called_without_one(old: Any) -> None:
    async with old("ana", ("read", "write", "admin")) as ana:
        for path in (
            "/api/consolidate", "/api/consolidate/ana", "/api/abstract/ana", "/api/kg/dedupe",
            "/consolidate", "/contradictions", "/api/clear", "/api/reset",
        ):  # fmt: skip
            assert (await ana.post(path)).status_code == 200, path
            form = {"content-type": "application/x-www-form-urlencoded"}
            assert (await ana.post(path, content=b"", headers=form)).status_code == 415
        assert (await ana.post("/api/add")).status_code == 415
        assert (await ana.post("/api/v1/clear")).status_code == 415
        page = await ana.get("/", headers={"authorization": ""})
        assert (page.status_code, page.headers["location"]) == (307, "/ui/")


async def test_without_tokens_a_call_has_a_body(memory: Any) -> None:
    """A web page may send a form or nothing at all to this machine, but no JSON."""
    owner = Identity("me", "", frozenset({"read", "write", "admin"}))
    app = build_app(
        build_server(memory, owner=owner),
        tokens=None,
        more=rest(memory, owner, None, compat=True),
    )
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:7832") as one:
        assert (await one.post("/api/reset")).status_code == 415
        assert (await one.post("/api/reset", json={})).status_code == 200


async def test_another_agent_is_refused_and_its_memories_are_not_shown(old: Any) -> None:
    async with old("ana") as ana, old("ben") as ben:
        await sent(ana, "/api/add", text="The anvil lies in the harbour.")
        for path, body in (
            ("/api/explain/ana", {"query": "anvil"}),
            ("/api/seed/ana", {"facts": ["x y"]}),
            ("/api/consolidate/ana", {}),
            ("/api/abstract/ana", {}),
            ("/api/chat/ana", {"message": "anvil"}),
            ("/ingest_and_recall", {"content": "anvil", "agent_id": "ana"}),
            ("/consolidate", {"agent_id": "ana"}),
            ("/api/clear", {}),
            ("/api/reset", {}),
        ):
            assert (await sent(ben, path, 403, **body))["code"] == "scope_denied"
        assert (await sent(ben, "/api/search", query="anvil"))["count"] == 0
        assert (await ben.get("/api/state/ana")).json()["counts"]["memories"] == 0
        assert "anvil" not in (await ben.get("/api/state")).text


async def test_without_the_flag_the_paths_are_unknown(ana: Any) -> None:
    for path in ("/stats", "/api/stats", "/api/meta"):
        done = await ana.get(f"http://127.0.0.1:7832{path}")
        assert done.status_code == 404
