"""The middleware of the Anthropic clients against a stand-in for the model."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import anthropic
import pytest

import anamnesis
from anamnesis import Memory
from anamnesis.adapters.middleware import MemoryMiddleware
from memory_core.memory import Memory as Facade
from tests.anamnesis.stand_in import SAID

FACT = "The heron Alfred sleeps in the boathouse at Millbrook."
PROMPT = "The heron Alfred hurt its left wing today. Where does it sleep at Millbrook?"
SECOND = "And what does the heron Alfred of Millbrook eat on Sundays?"


@pytest.fixture
def own(memory: Facade) -> Memory:
    one = Memory.of(memory, anamnesis.Identity("ann"))
    one.remember(FACT)
    return one


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def create(client: Any, turns: list[Any]) -> str:
    return str(client.messages.create(model="m", max_tokens=9, messages=turns).content[0].text)


def streamed(client: Any, turns: list[Any]) -> str:
    with client.messages.stream(model="m", max_tokens=9, messages=turns) as stream:
        return str(stream.get_final_text())


def raw(client: Any, turns: list[Any]) -> str:
    done = client.messages.with_raw_response.create(model="m", max_tokens=9, messages=turns)
    return str(done.parse().content[0].text)


@pytest.mark.parametrize("way", [create, streamed, raw])
def test_every_way_of_calling_is_seen_once(
    own: Memory, model: Any, way: Callable[[Any, list[Any]], str]
) -> None:
    middleware = MemoryMiddleware(own, session="pond")
    with anthropic.Anthropic(
        api_key="k", base_url=model.url, max_retries=0, middleware=[middleware]
    ) as client:
        assert way(client, [user(PROMPT)]).strip() == SAID
        middleware.flush()
        way(client, [user(PROMPT), {"role": "assistant", "content": SAID}, user(SECOND)])
    middleware.flush()
    first, second = (json.loads(body)["messages"] for body in model.bodies)
    assert FACT in first[0]["content"]
    assert first[0]["content"].startswith(PROMPT)
    assert second[0] == first[0]
    turns = own.listing(limit=20, session="pond")
    assert sorted(turn.role for turn in turns if turn.text.strip() == SAID) == ["assistant"]
    assert [turn.text for turn in turns if turn.role == "user"].count(PROMPT) == 1


async def test_the_async_client(own: Memory, model: Any) -> None:
    middleware = MemoryMiddleware(own, session="pond")
    async with anthropic.AsyncAnthropic(
        api_key="k", base_url=model.url, max_retries=0, middleware=[middleware]
    ) as client:
        async with client.messages.stream(
            model="m", max_tokens=9, messages=[user(PROMPT)]
        ) as stream:
            assert (await stream.get_final_text()).strip() == SAID
        middleware.flush()
        await client.messages.create(model="m", max_tokens=9, messages=[user(SECOND)])
    middleware.flush()
    assert FACT.encode() in model.bodies[0]
    assert SAID in [turn.text.strip() for turn in own.listing(limit=20, session="pond")]


test_the_async_client = pytest.mark.anyio(test_the_async_client)


def test_a_retry_recalls_once_and_what_broke_off_is_not_kept(own: Memory, model: Any) -> None:
    middleware = MemoryMiddleware(own, session="pond")
    model.breaks = True
    with anthropic.Anthropic(
        api_key="k", base_url=model.url, max_retries=1, middleware=[middleware]
    ) as client:
        with client.messages.stream(model="m", max_tokens=9, messages=[user(PROMPT)]) as stream:
            list(stream.text_stream)
        model.breaks, model.status = False, 529
        with pytest.raises(anthropic.APIStatusError):
            create(client, [user(PROMPT)])
    middleware.flush()
    assert len(model.bodies) == 3
    sent = [json.loads(body)["messages"] for body in model.bodies]
    assert sent[0] == sent[1] == sent[2]
    assert not [t for t in own.listing(limit=20, session="pond") if t.role == "assistant"]


def test_agent_and_session_of_one_call_are_not_sent_on(own: Memory, model: Any) -> None:
    middleware = MemoryMiddleware(own)
    with anthropic.Anthropic(api_key="k", base_url=model.url, middleware=[middleware]) as client:
        client.messages.create(
            model="m",
            max_tokens=9,
            messages=[user(PROMPT)],
            extra_headers={"X-Anamnesis-Session": "lake", "X-Anamnesis-Agent": "ben"},
        )
    middleware.flush()
    assert not [name for name in model.headers[0] if "anamnesis" in name]
    assert FACT.encode() not in model.bodies[0]
    assert own.listing(limit=20, session="lake") == []
    ben = Memory.of(own.facade, anamnesis.Identity("ben"))
    assert PROMPT in [turn.text for turn in ben.listing(limit=20, session="lake")]


def test_a_memory_that_fails_fails_no_call(
    own: Memory, model: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError(PROMPT)

    monkeypatch.setattr("server.hooks.hooks.Hooks.answer", broken)
    middleware = MemoryMiddleware(own)
    with (
        caplog.at_level(logging.WARNING),
        anthropic.Anthropic(api_key="k", base_url=model.url, middleware=[middleware]) as client,
    ):
        assert create(client, [user(PROMPT)]) == SAID
    assert "without memory: ValueError" in caplog.text
    assert PROMPT not in caplog.text


def test_a_memory_over_rest_serves_too(own: Memory, model: Any, url: str, tokens: Any) -> None:
    with Memory.connect(url, tokens.add("ann", "", ("read", "write"))) as far:
        middleware = MemoryMiddleware(far, session="pond")
        with anthropic.Anthropic(
            api_key="k", base_url=model.url, middleware=[middleware]
        ) as client:
            assert create(client, [user(PROMPT)]) == SAID
        middleware.flush()
    assert FACT.encode() in model.bodies[0]
    assert SAID in [turn.text for turn in own.listing(limit=20, session="pond")]
