"""Subscribers hear of what changed, in both eras, from any process, and of nothing private."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp import Client, MCPDeprecationWarning, MCPError

from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, MemoryRecord
from memory_core.remember.request import RememberRequest
from server.protocol import subscriptions
from server.protocol.server import build_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning"),
]
SECONDS = 60.0


@pytest.fixture
def subscribed(hearing: Any) -> Any:
    """(server, era, uris) -> a client that is subscribed, and what it hears."""

    def of(server: Any, mode: str, *uris: str) -> Any:
        return hearing(lambda **more: Client(server, mode=mode, **more), *uris)

    return of


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "SECONDS", 0.01)


async def test_a_call_of_the_same_client_is_heard(fake: Any, subscribed: Any, mode: str) -> None:
    async with subscribed(build_server(fake), mode, "memory://recent") as (client, heard):
        done = await client.call_tool("remember", {"text": "tea at four"})
        assert not done.is_error
        await heard.until("memory://recent")
        assert heard.uris == {"memory://recent"}, "only what was subscribed to"


async def test_what_another_process_wrote_is_heard_under_every_name(
    fake: Any, subscribed: Any, mode: str
) -> None:
    names = [
        "memory://session/monday%201",
        "memory://session/monday 1",
        "memory://entity/Zo%C3%AB",
        "memory://topic/tea",
        "memory://health",
    ]
    async with subscribed(build_server(fake), mode, *names) as (_, heard):
        fake.add("tea with Zoë", session="monday 1", entities=("Zoë",), topic="tea")
        await heard.until(*names)


async def test_anothers_private_memory_is_not_heard(fake: Any, subscribed: Any, mode: str) -> None:
    server = build_server(fake, owner=Identity("me"))
    async with subscribed(server, mode, "memory://recent", "memory://topic/secret") as (_, heard):
        fake.add("not yours", agent="somebody", topic="secret")
        own = fake.add("mine")
        await heard.until("memory://recent")
        assert "memory://topic/secret" not in heard.uris
        assert own.id in fake.memories


async def test_nothing_is_looked_at_without_a_subscriber(
    fake: Any, subscribed: Any, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    changed = fake.changed

    def counted(who: Identity, after: int | None = None) -> Any:
        nonlocal looks
        looks += 1
        return changed(who, after)

    monkeypatch.setattr(fake, "changed", counted)
    server = build_server(fake)
    async with Client(server, mode=mode) as client:
        await client.call_tool("remember", {"text": "one"})
    assert looks == 0
    async with subscribed(server, mode, "memory://recent") as (_, heard):
        fake.add("two")
        await heard.until("memory://recent")
    with anyio.fail_after(SECONDS):
        before = -1
        while looks != before:  # it ends once nobody listens
            before = looks
            await anyio.sleep(0.1)


async def test_an_unsubscribed_resource_is_not_heard_any_more(fake: Any, subscribed: Any) -> None:
    server = build_server(fake)
    async with subscribed(server, "legacy", "memory://recent", "memory://topic/a") as (
        client,
        heard,
    ):
        await client.unsubscribe_resource("memory://recent")
        fake.add("x", topic="a")
        await heard.until("memory://topic/a")
        assert heard.uris == {"memory://topic/a"}


async def test_too_many_subscriptions_of_one_connection_are_refused(
    fake: Any, subscribed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "URIS", 2)
    async with subscribed(build_server(fake), "legacy", "memory://a", "memory://b") as (
        client,
        _,
    ):
        with pytest.raises(MCPError, match="invalid_input: there are 2 subscriptions"):
            await client.subscribe_resource("memory://c")


async def test_a_busy_memory_is_asked_again(fake: Any, subscribed: Any, mode: str) -> None:
    from memory_core.errors import Busy

    failed = 0
    changed = fake.changed

    def sometimes(who: Identity, after: int | None = None) -> Any:
        nonlocal failed
        if after is not None and failed < 3:
            failed += 1
            raise Busy("in use", "wait")
        return changed(who, after)

    fake.changed = sometimes
    async with subscribed(build_server(fake), mode, "memory://recent") as (_, heard):
        fake.add("tea")
        await heard.until("memory://recent")
    assert failed == 3


def test_the_store_tells_what_changed_and_for_whom(open_memory: Callable[..., Any]) -> None:
    memory, other = open_memory(), open_memory()  # two handles on one store
    me, you = Identity("me"), Identity("you")
    start = memory.changed(me).reached
    mine = other.remember(me, RememberRequest("the tea is in the tin", session="s")).id
    shared = other.remember(you, RememberRequest("the kettle is on the sill", scope="shared")).id
    hidden = other.remember(you, RememberRequest("the sugar is hidden")).id

    found = memory.changed(me, start)
    assert {m.id for m in found.memories} == {mine, shared}
    assert isinstance(found.memories[0], MemoryRecord)
    assert {m.id for m in memory.changed(you, start).memories} == {shared, hidden}
    assert memory.changed(me, found.reached).memories == ()

    other.recall(me, RecallRequest("tea"))
    other.health(me)
    assert memory.changed(me, found.reached).memories == (), "recalling and checking change nothing"

    other.forget(me, ids=[mine], confirm=True)
    later = memory.changed(me, found.reached)
    assert later.gone == (mine,)
    assert memory.changed(you, found.reached).gone == ()


def test_a_changed_memory_touches_the_resources_that_show_it() -> None:
    memory = MemoryRecord(id="0" * 20, text="x", session="a/b", topic="", entities=("Ann",))
    assert set(subscriptions.changed_uris((memory,), ("1" * 20,))) == {
        "memory://recent",
        "memory://review",
        "memory://health",
        f"memory://item/{'0' * 20}",
        f"memory://item/{'1' * 20}",
        "memory://session/a/b",
        "memory://session/a%2Fb",
        "memory://entity/Ann",
    }


async def test_too_many_streams_of_one_agent_are_refused(
    fake: Any, subscribed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "STREAMS", 1)
    server = build_server(fake)
    async with subscribed(server, "auto", "memory://recent") as (client, _):
        with pytest.raises(MCPError, match="busy: 1 streams of this agent are open; close one"):
            async with client.listen(resource_subscriptions=["memory://health"]):
                pass
    async with subscribed(server, "auto", "memory://recent") as (_, heard):  # it was closed
        fake.add("tea at four")
        await heard.until("memory://recent")
