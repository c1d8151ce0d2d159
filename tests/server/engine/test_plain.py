"""JSON and sockets without json and socket: the same values, the same text, the same refusals."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.engine import plain

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.fixture(params=["as it runs", "without the C modules"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    assert plain._scan is not None, "this Python's own C modules are not used"
    if request.param != "as it runs":
        monkeypatch.setattr(plain, "_scan", None)
    return str(request.param)


@given(VALUES)
def test_values_are_written_and_read_as_json_does(value: Any) -> None:
    text = plain.dumps(value)
    assert text == json.dumps(value, ensure_ascii=False)
    assert plain.loads(text) == json.loads(text) == value
    assert plain.loads(json.dumps(value, indent=1).encode() + b"\n") == value


@given(st.text(alphabet='{}[]":,0123456789.eE+-tfnul \\\n\t\x00\u00e9', max_size=12))
def test_what_is_no_json_is_refused_as_json_does(text: str) -> None:
    try:
        expected = repr(json.loads(text))
    except ValueError:
        with pytest.raises(ValueError):
            plain.loads(text)
    else:
        assert repr(plain.loads(text)) == expected


def test_both_forms_read_and_write_the_same(form: str) -> None:
    text = '\ufeff {"b": [1, 2.5, NaN, "\\ud83e\\udd94"], "a": "\u00e4"} '
    value = plain.loads(text.encode())
    assert list(value) == ["b", "a"]
    assert plain.dumps(value) == '{"b": [1, 2.5, NaN, "\U0001f994"], "a": "\u00e4"}'
    assert plain.dumps(value, sort_keys=True).startswith('{"a": ')
    assert plain.dumps([socket.AF_INET, {1}], default=sorted) == "[2, [1]]"
    with pytest.raises(TypeError):
        plain.dumps({1})
    for wrong in ("", "[1,]", "1 2", "[" * 200_000):
        with pytest.raises((ValueError, RecursionError)):
            plain.loads(wrong)


@pytest.mark.usefixtures("processes")
def test_a_socket_is_closed_at_the_end_of_its_block() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with plain.Socket(socket.AF_INET) as asking:
            asking.connect(server.getsockname())
            taken, _ = server.accept()
            with taken:
                asking.sendall(b"ping")
                assert taken.recv(8) == b"ping"
        assert asking.fileno() == -1


def test_only_the_errors_that_are_named_are_suppressed() -> None:
    with plain.suppress(OSError, KeyError):
        raise FileNotFoundError
    with pytest.raises(ValueError, match="another"), plain.suppress(OSError):
        raise ValueError("another")
