"""LanceDB: one table, ``memories``, with all metadata of a memory and its whole vector.

The only file that imports lancedb and pyarrow, at first use: that takes a second. Everything here
is derived from the journal and can be rebuilt; the store decides when. LanceDB never calls fsync on
a local disk (measured): damage is expected, reported as StorageError, never repaired in place.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import IncompatibleStore, InvalidInput, StorageError
from memory_core.records import MemoryRecord
from memory_core.storage.table.lance import damaged, lance_errors, light_import
from memory_core.storage.table.rows import (
    DERIVED,
    FIELDS,
    Filter,
    from_row,
    intact,
    to_row,
    to_vector,
)

__all__ = ["NAME", "SCHEMA_VERSION", "SENTINEL", "Filter", "Table"]

SCHEMA_VERSION = 3
NAME = "memories"
SENTINEL = "~applied"
"""Id of the row that carries the applied sequence; no memory id can have this form."""
_VERSION_KEY = b"anamnesis.schema"
_ROW = [*FIELDS, "checksum"]
_WHOLE_ROW = [*_ROW, *DERIVED]
_IDS_A_QUERY = 1000
_SHORTEST_GRACE = 0.001  # seconds; at 0 LanceDB logs a warning
_CACHE_BYTES = 8 * 2**20  # for indexes, and for metadata; LanceDB's defaults are 6 and 1 GiB
_EQUAL = ("visibility", "agent", "team", "session", "kind", "topic", "speaker")


class Table:
    """The open table of one generation.

    Threads may share it: LanceDB's handle is safe for concurrent reads; writes take a lock here
    because a merge reads the vectors that it keeps. Across processes there is one writer, the
    holder of maintenance.lock; every read sees the newest commit of any process.
    """

    def __init__(self, table: Any, dimension: int) -> None:
        """Wrap an open LanceDB *table*; use create or open."""
        self._inner = table
        self._dimension = dimension
        self._writing = threading.Lock()

    @classmethod
    def create(cls, folder: Path, *, dimension: int) -> Table:
        """A new empty table in *folder*, which must be missing or empty; its applied sequence is 0.

        The folder gets mode 0700, which protects its files under any umask: a umask belongs to the
        process and cannot be changed safely in a thread. Raises StorageError when something is
        there already, DiskFull, ReadOnly.
        """
        with lance_errors(f"creating the table in {folder.name}"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            occupied = any(folder.iterdir())
        if occupied:
            problem = f"the folder {folder.name} for a new table is not empty"
            raise StorageError(problem, "create the table in the next generation")
        with lance_errors(f"creating the table in {folder.name}"):
            sentinel = _arrow([], {}, dimension, applied=0)
            table = _connect(folder).create_table(NAME, sentinel, on_bad_vectors="null")
            _index(table)
        return cls(table, dimension)

    @classmethod
    def open(cls, folder: Path, *, dimension: int | None) -> Table:
        """The table in *folder*, as left by its last complete commit; *dimension* None is its own.

        Raises StorageError when it is missing, damaged or of an older schema (rebuild it), and
        IncompatibleStore when a newer program wrote it or its vectors have another dimension.
        """
        if not (folder / f"{NAME}.lance").is_dir():
            raise damaged(f"there is no table in {folder.name}")
        with lance_errors(f"opening the table in {folder.name}"):
            table = _connect(folder).open_table(NAME)
            schema = table.schema
        if dimension is None and "vector" in schema.names:
            dimension = getattr(schema.field("vector").type, "list_size", None)
        dimension = dimension or 1  # of a schema without vectors, which is refused
        _check(schema, dimension)
        opened = cls(table, dimension)
        opened.applied()
        return opened

    def merge(
        self,
        memories: Sequence[MemoryRecord],
        vectors: Mapping[str, NDArray[np.float32]],
        *,
        applied: int,
        deleted: Sequence[str] = (),
    ) -> None:
        """Insert or replace *memories* by id and set the applied sequence, in one commit.

        *vectors*: whole vector by memory id, shape (dimension,), kept as float16. A memory without
        an entry keeps the vector it has in the table, or has none. The last of several memories
        with one id counts; an id in *deleted* is removed even when it is also in *memories*.
        Deletion is a commit of its own and comes first, so a crash between the two leaves a lower
        sequence, and replaying from there reaches the same state. Raises InvalidInput for a value
        that the table cannot hold, DiskFull, ReadOnly, StorageError.
        """
        gone = set(deleted)
        latest = {memory.id: memory for memory in memories if memory.id not in gone}
        if SENTINEL in latest or SENTINEL in gone:
            raise InvalidInput(f"{SENTINEL!r} is not a memory id", "give an id of a memory")
        rows = [to_row(memory) for memory in latest.values()]
        given = {id: to_vector(vectors[id], self._dimension) for id in latest if id in vectors}
        with self._writing:
            if gone:
                self._delete(sorted(gone))
            kept = self.vectors([id for id in latest if id not in given])
            with lance_errors("merging into the table"):
                batch = _arrow(rows, {**kept, **given}, self._dimension, applied=applied)
                merge = self._open.merge_insert("id").when_matched_update_all()
                merge.when_not_matched_insert_all().execute(batch, on_bad_vectors="null")

    def get(self, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """The memories with these *ids*, by id, in the order asked for; unknown ids are left out.

        Found through the BTREE on id. Raises StorageError when a row is damaged or there twice.
        An index that lost a block can hide rows (measured), so an id that is left out here may
        still exist: ask the journal.
        """
        wanted = [id for id in dict.fromkeys(ids) if id != SENTINEL]
        found: dict[str, MemoryRecord] = {}
        for chunk in _chunks(wanted):
            with lance_errors("reading memories from the table"):
                # Two steps: 38 columns of every small file that the index does not cover yet took
                # 52 ms instead of 21 (measured). Row ids are stable: a replaced row is found, new.
                keys = self._query(_one_of(chunk)).select(["id"]).with_row_id(True).to_arrow()
                taken = self._open.take_row_ids(keys.column("_rowid").to_pylist())
                rows = taken.select(_ROW).to_arrow().to_pylist()
            memories = [from_row(row) for row in rows]
            before = len(found)
            found.update((memory.id, memory) for memory in memories)
            if len(found) - before != len(memories):  # a damaged index makes merges insert again
                raise damaged("the table holds a memory twice")
        return {id: found[id] for id in wanted if id in found}

    def applied(self) -> int:
        """The journal sequence that the newest commit of any process reached."""
        with lance_errors("reading the applied sequence"):
            rows = self._query(_one_of([SENTINEL])).select(["applied"]).to_arrow().to_pylist()
        if len(rows) != 1 or rows[0]["applied"] is None:
            raise damaged("the table has lost its applied sequence")
        return int(rows[0]["applied"])

    def count(self) -> int:
        """Number of memories in the table."""
        with lance_errors("counting the table"):
            rows = int(self._open.count_rows())
        if rows < 1:
            raise damaged("the table has lost its rows")
        return rows - 1

    def ids(self) -> list[str]:
        """The ids of all memories, in no particular order; unlike scan, without their checksums."""
        with lance_errors("reading the ids of the table"):
            rows = self._query(_expression(Filter())).select(["id"]).to_arrow()
        ids: list[str] = rows.column("id").to_pylist()
        if len(set(ids)) != len(ids):
            raise damaged("the table holds a memory twice")
        return ids

    def listing(
        self, *, where: Filter, limit: int, newest_first: bool = True
    ) -> list[MemoryRecord]:
        """At most *limit* memories that *where* holds for, by occurred_at, then by id."""
        from lancedb.query import ColumnOrdering

        if limit < 1:
            raise InvalidInput(f"limit is {limit}", "give a limit of at least 1")
        order = [
            ColumnOrdering(column_name=name, ascending=not newest_first)
            for name in ("occurred_at", "id")
        ]
        with lance_errors("listing the table"):
            query = self._query(_expression(where)).select(_ROW).order_by(order).limit(limit)
            return [from_row(row) for row in query.to_arrow().to_pylist()]

    def scan(
        self, batch: int = 1000, *, left_out: list[str] | None = None
    ) -> Iterator[list[MemoryRecord]]:
        """All memories of one commit, in lists of at most *batch*, in no particular order.

        A row in which any column but the vector is damaged raises StorageError, or is left out
        where its problem can be added to *left_out*.
        """
        with lance_errors("scanning the table"):
            every = self._query(_expression(Filter())).select(_WHOLE_ROW)
            reader = every.to_batches(batch_size=batch)
        while True:
            with lance_errors("scanning the table"):
                part = next(reader, None)
                if part is None:
                    return
                for name in ("occurred", "recorded"):  # a damaged one may be no date at all
                    whole = part.column(name).cast("int64")
                    part = part.set_column(_WHOLE_ROW.index(name), name, whole)
                rows = part.to_pylist()
            for start in range(0, len(rows), batch):
                yield list(_intact(rows[start : start + batch], left_out))

    def compact(self, *, grace_seconds: float) -> None:
        """Join small files, bring the index up to date, drop versions older than the grace period.

        A reader that holds an older version than that fails with StorageError and reads again.
        Files of unfinished transactions stay seven days: removing them at once could take those
        of a writer at work (delete_unverified is never used).
        """
        with self._writing, lance_errors("compacting the table"):
            if not list(self._open.list_indices()):
                _index(self._open)
            grace = timedelta(seconds=max(grace_seconds, _SHORTEST_GRACE))
            self._open.optimize(cleanup_older_than=grace)

    def versions(self) -> int:
        """Number of versions on disk; each commit adds one, compact removes old ones."""
        with lance_errors("reading the versions of the table"):
            return len(self._open.list_versions())

    def close(self) -> None:
        """Close the files; every later call raises StorageError. May be called twice."""
        self._inner = None

    @property
    def _open(self) -> Any:
        if self._inner is None:
            raise StorageError("the table is closed", "open it again")
        return self._inner

    def _query(self, expression: Any) -> Any:
        return self._open.search().where(expression)

    def _delete(self, ids: Sequence[str]) -> None:
        for chunk in _chunks(ids):
            with lance_errors("deleting from the table"):
                self._open.delete(_one_of(chunk))

    def vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float16]]:
        """The whole vectors, shape (dimension,), of those of *ids* that have one, by id."""
        found: dict[str, NDArray[np.float16]] = {}
        for chunk in _chunks(ids):
            with lance_errors("reading vectors from the table"):
                rows = self._query(_one_of(chunk)).select(["id", "vector"]).to_arrow()
                rows = rows.filter(rows.column("vector").is_valid()).combine_chunks()
                names = rows.column("id").to_pylist()
                flat = rows.column("vector").combine_chunks().flatten().to_numpy()
            found.update(zip(names, flat.reshape(len(names), -1), strict=True) if names else ())
        return found


def _intact(
    rows: Sequence[Mapping[str, Any]], left_out: list[str] | None
) -> Iterator[MemoryRecord]:
    for row in rows:
        try:
            yield intact(row)
        except StorageError as damage:
            if left_out is None:
                raise
            left_out.append(damage.problem)


def _connect(folder: Path) -> Any:
    with light_import():
        import lancedb
    from pyarrow import set_memory_pool, system_memory_pool

    set_memory_pool(system_memory_pool())  # Arrow's own never returns the 8 MiB of a merge
    return lancedb.connect(
        folder,
        read_consistency_interval=timedelta(0),
        session=lancedb.Session(_CACHE_BYTES, _CACHE_BYTES),
        storage_options={"new_table_enable_stable_row_ids": "true"},
    )


def _index(table: Any) -> None:
    from lancedb.index import BTree

    table.create_index("id", config=BTree())  # works on a table of one row (measured: 1 to 40 ms)


def _schema(dimension: int) -> Any:
    """The Arrow schema. Times are float64 seconds as in the journal, finer than microseconds."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "real": pa.float64(),
        "moment": pa.float64(),
        "whole": pa.int64(),
        "flag": pa.bool_(),
    }
    fields = [pa.field(name, types[sort], sort == "moment") for name, sort in FIELDS.items()]
    fields += [
        pa.field("occurred", pa.timestamp("us", "UTC")),
        pa.field("recorded", pa.timestamp("us", "UTC")),
        pa.field("live", pa.bool_(), nullable=False),
        pa.field("labels", pa.string(), nullable=False),
        pa.field("checksum", pa.uint32(), nullable=False),
        pa.field("applied", pa.int64()),
        pa.field("vector", pa.list_(pa.float16(), dimension)),
    ]
    return pa.schema(fields, metadata={_VERSION_KEY: str(SCHEMA_VERSION).encode()})


def _arrow(
    rows: Sequence[dict[str, Any]],
    vectors: Mapping[str, NDArray[np.float16]],
    dimension: int,
    *,
    applied: int,
) -> Any:
    """*rows* and the sentinel row as one Arrow table; rows without a vector get null."""
    import pyarrow as pa

    schema = _schema(dimension)
    sentinel = {**to_row(MemoryRecord(id=SENTINEL, text="")), "applied": applied, "live": False}
    every = [*rows, sentinel]
    columns = [
        pa.array([row.get(field.name) for row in every], type=field.type)
        for field in schema
        if field.name != "vector"
    ]
    matrix = np.zeros((len(every), dimension), dtype=np.float16)
    missing = np.ones(len(every), dtype=np.bool_)
    for place, row in enumerate(every):
        vector = vectors.get(row["id"])
        if vector is not None:
            matrix[place], missing[place] = vector, False
    flat, mask = pa.array(matrix.reshape(-1)), pa.array(missing)
    columns.append(pa.FixedSizeListArray.from_arrays(flat, dimension, mask=mask))
    return pa.Table.from_arrays(columns, schema=schema)


def _chunks(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _IDS_A_QUERY):
        yield list(ids[start : start + _IDS_A_QUERY])


def _one_of(ids: Sequence[str]) -> Any:
    from lancedb.expr import col

    return col("id").isin(list(ids))


def _expression(where: Filter) -> Any:
    """*where* as a lancedb.expr tree; values enter as literals, never as text of a query."""
    from lancedb.expr import col, lit

    expression = col("id") != lit(SENTINEL)
    for name in _EQUAL:
        if value := getattr(where, name):
            expression = expression & (col(name) == lit(value))
    for wanted in where.labels:
        expression = expression & col("labels").contains(lit(wanted))
    if where.since is not None:
        expression = expression & (col("occurred_at") >= lit(float(where.since)))
    if where.until is not None:
        expression = expression & (col("occurred_at") <= lit(float(where.until)))
    if where.live:
        expression = expression & (col("live") == lit(True))
    if (reader := where.reader) is None:
        return expression
    own = (col("visibility") == lit("private")) & (col("agent") == lit(reader.agent))
    readable = own | (col("visibility") == lit("shared"))
    if reader.team:
        team = (col("visibility") == lit("team")) & (col("team") == lit(reader.team))
        readable = readable | team
    return expression & readable


def _check(schema: Any, dimension: int) -> None:
    written = (schema.metadata or {}).get(_VERSION_KEY, b"")
    if not written.isdigit():  # a manifest that reads back as zeros opens as a table of no columns
        raise damaged("the table does not say which schema it has")
    if int(written) > SCHEMA_VERSION:
        raise IncompatibleStore(
            f"the table has schema version {int(written)}, this program's is {SCHEMA_VERSION}",
            "use the newer program with this data directory",
        )
    vector = schema.field("vector").type if "vector" in schema.names else None
    if vector is not None and getattr(vector, "list_size", dimension) != dimension:
        raise IncompatibleStore(
            f"the table holds vectors of {vector.list_size} numbers, the store's have {dimension}",
            "build the table anew for this embedder",
        )
    if not schema.equals(_schema(dimension)):
        raise damaged("the table has other columns than this program writes")
