"""The session and the tool in a real run of the OpenAI Agents SDK, over a stand-in."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from agents import Agent, OpenAIResponsesModel, Runner, SQLiteSession, set_tracing_disabled
from agents.memory import Session

from anamnesis import Memory
from anamnesis.adapters.openai_agents import RememberingSession, recall_tool
from tests.anamnesis.stand_in import SAID

pytestmark = pytest.mark.anyio
FACT = "The heron Alfred sleeps in the boathouse at Millbrook."
PROMPT = "My heron Alfred hurt its left wing at Millbrook today."


@pytest.fixture
def inner(tmp_path: Path) -> Iterator[SQLiteSession]:
    set_tracing_disabled(True)
    one = SQLiteSession("pond", tmp_path / "history.db")
    yield one
    one.close()


def agent(model: Any, client: openai.AsyncOpenAI, **more: Any) -> Agent[Any]:
    return Agent("keeper", model=OpenAIResponsesModel("m", client), **more)


def client(model: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="k", base_url=f"{model.url}/v1", max_retries=0)


async def test_turns_are_kept_and_the_history_stays_as_it_was(
    own: Memory, model: Any, inner: SQLiteSession
) -> None:
    session = RememberingSession(inner, own)
    assert isinstance(session, Session)
    own.remember(FACT)
    model.calls = [("recall", {"query": "where does the heron sleep?"})]
    async with client(model) as asked:
        one = agent(model, asked, tools=[recall_tool(own)])
        done = await Runner.run(one, PROMPT, session=session)
        assert done.final_output == SAID
        history = await session.get_items()
        assert history == await inner.get_items()
        assert FACT in json.dumps(model.last["input"])
        await Runner.run(one, "And how is it now?", session=session)
    assert json.dumps(history[0]) in json.dumps(model.last["input"])
    turns = {(turn.role, turn.text) for turn in own.listing(limit=20, session="pond")}
    assert ("user", PROMPT) in turns
    assert ("assistant", SAID) in turns
    assert not [text for _, text in turns if FACT in text]
    assert await session.pop_item() is not None
    assert len(await session.get_items(1)) == 1
    await session.clear_session()
    assert await inner.get_items() == []
    assert own.listing(session="pond")


async def test_a_memory_that_fails_fails_no_run(
    own: Memory, model: Any, inner: SQLiteSession, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError(PROMPT)

    monkeypatch.setattr(own, "observe", broken)
    async with client(model) as asked:
        with caplog.at_level(logging.WARNING):
            session = RememberingSession(inner, own)
            done = await Runner.run(agent(model, asked), PROMPT, session=session)
    assert done.final_output == SAID
    assert "was not remembered: ValueError" in caplog.text
    assert PROMPT not in caplog.text
