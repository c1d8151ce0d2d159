"""Marks that hide text are shown on no way: both channels of MCP, the command line and --json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from mcp import Client

from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import invocation, main, running
from server.cli.invocation import Invocation
from server.cli.place import Place
from server.protocol.server import build_server
from tests.text.test_invisible import HIDING

pytestmark = pytest.mark.anyio

ME = Identity("me")
MARKS = {*map(chr, HIDING), "\x85", "\u2028", "\u2029", "\u2800"}
LABEL = "".join(sorted(mark for mark in MARKS if "\x9f" < mark < "\ufe00"))
"""Of these what a label may hold, which is one line and short."""
SAID = "The ferry of the harbour leaves at {}, says Mara Vogt."


@pytest.fixture
def told(memory: Memory, clock: Any) -> dict[str, str]:
    """Ids by what they are: each memory hides every mark in its text and in each of its labels."""
    hidden = "".join(f"{mark}a" for mark in sorted(MARKS))
    ids = {}
    for name, time in (("old", "nine"), ("new", "ten")):
        clock.pass_by(86_400)
        ids[name] = memory.bring_in(
            ME,
            {
                "text": f"{SAID.format(time)} It carries {hidden} and no dogs.",
                "tags": [f"pi{LABEL}er"],
                "speaker": f"Ma{LABEL}ra",
                "session": f"ta{LABEL}lk",
                "topic": f"sea{LABEL}side",
                "entities": [f"Mara{LABEL} Vogt", "Mara Vogt"],
                "source": f"note{LABEL}s",
                "occurred_at": clock(),
            },
        ).id
    ids["next"] = memory.remember(
        ME, RememberRequest(SAID.format("noon"), replaces=ids["new"], session=f"ta{LABEL}lk")
    ).id
    clock.pass_by(86_400)
    return ids


def texts(value: Any) -> Iterator[str]:
    """Every text in *value*, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from texts(list(pair))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)


def left(value: Any) -> set[str]:
    return {hex(ord(mark)) for text in texts(value) for mark in MARKS if mark in text}


COMMANDS = (
    "recall ferry",
    "recall ferry --explain --context 2",
    "recall ferry --session SESSION",
    "list",
    "show OLD NEW NEXT",
    "history OLD",
    "history NEW",
    "forget OLD",
    "forget --query ferry",
    "forget --source SOURCE",
    "review",
    "topics",
    "people",
    "sessions",
    "consolidate --dry-run",
    "remember REPEATED",
    "stats",
    "health",
    "list --tag NONE",
    "show NONE",
)


@pytest.mark.parametrize("form", ["terminal", "pipe", "json"])
def test_no_command_prints_a_mark(
    memory: Memory, told: dict[str, str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr("os.environ", {})
    monkeypatch.setattr(invocation, "open_memory", lambda settings: nullcontext(memory))
    if form == "terminal":
        monkeypatch.setattr(Place, "terminal", lambda self: {"COLUMNS": "120", "TERM": "dumb"})
    known = {name.upper(): id for name, id in told.items()}
    known |= {"SESSION": f"ta{LABEL}lk", "SOURCE": f"note{LABEL}s", "NONE": f"x{LABEL}y"}
    known |= {"REPEATED": SAID.format("eleven")}
    flags = ["--json"] if form == "json" else []
    for words in COMMANDS:
        line = [known.get(word, word) for word in words.split()]
        shown = running.printed(main.program, [*line, *flags], Invocation())
        assert left(shown.out + shown.err) == set(), words
        if form == "json" and shown.out:
            assert left(json.loads(shown.out)) == set(), "escaped it would be one"


TOOLS: dict[str, dict[str, Any]] = {
    "recall": {"query": "ferry of the harbour", "explain": True, "context": 2, "k": 9},
    "remember": {"text": SAID.format("eleven")},
    "consolidate": {"dry_run": True},
    "forget": {"query": "ferry of the harbour"},
    "health": {},
}


async def test_no_answer_of_mcp_holds_a_mark(memory: Memory, told: dict[str, str]) -> None:
    async with Client(build_server(memory, owner=ME)) as client:
        for name, given in TOOLS.items():
            done = await client.call_tool(name, given)
            assert not done.is_error
            assert left(done.structured_content) == set(), name
            assert left([each.text for each in done.content]) == set(), name
        items = [f"memory://item/{id}" for id in told.values()]
        for uri in ("memory://recent", "memory://review", *items):
            (content,) = (await client.read_resource(uri)).contents
            assert left([content.text, json.loads(content.text)]) == set(), uri
        for prompt in (await client.list_prompts()).prompts:
            said = await client.get_prompt(prompt.name, {})
            assert left([message.content.text for message in said.messages]) == set(), prompt.name
        refused = await client.call_tool("recall", {"query": "ferry", "kind": f"x{LABEL}"})
        assert refused.is_error
        assert left([each.text for each in refused.content]) == set()
