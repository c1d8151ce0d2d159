"""Columns and thread order against plain lists."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.records import KINDS, ROLES, TIERS, TRUSTS, VISIBILITIES, MemoryRecord
from memory_core.storage.index.columns import Columns, Threads


def memory(id: str, **fields: Any) -> MemoryRecord:
    return MemoryRecord(id=id, **{"text": f"text of {id}", "agent": "me", **fields})


def filled(*memories: MemoryRecord) -> Columns:
    columns = Columns()
    for one in memories:
        columns.put(one)
    return columns


FULL = memory(
    "full",
    text="Where did we meet last spring?",
    visibility="team",
    agent="ada",
    team="red",
    session="s1",
    position=7,
    speaker="Mara",
    role="user",
    kind="summary",
    tags=("x", "y"),
    topic="travel",
    entities=("Oslo",),
    importance=0.75,
    occurred_at=10.5,
    recorded_at=11.5,
    dates=("2024-05-07",),
    valid_from=1.0,
    valid_until=2.0,
    superseded_by="other",
    superseded_at=3.0,
    replaced=True,
    retired_at=4.0,
    stale_since=5.0,
    derived_from=("a", "b"),
    trust="web",
    tier="recent",
    access_count=3,
    last_accessed=6.0,
)


def test_every_column_holds_what_the_memory_says() -> None:
    columns = filled(memory("plain"), FULL)
    row = columns.row("full")
    assert row == 1
    names = ("visibility", "role", "kind", "trust", "tier")
    known = (VISIBILITIES, ROLES, KINDS, TRUSTS, TIERS)
    for name, choices in zip(names, known, strict=True):
        assert choices[getattr(columns, name)[row]] == getattr(FULL, name)
        assert columns.code(getattr(FULL, name), name) == getattr(columns, name)[row]
    for name in ("agent", "team", "session", "speaker"):
        assert columns.name(int(getattr(columns, name)[row]), name) == getattr(FULL, name)
    same = ("position", "importance", "occurred_at", "recorded_at", "access_count", "replaced")
    same += ("last_accessed", "valid_from", "valid_until", "superseded_at", "retired_at")
    for name in same:
        assert getattr(columns, name)[row] == getattr(FULL, name)
    for name in ("live", "superseded", "question"):
        assert getattr(columns, name)[row]
    assert columns.words[row] == 6
    assert (columns.tags(row), columns.dates(row)) == (frozenset("xy"), ("2024-05-07",))
    assert (columns.entities(row), columns.derived_from(row)) == (("Oslo",), ("a", "b"))
    assert columns.topic(row) == "travel"


def test_unset_values_never_exclude_a_memory() -> None:
    columns = filled(memory("plain"))
    assert columns.valid_from[0] == -np.inf
    for name in ("valid_until", "superseded_at", "retired_at"):
        assert getattr(columns, name)[0] == np.inf
    assert np.isnan(columns.last_accessed[0])
    assert columns.thread[0] == -1
    for name in ("superseded", "replaced", "question"):
        assert not getattr(columns, name)[0]
    assert (columns.topic(0), columns.tags(0), columns.dates(0)) == ("", frozenset(), ())


def test_an_unknown_name_equals_no_row_not_even_those_without_a_name() -> None:
    columns = filled(memory("a"), memory("b", speaker="Mara", session="s"))
    columns.put(memory("c"))
    columns.remove("c")
    for name in ("agent", "team", "session", "speaker"):
        assert not (getattr(columns, name) == columns.code("nobody", name)).any()
    assert (columns.speaker == columns.code("", "speaker")).tolist() == [True, False, False]
    assert columns.code("nothing", "kind") == -1
    assert not columns.about("nothing").any()
    assert not columns.tagged("nothing").any()


@pytest.mark.parametrize(
    ("text", "words", "question"),
    [
        ("one two  three", 3, False),
        ("Really?", 1, True),
        ("你今天去哪里？", 4, True),
        ("", 0, False),
        ("café au lait", 3, False),
    ],
)
def test_words_and_questions(text: str, words: int, question: bool) -> None:
    columns = filled(memory("a", text=text))
    assert (columns.words[0], columns.question[0]) == (words, question)


def test_a_known_id_is_changed_in_its_row() -> None:
    columns = filled(memory("a", tags=("old",)), memory("b"))
    again = memory("a", tags=("new",), kind="fact", retired_at=5.0, topic="t")
    assert columns.put(again) == 0
    assert len(columns) == 2
    assert KINDS[columns.kind[0]] == "fact"
    assert columns.retired_at[0] == 5.0
    assert columns.tagged("old").tolist() == [False, False]
    assert columns.tagged("new").tolist() == [True, False]
    assert columns.about("t").tolist() == [True, False]


def test_a_date_is_asked_about_once_however_many_rows_name_it() -> None:
    columns = filled(
        *(memory(str(n), dates=("2024-06", f"2024-06-{n % 3 + 1:02d}")) for n in range(9))
    )
    asked = []

    def inside(date: str) -> bool:
        asked.append(date)
        return date == "2024-06-02"

    assert columns.dated(inside).nonzero()[0].tolist() == [1, 4, 7]
    assert sorted(asked) == ["2024-06", "2024-06-01", "2024-06-02", "2024-06-03"]
    columns.put(memory("0", dates=("2024-06-02",)))
    columns.remove("4")
    columns.put(memory("new", dates=("2024-06-02", "2024-07-01")))
    assert columns.dated(inside).nonzero()[0].tolist() == [0, 1, 7, 9]
    assert not columns.dated(lambda date: date.startswith("2023")).any()


def test_a_removed_memory_leaves_an_empty_row_that_is_not_used_again() -> None:
    columns = filled(memory("before", session="s", position=0), FULL)
    assert columns.remove("full") == 1
    assert columns.remove("full") is None
    assert columns.row("full") is None
    assert (len(columns), columns.id(1), columns.live.tolist()) == (2, "", [True, False])
    assert (columns.tags(1), columns.entities(1), columns.topic(1)) == (frozenset(), (), "")
    assert not columns.tagged("x").any()
    assert not columns.about("travel").any()
    assert np.isnan(columns.occurred_at[1])
    assert columns.put(FULL) == 2
    assert columns.id(2) == "full"


def test_rows_and_ids_stay_through_growth() -> None:
    columns = Columns()
    for number in range(1000):
        assert columns.put(memory(f"m{number}", position=number, session="s")) == number
    assert len(columns) == columns.live.size == 1000
    assert columns.position.tolist() == list(range(1000))
    assert [columns.row(columns.id(row)) for row in range(1000)] == list(range(1000))
    assert columns.thread_rows(memory("m0", session="s").thread).tolist() == list(range(1000))


def test_access_is_set_absolutely() -> None:
    columns = filled(memory("a"))
    columns.set_access("a", 4, 9.0)
    columns.set_access("a", 2, 7.0)
    columns.set_access("unknown", 5, 5.0)
    assert (columns.access_count[0], columns.last_accessed[0]) == (2, 7.0)


def test_neighbours_follow_position_within_one_thread_only() -> None:
    columns = filled(
        memory("s2", session="s", position=2),
        memory("s0", session="s", position=0),
        memory("t1", session="t", position=1),
        memory("s1", session="s", position=1),
        memory("loose"),
        memory("other", session="s", agent="ada", position=3),
    )
    row = {columns.id(i): i for i in range(6)}
    assert columns.neighbours(row["s0"], 1) == row["s1"]
    assert columns.neighbours(row["s0"], 2) == row["s2"]
    assert columns.neighbours(row["s2"], -2) == row["s0"]
    assert columns.neighbours(row["s2"], 1) is None
    assert columns.neighbours(row["t1"], 1) is None
    assert columns.neighbours(row["loose"], -1) is None
    assert columns.thread_rows(memory("x", session="s").thread).tolist() == [1, 3, 0]
    assert columns.thread_rows("").size == columns.thread_rows("unknown").size == 0
    columns.remove("s1")
    assert columns.neighbours(row["s0"], 1) == row["s2"]


def test_counts_are_those_of_the_live_rows_of_the_mask() -> None:
    columns = filled(
        memory("a", kind="fact", tier="recent", importance=0.5, topic="t", session="s"),
        memory("b", kind="fact", agent="ada", visibility="shared", importance=1.0, access_count=4),
        memory("c", topic="u", session="s"),
        memory("d", kind="event"),
    )
    columns.remove("d")
    assert columns.counts(np.array([True, True, False, True])) == {
        "memories": 2,
        "by_kind": {"fact": 2},
        "by_tier": {"recent": 1, "long_term": 1},
        "by_scope": {"private": 1, "shared": 1},
        "by_agent": {"me": 1, "ada": 1},
        "topics": 1,
        "sessions": 1,
        "mean_importance": 0.75,
        "mean_access": 2.0,
    }
    nothing = Columns().counts(np.empty(0, np.bool_))
    assert (nothing["memories"], nothing["mean_importance"], nothing["by_kind"]) == (0, 0.0, {})


def test_names_are_those_of_the_live_rows_of_the_mask() -> None:
    columns = filled(
        memory("a", session="s2", tags=("y", "x"), topic="t"),
        memory("b", session="s1", tags=("x",), entities=("Oslo",)),
        memory("c", session="s3", tags=("z",)),
        memory("d"),
    )
    columns.remove("c")
    every = np.ones(4, np.bool_)
    assert columns.names("session", every) == ["s1", "s2"]
    assert columns.names("tags", every) == ["x", "y"]
    assert columns.names("entities", every) == ["Oslo"]
    assert columns.names("topic", every) == ["t"]
    assert columns.names("tags", np.array([False, True, True, True])) == ["x"]


_CHANGE = st.tuples(st.integers(0, 9), st.integers(-1, 2), st.integers(0, 5), st.booleans())


@settings(deadline=None)
@given(st.lists(_CHANGE, max_size=40))
def test_thread_order_agrees_with_sorted_lists(
    changes: list[tuple[int, int, int, bool]],
) -> None:
    threads, model = Threads(), dict[int, tuple[int, int]]()
    for row, thread, position, removed in changes:
        if removed:
            threads.remove(row)
            model.pop(row, None)
        else:
            threads.put(row, thread, position)
            model[row] = (thread, position)
    rows = np.array(sorted(model), np.int64)
    for thread in range(3):
        order = sorted((p, row) for row, (of, p) in model.items() if of == thread)
        assert threads.rows(thread).tolist() == [row for _, row in order]
    for offset in (-2, -1, 1, 2):
        expected = []
        for row in rows.tolist():
            thread, position = model[row]
            order = sorted((p, r) for r, (of, p) in model.items() if of == thread)
            place = order.index((position, row)) + offset
            inside = thread >= 0 and 0 <= place < len(order)
            expected.append(order[place][1] if inside else -1)
        assert threads.neighbours(rows, offset).tolist() == expected


def test_a_memory_that_changes_its_scope_moves_to_the_other_thread() -> None:
    one, two = (memory(id, session="s", position=n) for n, id in enumerate("ab"))
    columns = filled(one, two)
    columns.put(dataclasses.replace(two, visibility="shared"))
    assert columns.neighbours(0, 1) is None
    assert columns.thread_rows(one.thread).tolist() == [0]
