from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import jsonrpc_message_adapter

from server.protocol import messages

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


def call(arguments: dict[str, Any]) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"arguments": arguments}}
    ).encode()


def test_a_lone_surrogate_becomes_a_replacement_character_and_is_counted() -> None:
    text = messages.readable(call({"text": "a\ud800b\udfff"}))
    message = jsonrpc_message_adapter.validate_json(text)
    assert message.params["arguments"] == {"text": "a\ufffdb\ufffd"}
    assert messages.replaced_surrogates(message.params) == 2


def test_a_surrogate_pair_is_left_alone() -> None:
    message = call({"text": "\U0001f600"})
    assert b"\\ud83d\\ude00" in message
    assert messages.readable(message) == message.decode()
    assert messages.replaced_surrogates(json.loads(message)["params"]) == 0


@given(st.dictionaries(st.text(st.characters(), max_size=5), values, max_size=4))
def test_every_message_with_surrogates_can_be_parsed_afterwards(arguments: dict[str, Any]) -> None:
    message = jsonrpc_message_adapter.validate_json(messages.readable(call(arguments)))
    assert message.id == 7


def test_bad_utf8_becomes_a_replacement_character() -> None:
    assert json.loads(messages.readable(b'{"a":"\xff\xed\xa0\x80"}'))["a"].startswith("\ufffd")


@pytest.mark.parametrize(
    ("line", "id"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', 1),
        ('{"jsonrpc":"2.0","id":"a","method":"x","params":3}', "a"),
        ('{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":' + "9" * 5000 + "}}", 9),
        ('{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":' + "[" * 3000 + "]" * 3000 + "}}", 9),
        ('{"jsonrpc":"2.0","id":4,"method":"x","params":{"a":', 4),
    ],
)
def test_a_request_that_cannot_be_parsed_is_answered_under_its_id(line: str, id: Any) -> None:
    answer = messages.refusal(line)
    assert answer is not None
    assert answer["id"] == id
    assert answer["error"]["code"] == messages.INVALID_REQUEST
    jsonrpc_message_adapter.validate_python(answer)


@pytest.mark.parametrize(
    "line",
    ["", "hello", "[]", "{}", '{"id":1}', '{"method":"x","id":null}', '{"method":"x","id":true}'],
)
def test_what_has_no_id_gets_no_answer(line: str) -> None:
    assert messages.refusal(line) is None
