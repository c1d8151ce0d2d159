"""What goes wrong is an answer that begins with a code and names the next step."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from mcp import MCPError

from memory_core.errors import InvalidInput
from server.http.problems import of_error

pytestmark = pytest.mark.anyio

CODES = (
    "invalid_input",
    "not_found",
    "scope_denied",
    "changed_meanwhile",
    "busy",
    "disk_full",
    "read_only",
    "too_large",
    "encoder_unavailable",
    "incompatible_store",
    "storage",
)


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("recall", {"query": "x", "k": 0}, "k must be a whole number from 1 to 50, got 0"),
        ("recall", {"query": "x", "k": 51}, "k must be a whole number from 1 to 50, got 51"),
        ("recall", {"query": "x", "k": True}, "k must be a whole number from 1 to 50, got true"),
        ("recall", {"query": "x", "k": "many"}, "k must be a whole number from 1 to 50"),
        ("recall", {"query": "x", "k": 2.5}, "k must be a whole number"),
        ("recall", {"query": "x", "k": None}, "k must be a whole number from 1 to 50, got null"),
        ("recall", {"query": "x", "max_tokens": 1}, "max_tokens must be a whole number from 100"),
        ("recall", {"query": "x", "context": 6}, "context must be a whole number from 0 to 5"),
        ("recall", {"query": "x", "scope": "all"}, 'scope must be one of "", "private", "team"'),
        ("recall", {"query": "x", "kinds": ["rumour"]}, "kinds[0] must be one of"),
        ("recall", {"query": "x", "kinds": "fact"}, "kinds must be a list"),
        ("recall", {"query": "x", "tags": [1]}, "tags[0] must be a string, got 1"),
        ("recall", {"query": 5}, "query must be a string, got 5"),
        ("recall", {"query": None}, "query must be a string, got null"),
        ("recall", {"query": ["a"]}, 'query must be a string, got ["a"]'),
        ("recall", {}, "query is missing"),
        ("recall", {"query": "x", "explain": "perhaps"}, "explain must be true or false"),
        ("recall", {"query": "x", "explain": 1}, "explain must be true or false, got 1"),
        ("recall", {"query": "x", "limit": 3}, 'unknown argument "limit"'),
        ("recall", {"query": "x", "tag": ["a"]}, "did you mean tags?"),
        ("remember", {"text": "x", "importance": 1.1}, "importance must be a number from 0 to 1"),
        (
            "remember",
            {"text": "x", "importance": "high"},
            "importance must be a number from 0 to 1",
        ),
        ("remember", {"text": "x", "kind": "rumour"}, "kind must be one of"),
        ("remember", {"text": {"a": 1}}, "text must be a string"),
        ("remember", {"text": "  "}, "text is empty"),
        ("consolidate", {"mode": "nap"}, 'mode must be one of "sleep"'),
        ("forget", {"ids": "x"}, "ids must be a list of at most 100 strings"),
        ("forget", {"ids": ["a"] * 101}, "ids must be a list of at most 100 strings"),
        ("forget", {"ids": ["a"], "query": "b"}, "ids and query were both given"),
        ("forget", {"ids": ["a"], "source": "b"}, "ids and source were both given"),
        ("forget", {"confirm": "yes"}, "confirm must be true or false"),
        ("health", {"repair": "maybe"}, "repair must be true or false"),
        ("health", {"verbose": True}, "allowed are repair"),
    ],
)
async def test_bad_arguments_are_named_with_what_is_allowed(
    connect: Any, fake: Any, tool: str, arguments: dict[str, Any], says: str
) -> None:
    async with connect() as client:
        answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    text = answer.content[0].text
    assert text.startswith("invalid_input: ")
    assert says in text
    assert "; " in text
    assert fake.memories == {}


MARKS = "\u200b\u2063\u00ad\u061c\u206a\u3164\u202e\x9b\ufff9\U000e0041\U000e0101"


async def test_what_an_error_repeats_hides_nothing(connect: Any) -> None:
    given = f"fa{MARKS}ct"
    said = []
    async with connect() as client:
        for tool, arguments in (
            ("remember", {"text": "x", "kind": given}),
            ("remember", {"text": "x", given: 1}),
            ("forget", {"ids": [given]}),
        ):
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error
            said.append(answer.content[0].text)
        with pytest.raises(MCPError) as refused:
            await client.get_prompt(given)
        said.append(str(refused.value))
        with pytest.raises(MCPError) as refused:
            await client.read_resource(f"memory://{given}")
        said.append(str(refused.value))
    for text in said:
        assert not set(text) & set(MARKS), text
    assert not set(of_error(InvalidInput(f"no {given}", "x")).body.decode()) & set(MARKS)


async def test_an_unknown_argument_stores_nothing(connect: Any, fake: Any) -> None:
    async with connect() as client:
        answer = await client.call_tool("remember", {"text": "x", "importnce": 1})
    assert answer.is_error
    assert "did you mean importance?" in answer.content[0].text
    assert fake.calls == []


async def test_an_error_of_the_memory_keeps_its_code_and_next_step(connect: Any) -> None:
    async with connect() as client:
        missing = await client.call_tool("forget", {"ids": ["0" * 20]})
        large = await client.call_tool("remember", {"text": "x" * 20_001})
    assert missing.content[0].text == f"not_found: no memory {'0' * 20}; recall by words"
    assert large.content[0].text.startswith("too_large: ")
    assert missing.is_error
    assert large.is_error


async def test_a_crash_is_answered_and_logged_without_its_text(
    connect: Any, fake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "the password is swordfish"

    def crash(name: str) -> None:
        raise RuntimeError(secret)

    fake.before = crash
    with caplog.at_level(logging.DEBUG, "server"):
        async with connect() as client:
            answer = await client.call_tool("recall", {"query": "x"})
    assert answer.is_error
    text = answer.content[0].text
    assert text.startswith("storage: internal error (RuntimeError); ")
    assert secret not in text
    assert "RuntimeError" in caplog.text
    assert secret not in caplog.text


async def test_every_error_class_has_a_code_of_the_contract(connect: Any, fake: Any) -> None:
    from memory_core import errors

    raised = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, errors.MemoryCoreError)
        and kind is not errors.MemoryCoreError
    ]
    assert {kind.code for kind in raised} == set(CODES)
    async with connect() as client:
        for kind in raised:

            def fail(name: str, kind: type[errors.MemoryCoreError] = kind) -> None:
                raise kind("a problem", "a step")

            fake.before = fail
            for tool, arguments in (
                ("recall", {"query": "x"}),
                ("remember", {"text": "x"}),
                ("consolidate", {}),
                ("health", {}),
                ("forget", {"query": "x"}),
            ):
                answer = await client.call_tool(tool, arguments)
                assert answer.is_error
                assert answer.content[0].text == f"{kind.code}: a problem; a step"
