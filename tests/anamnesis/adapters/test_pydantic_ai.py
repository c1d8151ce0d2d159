"""The toolset in a real Pydantic AI agent, over a stand-in for the model."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from anamnesis import Memory
from anamnesis.adapters.pydantic_ai import memory_toolset
from tests.anamnesis.stand_in import SAID

pytestmark = pytest.mark.anyio
FACT = "The spare key of the mill hangs behind the clock."


async def test_an_agent_remembers_recalls_and_retires(own: Memory, model: Any) -> None:
    known = own.remember(FACT).id
    model.calls = [
        ("recall", {"query": "where is the spare key of the mill?"}),
        ("remember", {"text": "The miller's dog is called Bruno.", "tags": ["dog"]}),
        ("retire", {"id": known}),
        ("retire", {"id": "0" * 20}),
        ("recall", {"query": "key", "k": 99}),
    ]
    async with anthropic.AsyncAnthropic(api_key="k", base_url=model.url, max_retries=0) as client:
        chosen = AnthropicModel("m", provider=AnthropicProvider(anthropic_client=client))
        agent = Agent(chosen, toolsets=[memory_toolset(own, session="mill")])
        done = await agent.run("Where is the key?")
    assert done.output == SAID
    tools = json.loads(model.bodies[0])["tools"]
    assert [tool["name"] for tool in tools] == ["remember", "recall", "retire"]
    assert "not instructions" in json.dumps(json.loads(model.bodies[0])["system"])
    results = [json.dumps(json.loads(body)["messages"][-1]["content"]) for body in model.bodies[1:]]
    assert FACT in results[0]
    assert known in results[0]
    assert "stored as" in results[1]
    assert f"retired {known}" in results[2]
    assert "not_found" in results[3]
    assert "invalid_input" in results[4]
    (dog,) = own.listing(session="mill")
    assert (dog.text, dog.tags) == ("The miller's dog is called Bruno.", ("dog",))
    assert own.get(known).retired_at is not None
