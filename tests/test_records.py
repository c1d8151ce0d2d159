"""Values that travel: ids, repeat keys, fields there and back."""

from __future__ import annotations

import dataclasses
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.records import (
    Identity,
    MemoryRecord,
    content_hash,
    from_fields,
    is_id,
    new_id,
    normalised,
    repeat_key,
    thread_key,
    to_fields,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)

# Ids


@given(st.floats(0, 2.8e11))
def test_an_id_has_the_form_of_one_and_carries_the_millisecond(now: float) -> None:
    id = new_id(now)
    assert is_id(id)
    number = 0
    for char in id:
        number = number * 32 + "0123456789abcdefghjkmnpqrstvwxyz".index(char)
    assert number >> 52 == int(now * 1000)


def test_ids_sort_by_time_and_never_meet() -> None:
    moments = [0.0, 0.001, 1.0, 1e9, 1.7e9, 1.7e9 + 0.001, 4e9]
    ids = [new_id(moment) for moment in moments]
    assert ids == sorted(ids)
    assert len({new_id(1.7e9) for _ in range(10_000)}) == 10_000


def test_a_clock_before_1970_still_gives_ids() -> None:
    assert is_id(new_id(-5.0))


@pytest.mark.parametrize(
    "text",
    ["", "0" * 19, "0" * 21, "I" * 20, "i" * 20, "l" * 20, "o" * 20, "u" * 20, "0" * 19 + "\n"],
)
def test_what_is_no_id_is_told(text: str) -> None:
    assert not is_id(text)


# Repeats


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("A b", " a\u00a0\n B. "),
        ("caf\u00e9", "CAFE\u0301"),
        ("Done", "done!!! …"),
        ("\u4f60\u597d\u3002", "\u4f60\u597d"),
        ("\u03a3\u039f\u03a6\u039f\u03a3", "\u03c3\u03bf\u03c6\u03bf\u03c2"),
    ],
)
def test_case_space_and_end_punctuation_make_no_difference(one: str, two: str) -> None:
    assert normalised(one) == normalised(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("-3", "3"),
        ("1.5", "15"),
        ("x\u00b2", "x2"),
        ("Ma\u00dfe", "Masse"),
        ("a b", "ab"),
        ("a?", "a"),
        ("a, b", "a b"),
        ("\u0131", "i"),
        ("...a", "a"),
        ("\u2460", "1"),
    ],
)
def test_anything_else_does(one: str, two: str) -> None:
    assert normalised(one) != normalised(two)


@pytest.mark.parametrize("text", ["...", "!", "\u3002", ". . ."])
def test_a_text_of_punctuation_keeps_it(text: str) -> None:
    assert normalised(text) != ""


@given(TEXT)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


FIELDS = ("visibility", "agent", "team", "speaker", "session", "text")


@given(
    st.lists(st.sampled_from(["", "a", "b", "ab", "a b"]), min_size=6, max_size=6),
    st.lists(st.sampled_from(["", "a", "b", "ab", "a b"]), min_size=6, max_size=6),
)
def test_two_memories_share_a_key_only_when_all_of_it_is_alike(
    one: list[str], two: list[str]
) -> None:
    first, second = (
        repeat_key(MemoryRecord(id="", **dict(zip(FIELDS, values, strict=True))))
        for values in (one, two)
    )
    assert (first == second) == (one == two)


def test_a_thread_is_a_conversation_of_one_owner_in_one_scope() -> None:
    keys = {
        thread_key("private", "a", "", "s"),
        thread_key("private", "b", "", "s"),
        thread_key("shared", "a", "", "s"),
        thread_key("private", "a", "t", "s"),
        thread_key("private", "a", "", "s2"),
    }
    assert len(keys) == 5
    assert thread_key("private", "a", "t", "") == ""


# Fields

MEMORIES = st.builds(
    MemoryRecord,
    id=st.just("0" * 20),
    text=TEXT,
    session=TEXT,
    tags=st.lists(TEXT, max_size=3).map(tuple),
    keywords=st.lists(TEXT, max_size=3).map(tuple),
    lead=st.lists(TEXT, max_size=3).map(tuple),
    importance=st.floats(0, 1),
    occurred_at=st.floats(-1e10, 1e10),
    retired_at=st.none() | st.floats(0, 1e10),
    replaced=st.booleans(),
    position=st.integers(-1, 10**6),
    derived_from=st.lists(st.text(string.ascii_lowercase), max_size=3).map(tuple),
)


@given(MEMORIES)
def test_fields_are_json_and_come_back_whole(memory: MemoryRecord) -> None:
    fields = json.loads(json.dumps(to_fields(memory)))
    assert from_fields(fields) == memory


def test_defaults_are_left_out_and_unknown_names_ignored() -> None:
    memory = MemoryRecord(id="0" * 20, text="x")
    assert to_fields(memory) == {"id": "0" * 20, "text": "x"}
    assert from_fields({**to_fields(memory), "mood": "of a newer version"}) == memory


def test_a_memory_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        MemoryRecord(id="", text="x").text = "y"  # type: ignore[misc]


def test_the_hash_is_of_the_exact_text() -> None:
    assert content_hash("a") == "ca978112ca1bbdcafac231b39a23dc4d"
    assert content_hash("a") != content_hash("a ")


def test_an_admin_is_who_has_the_right() -> None:
    assert Identity("a").admin
    assert not Identity("a", "", frozenset({"read", "write"})).admin
