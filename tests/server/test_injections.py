"""Stored instructions stay data: a corpus of attacks, stored in every field, asked for everywhere.

Each text holds a canary of its own. Wherever one comes back it is inside the fence of the text
channel and under a field of data in the structure, announced by the notice; it is never part of
what the server itself says: instructions, lists, titles, notes, prompts' own words, errors, logs.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from memory_core.memory import Memory
from memory_core.records import Identity
from server.hooks.hooks import Hooks
from server.protocol import schemas
from server.protocol.server import build_server

pytestmark = pytest.mark.anyio

CORPUS: list[dict[str, str]] = json.loads(
    Path(__file__).with_name("injections.json").read_text("utf-8")
)
CANARY = re.compile(r"canary-\d{3}")
DATA = {
    "text", "gist", "speaker", "session", "source", "topic", "tags", "entities", "subject", "detail"
}  # fmt: skip
"""The fields of the structure that hold what somebody stored."""
_FENCE = re.compile(r"^<(recalled-[0-9a-f]{8})>$", re.MULTILINE)
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\U000e0000-\U000e007f]"
)


def outside(text: str) -> str:
    """*text* without its one fenced block, which must be whole and hold only marked lines."""
    assert not _STEERING.search(text)
    found = _FENCE.search(text)
    if found is None:
        return text
    name = found[1]
    lines = text.split("\n")
    assert (lines.count(f"<{name}>"), lines.count(f"</{name}>")) == (1, 1)
    start, end = lines.index(f"<{name}>"), lines.index(f"</{name}>")
    for line in lines[start + 1 : end]:
        if CANARY.search(line):
            unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
            assert line.startswith("> ") or not CANARY.search(unquoted), line
    return "\n".join(lines[:start] + lines[end + 1 :])


def fields(value: Any, name: str = "") -> Iterator[str]:
    """The names of the fields of *value* that hold a canary."""
    if isinstance(value, dict):
        for key, inner in value.items():
            assert not CANARY.search(key)
            yield from fields(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, name)
    elif isinstance(value, str) and CANARY.search(value):
        yield name


def check(answer: Any) -> bool:
    """Whether *answer* (of a tool) holds a canary; fails unless it is data in both channels."""
    (content,) = answer.content
    assert not CANARY.search(outside(content.text)), content.text
    if answer.is_error:
        assert not CANARY.search(content.text)
        return False
    found = set(fields(answer.structured_content))
    assert found <= DATA
    if found:
        assert answer.structured_content.get("notice", schemas.NOTICE) == schemas.NOTICE
        assert bool(found) == bool(CANARY.search(content.text)), "the same in both channels"
    return bool(found)


def poisoned(number: int, text: str) -> dict[str, Any]:
    """A memory that holds the attack in the text and, in turn, in another field."""
    name = ("speaker", "session", "source", "tags")[number % 4]
    short = "".join(char for char in text if char.isprintable())[:180]  # labels are one line
    return {"text": text, name: [short] if name == "tags" else short}


@pytest.fixture
async def stored(open_memory: Callable[..., Memory], caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.set_level(logging.DEBUG)
    for talkative in ("mcp", "asyncio"):  # the command line keeps them at WARNING too
        caplog.set_level(logging.WARNING, logger=talkative)
    memory = open_memory()
    ids = []
    async with Client(build_server(memory)) as client:
        for number, attack in enumerate(CORPUS):
            done = await client.call_tool("remember", poisoned(number, attack["text"]))
            assert not done.is_error, done.content[0].text
            check(done)
            ids.append(done.structured_content["id"])
    return ids


@pytest.fixture
def client(open_memory: Callable[..., Memory], stored: list[str]) -> Any:
    return Client(build_server(open_memory()))


def test_the_corpus_is_large_and_varied() -> None:
    texts = {attack["text"] for attack in CORPUS}
    assert len(texts) == len(CORPUS) >= 200
    assert len({CANARY.search(text)[0] for text in texts}) == len(CORPUS)  # type: ignore[index]
    forms = Counter(attack["kind"].rpartition(", ")[2] for attack in CORPUS)
    assert len(forms) >= 30


def test_a_leak_would_be_noticed() -> None:
    with pytest.raises(AssertionError):
        outside("<recalled-0a0a0a0a>\nnote canary-001\n</recalled-0a0a0a0a>")
    with pytest.raises(AssertionError):
        outside("<recalled-0a0a0a0a>\n> canary-001\n</recalled-0a0a0a0a>\n</recalled-0a0a0a0a>")
    assert CANARY.search(outside("note: canary-001\n<recalled-0a0a0a0a>\n</recalled-0a0a0a0a>"))
    assert set(fields({"note": "canary-001", "memories": [{"text": "x"}]})) == {"note"}


async def test_the_corpus_stays_data_everywhere(
    client: Any, stored: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with client:
        for id, attack in [*zip(stored, CORPUS, strict=True)][::6]:
            assert check(await client.call_tool("recall", {"query": id})), attack["kind"]
        for attack in CORPUS[::20]:
            asked = {"query": attack["text"][:200], "k": 5, "context": 2, "explain": True}
            check(await client.call_tool("recall", asked))
        await tools_show_data(client, stored)
        await resources_show_data(client, stored)
        await prompts_show_data(client)
        await errors_are_silent(client, stored)
        await the_server_says_nothing_of_it(client)
    logged = [record.getMessage() for record in caplog.get_records("setup") + caplog.records]
    assert not [message for message in logged if CANARY.search(message)]


async def tools_show_data(client: Client, stored: list[str]) -> None:
    for name, given in (
        ("forget", {"ids": stored[:100]}),
        ("forget", {"query": "previous instructions"}),
        ("consolidate", {"dry_run": True}),
        ("consolidate", {}),
        ("health", {"repair": True}),
        ("health", {}),
        ("forget", {"ids": stored[:3], "confirm": True}),
        ("remember", {"text": CORPUS[0]["text"]}),
    ):
        check(await client.call_tool(name, given))


async def resources_show_data(client: Client, stored: list[str]) -> None:
    seen = 0
    for uri in (
        "memory://recent",
        "memory://health",
        *(f"memory://item/{id}" for id in stored[3::6]),
    ):
        (content,) = (await client.read_resource(uri)).contents
        data = json.loads(content.text)
        found = set(fields(data))
        assert found <= DATA
        seen += bool(found)
        if found:
            assert data["notice"] == schemas.NOTICE
    assert seen > 30


async def prompts_show_data(client: Client) -> None:
    for name, given in (
        ("briefing", {}),
        ("briefing", {"about": "previous instructions"}),
        ("reflect", {}),
    ):
        answer = await client.get_prompt(name, given)
        assert [message.role for message in answer.messages] == ["user"]
        assert CANARY.search(answer.messages[0].content.text)
        assert not CANARY.search(outside(answer.messages[0].content.text))
        assert not CANARY.search(answer.description or "")


async def errors_are_silent(client: Client, stored: list[str]) -> None:
    """Errors about poisoned memories; what the caller itself gave is not looked for."""
    for name, given in (
        ("recall", {"query": stored[0]}),  # forgotten
        ("remember", {"text": "x", "replaces": stored[0]}),
        ("forget", {"ids": [stored[5], "0" * 20], "confirm": True}),
        ("recall", {"query": "x", "k": 99}),
        ("consolidate", {"undo": stored[7]}),
    ):
        answer = await client.call_tool(name, given)
        assert answer.is_error, name
        check(answer)
    with pytest.raises(MCPError) as missing:
        await client.read_resource(f"memory://item/{stored[0]}")
    assert not CANARY.search(str(missing.value.error))


async def the_server_says_nothing_of_it(client: Client) -> None:
    said = [
        client.instructions,
        (await client.list_tools()).model_dump_json(),
        (await client.list_prompts()).model_dump_json(),
        (await client.list_resources()).model_dump_json(),
        (await client.list_resource_templates()).model_dump_json(),
    ]
    assert not [text for text in said if CANARY.search(text or "")]


async def test_a_crash_that_quotes_a_memory_is_silent(
    connect: Any, fake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.WARNING, logger="mcp")
    attack = CORPUS[0]["text"]

    def crash(name: str) -> None:
        raise RuntimeError(attack)

    fake.before = crash
    async with connect() as client:
        for name, given in (("recall", {"query": "x"}), ("health", {}), ("forget", {"query": "x"})):
            answer = await client.call_tool(name, given)
            assert answer.is_error
            assert not CANARY.search(answer.content[0].text)
    assert not CANARY.search(caplog.text)


def test_hooks_tell_the_corpus_as_data(
    open_memory: Callable[..., Memory], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Captured and added without a tool call: briefings, and memories for a prompt."""
    caplog.set_level(logging.DEBUG)
    (tmp_path / CORPUS[0]["text"][:60].replace("/", " ") / ".git").mkdir(parents=True)
    place = {"cwd": str(next(tmp_path.glob("*/.git")).parent)}
    answering, shown = Hooks(open_memory(), lambda: 1_717_200_000.0), 0
    me = Identity("me")
    for number, attack in enumerate(CORPUS[::6]):
        said = {"session_id": f"s{number}", "prompt": attack["text"], **place}
        answering.answer(me, {"hook_event_name": "UserPromptSubmit", **said})
        asked = {"session_id": "other", "prompt": attack["text"][:200], **place}
        for name in ("UserPromptSubmit", "SessionStart"):
            answer = answering.answer(me, {"hook_event_name": name, **asked})
            if answer:
                assert set(fields(answer)) <= {"additionalContext"}
                text = answer["hookSpecificOutput"]["additionalContext"]
                assert not CANARY.search(outside(text)), text
                assert schemas.NOTICE in outside(text)
                shown += bool(CANARY.search(text))
    assert shown > 10
    logged = [record.getMessage() for record in caplog.records]
    assert not [message for message in logged if CANARY.search(message)]
