"""The table on disk: other processes and threads, compaction, opening, people's own tools."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.errors import IncompatibleStore, StorageError
from memory_core.records import MemoryRecord
from memory_core.storage.table.table import NAME, SCHEMA_VERSION, SENTINEL, Table

DIMENSION = 8
ROOT = Path(__file__).parents[2]


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


# Other processes and threads


@pytest.mark.usefixtures("processes")
def test_an_open_handle_sees_what_another_process_merged(table: Table, tmp_path: Path) -> None:
    table.merge([memory(1)], {}, applied=1)
    script = (
        "import sys; from pathlib import Path; from memory_core.records import MemoryRecord;"
        "from memory_core.storage.table.table import Table;"
        f"t = Table.open(Path(sys.argv[1]), dimension={DIMENSION});"
        "memory = MemoryRecord(id='elsewhere', text='hello');"
        "t.merge([memory], {}, applied=7, deleted=[sys.argv[2]])"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path / "1"), memory(1).id]
    subprocess.run(arguments, check=True, timeout=60, cwd=ROOT)
    assert table.applied() == 7
    assert everything(table) == {"elsewhere": MemoryRecord(id="elsewhere", text="hello")}
    assert table.get([memory(1).id, "elsewhere"]).keys() == {"elsewhere"}
    assert table.count() == 1


def test_threads_may_read_while_one_merges_and_compacts(table: Table) -> None:
    constant = [memory(n) for n in range(20)]
    table.merge(constant, {}, applied=0)
    problems: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                assert table.get([m.id for m in constant]) == {m.id: m for m in constant}
                assert table.count() >= 20
        except BaseException as problem:
            problems.append(problem)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for number in range(20, 30):
            table.merge([memory(number), *constant], {}, applied=number)
            if number % 7 == 0:
                table.compact(grace_seconds=60)
    finally:
        done.set()
        for reader in readers:
            reader.join(30)
    assert problems == []
    assert table.count() == 30


def test_two_threads_that_merge_lose_nothing(table: Table) -> None:
    def write(first: int) -> None:
        for number in range(first, first + 10):
            table.merge([memory(number)], {memory(number).id: unit(number)}, applied=number)

    writers = [threading.Thread(target=write, args=(first,)) for first in (0, 10)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert sorted(table.ids()) == [memory(n).id for n in range(20)]


# Compaction, sizes, versions


def test_compact_keeps_everything_and_bounds_files_and_versions(
    table: Table, tmp_path: Path
) -> None:
    for number in range(40):
        table.merge([memory(number)], {memory(number).id: unit(number)}, applied=number)
    before = sum(1 for file in tmp_path.rglob("*") if file.is_file())
    assert table.versions() >= 40
    table.compact(grace_seconds=0)
    table.compact(grace_seconds=0)
    after = sum(1 for file in tmp_path.rglob("*") if file.is_file())
    assert before > 100
    assert after < 20
    assert table.versions() <= 3
    assert everything(table) == {m.id: m for m in map(memory, range(40))}
    assert table.applied() == 39
    held = table.vectors([memory(17).id])[memory(17).id]
    np.testing.assert_array_equal(held, unit(17).astype(np.float16))


def test_compact_leaves_versions_within_the_grace_period(table: Table) -> None:
    for number in range(5):
        table.merge([memory(number)], {}, applied=number)
    before = table.versions()
    table.compact(grace_seconds=3600)
    assert table.versions() >= before


def test_a_reader_in_the_middle_of_a_scan_survives_compaction(table: Table) -> None:
    table.merge([memory(n) for n in range(50)], {}, applied=50)
    scan = table.scan(10)
    first = next(scan)
    table.merge([], {}, applied=51, deleted=[memory(n).id for n in range(25)])
    table.compact(grace_seconds=3600)
    assert len(first) + sum(map(len, scan)) == 50


def test_get_uses_the_index_that_a_new_table_has(table: Table) -> None:
    assert [index.columns for index in table._open.list_indices()] == [["id"]]
    table.merge([memory(n) for n in range(50)], {}, applied=50)
    table.compact(grace_seconds=0)
    from lancedb.expr import col

    plan = table._query(col("id").isin([memory(1).id])).explain_plan()
    assert "ScalarIndexQuery" in plan


def test_compact_makes_an_index_that_creation_did_not_get_to(table: Table) -> None:
    table._open.drop_index("id_idx")
    table.compact(grace_seconds=0)
    assert [index.columns for index in table._open.list_indices()] == [["id"]]


def test_row_ids_are_stable(table: Table) -> None:
    def row_ids() -> dict[str, int]:
        from lancedb.expr import col, lit

        query = table._query(col("id") != lit(SENTINEL)).select(["id"]).with_row_id(True)
        return {row["id"]: row["_rowid"] for row in query.to_arrow().to_pylist()}

    for number in range(5):
        table.merge([memory(number)], {}, applied=number)
    before = row_ids()
    table.merge([memory(2, text="new")], {}, applied=9)
    table.compact(grace_seconds=0)
    assert row_ids() == before


# Open


def test_open_of_a_missing_table_is_a_storage_error_and_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Table.open(tmp_path / "1", dimension=DIMENSION)
    assert list(tmp_path.iterdir()) == []


def test_open_refuses_another_dimension(table: Table, tmp_path: Path) -> None:
    with pytest.raises(IncompatibleStore, match="8 numbers"):
        Table.open(tmp_path / "1", dimension=DIMENSION + 1)


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (str(SCHEMA_VERSION + 1).encode(), IncompatibleStore),
        (b"10", IncompatibleStore),
        (b"soon", StorageError),
        (b"", StorageError),
    ],
)
def test_open_refuses_a_schema_that_it_does_not_know(
    tmp_path: Path, version: bytes, error: type[Exception]
) -> None:
    import lancedb
    import pyarrow as pa

    schema = pa.schema([pa.field("id", pa.string())], metadata={"anamnesis.schema": version})
    lancedb.connect(tmp_path / "1").create_table(NAME, schema=schema)
    with pytest.raises(error, match="schema"):
        Table.open(tmp_path / "1", dimension=DIMENSION)


def test_open_of_a_table_with_other_columns_is_a_storage_error(tmp_path: Path) -> None:
    import lancedb
    import pyarrow as pa

    schema = pa.schema([pa.field("id", pa.string())], metadata={"anamnesis.schema": b"1"})
    lancedb.connect(tmp_path / "1").create_table(NAME, schema=schema)
    with pytest.raises(StorageError, match="columns"):
        Table.open(tmp_path / "1", dimension=DIMENSION)


def test_a_closed_table_says_so(table: Table) -> None:
    table.close()
    table.close()
    with pytest.raises(StorageError, match="closed"):
        table.count()
    with pytest.raises(StorageError, match="closed"):
        table.merge([memory(1)], {}, applied=1)


def test_people_read_times_and_texts_with_their_own_tools(table: Table, tmp_path: Path) -> None:
    import lancedb

    given = memory(1, occurred_at=1700000000.25, recorded_at=1e300, tags=("a",))
    table.merge([given], {given.id: unit(1)}, applied=1)
    theirs = lancedb.connect(tmp_path / "1").open_table(NAME)
    (row,) = theirs.search().where(f"id = '{given.id}' AND array_has(tags, 'a')").to_list()
    assert row["occurred"].isoformat() == "2023-11-14T22:13:20.250000+00:00"
    assert row["recorded"] is None
    assert row["text"] == given.text
    np.testing.assert_allclose(row["vector"], unit(1), atol=1e-3)


@pytest.mark.usefixtures("processes")
def test_importing_the_module_imports_no_vendor() -> None:
    script = (
        "import sys, memory_core.storage.table.table;"
        "print([m for m in ('lancedb', 'lance', 'pyarrow') if m in sys.modules])"
    )
    arguments = [sys.executable, "-c", script]
    done = subprocess.run(arguments, check=True, capture_output=True, timeout=60, cwd=ROOT)
    assert done.stdout.strip() == b"[]"
