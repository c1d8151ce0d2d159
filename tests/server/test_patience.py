"""A recall while the model loads: what only meaning finds is found, and a part is no "nothing"."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.hooks import briefing, reminder
from server.protocol import patience
from server.protocol.server import build_server

pytestmark = pytest.mark.anyio

ME = Identity("me")
SAID = "My daughter is allergic to hazelnuts."
ASKED = "which food makes our kid sick?"


@pytest.fixture
def loading(
    tmp_path: Path, minilm: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Memory, threading.Event]]:
    """A memory whose model loads until the event that comes with it is set."""
    go_on = threading.Event()

    def slowly(settings: Settings) -> Any:
        del settings
        assert go_on.wait(60)
        return minilm

    monkeypatch.setattr("memory_core.runtime.choose", slowly)
    memory = Memory(Settings(data_dir=tmp_path / "data", offline=True))
    memory.remember(ME, RememberRequest(SAID))
    yield memory, go_on
    go_on.set()
    memory.close()


@pytest.fixture
def arriving(
    loading: Any, monkeypatch: pytest.MonkeyPatch, until: Any
) -> tuple[Memory, list[float]]:
    """A memory whose model comes while it is waited for, and how long each was ready to wait."""
    memory, go_on = loading
    ready, waited = memory.wait_ready, []

    def wait_ready(seconds: float) -> bool:
        waited.append(seconds)
        go_on.set()
        assert ready(60)
        until(lambda: not memory.recall(ME, RecallRequest("daughter")).note)  # it has its vectors
        return True

    monkeypatch.setattr(memory, "wait_ready", wait_ready)
    return memory, waited


@pytest.mark.parametrize("query", [ASKED, "what may my daughter eat?"])
async def test_a_question_is_answered_by_meaning_although_the_model_was_still_loading(
    arriving: Any, query: str
) -> None:
    """Also one whose words are found: they may find something else."""
    memory, waited = arriving
    async with Client(build_server(memory)) as client:
        found = await client.call_tool("recall", {"query": query})
    assert [each["text"] for each in found.structured_content["memories"]] == [SAID]
    assert "note" not in found.structured_content
    assert waited == [patience.MODEL_SECONDS]


def test_a_briefing_needs_no_model(loading: Any) -> None:
    memory, _ = loading
    memory.remember(ME, RememberRequest("Always answer in German.", kind="preference"))
    text, *_ = briefing.briefing(memory, ME, "", "s", 1_780_000_000.0)
    assert "Always answer in German." in text


def test_a_prompt_waits_for_the_model_rather_than_be_answered_by_words(arriving: Any) -> None:
    memory, waited = arriving
    found = reminder.remind(memory, ME, "Which food makes my daughter ill?", "s", frozenset())
    assert found is not None
    assert [hit.memory.text for hit in found.hits] == [SAID]
    assert not found.note
    assert waited == [reminder.READY_SECONDS]
    assert reminder.READY_SECONDS <= 1.0


async def test_a_receipt_names_what_a_text_changes_although_the_model_was_still_loading(
    arriving: Any,
) -> None:
    memory, waited = arriving
    text = "The allergy test says that my daughter may eat hazelnuts again."
    async with Client(build_server(memory)) as client:
        done = await client.call_tool("remember", {"text": text})
    assert "may be out of date" in str(done.structured_content["warnings"])
    assert waited == [patience.MODEL_SECONDS]


async def test_what_words_do_not_find_is_not_found_yet(
    loading: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, _ = loading
    monkeypatch.setattr(patience, "MODEL_SECONDS", 0.01)
    async with Client(build_server(memory)) as client:
        found = await client.call_tool("recall", {"query": ASKED})
        by_words = await client.call_tool("recall", {"query": "who is allergic to hazelnuts?"})
    head, note = found.content[0].text.splitlines()
    assert head.startswith("nothing found yet; confidence 0.0")
    assert note == "note: the embedding model is not ready: this answer is lexical only"
    assert SAID in by_words.content[0].text
