"""What a Filter holds for, against plain Python and numpy; values are only ever values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.errors import InvalidInput
from memory_core.records import Identity, MemoryRecord
from memory_core.storage.table.table import Filter, Table

DIMENSION = 8


def memory(number: int, **fields: Any) -> MemoryRecord:
    fields = {"text": f"text {number}", "occurred_at": 1e9 + number, **fields}
    return MemoryRecord(id=f"{number:020d}", **fields)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table.create(tmp_path / "1", dimension=DIMENSION)


def holds(where: Filter, m: MemoryRecord) -> bool:
    """The meaning of a filter, without LanceDB."""
    reader = where.reader
    readable = reader is None or (
        m.visibility == "shared"
        or (m.visibility == "private" and m.agent == reader.agent)
        or (m.visibility == "team" and reader.team != "" and m.team == reader.team)
    )
    names = ("visibility", "agent", "team", "session", "kind", "topic", "speaker")
    return (
        readable
        and all(getattr(where, name) in ("", getattr(m, name)) for name in names)
        and (where.tag == "" or where.tag in m.tags)
        and (where.entity == "" or where.entity in m.entities)
        and (where.since is None or m.occurred_at >= where.since)
        and (where.until is None or m.occurred_at <= where.until)
        and (not where.live or (m.retired_at is None and not m.replaced))
    )


def varied(count: int) -> list[MemoryRecord]:
    rng = np.random.default_rng(5)

    def pick(*values: Any) -> Any:
        return values[int(rng.integers(len(values)))]

    return [
        memory(
            n,
            visibility=pick("private", "team", "shared"),
            agent=pick("me", "you"),
            team=pick("", "red"),
            session=pick("", "s1", "s2"),
            kind=pick("episode", "fact"),
            topic=pick("", "cooking"),
            speaker=pick("Ada", "Bo"),
            tags=pick((), ("a",), ("a", "b"), ("ab",)),
            entities=pick((), ("Rome",), ("a",)),
            retired_at=pick(None, None, 5.0),
            replaced=pick(False, False, True),
            occurred_at=1e9 + int(rng.integers(60)),
        )
        for n in range(count)
    ]


FILTERS = st.builds(
    Filter,
    reader=st.sampled_from(
        [None, Identity("me"), Identity("you", "red"), Identity("me", "blue"), Identity("")]
    ),
    visibility=st.sampled_from(["", "", "team", "private"]),
    agent=st.sampled_from(["", "", "me"]),
    team=st.sampled_from(["", "", "red"]),
    session=st.sampled_from(["", "", "s1"]),
    kind=st.sampled_from(["", "", "fact"]),
    topic=st.sampled_from(["", "", "cooking"]),
    speaker=st.sampled_from(["", "", "Ada"]),
    entity=st.sampled_from(["", "", "", "Rome", "a", "Rom"]),
    tag=st.sampled_from(["", "", "", "a", "b", "Rome"]),
    since=st.sampled_from([None, 1e9 + 20]),
    until=st.sampled_from([None, 1e9 + 40]),
    live=st.booleans(),
)


@pytest.fixture(scope="module")
def filled(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Table, list[MemoryRecord]]:
    table = Table.create(tmp_path_factory.mktemp("filled") / "1", dimension=DIMENSION)
    memories = varied(300)
    table.merge(memories, {}, applied=300)
    return table, memories


@settings(deadline=None, max_examples=30)
@given(where=FILTERS, newest=st.booleans(), limit=st.sampled_from([1, 7, 1000]))
def test_listing_is_the_sorted_part_that_the_filter_holds_for(
    filled: Any, where: Filter, newest: bool, limit: int
) -> None:
    table, memories = filled
    expected = [m for m in memories if holds(where, m)]
    expected.sort(key=lambda m: (m.occurred_at, m.id), reverse=newest)
    assert table.listing(where=where, limit=limit, newest_first=newest) == expected[:limit]


INJECTIONS = [
    "' OR 1=1 --",
    "x' OR 'a'='a",
    '" OR ""="',
    "'; DROP TABLE memories; --",
    "\\",
    "\\'",
    "%",
    "_",
    "`id`",
    "NULL",
    "true",
    "\0",
    "a\0' OR true",
    "ünï'cödé ’‘ \u2019\uff07",
    "\x1ftag:",
    '","',
    "\n--\n",
    "${x}{0}%s",
    "𝒳'👩‍👩‍👧",
]
TEXT_FIELDS = (
    "visibility",
    "agent",
    "team",
    "session",
    "kind",
    "topic",
    "speaker",
    "tag",
    "entity",
)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(value, marks=[pytest.mark.long] if place % 3 else [])
        for place, value in enumerate(INJECTIONS)
    ],
    ids=ascii,
)
def test_a_filter_value_is_only_ever_a_value(tmp_path: Path, value: str) -> None:
    table = Table.create(tmp_path / "1", dimension=DIMENSION)
    columns = {"tag": "tags", "entity": "entities"}
    memories = [memory(0, visibility="private", agent="me")]
    for number, name in enumerate(TEXT_FIELDS, start=1):
        stored: Any = (value,) if name in columns else value
        memories.append(memory(number, **{columns.get(name, name): stored}))
    table.merge(memories, {}, applied=1)
    for number, name in enumerate(TEXT_FIELDS, start=1):
        found = table.listing(where=Filter(**{name: value}), limit=100)
        assert found == [memories[number]], name
    own = [m for m in memories if m.agent == value]
    assert table.listing(where=Filter(reader=Identity(value, value)), limit=100) == own
    assert table.get([value]) == {}
    table.merge([], {}, applied=2, deleted=[value])
    assert table.count() == len(memories)


def test_an_id_of_any_form_is_found_and_deleted_alone(table: Table) -> None:
    memories = [MemoryRecord(id=value, text=value) for value in INJECTIONS]
    table.merge(memories, {}, applied=1)
    for m in memories:
        assert table.get([m.id]) == {m.id: m}
    table.merge([], {}, applied=2, deleted=[INJECTIONS[0]])
    assert sorted(table.ids()) == sorted(INJECTIONS[1:])


@pytest.mark.parametrize("tags", [("a,b",), ("a", "b"), ('a"', "b"), ("a\x1f", "b")])
def test_a_tag_never_matches_over_a_boundary(table: Table, tags: tuple[str, ...]) -> None:
    table.merge([memory(1, tags=tags)], {}, applied=1)
    for tag in ("a,b", "a", "b", ",", '"', '","', "\x1f", 'a"', "a\x1f", "entity:a"):
        found = table.listing(where=Filter(tag=tag), limit=5)
        assert bool(found) == (tag in tags), tag


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_under_one_is_refused(table: Table, limit: int) -> None:
    with pytest.raises(InvalidInput):
        table.listing(where=Filter(), limit=limit)
