"""The LanceDB table against a plain dict and numpy, with the real vendor on disk."""

from __future__ import annotations

import dataclasses
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_core.errors import InvalidInput, StorageError
from memory_core.records import MemoryRecord
from memory_core.storage.table.rows import FIELDS
from memory_core.storage.table.table import SENTINEL, Filter, Table

DIMENSION = 8
ROOT = Path(__file__).parents[2]
NOT_REUSED = settings(
    deadline=None, max_examples=7, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def memory(number: int, **fields: Any) -> MemoryRecord:
    fields = {"text": f"text {number}", "occurred_at": 1e9 + number, **fields}
    return MemoryRecord(id=f"{number:020d}", **fields)


def unit(seed: int) -> np.ndarray:
    vector = np.random.default_rng(seed).normal(size=DIMENSION)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table.create(tmp_path / "1", dimension=DIMENSION)


def everything(table: Table) -> dict[str, MemoryRecord]:
    return {memory.id: memory for part in table.scan(7) for memory in part}


def test_the_columns_are_the_fields_of_a_memory_in_their_order() -> None:
    assert list(FIELDS) == [field.name for field in dataclasses.fields(MemoryRecord)]


def test_a_new_table_is_empty_although_it_carries_its_applied_sequence(table: Table) -> None:
    assert (table.count(), table.applied(), table.ids()) == (0, 0, [])
    assert everything(table) == {}
    assert table.listing(where=Filter(), limit=5) == []
    assert table.get([SENTINEL]) == {}
    assert table.vectors([memory(1).id]) == {}


def test_create_refuses_a_folder_that_holds_anything(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    folder.mkdir()
    (folder / "note").write_text("mine")
    with pytest.raises(StorageError, match="not empty"):
        Table.create(folder, dimension=DIMENSION)
    assert [file.name for file in folder.iterdir()] == ["note"]


def test_create_never_overwrites_a_table(table: Table, tmp_path: Path) -> None:
    table.merge([memory(1)], {}, applied=1)
    with pytest.raises(StorageError):
        Table.create(tmp_path / "1", dimension=DIMENSION)
    assert table.get([memory(1).id]) == {memory(1).id: memory(1)}


def test_the_folder_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "table" / "1"
    folder.mkdir(parents=True, mode=0o755)
    Table.create(folder, dimension=DIMENSION)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_reopen_returns_every_row(table: Table, tmp_path: Path) -> None:
    memories = {m.id: m for m in map(memory, range(30))}
    table.merge(list(memories.values()), {}, applied=30)
    table.close()
    again = Table.open(tmp_path / "1", dimension=DIMENSION)
    assert everything(again) == memories
    assert (again.count(), again.applied()) == (30, 30)


def test_get_answers_in_the_order_asked_for_and_leaves_unknown_ids_out(table: Table) -> None:
    table.merge([memory(n) for n in range(5)], {}, applied=5)
    asked = [memory(3).id, "unknown", memory(1).id, memory(3).id]
    assert list(table.get(asked)) == [memory(3).id, memory(1).id]


def test_the_last_of_several_memories_with_one_id_counts(table: Table) -> None:
    table.merge([memory(1, text="old"), memory(1, text="new")], {}, applied=2)
    assert [m.text for m in everything(table).values()] == ["new"]
    assert table.count() == 1


def test_deletion_wins_over_a_put_in_the_same_merge(table: Table) -> None:
    table.merge([memory(1), memory(2)], {}, applied=2)
    table.merge([memory(1, text="again")], {}, applied=4, deleted=[memory(1).id, "unknown"])
    assert table.ids() == [memory(2).id]
    assert table.applied() == 4


def test_replaying_after_a_crash_between_delete_and_merge_repairs(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.merge([memory(1), memory(2)], {}, applied=2)

    def crash(self: Table, ids: list[str]) -> dict[str, Any]:
        raise StorageError("killed here", "replay")

    with monkeypatch.context() as patch:
        patch.setattr(Table, "vectors", crash)
        with pytest.raises(StorageError):
            table.merge([memory(3)], {}, applied=4, deleted=[memory(1).id])
    assert table.applied() == 2
    table.merge([memory(3)], {}, applied=4, deleted=[memory(1).id])
    assert sorted(table.ids()) == [memory(2).id, memory(3).id]
    assert table.applied() == 4


def test_a_merge_without_a_vector_keeps_the_one_that_is_there(table: Table) -> None:
    one, two = memory(1), memory(2)
    table.merge([one, two], {one.id: unit(1), two.id: unit(2)}, applied=1)
    changed = dataclasses.replace(one, text="changed")
    table.merge([changed, two], {two.id: unit(3)}, applied=2)
    assert table.get([one.id])[one.id].text == "changed"
    held = table.vectors([one.id, two.id])
    np.testing.assert_array_equal(held[one.id], unit(1).astype(np.float16))
    np.testing.assert_array_equal(held[two.id], unit(3).astype(np.float16))


def test_a_memory_without_a_vector_has_none_in_the_table(table: Table) -> None:
    table.merge([memory(1), memory(2)], {memory(2).id: unit(2)}, applied=1)
    assert list(table.vectors([memory(1).id, memory(2).id])) == [memory(2).id]


@pytest.mark.parametrize(
    "vector",
    [np.zeros(DIMENSION + 1), np.full(DIMENSION, np.nan), np.full(DIMENSION, 1e9)],
    ids=["shape", "nan", "overflow"],
)
def test_a_vector_that_cannot_be_kept_is_refused_and_nothing_stored(
    table: Table, vector: np.ndarray
) -> None:
    with pytest.raises(InvalidInput):
        table.merge([memory(1)], {memory(1).id: vector.astype(np.float32)}, applied=1)
    assert (table.count(), table.applied()) == (0, 0)


@pytest.mark.parametrize("value", [memory(1, text="\ud800"), memory(1, position=2**63)])
def test_a_value_that_a_column_cannot_hold_is_refused(table: Table, value: MemoryRecord) -> None:
    with pytest.raises(InvalidInput):
        table.merge([value], {}, applied=1)
    assert table.count() == 0


def test_the_sentinel_is_no_memory(table: Table) -> None:
    with pytest.raises(InvalidInput):
        table.merge([MemoryRecord(id=SENTINEL, text="x")], {}, applied=1)
    with pytest.raises(InvalidInput):
        table.merge([], {}, applied=1, deleted=[SENTINEL])
    assert table.applied() == 0


WEIRD = [
    "",
    "\0",
    "a\0b",
    "'",
    '"',
    "\\",
    "`",
    "%",
    "\x1f",
    "\n\r\u2028",
    "é",
    "e\u0301",
    "𝒳👩‍👩‍👧",
    "NULL",
]
TEXT = st.one_of(st.sampled_from(WEIRD), st.text(max_size=20))
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
REAL = st.floats(allow_nan=False)
STRATEGIES = {
    "text": TEXT,
    "texts": TEXTS,
    "real": REAL,
    "moment": st.none() | REAL,
    "whole": st.integers(-(2**63), 2**63 - 1),
    "flag": st.booleans(),
}
MEMORIES = st.builds(
    MemoryRecord,
    **{name: STRATEGIES[sort] for name, sort in FIELDS.items() if name != "id"},
    id=st.sampled_from([f"{n:020d}" for n in range(6)]),
)


@NOT_REUSED
@given(batch=st.lists(MEMORIES, min_size=1, max_size=12))
def test_every_value_comes_back_exactly(batch: list[MemoryRecord], table: Table) -> None:
    table.merge(batch, {}, applied=1)
    expected = {m.id: m for m in batch}
    found = table.get(list(expected))
    assert found == expected
    assert [repr(m) for m in found.values()] == [repr(m) for m in expected.values()]


STEPS = st.one_of(
    st.tuples(st.just("merge"), st.lists(MEMORIES, max_size=4), st.sets(st.integers(0, 5))),
    st.tuples(st.just("reopen"), st.none(), st.none()),
    st.tuples(st.just("compact"), st.none(), st.none()),
)


@settings(deadline=None, max_examples=6)
@given(steps=st.lists(STEPS, max_size=8))
def test_any_sequence_of_steps_agrees_with_a_dict(
    steps: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("table") / "1"
    table = Table.create(folder, dimension=DIMENSION)
    oracle: dict[str, MemoryRecord] = {}
    for applied, (step, memories, numbers) in enumerate(steps, start=1):
        if step == "merge":
            deleted = [memory(n).id for n in numbers]
            table.merge(memories, {}, applied=applied, deleted=deleted)
            oracle.update({m.id: m for m in memories})
            oracle = {id: m for id, m in oracle.items() if id not in deleted}
            assert table.applied() == applied
        elif step == "reopen":
            table.close()
            table = Table.open(folder, dimension=DIMENSION)
        else:
            table.compact(grace_seconds=0)
        assert everything(table) == oracle
        assert (table.count(), sorted(table.ids())) == (len(oracle), sorted(oracle))
        assert table.get([memory(n).id for n in range(6)]) == oracle
