"""What happens seldom: races, interrupts and odd entries that no ordinary history reaches.

With these, every branch of the modules in tests/campaigns/branches.py is taken.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pyarrow
import pytest

from memory_core.errors import DiskFull, ReadOnly, StorageError
from memory_core.maintenance.inspection import Inspection
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.storage import accesses, disk_reserve, locks
from memory_core.storage.accesses import Accesses
from memory_core.storage.backup import backup, sqlite_pages
from memory_core.storage.backup.salvage import salvage
from memory_core.storage.disk_reserve import DiskReserve
from memory_core.storage.index import files
from memory_core.storage.journal import files as journal_files
from memory_core.storage.journal.group_commit import GroupCommit, PendingWrite
from memory_core.storage.journal.journal import DamagedVectors, Journal
from memory_core.storage.store import EMBEDDING, MemoryStore
from memory_core.storage.view import View
from tests.views import view_of

LONG = 30.0
A, B = "a" * 20, "b" * 20


def opened(directory: Path, **options: Any) -> Journal:
    return Journal.open(directory, clock=lambda: 0.0, **options)


def note(name: str) -> Any:
    return lambda tx: tx.append(Change("meta", name, {"value": name}))


def put(journal: Journal, id: str, text: str = "a heron", **fields: Any) -> None:
    body = to_fields(MemoryRecord(id=id, text=text, agent="me")) | fields
    journal.write(lambda tx: tx.append(Change("put", id, body)))


def damage(directory: Path, statement: str) -> None:
    connection = apsw.Connection(str(directory / "journal.db"))
    connection.execute(statement)
    connection.close()


# The journal and its files


def test_where_no_log_can_be_made_the_journal_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(tmp_path)
    journal.write(note("a"))
    journal.close()

    def full(self: Journal) -> Any:
        raise DiskFull("no room", "make some")

    monkeypatch.setattr(Journal, "_open_writable", full)
    journal = opened(tmp_path)
    assert [change.target for change in journal.changes(0)] == ["a"]
    journal.close()
    with pytest.raises(DiskFull):  # there is nothing to read
        opened(tmp_path / "new")


def test_a_reader_without_rights_follows_what_is_written_and_refuses_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = opened(tmp_path)
    writer.write(note("a"))
    writer.close()
    reader = opened(tmp_path, read_only=True)
    assert [change.target for change in reader.changes(0)] == ["a"]
    assert reader.check() == []
    for call in (lambda: reader.write(note("b")), reader.checkpoint):
        with pytest.raises(ReadOnly):
            call()
    writer = opened(tmp_path)
    writer.write(note("c"))
    writer.close()
    assert [change.target for change in reader.changes(0)] == ["a", "c"]
    reader.close()
    monkeypatch.setattr(journal_files, "_may_write", lambda path: False)
    with pytest.raises(ReadOnly, match="no journal"):
        opened(tmp_path / "store")


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("shared_memory", [False, True])
def test_a_log_is_read_with_and_without_its_shared_memory(
    tmp_path: Path, shared_memory: bool
) -> None:
    live = opened(tmp_path / "live")
    live.write(note("in the log"))
    code = "import shutil, sys; shutil.copytree(sys.argv[1], sys.argv[2])"
    left = tmp_path / "left"
    copied = [sys.executable, "-c", code, str(tmp_path / "live"), str(left)]
    subprocess.run(copied, check=True)  # not in this process: it has the files open
    live.close()
    if not shared_memory:
        (left / "journal.db-shm").unlink()
    reader = opened(left, read_only=True)
    assert [change.target for change in reader.changes(0)] == ["in the log"]
    reader.close()


def test_an_empty_journal_and_one_that_is_a_folder_are_typed_errors(tmp_path: Path) -> None:
    (tmp_path / "journal.db").touch()
    with pytest.raises(ReadOnly, match="empty"):
        opened(tmp_path, read_only=True)
    (tmp_path / "other" / "journal.db").mkdir(parents=True)
    with pytest.raises(StorageError, match="open the journal"):
        opened(tmp_path / "other")


def test_a_log_that_cannot_be_copied_at_open_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing:
        def wal_checkpoint(self, **_: Any) -> Any:
            raise apsw.IOError("disk I/O error")

    journal = opened(tmp_path)
    journal.write(note("a"))
    journal._sync_recovered(Refusing())  # type: ignore[arg-type]
    assert "not copied at open" in caplog.text
    assert journal.write(note("b")) == 2
    journal.close()


def test_an_error_of_the_disk_in_a_build_ends_the_whole_commit(tmp_path: Path) -> None:
    def breaks(tx: Any) -> None:
        note("half done")(tx)
        raise apsw.IOError("disk I/O error")

    journal = opened(tmp_path)
    with pytest.raises(StorageError, match="write the journal"):
        journal.write(breaks)
    assert journal.write(note("after")) == 1
    assert [change.target for change in journal.changes(0)] == ["after"]
    journal.close()


def test_an_interrupt_leaves_a_commit_alone_that_another_leads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One who waits is interrupted when its entry is in a batch already."""
    commits: list[list[str]] = []
    begun, go, taken = threading.Event(), threading.Event(), threading.Event()

    def commit(entries: list[PendingWrite]) -> None:
        commits.append([entry.build(None) for entry in entries])
        (taken if len(commits) == 2 else begun).set()
        assert go.wait(LONG)

    group = GroupCommit(lambda _: nullcontext(), commit)
    wait = threading.Event.wait

    def run(name: str) -> threading.Thread:
        def body() -> None:
            group.run(lambda _: name, LONG)

        thread = threading.Thread(target=body, name=name)
        thread.start()
        return thread

    interrupted = threading.Event()

    def third() -> None:
        with pytest.raises(KeyboardInterrupt):
            group.run(lambda _: "third", LONG)
        interrupted.set()

    def breaks_in(self: threading.Event, timeout: float | None = None) -> bool:
        if threading.current_thread().name == "third":
            assert wait(taken, LONG)
            raise KeyboardInterrupt
        return wait(self, timeout)

    first = run("first")
    assert begun.wait(LONG)
    second = run("second")
    while len(group._queue) < 1:
        wait(go, 0.001)
    monkeypatch.setattr(threading.Event, "wait", breaks_in)
    last = threading.Thread(target=third, name="third")
    last.start()
    while len(group._queue) < 2:
        wait(go, 0.001)
    go.set()
    for thread in (first, second, last):
        thread.join(LONG)
    assert interrupted.is_set()
    assert commits == [["first"], ["second", "third"]]
    assert group.run(lambda _: "fourth", LONG) is None


def test_a_writer_that_is_interrupted_while_it_waits_lets_readers_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lock = locks.RWLock()

    def interrupt(timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    with lock.read():
        monkeypatch.setattr(lock._changed, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt), lock.write():
            pass
        monkeypatch.undo()
        with lock.read():
            pass
    with lock.write():
        pass


# Copies


def test_backups_say_what_the_disk_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = opened(tmp_path / "store")
    journal.write(note("a"))
    journal.close()
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="write the backup"):
        backup.create(tmp_path / "store", tmp_path / "file" / "copy", lambda: 0.0)
    backup.create(tmp_path / "store", tmp_path / "copy", lambda: 0.0)

    def refuse(*_: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StorageError, match="restore the backup"):
        backup.restore(tmp_path / "copy", tmp_path / "again")
    assert list((tmp_path / "again").iterdir()) == []


@pytest.mark.usefixtures("processes")
def test_what_was_scrubbed_does_not_come_back_from_an_older_page_of_the_log(
    tmp_path: Path,
) -> None:
    """The log is copied but not emptied: the file has the scrubbed entry, the log both."""
    journal = opened(tmp_path / "store")
    put(journal, A, "the heron is a secret")
    journal.write(lambda tx: tx.forget(Change("forget", A, {"digests": [], "reason": ""})))
    put(journal, B, "the weir stays")
    assert journal.checkpoint()
    code = "import shutil, sys; shutil.copytree(sys.argv[1], sys.argv[2])"
    copied = [sys.executable, "-c", code, str(tmp_path / "store"), str(tmp_path / "left")]
    subprocess.run(copied, check=True)
    journal.close()
    log = (tmp_path / "left" / "journal.db-wal").read_bytes()
    assert b"the heron is a secret" in log
    found = salvage(tmp_path / "left", tmp_path / "new", lambda: 0.0)
    assert (found.memories, found.lost) == (1, ())
    assert b"secret" not in b"".join(p.read_bytes() for p in (tmp_path / "new").iterdir())


def test_a_memory_that_no_version_can_read_is_left_out_of_what_is_salvaged(
    tmp_path: Path,
) -> None:
    journal = opened(tmp_path / "store")
    put(journal, A)
    put(journal, B, "a weir")
    journal.write(lambda tx: tx.append(Change("put", B, {"tags": 5})))
    journal.close()
    found = salvage(tmp_path / "store", tmp_path / "new", lambda: 0.0)
    assert (found.changes, found.memories) == (3, 1)
    saved = opened(tmp_path / "new")
    assert saved.fold([A, B]).keys() == {A}
    saved.close()


def test_forgetting_passes_over_a_link_that_only_sounds_like_it_and_damaged_puts(
    tmp_path: Path,
) -> None:
    journal = opened(tmp_path)
    for id in (A, B, "c" * 20):
        put(journal, id, f"text of {id}", topic="herons")
    link = Change("link", B, {"b": "c" * 20, "kind": A, "weight": 1.0})
    journal.write(lambda tx: tx.append(link))
    journal.write(lambda tx: tx.forget(Change("forget", A, {"digests": [], "reason": ""})))
    assert [c.kind for c in journal.history(B) if c.body is not None] == ["put", "link"]
    journal.close()
    damage(tmp_path, "UPDATE changes SET body = replace(body, 'text', 'next') WHERE seq = 2")
    journal = opened(tmp_path)
    assert journal.puts_where("topic", lambda id, value: True, 0, journal.last()) == [3]
    journal.close()


# Entries that an index cannot hold


def test_values_beyond_every_column_are_named_and_stop_nothing(shop: Any) -> None:
    store = shop.open()
    heron, weir = shop.put(store, "a heron"), shop.put(store, "a weir")
    odd = to_fields(shop.memory("an odd heron", session="s")) | {"position": -(2**40)}
    store.commit(lambda tx: tx.append(Change("put", odd["id"], odd)))
    assert odd["id"] in store.unusable.entries
    body = {"ids": [weir.id], "counts": ["many"], "last": [1.0]}
    store.commit(lambda tx: tx.append(Change("access", "", body)))
    assert any(what.startswith("change ") for what in store.unusable.entries)
    store.commit(lambda tx: tx.append(Change("put", odd["id"], {"access_count": 3})))
    link = {"b": odd["id"], "kind": "updates", "weight": 1.0}
    store.commit(lambda tx: tx.append(Change("link", heron.id, link)))
    store.commit(lambda tx: tx.put_vectors(odd["id"], "toy-1", [0], shop.vectors("odd")))
    store.commit(lambda tx: tx.append(Change("put", odd["id"], {"session": "t"})))
    assert shop.words(store, "heron") == ["a heron"]
    assert view_of(store).graph.edges() == 0


def test_a_source_that_was_never_there_or_is_no_longer_named_is_not_waited_for(shop: Any) -> None:
    store = shop.open()
    source, late = shop.put(store, "a heron"), shop.memory("a late stork")
    one = shop.put(store, "a summary", derived_from=(source.id, late.id))
    shop.forget(store, source.id)
    shop.change(store, one.id, derived_from=[])
    store.commit(lambda tx: tx.append(Change("put", late.id, to_fields(late))))
    assert view_of(store).graph.edges() == 0


def test_pairs_that_came_to_mind_together_are_bounded(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accesses, "MOST", 1)
    store = shop.open()
    ids = [shop.put(store, text).id for text in ("a heron", "a weir", "a mill")]
    noted = Accesses(store, shop.clock, 0.0)
    noted.associate(ids)
    noted.associate(ids)
    noted.flush()
    links = [c for c in store.journal.changes(0) if c.kind == "link"]
    assert [(c.body or {})["weight"] for c in links] == [2.0]


def test_vectors_whose_owner_cannot_be_read_are_an_error_and_not_an_empty_answer(
    shop: Any,
) -> None:
    store = shop.open()
    heron = shop.put(store, "a heron")
    damage(shop.directory, "UPDATE vectors SET fingerprint = 'toy-1', memory = x'ff'")
    with pytest.raises(StorageError, match="damaged"):
        list(store.journal.all_vectors("toy-1"))
    assert store.memories([heron.id])


def test_damage_to_another_memorys_vectors_is_an_error(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = shop.open()

    def damaged(*_: Any) -> Any:
        raise DamagedVectors("another")

    monkeypatch.setattr(store.journal, "vectors", damaged)
    with pytest.raises(StorageError, match="another"):
        store._reader.vectors([A], "toy-1")


def test_numbers_of_sqlite_end_at_nine_bytes_and_rows_at_a_bound(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    journal.close()
    pages = sqlite_pages.Pages(tmp_path / "journal.db", tmp_path / "journal.db-wal")
    assert sqlite_pages._varint(b"\xff" * 10, 0) == (2**64 - 1, 9)
    assert sqlite_pages._varint(b"..\x81\x00", 2) == (128, 4)
    with pytest.raises(ValueError, match="longer than any row"):
        pages._cell(b"\xff" * 20, 0)


# The store beside others


def test_an_empty_store_has_no_state_and_what_is_not_there_yet_is_not_waited_for(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = shop.open(model=False)
    with store.reading():
        assert store.frozen_state() is None
    stranger = shop.memory("a heron")
    assert store.with_access(stranger) is stranger
    store.commit(note("name"))
    monkeypatch.setattr(store.journal, "last", lambda: store.applied + 5)
    store.catch_up()
    assert store.applied == 1
    indexes = store._indexes
    assert indexes.renumbered().with_vectors_of(indexes).vectors is None


def test_a_model_that_another_process_chose_just_now_stays(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = shop.open(model=False), shop.open(model=False)
    other.adopt("first", "first-1", 4)
    real = store.journal.meta
    monkeypatch.setattr(store.journal, "meta", lambda key: None)
    monkeypatch.setattr(store, "_load_vectors", lambda: None)
    before = other.journal.last()
    assert store.adopt("second", "second-1", 8) == "first-1"
    monkeypatch.setattr(store.journal, "meta", real)
    assert other.journal.last() == before


def test_the_same_model_named_once_more_is_no_change_of_model(shop: Any) -> None:
    store = shop.open()
    shop.put(store, "a heron")
    vectors, again = view_of(store).vectors, {"value": store.journal.meta(EMBEDDING)}
    store.commit(lambda tx: tx.append(Change("meta", EMBEDDING, again)))
    assert view_of(store).vectors is vectors
    assert store.model_changed_at == 0


def test_a_table_that_serves_no_more_is_not_distrusted_again(holder: Any) -> None:
    holder.filled()
    store, table = holder.store, holder.store.table
    problem = StorageError("it is broken", "mend it")
    store.detach_table(table, problem)
    store.detach_table(table, StorageError("another", "mend it"))
    assert store.table_problem == "it is broken"


def test_without_a_table_there_is_none_to_inspect(shop: Any) -> None:
    store = shop.open()
    shop.put(store, "a heron")
    assert Inspection(store, shop.clock).run() == []


class Doubled:
    """A query of LanceDB whose answer has every row *times* times."""

    def __init__(self, query: Any, times: int) -> None:
        self.query, self.times = query, times

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: Doubled(
            getattr(self.query, name)(*given, **named), self.times
        )

    def to_arrow(self) -> Any:
        found = self.query.to_arrow()
        return pyarrow.concat_tables([found] * self.times) if self.times else found.slice(0, 0)


@pytest.mark.parametrize("times", [0, 2])
def test_a_table_whose_index_or_manifest_makes_it_count_wrongly_is_damaged(
    holder: Any, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    holder.filled()
    table = holder.store.table
    ids, query = table.ids(), table._query
    inner = type(table._open)
    take = inner.take_row_ids
    monkeypatch.setattr(inner, "take_row_ids", lambda t, found: Doubled(take(t, found), times))
    monkeypatch.setattr(inner, "count_rows", lambda t: 0)
    if times:
        with pytest.raises(StorageError, match="twice"):
            table.get(ids)
    with pytest.raises(StorageError, match="lost its rows"):
        table.count()
    monkeypatch.setattr(table, "_query", lambda expression: Doubled(query(expression), times))
    with pytest.raises(StorageError, match="lost its applied sequence"):
        table.applied()
    if times:
        with pytest.raises(StorageError, match="twice"):
            table.ids()


# Snapshots


@pytest.fixture
def snapshot(shop: Any) -> tuple[MemoryStore, Path]:
    store = shop.open()
    shop.put(store, "a heron")
    made = shop.snapshots(store)
    made.write()
    (folder,) = (shop.directory / "index").iterdir()
    return store, folder


def test_a_manifest_that_is_no_object_is_damage(shop: Any, snapshot: Any) -> None:
    _, folder = snapshot
    (folder / files.MANIFEST).write_text("[]")
    with pytest.raises(StorageError, match="not a manifest"):
        files.check(folder)
    assert shop.words(shop.open(), "heron") == ["a heron"]


def test_a_state_that_no_version_reads_is_damage(shop: Any, snapshot: Any) -> None:
    """Whole by its checksum, and yet not what this program writes."""
    _, folder = snapshot
    facts = files.check(folder)
    names = list(facts.pop("files"))
    facts = {name: value for name, value in facts.items() if name != "format"}
    (folder / files.FILE).write_bytes(b"no archive")
    files.finish(folder, names, facts)
    with pytest.raises(StorageError, match="cannot be read"):
        files.read(folder)
    assert shop.words(shop.open(), "heron") == ["a heron"]


def test_a_snapshot_of_a_model_that_was_switched_just_now_is_not_written(
    shop: Any, snapshot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, folder = snapshot
    reading, seen = store.reading, []

    @contextmanager
    def switched_after_the_first() -> Iterator[View]:
        with reading() as view:
            seen.append(view)
            yield view if len(seen) == 1 else replace(view, vectors=None)

    monkeypatch.setattr(store, "reading", switched_after_the_first)
    with pytest.raises(StorageError, match="switched just now"):
        shop.snapshots(store).write()
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]


# The reserve


def test_a_reserve_that_the_disk_cuts_short_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(disk_reserve.os, "write", lambda file, body: real(file, body[:100]))
    with pytest.raises(StorageError, match="a part of the reserve"):
        DiskReserve(tmp_path).ensure()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match="keep a reserve"):
        DiskReserve(tmp_path / "nowhere").ensure()
