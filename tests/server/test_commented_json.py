"""Configuration files with comments: changed in place, and nothing of the user's lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.clients import commented_json

_NAMES = st.sampled_from(["a", "b", "é", "mcp", 'quo"te'])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)
_OBJECTS = st.dictionaries(_NAMES, _VALUES, max_size=4)
_REMARKS = ("// mine\n", "/* mine, too */", "\n", "")


def commented(draw: st.DrawFn, value: Any) -> str:
    """*value* as text with remarks at random places, and trailing commas."""

    def gap() -> str:
        return draw(st.sampled_from(_REMARKS))

    if isinstance(value, list):
        trailing = "," if value and draw(st.booleans()) else ""
        entries = [f"{gap()}{commented(draw, each)}{gap()}" for each in value]
        return "[" + ",".join(entries) + trailing + gap() + "]"
    if not isinstance(value, dict):
        return json.dumps(value)
    members = [
        f"{gap()}{json.dumps(name)}{gap()}:{gap()}{commented(draw, each)}{gap()}"
        for name, each in value.items()
    ]
    trailing = "," if members and draw(st.booleans()) else ""
    return "{" + ",".join(members) + trailing + gap() + "}"


@given(st.data(), _OBJECTS, _OBJECTS)
def test_the_changed_text_holds_what_was_wanted_and_every_remark_outside_it(
    data: st.DataObject, held: dict[str, Any], wanted: dict[str, Any]
) -> None:
    text = data.draw(st.composite(lambda draw: commented(draw, held))())
    assert commented_json.parsed(text) == held
    now = commented_json.changed(text, wanted)
    assert commented_json.parsed(now) == wanted


@given(st.data(), _OBJECTS)
def test_what_is_added_and_taken_out_again_leaves_the_text_as_it_was(
    data: st.DataObject, held: dict[str, Any]
) -> None:
    text = data.draw(st.composite(lambda draw: commented(draw, held))())
    added = commented_json.changed(text, {**held, "ours": {"command": "x", "args": ["y"]}})
    assert added.count("mine") == text.count("mine")
    removed = commented_json.changed(added, held)
    assert removed.count("mine") == text.count("mine")
    assert commented_json.parsed(removed) == held


@given(st.data(), st.lists(_VALUES, min_size=1, max_size=3), st.lists(st.integers(), max_size=2))
def test_entries_that_join_a_list_and_leave_it_leave_the_text_as_it_was(
    data: st.DataObject, held: list[Any], ours: list[int]
) -> None:
    text = data.draw(st.composite(lambda draw: commented(draw, {"hooks": held}))())
    mine = [{"ours": number} for number in ours]
    joined = commented_json.changed(text, {"hooks": [*held, *mine]})
    assert commented_json.parsed(joined) == {"hooks": [*held, *mine]}
    assert commented_json.changed(joined, {"hooks": held}) == text


@pytest.mark.parametrize("text", ["{ // open", "{'a' 1}", "[1", ""])
def test_what_is_no_json_raises_with_a_reason(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        commented_json.parsed(text)
