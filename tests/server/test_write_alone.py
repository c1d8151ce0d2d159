"""A token that may write and not read is shown no stored text, over MCP and over REST alike."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.http.app import build_app
from server.http.tokens import Tokens
from server.protocol.server import build_server
from server.rest.mount import rest
from tests.server.test_http import Served, serving

pytestmark = pytest.mark.anyio

ANA = Identity("ana")
RENT = "The rent of Lena Aas is {} euros."
BREAD = (
    "Tomas bakes dark rye bread with sour dough in his old brick oven at the anvil works.",
    "Sour dough needs two nights before Tomas bakes rye bread in his oven at the anvil works.",
    "Neighbours buy the dark rye bread that Tomas bakes from sour dough at the anvil works.",
)
LEDGER = "The ledger of the harbour office names the {}, says Mara Vogt."
HELD = ("anvil", "sour dough", "Tomas", "Lena", "480")
"""Words of what is stored, none of which stands in a question."""


def words_of(answer: str) -> list[str]:
    """Those of HELD in *answer*, as words: an id may hold the figure."""
    return [word for word in HELD if re.search(rf"\b{word}\b", answer)]


@pytest.fixture
def told(open_memory: Callable[..., Memory], clock: Any) -> tuple[Memory, list[str]]:
    """A memory with what a run sums up, finds in contradiction and prunes."""
    memory = open_memory()
    ids = []
    for text in (*BREAD, RENT.format(480), RENT.format(520), LEDGER.format("anvil")):
        clock.pass_by(60)
        ids.append(memory.remember(ANA, RememberRequest(text, session="kitchen")).id)
    summed = {"text": f"All of it: {' '.join(BREAD)}", "kind": "summary", "derived_from": ids[:1]}
    memory.bring_in(ANA, summed)
    clock.pass_by(2 * 86_400)
    return memory, ids


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("remember", {}),
    ("consolidate", {"dry_run": True}),
    ("consolidate", {"dry_run": True, "mode": "contradictions"}),
    ("forget", {}),
]


@pytest.mark.parametrize("way", ["mcp", "rest"])
@pytest.mark.parametrize(("name", "more"), CALLS)
async def test_who_may_only_write_is_shown_no_text(
    told: tuple[Memory, list[str]], tmp_path: Path, name: str, more: dict[str, Any], way: str
) -> None:
    memory, ids = told
    owner, tokens = Identity("me"), Tokens(tmp_path)
    server, routes = build_server(memory, owner=owner), rest(memory, owner, None)
    app = build_app(server, tokens=tokens, more=routes)

    async def answered(served: Served, rights: tuple[str, ...]) -> str:
        secret = tokens.add("ana", rights=rights)
        given = more | ({"ids": ids} if name == "forget" else {})
        if name == "remember":  # another text each time: a repetition has no neighbours
            given |= {"text": LEDGER.format("plum" if "read" in rights else "quince")}
        if way == "mcp":
            async with served.client(secret) as client:
                done = await client.call_tool(name, given)
                assert not done.is_error
                return json.dumps(done.structured_content) + done.content[0].text
        async with served.http(secret) as http:
            path = "memories" if name == "remember" else name
            answer = await http.post(f"/api/v1/{path}", json=given)
            assert answer.status_code == 200, answer.text
            return answer.text

    async with serving(app) as served:
        blind = await answered(served, ("write",))
        shown = await answered(served, ("read", "write"))
    assert words_of(blind) == []
    assert words_of(shown), "who may read is told"
