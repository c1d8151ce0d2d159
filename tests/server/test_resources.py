from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from server.protocol import schemas

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def read(client: Any, uri: str) -> dict[str, Any]:
    contents = (await client.read_resource(uri)).contents
    assert contents[0].mime_type == "application/json"
    return json.loads(contents[0].text)  # type: ignore[no-any-return]


async def test_resources_and_templates_are_listed(connect: Any) -> None:
    async with connect() as client:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
    static = {str(resource.uri) for resource in listed}
    for each in (*listed, *templates):
        assert each.title
        assert each.description
        assert each.annotations.audience == ["user", "assistant"]
        assert 0 < each.annotations.priority < 1
    assert static == {"memory://recent", "memory://review", "memory://health"}
    assert {t.uri_template for t in templates} == {
        "memory://item/{id}",
        "memory://session/{id}",
        "memory://entity/{name}",
        "memory://topic/{name}",
    }


async def test_recent_gives_the_newest_first_as_data(connect: Any, fake: Any) -> None:
    first, second = fake.add("one"), fake.add("two")
    async with connect() as client:
        recent = await read(client, "memory://recent")
    assert [m["id"] for m in recent["memories"]] == [second.id, first.id]
    assert recent["notice"] == schemas.NOTICE


async def test_an_item_is_whole_with_provenance_and_history(connect: Any, fake: Any) -> None:
    memory = fake.add(
        "x" * 20_000, source="mail", trust="web", derived_from=("0" * 20,), superseded_by="1" * 20
    )
    async with connect() as client:
        item = await read(client, f"memory://item/{memory.id}")
    assert item["text"] == "x" * 20_000
    assert item["provenance"] == {
        "derived_from": ["0" * 20],
        "source": "mail",
        "trust": "web",
        "agent": "me",
    }
    assert item["version"] == {
        "relation": "updates",
        "number": 2,
        "parent": "0" * 20,
        "root": "0" * 20,
        "latest": memory.id,
    }
    assert item["history"]["superseded_by"] == "1" * 20
    assert item["history"]["recorded_at"] == "2024-06-01T00:00:00Z"
    assert item["history"]["changes"] == [
        {"at": "2024-06-01T00:00:00Z", "kind": "put", "actor": "me"}
    ]


async def test_feelings_are_read_only_when_strong(connect: Any, fake: Any) -> None:
    plain = fake.add("tea", arousal=0.6, valence=-1.0, emotions=("joy",))
    strong = fake.add("Tea!!!", arousal=0.61, emotions=("joy",))
    async with connect() as client:
        items = [await read(client, f"memory://item/{each.id}") for each in (plain, strong)]
        listed = (await read(client, "memory://recent"))["memories"]
    assert [item.get("emotions") for item in items] == [None, ["joy"]]
    assert {entry["id"] for entry in listed if "emotions" in entry} == {strong.id}


async def test_keywords_are_not_read(connect: Any, fake: Any) -> None:
    memory = fake.add("tea", tags=("drinks",), keywords=("kettle",))
    async with connect() as client:
        item = await read(client, f"memory://item/{memory.id}")
        recent = await read(client, "memory://recent")
    assert item["tags"] == recent["memories"][0]["tags"] == ["drinks"]
    assert "kettle" not in json.dumps([item, recent])


async def test_a_session_reads_oldest_first(connect: Any, fake: Any) -> None:
    first, second = fake.add("one", session="s 1"), fake.add("two", session="s 1")
    fake.add("other", session="s2")
    async with connect() as client:
        session = await read(client, "memory://session/s%201")
    assert [m["id"] for m in session["memories"]] == [first.id, second.id]


@pytest.mark.parametrize("name", ["Ann", "AC/DC", "..", "/etc/passwd", "Zoë", "a?b#c"])
async def test_entity_names_are_data(connect: Any, fake: Any, name: str) -> None:
    from urllib.parse import quote

    memory = fake.add("about it", entities=(name,))
    async with connect() as client:
        found = await read(client, f"memory://entity/{quote(name, safe='')}")
    assert [m["id"] for m in found["memories"]] == [memory.id]


async def test_topic_and_health_can_be_read(connect: Any, fake: Any) -> None:
    memory = fake.add("pasta", topic="cooking")
    async with connect() as client:
        topic = await read(client, "memory://topic/cooking")
        health = await read(client, "memory://health")
    assert [m["id"] for m in topic["memories"]] == [memory.id]
    assert health["status"] == "ok"


async def test_links_what_is_in_mind_and_the_edges_of_a_topic_can_be_read(
    connect: Any, fake: Any
) -> None:
    memory = fake.add("pasta", topic="cooking", session="lunch")
    fake.add("rice", session="lunch")
    async with connect() as client:
        item = await read(client, f"memory://item/{memory.id}")
        session = await read(client, "memory://session/lunch")
        topic = await read(client, "memory://topic/cooking")
    assert item["links"] == [{"a": memory.id, "b": "1" * 20, "kind": "co_recall", "weight": 2.0}]
    assert session["in_mind"] == [
        {"id": memory.id, "working_memory_turns": 4, "promoted_from": "recent"}
    ]
    assert topic["recalled_with"] == {"baking": 3.0}


@pytest.mark.parametrize(
    "uri",
    [
        "memory://item/00000000000000000000",
        "memory://item/..%2F..%2Fetc%2Fpasswd",
        "memory://session/none",
        "memory://entity/nobody",
        "memory://topic/nothing",
        "memory://nowhere",
        "file:///etc/passwd",
    ],
)
async def test_what_is_not_there_is_invalid_params(connect: Any, uri: str) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)
    assert raised.value.error.code == -32602


async def test_another_agents_item_looks_like_an_unknown_one(connect: Any, fake: Any) -> None:
    foreign = fake.add("not yours", agent="somebody")
    async with connect() as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(f"memory://item/{foreign.id}")
        with pytest.raises(MCPError) as unknown:
            await client.read_resource(f"memory://item/{'0' * 20}")
    assert raised.value.error.message.replace(foreign.id, "") == (
        unknown.value.error.message.replace("0" * 20, "")
    )


async def test_a_crash_in_a_resource_does_not_show_its_text(connect: Any, fake: Any) -> None:
    def crash(name: str) -> None:
        raise RuntimeError("swordfish")

    fake.before = crash
    async with connect() as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource("memory://recent")
    assert raised.value.error.message.startswith("storage: internal error")
    assert "swordfish" not in str(raised.value.error)


async def test_names_are_completed_by_their_beginning(connect: Any, fake: Any) -> None:
    memory = fake.add("a", session="monday", tags=("work",), entities=("Ann",), topic="gardening")
    fake.add("b", session="Munich", tags=("home",), entities=("Bob",))

    async def complete(ref: Any, name: str, value: str) -> list[str]:
        answer = await client.complete(ref, {"name": name, "value": value})
        return list(answer.completion.values)

    async with connect() as client:
        session = ResourceTemplateReference(uri="memory://session/{id}")
        entity = ResourceTemplateReference(uri="memory://entity/{name}")
        briefing = PromptReference(name="briefing")
        assert await complete(session, "id", "m") == ["Munich", "monday"]
        assert await complete(session, "id", "mon") == ["monday"]
        assert await complete(entity, "name", "B") == ["Bob"]
        topic = ResourceTemplateReference(uri="memory://topic/{name}")
        item = ResourceTemplateReference(uri="memory://item/{id}")
        assert await complete(topic, "name", "gar") == ["gardening"]
        assert memory.id in await complete(item, "id", memory.id[:4])
        assert await complete(item, "id", memory.id) == [memory.id]
        assert await complete(briefing, "tag", "") == ["home", "work"]
        assert await complete(briefing, "about", "x") == []
