"""Export and import of memories as lines of JSON."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import InvalidInput
from memory_core.interchange.jsonl import from_record, read_records, to_record
from memory_core.records import KINDS, ROLES, TIERS, TRUSTS, VISIBILITIES, MemoryRecord, new_id

ID = new_id(1.7e9)
FULL = MemoryRecord(
    id=ID,
    text='Grüße, 世界 \0 \u2028 "quoted"',
    visibility="team",
    agent="me",
    team="red",
    session="s/1",
    position=4,
    speaker="Ada",
    role="user",
    kind="fact",
    gist="greeting",
    tags=("a", "b,c"),
    keywords=("d", "e f"),
    lead=("Ann: Where?",),
    topic="words",
    entities=("世界",),
    importance=0.75,
    valence=-0.5,
    arousal=0.25,
    emotions=("joy",),
    occurred_at=1700000000.123456,
    recorded_at=1700000000.1234567,
    dates=("2024-05",),
    valid_from=0.0,
    valid_until=-1.5,
    superseded_by=new_id(1.8e9),
    superseded_at=1.0,
    replaced=True,
    retired_at=2.0,
    stale_since=3.0,
    derived_from=(new_id(1.6e9),),
    run=new_id(1.9e9),
    content_hash="00ff",
    source="https://example.org/?q='",
    client="client",
    trust="web",
    tier="recent",
    access_count=3,
    last_accessed=1700000001.0,
    due=("gist",),
    encoded="1 claude:small",
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=15)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
IDS = st.floats(0, 1e11).map(new_id)
TIME = st.one_of(
    st.floats(0, 4e9), st.floats(-1e12, 1e12), st.floats(allow_nan=False, allow_infinity=False)
)
UNSET_OR_TIME = st.none() | TIME
MEMORIES = st.builds(
    MemoryRecord,
    id=IDS,
    text=TEXT,
    visibility=st.sampled_from(VISIBILITIES),
    agent=TEXT,
    team=TEXT,
    session=TEXT,
    position=st.integers(-1, 2**63 - 1),
    speaker=TEXT,
    role=st.sampled_from(ROLES),
    kind=st.sampled_from(KINDS),
    gist=TEXT,
    tags=TEXTS,
    keywords=TEXTS,
    lead=TEXTS,
    topic=TEXT,
    entities=TEXTS,
    importance=st.floats(0, 1),
    valence=st.floats(-1, 1),
    arousal=st.floats(0, 1),
    emotions=TEXTS,
    occurred_at=TIME,
    recorded_at=TIME,
    dates=TEXTS,
    valid_from=UNSET_OR_TIME,
    valid_until=UNSET_OR_TIME,
    superseded_by=st.just("") | IDS,
    superseded_at=UNSET_OR_TIME,
    replaced=st.booleans(),
    retired_at=UNSET_OR_TIME,
    stale_since=UNSET_OR_TIME,
    derived_from=st.lists(IDS, max_size=2).map(tuple),
    run=st.just("") | IDS,
    content_hash=TEXT,
    source=TEXT,
    client=TEXT,
    trust=st.sampled_from(TRUSTS),
    tier=st.sampled_from(TIERS),
    access_count=st.integers(0, 2**63 - 1),
    last_accessed=UNSET_OR_TIME,
    due=TEXTS,
    encoded=TEXT,
)


def dumped(*memories: MemoryRecord) -> list[str]:
    return [json.dumps(to_record(memory), ensure_ascii=False) + "\n" for memory in memories]


def test_a_record_holds_every_field_in_order() -> None:
    assert list(to_record(FULL)) == [field.name for field in dataclasses.fields(MemoryRecord)]
    assert all(getattr(FULL, f.name) != f.default for f in dataclasses.fields(MemoryRecord))


@given(memories=st.lists(MEMORIES, max_size=4))
def test_what_was_written_is_read_back_exactly(memories: list[MemoryRecord]) -> None:
    lines = dumped(*memories)
    assert all(line.count("\n") == 1 for line in lines)
    numbered = list(read_records(lines))
    found = [from_record(record) for _, record in numbered]
    assert [repr(memory) for memory, _ in found] == [repr(memory) for memory in memories]
    assert [number for number, _ in numbered] == list(range(1, len(memories) + 1))
    assert all(warnings == () for _, warnings in found)


def test_a_file_in_utf8_comes_back_line_by_line(tmp_path: Any) -> None:
    file = tmp_path / "memories.jsonl"
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(dumped(FULL, dataclasses.replace(FULL, text="two")))
    assert "世界" in file.read_text(encoding="utf-8")
    with file.open(encoding="utf-8-sig") as stream:
        found = [from_record(record)[0].text for _, record in read_records(stream)]
    assert found == [FULL.text, "two"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000000Z"),
        (1700000000.0, "2023-11-14T22:13:20.000000Z"),
        (1700000000.123456, "2023-11-14T22:13:20.123456Z"),
        (1700000000.1234567, "2023-11-14T22:13:20.1234567Z"),
        (-1.5, "1969-12-31T23:59:58.500000Z"),
        (951782400.0, "2000-02-29T00:00:00.000000Z"),
        (-62135596800.0, "0001-01-01T00:00:00.000000Z"),
        (253402300800.0, 253402300800.0),
        (1e-300, 1e-300),
    ],
)
def test_times_are_iso_8601_as_long_as_that_is_exact(seconds: float, text: str | float) -> None:
    record = to_record(MemoryRecord(id=ID, text="x", occurred_at=seconds))
    assert record["occurred_at"] == text
    assert from_record(record)[0].occurred_at == seconds


@given(
    st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)),
    st.integers(-1439, 1439),
)
def test_times_agree_with_the_standard_library(moment: datetime, minutes: int) -> None:
    utc = moment.replace(tzinfo=UTC)
    exact = (utc - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
    sign = "-" if minutes < 0 else "+"
    offset = f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    local = (moment + timedelta(minutes=minutes)).isoformat()
    for text in (moment.isoformat(), moment.isoformat(" ") + "Z", local + offset):
        found, warnings = from_record({"text": "x", "occurred_at": text})
        assert found.occurred_at == pytest.approx(
            exact, abs=1e-6, rel=0 if abs(exact) < 4e9 else 1e-15
        )
        assert warnings == ()


@pytest.mark.parametrize(
    ("name", "text", "seconds"),
    [
        ("occurred_at", "2023-11-14", 1699920000.0),
        ("valid_from", "2023-11-14", 1699920000.0),
        ("valid_until", "2023-11-14", 1700006399.999999),
        ("occurred_at", "2023-11-14T22:13", 1699999980.0),
        ("occurred_at", 1700000000, 1700000000.0),
    ],
)
def test_a_date_means_the_whole_day(name: str, text: Any, seconds: float) -> None:
    assert getattr(from_record({"text": "x", name: text})[0], name) == seconds


def test_only_the_text_is_needed() -> None:
    memory, warnings = from_record({"text": "x"})
    assert memory == MemoryRecord(id="", text="x")
    assert warnings == ()


def test_unknown_fields_are_ignored_and_named() -> None:
    memory, warnings = from_record({"text": "x", "colour": "red", "id": ID, "Text": "y"})
    assert memory == MemoryRecord(id=ID, text="x")
    assert len(warnings) == 2
    assert "'colour'" in warnings[0]
    assert "'Text'" in warnings[1]


def test_a_lone_surrogate_becomes_the_replacement_character_with_a_warning() -> None:
    line = '{"text": "a\\ud800b", "tags": ["\\udc00"], "gist": "\\ud83d\\ude00"}'
    ((_, record),) = read_records([line])
    memory, warnings = from_record(record)
    assert (memory.text, memory.tags) == ("a\ufffdb", ("\ufffd",))
    assert memory.gist == "😀"
    assert [warning.split(":")[0] for warning in warnings] == ["text", "tags"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", None),
        ("text", 5),
        ("id", "short"),
        ("id", "../../../etc/passwd1"),
        ("visibility", "public"),
        ("kind", ""),
        ("kind", "Episode"),
        ("role", "robot"),
        ("trust", "admin"),
        ("tier", 1),
        ("position", 1.0),
        ("position", -2),
        ("position", 2**63),
        ("access_count", True),
        ("importance", 1.01),
        ("importance", "0.5"),
        ("importance", None),
        ("valence", -2),
        ("arousal", [0]),
        ("replaced", 1),
        ("tags", "a"),
        ("tags", ["a", 1]),
        ("derived_from", {"a": 1}),
        ("occurred_at", None),
        ("occurred_at", "yesterday"),
        ("occurred_at", "2023-02-29"),
        ("occurred_at", "2023-11-14T25:00:00Z"),
        ("occurred_at", "2023-11-14T22:13:20+99:00"),
        ("occurred_at", "２０２３-11-14"),
        ("occurred_at", True),
        ("retired_at", ""),
        ("retired_at", 10**400),
    ],
)
def test_a_wrong_field_is_an_error_that_names_it(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        from_record(json.loads(json.dumps({"text": "x", name: value})))
    assert str(caught.value).startswith(f"invalid_input: {name} is ")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[1]",
        "null",
        '"text"',
        "5",
        "NaN",
        '{"importance": NaN}',
        '{"text": Infinity}',
        "[" * 100_000,
        "\0",
        '{"text": "x"} {}',
    ],
    ids=lambda line: line[:20].encode("unicode_escape").decode(),
)
def test_what_is_no_json_object_is_an_error_that_names_the_line(line: str) -> None:
    with pytest.raises(InvalidInput, match="line 2 is not"):
        list(read_records(['{"text": "fine"}', line]))


def test_a_missing_text_is_named() -> None:
    with pytest.raises(InvalidInput, match="text is missing"):
        from_record({})


def test_a_byte_order_mark_and_blank_lines_are_skipped() -> None:
    found = list(read_records(['\ufeff{"a": 1}\r\n', "  \n", '{"a": 2}']))
    assert found == [(1, {"a": 1}), (3, {"a": 2})]


@pytest.mark.parametrize("fields", [{"occurred_at": float("nan")}, {"importance": float("inf")}])
def test_a_number_that_is_not_finite_is_never_written(fields: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        to_record(dataclasses.replace(FULL, **fields))
