from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from mcp import Client
from mcp.types import Implementation

from memory_core.recall.request import EVIDENCE
from memory_core.records import KINDS, Identity
from server.protocol import schemas
from server.protocol.server import build_server

pytestmark = pytest.mark.anyio

CLAUDE = Implementation(name="claude-code", version="1")
JSON_LOOKING = [
    *('{"a":1}', "null", "123", '"quoted"'),
    *(pytest.param(t, marks=pytest.mark.long) for t in ("[1]", "true", "1e5", "{}", "[", "NaN")),
]


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_remembered_text_is_recalled_with_the_fields_it_was_given(connect: Any) -> None:
    async with connect() as client:
        done = await client.call_tool(
            "remember",
            {
                "text": "The tea is in the blue tin",
                "kind": "fact",
                "importance": 0.7,
                "tags": ["kitchen"],
                "speaker": "Ann",
                "session": "s1",
                "source": "chat",
            },
        )
        found = await client.call_tool("recall", {"query": "where is the tea"})
        whole = await client.call_tool("recall", {"query": done.structured_content["id"]})
    assert not done.is_error
    assert done.structured_content["status"] == "stored"
    assert done.structured_content["kind"] == "fact"
    assert found.structured_content["memories"] == [
        {
            "id": done.structured_content["id"],
            "text": "The tea is in the blue tin",
            "kind": "fact",
            "speaker": "Ann",
            "when": "2024-05-31",
        }
    ]
    (memory,) = whole.structured_content["memories"]
    assert memory["text"] == "The tea is in the blue tin"
    assert (memory["speaker"], memory["session"], memory["source"]) == ("Ann", "s1", "chat")
    assert (memory["importance"], memory["tags"], memory["trust"]) == (0.7, ["kitchen"], "agent")
    assert memory["when"] == "2024-05-31T00:00:00Z"
    assert memory["age"] == "1 day ago"
    assert found.structured_content["notice"] == schemas.NOTICE


async def test_nothing_found_is_said_in_both_channels(connect: Any) -> None:
    async with connect() as client:
        found = await client.call_tool("recall", {"query": "quark"})
    assert not found.is_error
    assert found.structured_content == {
        "found": False,
        "confidence": 0.1,
        "feeling": "none",
        "memories": [],
        "truncated": False,
    }
    assert found.content[0].text == "nothing found; confidence 0.1 (none)"


@pytest.mark.parametrize("text", JSON_LOOKING)
async def test_text_that_looks_like_json_arrives_untouched(
    connect: Any, fake: Any, text: str
) -> None:
    given = {"text": text, "speaker": text, "session": text, "source": text}
    async with connect() as client:
        done = await client.call_tool("remember", given)
        await client.call_tool("recall", {"query": text})
    assert not done.is_error
    (call,) = [arguments for name, arguments in fake.calls if name == "remember"]
    assert {name: call[name] for name in given} == given
    assert fake.calls[-1][1]["query"] == text


async def test_arguments_reach_the_memory_under_their_names(connect: Any, fake: Any) -> None:
    given = {
        "query": "tea",
        "k": 3,
        "scope": "team",
        "kinds": ["fact"],
        "tags": ["a"],
        "speaker": "Ann",
        "session": "s",
        "since": "2024-01-01",
        "until": "2024-02-01",
        "as_of": "2024-03-01",
        "context": 2,
        "explain": True,
    }
    async with connect() as client:
        await client.call_tool("recall", {**given, "max_tokens": 500})
    _, call = fake.calls[-1]
    assert call.pop("who").agent == "me"
    unasked = {"rehearse": True, "elsewhere": False, "project": "", "cut": True}
    unasked |= {"topic": "", "entity": "", "importance": 0.0, "weights": asdict(EVIDENCE)}
    assert call == {**given, "kinds": ("fact",), "tags": ("a",), **unasked}


async def test_a_speaker_that_names_a_role_has_it_and_no_more_rights(open_memory: Any) -> None:
    """What an assistant said changes nothing of the user's; saying "user" grants no trust."""
    memory = open_memory()
    me = Client(build_server(memory, owner=Identity("me")), client_info=CLAUDE)
    said = {
        "user": "My dentist is Dr Brandt.",
        "Nutzer": "Mein Zahnarzt ist Dr. Brandt.",
        "Lena": "My dentist is Dr Holm.",
        "AI": "Correction: my dentist is Dr Sand now, not Dr Brandt.",
        "Claude": "Correction: my dentist is Dr Voss now, not Dr Brandt.",
    }
    async with me as client:
        ids = {}
        for speaker, text in said.items():
            done = await client.call_tool("remember", {"text": text, "speaker": speaker})
            ids[speaker] = done.structured_content["id"]
    stored = {speaker: memory.get(Identity("me"), id) for speaker, id in ids.items()}
    assert {speaker: record.role for speaker, record in stored.items()} == {
        "user": "user",
        "Nutzer": "user",
        "Lena": "",
        "AI": "assistant",
        "Claude": "assistant",
    }
    assert {record.trust for record in stored.values()} == {"agent"}
    assert not stored["user"].superseded_by
    assert not memory.doubted(Identity("me"), [ids["user"]])


async def test_the_clients_name_is_kept(connect: Any, fake: Any) -> None:
    async with connect() as client:
        await client.call_tool("remember", {"text": "x"})
    assert fake.calls[-1][1]["client"] == "mcp"
    assert fake.calls[-1][1]["trust"] == "agent"


async def test_consolidate_reports_steps_summaries_and_progress(connect: Any, fake: Any) -> None:
    fake.add("one")
    seen: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    async with connect() as client:
        done = await client.call_tool(
            "consolidate", {"mode": "topics", "dry_run": True}, progress_callback=progress
        )
    assert done.structured_content["status"] == "preview"
    assert done.structured_content["steps"] == [{"name": "settle", "changed": 1}]
    (summary,) = done.structured_content["summaries"]
    assert summary["text"] == "what happened"
    assert summary["text"] in done.content[0].text
    assert seen
    assert [step[0] for step in seen] == sorted({step[0] for step in seen})
    assert seen[-1] == (2, 2, "summarise")


async def test_forget_previews_then_deletes_with_ids_and_confirm(connect: Any, fake: Any) -> None:
    memory = fake.add("a secret wish")
    async with connect() as client:
        preview = await client.call_tool("forget", {"ids": [memory.id]})
        kept = dict(fake.memories)
        gone = await client.call_tool("forget", {"ids": [memory.id], "confirm": True})
    assert preview.structured_content["status"] == "preview"
    assert preview.structured_content["removed"] == [{"id": memory.id, "text": "a secret wish"}]
    assert preview.content[0].text.count("[1] ") == 1
    assert "repeat with these ids and confirm" in preview.structured_content["note"]
    assert memory.id in kept
    assert gone.structured_content["status"] == "forgotten"
    assert fake.memories == {}


async def test_a_preview_of_nothing_asks_for_no_confirmation(connect: Any) -> None:
    async with connect() as client:
        done = await client.call_tool("forget", {"source": "advice.md"})
    assert done.structured_content["status"] == "preview"
    assert "confirm" not in done.content[0].text


async def test_forget_takes_a_source(connect: Any, fake: Any) -> None:
    fake.add("obey me", source="advice.md")
    kept = fake.add("a tea", source="kitchen.md")
    async with connect() as client:
        preview = await client.call_tool("forget", {"source": "advice.md"})
        assert len(fake.memories) == 2
        gone = await client.call_tool("forget", {"source": "advice.md", "confirm": True})
    assert preview.structured_content["status"] == "preview"
    assert [each["text"] for each in gone.structured_content["removed"]] == ["obey me"]
    assert list(fake.memories) == [kept.id]


async def test_a_forgotten_value_is_refused_with_its_tombstone(connect: Any, fake: Any) -> None:
    fake.forgotten["the old address"] = "0" * 20
    async with connect() as client:
        refused = await client.call_tool("remember", {"text": "the old address"})
        lifted = await client.call_tool(
            "remember", {"text": "the old address", "replaces": "0" * 20}
        )
    assert not refused.is_error
    assert refused.structured_content["status"] == "refused"
    assert refused.structured_content["id"] == "0" * 20
    assert lifted.structured_content["status"] == "stored"


async def test_health_shows_every_check_and_section(connect: Any) -> None:
    async with connect() as client:
        report = await client.call_tool("health", {})
    structure, text = report.structured_content, report.content[0].text
    assert structure["status"] == "ok"
    assert structure["checks"][1] == {"name": "model", "status": "degraded", "fix": "setup"}
    assert structure["counts"] == {"memories": 0}
    for part in ("journal ok: round trip 4 ms", "model degraded; fix: setup", '"memories": 0'):
        assert part in text


async def test_every_structure_fits_the_published_schema(connect: Any, fake: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    memory = fake.add("tea", tags=("a",), entities=("Ann",))
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name, arguments in (
            ("remember", {"text": "tea"}),
            ("recall", {"query": "tea", "explain": True}),
            ("consolidate", {}),
            ("forget", {"ids": [memory.id]}),
            ("health", {}),
        ):
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error
            jsonschema.validate(answer.structured_content, tools[name].output_schema)
            json.dumps(answer.structured_content)


def test_kinds_of_the_schema_are_those_of_the_records() -> None:
    assert schemas.Kind.__args__ == KINDS  # type: ignore[attr-defined]
    assert schemas.OptionalKind.__args__ == ("", *KINDS)  # type: ignore[attr-defined]


async def test_an_id_as_query_gives_a_long_memory_whole(connect: Any, fake: Any) -> None:
    memory = fake.add("word " * 3999 + "end!!")
    async with connect() as client:
        by_words = await client.call_tool("recall", {"query": "end!!"})
        by_id = await client.call_tool("recall", {"query": memory.id})
        bounded = await client.call_tool("recall", {"query": memory.id, "max_tokens": 500})
    (clipped,) = by_words.structured_content["memories"]
    assert clipped["text"].endswith(f"[clipped: {memory.id}]")
    assert len(by_words.content[0].text) <= 5_000
    assert by_id.structured_content["memories"][0]["text"] == memory.text
    assert memory.text in by_id.content[0].text
    assert len(bounded.content[0].text) <= 2_000
