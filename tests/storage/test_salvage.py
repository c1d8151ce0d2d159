"""Salvage returns all of a damaged journal that was not on a damaged page, and names the gaps.

SQLite itself reads the whole journal beforehand; that is the oracle. The last tests say why pages
are read here and not by SQLite's own recovery.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from apsw import sqlite_extra
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import InvalidInput, StorageError
from memory_core.records import Change, MemoryRecord, from_fields
from memory_core.storage.backup.salvage import find, salvage
from memory_core.storage.backup.sqlite_pages import Pages
from memory_core.storage.journal import files
from memory_core.storage.journal.format import STORED, intact, intact_vectors
from memory_core.storage.journal.journal import Journal
from memory_core.storage.table.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "campaigns"))

from damages import flip, truncate
from journal_scenarios import MODEL, all_kinds, at_random

PAGE = 4096


def everything(folder: Path) -> dict[str, Any]:
    """All that the journal in *folder* answers."""
    journal = Journal.open(folder, clock=time.time)
    try:
        changes = journal.changes(0, 100_000)
        targets = list(dict.fromkeys(change.target for change in changes))
        rows = journal.fold(targets)
        vectors = {id: (p, v.tobytes()) for id, (p, v) in journal.vectors(targets, MODEL).items()}
        metas = {change.target: journal.meta(change.target) for change in changes}
        assert journal.check() == []
        return {"changes": changes, "rows": rows, "vectors": vectors, "meta": metas}
    finally:
        journal.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed journal of about 90 pages: every kind of change, texts longer than a page."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    for seed in range(4):
        at_random(folder, lambda *words: None, seed=seed, steps=40)
    all_kinds(folder, lambda *words: None)
    journal = Journal.open(folder, clock=time.time)
    journal.write(lambda tx: tx.append(Change("meta", "name", {"value": {"a": [1, "b"]}})))
    journal.close()
    return folder


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "damaged"))


def now() -> float:
    return 0.0


def test_of_a_whole_journal_nothing_is_missing(damaged: Path, tmp_path: Path) -> None:
    before = (damaged / "journal.db").read_bytes()
    found = salvage(damaged, tmp_path / "new", now)
    assert (damaged / "journal.db").read_bytes() == before
    expected, saved = everything(damaged), everything(tmp_path / "new")
    assert found.lost == ()
    assert found.changes == len(expected["changes"])
    assert found.memories == len(expected["rows"])
    assert saved == expected


def test_the_journal_goes_on_as_before(damaged: Path, tmp_path: Path) -> None:
    """Receipts, repeats, tombstones and places in conversations were taken along."""
    salvage(damaged, tmp_path / "new", now)
    ids = everything(damaged)["rows"].keys()
    said: dict[str, list[tuple[object, ...]]] = {"old": [], "new": []}
    for name, folder in (("old", damaged), ("new", tmp_path / "new")):
        at_random(folder, lambda *words, to=said[name]: to.append(words), seed=1, steps=12)
    first, second = ([w for w in said[name] if w[0] == "put" and w[2] in ids] for name in said)
    assert first == second != []  # the same keys gave the same ids
    journals = [Journal.open(folder, clock=now) for folder in (damaged, tmp_path / "new")]
    gone = next(c.target for c in journals[0].changes(0, 10_000) if c.kind == "forget")
    digests = next(c.body for c in journals[0].history(gone) if c.kind == "forget")["digests"]
    marks = [each.write(lambda tx: tx.tombstones(digests)) for each in journals]
    assert marks[0] == marks[1] != []
    for journal in journals:
        journal.close()


def test_what_lies_in_the_log_is_found_too(whole: Path, tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "live", clock=time.time)
    for number in range(40):
        journal.write(lambda tx, n=number: tx.append(Change("meta", f"m{n}", {"value": n})))
    for name in ("journal.db", "journal.db-wal"):  # copied as a crash would leave them
        (tmp_path / "left").mkdir(exist_ok=True)
        shutil.copy(tmp_path / "live" / name, tmp_path / "left" / name)
    journal.close()
    found = salvage(tmp_path / "left", tmp_path / "new", now)
    assert (found.changes, found.lost) == (40, ())
    assert everything(tmp_path / "new")["meta"] == {f"m{n}": n for n in range(40)}


@pytest.mark.parametrize("way", ["zero", "noise", "flip"])
@pytest.mark.parametrize("seed", range(4))
def test_no_more_is_lost_than_was_on_the_damaged_pages(
    damaged: Path, tmp_path: Path, way: str, seed: int
) -> None:
    expected, order = everything(damaged), random.Random(f"{way} {seed}")
    file = damaged / "journal.db"
    body = bytearray(file.read_bytes())
    for page in order.sample(range(len(body) // PAGE), 3):
        if way == "flip":
            body[page * PAGE + order.randrange(PAGE)] ^= 1 << order.randrange(8)
        else:
            junk = bytes(PAGE) if way == "zero" else order.randbytes(PAGE)
            body[page * PAGE : (page + 1) * PAGE] = junk
    file.write_bytes(bytes(body))
    found = salvage(damaged, tmp_path / "new", now)
    saved = everything(tmp_path / "new")
    by_seq = {change.seq: change for change in expected["changes"]}
    assert all(by_seq[change.seq] == change for change in saved["changes"])
    named = {seq for first, last in found.lost for seq in range(first, last + 1)}
    last = saved["changes"][-1].seq
    missing = by_seq.keys() - {change.seq for change in saved["changes"]}
    assert {seq for seq in missing if seq < last} == named
    # a page holds 40 small changes at most, and one that is damaged takes nothing beside it
    assert len(missing) <= 3 * 40
    texts = {id: row["text"] for id, row in expected["rows"].items()}
    for id, row in saved["rows"].items():
        if id in texts:
            assert row["text"] == texts[id]
    untouched = {id for id in texts if not missing & {c.seq for c in history(expected, id)}}
    assert untouched <= saved["rows"].keys()


def history(expected: dict[str, Any], id: str) -> list[Change]:
    return [change for change in expected["changes"] if change.target == id]


def test_a_journal_whose_first_pages_are_gone_is_read_without_them(
    damaged: Path, tmp_path: Path
) -> None:
    """The schema, every root and the page size: SQLite cannot even open it."""
    expected = everything(damaged)
    file = damaged / "journal.db"
    body = file.read_bytes()
    file.write_bytes(bytes(PAGE) + body[PAGE:])
    with pytest.raises(Exception, match=r"damaged|not a journal|another program"):
        Journal.open(damaged, clock=now)
    found = salvage(damaged, tmp_path / "new", now)
    assert found.lost == ()
    assert everything(tmp_path / "new") == expected


def test_where_nothing_is_whole_or_nothing_may_be_written_it_says_so(
    damaged: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="no memory"):
        salvage(tmp_path / "nowhere", tmp_path / "new", now)
    with pytest.raises(InvalidInput, match="not an empty folder"):
        salvage(damaged, damaged, now)
    (damaged / "journal.db").write_bytes(bytes(10 * PAGE))
    with pytest.raises(StorageError, match="no entry"):
        salvage(damaged, tmp_path / "new", now)
    (damaged / "journal.db").unlink()
    (damaged / "journal.db").mkdir()
    with pytest.raises(StorageError, match="read the journal"):
        salvage(damaged, tmp_path / "new", now)


def in_table(folder: Path, number: int, memories: list[MemoryRecord]) -> Table:
    table = Table.create(folder / "table" / str(number), dimension=4)
    table.merge(memories, {}, applied=len(memories))
    return table


SAID = [
    MemoryRecord(
        id=f"{number:020d}",
        text=f"heron {number}",
        agent="me",
        session="s",
        position=number,
        recorded_at=100.0 - number,
        occurred_at=float(number),
        tags=("bird",),
        dates=("2024-06-01",),
        access_count=number,
        last_accessed=7.0,
        superseded_by="0" * 20 if number == 3 else "",
    )
    for number in range(1, 6)
]


def held(folder: Path) -> list[MemoryRecord]:
    journal = Journal.open(folder, clock=now)
    try:
        folded = journal.fold([memory.id for memory in SAID])
    finally:
        journal.close()
    return [from_fields({**fields, "id": id}) for id, fields in sorted(folded.items())]


@pytest.mark.parametrize("journal", [None, b"", bytes(10 * PAGE)], ids=("gone", "empty", "zeros"))
def test_without_a_journal_the_memories_come_from_the_table(
    tmp_path: Path, journal: bytes | None
) -> None:
    source = tmp_path / "old"
    in_table(source, 1, SAID[:2]).close()
    in_table(source, 3, SAID).close()
    if journal is not None:
        (source / "journal.db").write_bytes(journal)
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    found = salvage(source, tmp_path / "new", now)
    assert (found.memories, found.table, found.damaged, found.lost) == (5, 3, (), ())
    assert held(tmp_path / "new") == SAID
    assert {path: path.read_bytes() for path in source.rglob("*") if path.is_file()} == before


def test_what_is_damaged_in_the_table_is_named_and_the_rest_is_saved(tmp_path: Path) -> None:
    table = in_table(tmp_path / "old", 1, SAID)
    table._open.update(where=f"id = '{SAID[1].id}'", values={"text": "hero"})
    table.close()
    (tmp_path / "old" / "table" / "2" / "memories.lance").mkdir(parents=True)
    found = salvage(tmp_path / "old", tmp_path / "new", now)
    assert (found.memories, found.table) == (4, 1)
    assert held(tmp_path / "new") == [SAID[0], *SAID[2:]]
    first, second = found.damaged
    assert first.startswith("table 2: ")
    assert SAID[1].id in second


def test_where_neither_journal_nor_table_holds_anything_it_says_so(tmp_path: Path) -> None:
    in_table(tmp_path / "old", 1, []).close()
    with pytest.raises(StorageError, match="no entry"):
        salvage(tmp_path / "old", tmp_path / "new", now)
    assert not (tmp_path / "new").exists()


def test_what_repeats_another_memory_is_saved_once(tmp_path: Path) -> None:
    twins = [replace(each, text="heron", position=-1, session="") for each in SAID[:2]]
    in_table(tmp_path / "old", 1, twins).close()
    assert salvage(tmp_path / "old", tmp_path / "new", now).memories == 1


@given(data=st.binary(max_size=3 * 512), leaf=st.booleans())
def test_no_bytes_make_the_reader_fail_or_hang(
    data: bytes, leaf: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    header = bytearray(data.ljust(1536, b"\1"))
    header[16:18] = (512).to_bytes(2)
    if leaf:
        header[512], header[100] = 0x0D, 0x0D
    (folder / "db").write_bytes(bytes(header))
    (folder / "log").write_bytes(data)
    list(Pages(folder / "db", folder / "log").rows())


# SQLite's own recovery


def test_no_recovery_of_sqlite_comes_with_apsw() -> None:
    """When this fails, compare the recovery below; if it finds as much, delete sqlite_pages.py.

    It needs the virtual tables sqlite_dbdata, sqlite_dbptr and sqlite_dbpage. The command line of
    SQLite is not ours to rely on: it may be missing, and Debian 12 builds it without sqlite_dbpage.
    """
    connection = apsw.Connection(":memory:")
    modules = {name for (name,) in connection.execute("SELECT name FROM pragma_module_list")}
    assert modules
    assert not modules & {"sqlite_dbdata", "sqlite_dbptr", "sqlite_dbpage"}
    assert not any(map(sqlite_extra.has, ("dbdata", "recover", "sqlite3_recover")))


def read_by_sqlite(file: Path, last: int) -> tuple[set[int], set[int]]:
    """Changes and vectors that SQLite finds one by one, by sequence; damaged ones left out.

    Looking up each row reads only the pages on its way, so this finds what any query could.
    """
    vectors = "CAST(memory AS BLOB), CAST(fingerprint AS BLOB), CAST(parts AS BLOB)"
    queries: list[tuple[str, Callable[[Any], bool]]] = [
        (f"SELECT {STORED} FROM changes AS c WHERE seq = ?", intact),
        (f"SELECT {vectors}, dimension, data, checksum FROM vectors WHERE seq = ?", intact_vectors),
    ]
    found: tuple[set[int], set[int]] = (set(), set())
    connection = apsw.Connection(str(file))
    for (sql, whole), rows in zip(queries, found, strict=True):
        for seq in range(1, last + 1):
            try:
                read = connection.execute(sql, (seq,)).fetchall()
            except (apsw.Error, UnicodeDecodeError):
                continue
            if read and whole(read[0]):
                rows.add(seq)
    connection.close(True)
    return found


def read_by_pages(file: Path) -> tuple[set[int], set[int]]:
    """Changes and vectors that salvage finds, by sequence."""
    found = find(Pages(file, files.log_of(file)))
    return set(found.changes), set(found.vectors)


LEAF, INTERIOR, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x05, 0x0A, 0x02


def some_bits(file: Path, order: random.Random) -> None:
    for _ in range(4):
        flip(file, [], order)


def cut_short(file: Path, order: random.Random) -> None:
    truncate(file, [], order)


def header(file: Path, order: random.Random) -> None:
    body = file.read_bytes()
    file.write_bytes(bytes(PAGE) + body[PAGE:])


def zeroed(*kinds: int, other: bool = False) -> Callable[[Path, random.Random], None]:
    """Zero a page of one of the *kinds*, or with *other* of none of them."""

    def zero(file: Path, order: random.Random) -> None:
        body = bytearray(file.read_bytes())
        pages = range(PAGE, len(body), PAGE)
        start = order.choice([at for at in pages if (body[at] in kinds) != other])
        body[start : start + PAGE] = bytes(PAGE)
        file.write_bytes(bytes(body))

    return zero


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "some bits": some_bits,
    "cut short": cut_short,
    "header page": header,
    "leaf": zeroed(LEAF),
    "overflow page": zeroed(LEAF, INTERIOR, INDEX_LEAF, INDEX_INTERIOR, other=True),
    "interior page": zeroed(INTERIOR),
}
SQLITE_LOSES_MORE = {"cut short", "header page", "interior page"}


@pytest.mark.parametrize("damage", DAMAGES)
def test_queries_of_sqlite_find_no_row_that_pages_do_not(whole: Path, damage: str) -> None:
    file = whole.parent / f"{damage}.db"
    last = everything(whole)["changes"][-1].seq
    before = read_by_pages(whole / "journal.db")
    assert read_by_sqlite(whole / "journal.db", last) == before
    totals = [0, 0]
    for seed in range(5):
        shutil.copy(whole / "journal.db", file)
        DAMAGES[damage](file, random.Random(f"{damage} {seed}"))
        pages = read_by_pages(file)
        queries = read_by_sqlite(file, last)
        for ours, theirs, all_rows in zip(pages, queries, before, strict=True):
            assert theirs <= ours <= all_rows
        totals = [totals[0] + sum(map(len, pages)), totals[1] + sum(map(len, queries))]
    if damage in SQLITE_LOSES_MORE:
        assert totals[0] > totals[1]
