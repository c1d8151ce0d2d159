"""The list of tools that a model sees: its shape, its size and its order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args, get_type_hints
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from memory_core.config import GistSettings
from memory_core.consolidate.run import MODES
from memory_core.records import KINDS, VISIBILITIES
from server.protocol import schemas
from server.protocol.server import INSTRUCTIONS

pytestmark = pytest.mark.anyio

SNAPSHOT = Path(__file__).with_name("tools.json")

CONTRACT = {
    "remember": {
        "text": None,
        "kind": "",
        "importance": 0,
        "tags": [],
        "when": "",
        "speaker": "",
        "session": "",
        "scope": "",
        "source": "",
        "replaces": "",
    },
    "recall": {
        "query": None,
        "k": 12,
        "max_tokens": 1250,
        "scope": "",
        "kinds": [],
        "tags": [],
        "speaker": "",
        "session": "",
        "since": "",
        "until": "",
        "as_of": "",
        "context": 1,
        "explain": False,
    },
    "consolidate": {
        "mode": "sleep",
        "session": "",
        "dry_run": False,
        "undo": "",
        "decide": "",
        "pair": [],
    },
    "forget": {
        "ids": [],
        "query": "",
        "source": "",
        "reason": "",
        "never_again": True,
        "confirm": False,
    },
    "health": {"repair": False},
}
ANSWERS = {
    "remember": "id status kind importance gist similar replaced warnings",
    "recall": "found confidence feeling memories recent partial truncated notice note",
    "consolidate": "run status steps summaries contradictions retired",
    "forget": "status removed derived note",
    "health": "status checks counts storage model encoder jobs last_run versions",
}
RECALLED = (
    "id text gist kind speaker session when age score scope source trust tags importance topic "
    "entities emotions affect agent before after superseded_by doubted_by in_part "
    "doubtful_since derived_from sources why"
)


@pytest.fixture
async def listed(connect: Any) -> list[dict[str, Any]]:
    async with connect() as client:
        tools = (await client.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


async def test_the_list_is_the_snapshot(listed: list[dict[str, Any]]) -> None:
    expected = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    assert listed == expected, f"if this change is wanted, write the new list to {SNAPSHOT.name}"


async def test_arguments_and_defaults_are_those_of_the_contract(
    listed: list[dict[str, Any]],
) -> None:
    given = {
        tool["name"]: {
            name: about.get("default") for name, about in tool["inputSchema"]["properties"].items()
        }
        for tool in listed
    }
    assert given == CONTRACT
    assert list(given) == list(CONTRACT)
    required = {tool["name"]: tool["inputSchema"].get("required", []) for tool in listed}
    assert required == {
        "remember": ["text"],
        "recall": ["query"],
        "consolidate": [],
        "forget": [],
        "health": [],
    }


def test_the_allowed_values_are_those_of_the_memory() -> None:
    assert get_args(schemas.Kind) == KINDS
    assert get_args(schemas.OptionalKind) == ("", *KINDS)
    assert get_args(schemas.OptionalScope) == ("", *VISIBILITIES)
    assert get_args(schemas.Mode) == tuple(MODES)
    (scopes, _) = get_args(get_type_hints(GistSettings)["forbid_scopes"])
    assert get_args(scopes) == VISIBILITIES


async def test_answers_publish_the_fields_of_the_contract(listed: list[dict[str, Any]]) -> None:
    for tool in listed:
        missing = set(ANSWERS[tool["name"]].split()) - set(tool["outputSchema"]["properties"])
        assert not missing, tool["name"]
    recall = next(tool for tool in listed if tool["name"] == "recall")
    hit = recall["outputSchema"]["$defs"]["Recalled"]
    assert set(hit["properties"]) == set(RECALLED.split())
    assert hit["required"] == ["id", "text"]


async def test_the_visible_list_is_cheap(listed: list[dict[str, Any]]) -> None:
    visible = [
        {name: tool[name] for name in ("name", "description", "inputSchema")} for tool in listed
    ]
    assert len(json.dumps(visible, separators=(",", ":"))) / 4 < 1_100
    assert len(json.dumps(listed, separators=(",", ":"))) / 4 < 2_500
    assert all(len(tool["description"]) < 600 for tool in listed)


async def test_descriptions_say_when_before_what(listed: list[dict[str, Any]]) -> None:
    for tool in listed:
        first = tool["description"].split()[0]
        assert first in {"When", "Before", "At", "Only"}, tool["name"]


async def test_hints_and_titles_are_set(listed: list[dict[str, Any]]) -> None:
    hints = {tool["name"]: tool["annotations"] for tool in listed}
    assert [name for name, hint in hints.items() if hint["readOnlyHint"]] == ["recall"]
    assert [name for name, hint in hints.items() if hint.get("destructiveHint")] == ["forget"]
    assert all(tool["title"] for tool in listed)
    assert all(tool["_meta"] == {"anthropic/alwaysLoad": True} for tool in listed)


async def test_instructions_are_short_and_served(connect: Any) -> None:
    assert len(INSTRUCTIONS) < 1_500
    async with connect() as client:
        assert client.instructions == INSTRUCTIONS


async def test_two_connections_see_the_same_list(connect: Any) -> None:
    lists = []
    for _ in range(2):
        async with connect() as client:
            lists.append((await client.list_tools()).model_dump_json())
    assert lists[0] == lists[1]


async def test_the_icon_is_a_picture_that_costs_little_and_fetches_nothing(connect: Any) -> None:
    async with connect() as client:
        icons = [
            *client.server_info.icons,
            *(icon for prompt in (await client.list_prompts()).prompts for icon in prompt.icons),
            *(icon for each in (await client.list_resources()).resources for icon in each.icons),
        ]
        answer = await client.call_tool("health", {})
    assert len(icons) == 6
    for icon in icons:
        kind, _, picture = icon.src.partition(",")
        assert kind == "data:image/svg+xml"
        root = ElementTree.fromstring(unquote(picture))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(root) == 2
    assert len(json.dumps(answer.meta)) < 400, "every answer names the server"


async def test_lists_may_be_kept_an_hour_and_contents_not_at_all(connect: Any, fake: Any) -> None:
    fake.add("tea")
    async with connect() as client:
        for listed in (
            await client.list_tools(),
            await client.list_prompts(),
            await client.list_resources(),
            await client.list_resource_templates(),
        ):
            assert (listed.ttl_ms, listed.cache_scope) == (3_600_000, "private")
        read = await client.read_resource("memory://recent")
    assert (read.ttl_ms, read.cache_scope) == (0, "private")
