"""What the page alone asks: each answer, its right, and that a token is revoked at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.http.app import build_app
from server.http.tokens import Tokens
from server.page import operations
from server.page.activity import Activity
from server.protocol.server import build_server

pytestmark = pytest.mark.anyio

ME = Identity("me", "north")
NOW = 1_717_200_000.0  # 2024-06-01T00:00:00Z
Asking = Callable[..., httpx2.AsyncClient]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def activity() -> Activity:
    return Activity(lambda: NOW)


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path)


@pytest.fixture
def asking(memory: Memory, tokens: Tokens, activity: Activity) -> Asking:
    """A client with a token of some rights: rights -> client."""
    used = operations.UsedTokens(tokens, lambda: NOW)
    app = build_app(
        build_server(memory, owner=ME),
        tokens=used,
        more=operations.routes(memory, ME, None, activity, used, lambda: NOW),
    )

    def client(*rights: str, agent: str = "me") -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app),
            base_url="http://127.0.0.1:7832",
            headers={"authorization": f"Bearer {tokens.add(agent, 'north', rights)}"},
        )

    return client


async def got(client: Any, path: str) -> Any:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_briefing_is_that_of_the_callers_memories(asking: Asking, memory: Memory) -> None:
    kept = memory.remember(ME, RememberRequest("Mara prefers tea.", kind="preference"))
    brief = await got(asking("read"), "/page/brief")
    assert "Mara prefers tea." in brief["text"]
    assert kept.id in brief["ids"]
    assert brief["doubtful"] == []
    assert (await got(asking("read", agent="other"), "/page/brief"))["ids"] == []


async def test_acts_are_those_of_the_caller(asking: Asking, activity: Activity) -> None:
    activity.note(ME, "recalled", "spare key", "", [])
    acts = (await got(asking("read"), "/page/activity"))["acts"]
    assert [act["text"] for act in acts] == ["spare key"]
    assert (await got(asking("read", agent="other"), "/page/activity"))["acts"] == []


async def test_tokens_are_listed_with_their_last_use_and_never_with_a_secret(
    asking: Asking, tokens: Tokens
) -> None:
    admin, _ = asking("admin"), asking("read", agent="idle")
    listed = (await got(admin, "/page/tokens"))["tokens"]
    by = {each["agent"]: each for each in listed}
    assert by["me"]["last_use"].startswith("2024-06-01T00:00:00")
    assert by["idle"]["last_use"] is None
    assert by["idle"]["rights"] == ["read"]
    assert all(grant.hash not in str(listed) for grant in tokens.all())


async def test_a_revoked_token_is_refused_at_once(asking: Asking, tokens: Tokens) -> None:
    admin, reader = asking("admin"), asking("read", agent="reader")
    await got(reader, "/page/activity")
    id = next(grant.id for grant in tokens.all() if grant.agent == "reader")
    assert (await admin.delete(f"/page/tokens/{id}")).json() == {"revoked": id}
    assert (await reader.get("/page/activity")).status_code == 401
    assert (await admin.delete("/page/tokens/unknown")).status_code == 404


@pytest.mark.parametrize(
    ("path", "right", "other"),
    [("brief", "read", "write"), ("activity", "read", "write"), ("tokens", "admin", "read")],
)
async def test_each_needs_its_right(asking: Asking, path: str, right: str, other: str) -> None:
    assert (await asking(right).get(f"/page/{path}")).status_code == 200
    assert (await asking(other).get(f"/page/{path}")).status_code == 403


async def test_revoking_needs_admin(asking: Asking, tokens: Tokens) -> None:
    client = asking("read", "write")
    (grant,) = tokens.all()
    assert (await client.delete(f"/page/tokens/{grant.id}")).status_code == 403
    assert [*tokens.all()] == [grant]
