"""Nobody infers over REST which words stand in the private memories of another agent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memory_core.maintenance.loop import MaintenanceTuning
from memory_core.memory import Memory
from memory_core.overview.request import PageRequest
from memory_core.records import Identity
from memory_core.runtime import Tuning
from server.http.app import build_app
from server.http.tokens import Tokens
from server.protocol.server import build_server
from server.rest.mount import rest
from tests.server.rest.test_rights import call, operations
from tests.test_inference import ABSENT, MISSPELT, NEAR, PRESENT, SPY, told

pytestmark = pytest.mark.anyio

OpenMemory = Callable[..., Memory]
QUERIES = (*PRESENT[:2], *ABSENT[:2], MISSPELT[0], NEAR[0])
LEFT_OUT = {"events", "clear", "import_memories"}
"""One never ends, one empties the memory, one answers what it was given."""
BY_HAND = Tuning(maintenance=MaintenanceTuning(round_seconds=1e9, access_seconds=1e9))
"""Accesses are journalled when the machine finds time, which differs between two runs."""
EARLIER = ("/meta", "/agents", "/l4", "/jobs", "/stats", "/state", "/state/spy", "/registry/spy")


async def answers(memory: Memory, folder: Path) -> list[tuple[str, str]]:
    """(operation, answer) of everything that the spy can ask, ids by the order of their coming."""
    owner, tokens = Identity("me"), Tokens(folder)
    more = rest(memory, owner, None, compat=True)
    app = build_app(build_server(memory, owner=owner), tokens=tokens, more=more)
    secret = tokens.add("spy", "north", ["read", "write"])
    own = [m.memory.id for m in memory.page(SPY, PageRequest(agent=SPY.agent)).memories]
    said: list[tuple[str, str]] = []
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app),
        base_url="http://127.0.0.1:7832/api/v1",
        headers={"authorization": f"Bearer {secret}"},
    ) as client:
        for query in QUERIES:
            for path in ("/recall", "/explain"):
                body = {"query": query, "explain": True, "max_tokens": 400, "rehearse": False}
                said.append((path, (await client.post(path, json=body)).text))
            for filtered in (
                {"entity": query},
                {"topic": query},
                {"tags": [query]},
                {"speaker": query},
            ):
                body = {"query": "ferry", "rehearse": False, **filtered}
                said.append((f"recall {filtered}", (await client.post("/recall", json=body)).text))
            for name in ("entity", "topic", "tag", "speaker"):
                said.append((name, (await client.get("/memories", params={name: query})).text))
            body = {"query": f"the {query} of the ferry"}
            said.append(("forget", (await client.post("/forget", json=body)).text))
        for path in EARLIER:
            said.append((path, (await client.get("http://127.0.0.1:7832/api" + path)).text))
        for name, method, path in operations():
            if name not in LEFT_OUT:
                said.append((name, (await call(client, method, path, own[0])).text))
    known: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return known.setdefault(match.group(), f"<{len(known)}>")

    fenced = [(name, re.sub("recalled-[0-9a-f]+", "recalled", text)) for name, text in said]
    return [(name, re.sub(r"\b0[0-9a-hjkmnp-tv-z]{19}\b", numbered, text)) for name, text in fenced]


def steady(name: str, text: str) -> Any:
    """*text* without what differs between two runs of the same program."""
    if name not in ("health", "health_health_get"):
        return text
    told_of = json.loads(text)
    checks = [c for c in told_of.get("checks", []) if c["name"] not in ("disk", "upkeep")]
    return checks


async def test_no_operation_tells_which_words_another_agent_keeps(
    open_memory: OpenMemory, clock: Any, toy: Any, tmp_path: Path
) -> None:
    seen, start = [], clock.now
    for name, hidden in (("with", PRESENT), ("without", ABSENT)):
        clock.now = start
        memory = open_memory(name, toy, tuning=BY_HAND)
        told(memory, clock, hidden)
        clock.pass_by(3600)
        memory._runtime.parts().maintenance.round()
        (tmp_path / f"tokens-{name}").mkdir()
        seen.append(await answers(memory, tmp_path / f"tokens-{name}"))
    for (what, one), (_, other) in zip(*seen, strict=True):
        assert steady(what, one) == steady(what, other), what
