"""What the journal keeps and answers, against values worked out by hand."""

from __future__ import annotations

import itertools
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import numpy as np
import pytest

from memory_core.errors import IncompatibleStore, InvalidInput, NotFound, StorageError
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.storage.journal import files, queries
from memory_core.storage.journal import journal as journal_module
from memory_core.storage.journal.format import APPLICATION_ID
from memory_core.storage.journal.journal import DamagedChange, DamagedVectors, Journal, Transaction

ROOT = Path(__file__).parents[2]
A, B, C = ("a" * 20, "b" * 20, "c" * 20)


@pytest.fixture
def clock() -> Callable[[], float]:
    ticks = itertools.count(1000)
    return lambda: float(next(ticks))


@pytest.fixture
def journal(tmp_path: Path, clock: Callable[[], float]) -> Iterator[Journal]:
    opened = Journal.open(tmp_path / "data", clock=clock)
    yield opened
    opened.close()


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_a_folder_that_sqlite_cannot_name_is_refused_and_a_backup_into_it(
    journal: Journal, tmp_path: Path
) -> None:
    place = tmp_path / "caf\udce9"
    with pytest.raises(InvalidInput, match=r"caf\\xe9/journal.db is not UTF-8.*choose another"):
        Journal.open(place, clock=lambda: 0.0)
    assert not place.exists()
    place.mkdir()
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        journal.backup(place / "journal.db")


def memory(id: str, text: str = "", **more: Any) -> MemoryRecord:
    return MemoryRecord(id=id, text=text or f"text of {id}", agent="me", **more)


class BesideAnother:
    """A connection beside which another process creates the tables after the first statement."""

    def __init__(self, path: Path) -> None:
        self.mine, self.other = apsw.Connection(str(path)), apsw.Connection(str(path))
        self.waiting = True

    def execute(self, *arguments: Any) -> Any:
        rows = self.mine.execute(*arguments).fetchall()
        if self.waiting:
            self.waiting = False
            files.create_tables(self.other)
        return SimpleNamespace(fetchall=lambda: rows)


def test_a_journal_that_another_process_creates_just_now_is_no_foreign_file(tmp_path: Path) -> None:
    """Found by the kill campaign: read in three statements it had no application id and tables."""
    (tmp_path / "journal.db").touch()
    connection = BesideAnother(tmp_path / "journal.db")
    assert not files.claimed(connection)
    assert files.claimed(connection)
    connection.mine.close()
    connection.other.close()


def put(journal: Journal, *memories: MemoryRecord) -> list[int]:
    def build(transaction: Transaction) -> list[int]:
        return [transaction.append(Change("put", m.id, to_fields(m))) for m in memories]

    return journal.write(build)


def append(journal: Journal, change: Change) -> int:
    return journal.write(lambda transaction: transaction.append(change))


def forget(journal: Journal, id: str, *digests: str, reason: str = "asked") -> int:
    change = Change("forget", id, {"digests": list(digests), "reason": reason})
    return journal.write(lambda transaction: transaction.forget(change))


def test_changes_come_back_in_order_with_what_the_journal_adds(journal: Journal) -> None:
    change = Change(
        "put",
        A,
        {"id": A, "text": "Zoë said: 5 ≠ 6\n\0", "tags": ["x"]},
        run="run",
        before={"gist": ""},
        actor="me",
        source="stdio",
        scope="private",
        seq=99,
        at=5.0,
    )
    assert append(journal, change) == 1
    assert append(journal, Change("meta", "colour", {"value": ["red", None]})) == 2
    first, second = journal.changes(0)
    assert first == Change(
        "put", A, change.body, "run", {"gist": ""}, "me", "stdio", "private", 1, 1000.0
    )
    assert second == Change("meta", "colour", {"value": ["red", None]}, seq=2, at=1001.0)
    assert journal.changes(1) == [second]
    assert journal.changes(0, limit=1) == [first]
    assert journal.changes(2) == []
    assert journal.last() == 2


def test_an_empty_journal_answers(journal: Journal) -> None:
    assert journal.last() == 0
    assert journal.changes(0) == []
    assert journal.fold([A]) == {}
    assert journal.history(A) == []
    assert journal.runs() == []
    assert journal.meta("colour") is None
    assert journal.receipt("key") is None
    assert journal.without_vectors("fp", 10) == []
    assert list(journal.all_vectors("fp")) == []
    assert journal.check() == []


def test_reopen_returns_every_row(journal: Journal, tmp_path: Path) -> None:
    put(journal, memory(A), memory(B))
    expected = (journal.changes(0), journal.fold([A, B]))
    journal.close()
    again = Journal.open(tmp_path / "data", clock=lambda: 0.0)
    assert (again.changes(0), again.fold([A, B])) == expected
    assert put(again, memory(C)) == [3]
    again.close()


def test_fold_lays_later_puts_over_earlier_ones(journal: Journal) -> None:
    put(journal, memory(A, tags=("one",)), memory(B))
    append(journal, Change("put", A, {"tags": ["two"], "retired_at": 5.0}))
    append(journal, Change("put", A, {"retired_at": None}))
    assert journal.fold([B, A, C]) == {
        B: {"id": B, "text": f"text of {B}", "agent": "me"},
        A: {"id": A, "text": f"text of {A}", "agent": "me", "tags": ["two"], "retired_at": None},
    }
    assert list(journal.fold([B, A])) == [B, A]


def test_access_counts_are_absolute_and_part_of_the_folded_row(journal: Journal) -> None:
    put(journal, memory(A), memory(B))
    access = Change("access", "", {"ids": [B, A], "counts": [3, 1], "last": [9.0, 8.5]})
    append(journal, access)
    append(journal, access)
    folded = journal.fold([A, B])
    assert (folded[A]["access_count"], folded[A]["last_accessed"]) == (1, 8.5)
    assert (folded[B]["access_count"], folded[B]["last_accessed"]) == (3, 9.0)
    known = journal.write(lambda transaction: transaction.accesses([A, C, B]))
    assert known == {A: (1, 8.5), B: (3, 9.0)}


def test_access_and_links_leave_out_memories_that_are_gone(journal: Journal) -> None:
    put(journal, memory(A))
    seq = append(journal, Change("access", "", {"ids": [C, A], "counts": [7, 2], "last": [1, 2]}))
    assert journal.changes(seq - 1)[0].body == {"ids": [A], "counts": [2], "last": [2]}
    assert append(journal, Change("access", "", {"ids": [C], "counts": [7], "last": [1]})) == 0
    assert append(journal, Change("link", A, {"b": C, "kind": "extends", "weight": 1.0})) == 0
    assert append(journal, Change("link", C, {"b": A, "kind": "extends", "weight": 1.0})) == 0
    assert journal.last() == seq


def test_a_repeat_is_found_until_the_memory_is_replaced_or_forgotten(journal: Journal) -> None:
    first = memory(A, "The port is 5432.")
    put(journal, first)
    again = memory(B, "the  port is 5432")

    def find(transaction: Transaction) -> str | None:
        return transaction.find_repeat(again)

    assert journal.write(find) == A
    append(journal, Change("put", A, {"superseded_by": C}))
    assert journal.write(find) == A  # found out of date is not replaced
    append(journal, Change("put", A, {"replaced": True}))
    assert journal.write(find) is None
    put(journal, memory(B, "the port is 5432"))
    assert journal.write(find) == B
    append(journal, Change("put", A, {"replaced": False, "superseded_by": ""}))  # an undo
    assert journal.write(find) == B
    forget(journal, B)
    assert journal.write(find) is None


def test_a_new_memory_with_a_taken_repeat_key_is_refused(journal: Journal) -> None:
    put(journal, memory(A, "same"))
    with pytest.raises(InvalidInput, match=A):
        put(journal, memory(B, "Same!"))
    assert journal.last() == 1
    put(journal, memory(B, "Same!", speaker="Mara"))
    assert journal.last() == 2


def test_positions_count_within_their_thread(journal: Journal) -> None:
    def build(transaction: Transaction) -> list[int]:
        positions = []
        for number, session in enumerate(["s", "s", "t", "s", ""]):
            thread = memory(A, session=session).thread
            positions.append(transaction.next_position(thread))
            new = memory(f"{number:020d}", session=session, position=positions[-1])
            transaction.append(Change("put", new.id, to_fields(new)))
        return positions

    assert journal.write(build) == [0, 1, 0, 2, 0]


def test_a_transaction_sees_its_own_changes(journal: Journal) -> None:
    def build(transaction: Transaction) -> None:
        assert transaction.fields(A) is None
        transaction.append(Change("put", A, to_fields(memory(A))))
        transaction.append(Change("put", A, {"gist": "short"}))
        assert (transaction.fields(A) or {})["gist"] == "short"
        assert transaction.find_repeat(memory(A)) == A

    journal.write(build)


@pytest.mark.parametrize("id", [A, B])
def test_a_partial_put_never_creates_or_revives_a_memory(journal: Journal, id: str) -> None:
    put(journal, memory(A))
    forget(journal, A)
    for body in ({"gist": "late"}, {"replaced": True}):
        with pytest.raises(NotFound, match=id):
            append(journal, Change("put", id, body))
    with pytest.raises(NotFound, match=id):
        journal.write(lambda t: t.put_vectors(id, "fp", [0], np.zeros((1, 2), np.float16)))
    with pytest.raises(NotFound, match=id):
        forget(journal, id)


@pytest.mark.parametrize("kind", ["vectors", "forget", "puts", ""])
def test_append_refuses_kinds_that_are_not_its_own(journal: Journal, kind: str) -> None:
    with pytest.raises(InvalidInput, match="append"):
        append(journal, Change(kind, A, {}))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_cannot_hold_are_refused(journal: Journal, value: float) -> None:
    with pytest.raises(InvalidInput, match="importance"):
        append(journal, Change("put", A, {"text": "x", "importance": value}))
    assert journal.last() == 0


def test_vectors_come_back_bit_for_bit(journal: Journal) -> None:
    put(journal, memory(A), memory(B), memory(C))
    random = np.random.default_rng(1)
    stored = {id: random.normal(size=(n, 8)).astype(np.float16) for id, n in ((C, 1), (A, 3))}
    for id, each in stored.items():
        parts = list(range(-1, len(each) - 1))
        journal.write(lambda t, id=id, each=each, parts=parts: t.put_vectors(id, "fp", parts, each))
    journal.write(lambda t: t.put_vectors(A, "other", [0], np.ones((1, 4), np.float16)))
    found = journal.vectors([A, B, C], "fp")
    assert {id: parts for id, (parts, _) in found.items()} == {A: [-1, 0, 1], C: [-1]}
    for id, each in stored.items():
        np.testing.assert_array_equal(found[id][1], each)
    for batch in (1, 2, 4096):
        slices = list(journal.all_vectors("fp", batch))
        assert [id for ids, _, _ in slices for id in ids] == [A, A, A, C]
        assert [part for _, parts, _ in slices for part in parts] == [-1, 0, 1, -1]
        whole = np.concatenate([data for _, _, data in slices])
        np.testing.assert_array_equal(whole, np.concatenate([stored[A], stored[C]]))
    assert journal.without_vectors("fp", 10) == [B]
    assert journal.without_vectors("other", 1) == [B]
    assert [(c.kind, c.body) for c in journal.history(C)][-1] == (
        "vectors",
        {"fingerprint": "fp", "parts": [-1]},
    )


def test_new_vectors_of_the_same_model_replace_the_old(journal: Journal) -> None:
    put(journal, memory(A))
    journal.write(lambda t: t.put_vectors(A, "fp", [0, 1], np.zeros((2, 2), np.float16)))
    journal.write(lambda t: t.put_vectors(A, "fp", [0], np.ones((1, 2), np.float16)))
    parts, data = journal.vectors([A], "fp")[A]
    assert (parts, data.tolist()) == ([0], [[1.0, 1.0]])


@pytest.mark.parametrize(
    ("parts", "data"),
    [
        ([0], np.zeros((1, 2), np.float32)),
        ([0], np.zeros(2, np.float16)),
        ([0, 1], np.zeros((1, 2), np.float16)),
        ([], np.zeros((0, 2), np.float16)),
    ],
)
def test_vectors_of_another_shape_are_refused(
    journal: Journal, parts: list[int], data: Any
) -> None:
    put(journal, memory(A))
    with pytest.raises(InvalidInput, match="vectors"):
        journal.write(lambda t: t.put_vectors(A, "fp", parts, data))


def test_one_model_with_two_dimensions_is_an_error_not_a_mixture(journal: Journal) -> None:
    put(journal, memory(A), memory(B))
    journal.write(lambda t: t.put_vectors(A, "fp", [0], np.zeros((1, 2), np.float16)))
    journal.write(lambda t: t.put_vectors(B, "fp", [0], np.zeros((1, 4), np.float16)))
    with pytest.raises(StorageError, match="dimensions"):
        list(journal.all_vectors("fp"))


def test_receipts_are_kept_once_and_go_with_their_memory(journal: Journal) -> None:
    put(journal, memory(A), memory(B))
    journal.write(lambda t: t.save_receipt("both", {"id": A, "status": "stored"}, [A, B, A]))
    journal.write(lambda t: t.save_receipt("second", {"id": B}, [B]))
    assert journal.receipt("both") == {"id": A, "status": "stored"}
    assert journal.write(lambda t: t.receipt("second")) == {"id": B}
    with pytest.raises(InvalidInput, match="key"):
        journal.write(lambda t: t.save_receipt("both", {}, []))
    forget(journal, A)
    assert journal.receipt("both") is None
    assert journal.receipt("second") == {"id": B}


def test_tombstones_name_the_forgotten_memory_until_lifted(journal: Journal) -> None:
    put(journal, memory(A), memory(B))
    forget(journal, A, "d1", "d2", "d1")
    forget(journal, B, "d2")

    def look(transaction: Transaction) -> list[tuple[str, str, float]]:
        return transaction.tombstones(["d2", "d1", "d3"])

    assert journal.write(look) == [(A, "d1", 1001.0), (A, "d2", 1001.0), (B, "d2", 1002.0)]
    assert journal.write(lambda t: t.remove_tombstone(A)) is True
    assert journal.write(lambda t: t.remove_tombstone(A)) is False
    assert journal.write(look) == [(B, "d2", 1002.0)]


def test_a_lifted_memory_can_be_remembered_under_its_old_id(journal: Journal) -> None:
    put(journal, memory(A, "first", tags=("old",)))
    forget(journal, A, "d")
    put(journal, memory(A, "second"))
    assert journal.fold([A]) == {A: {"id": A, "text": "second", "agent": "me"}}
    assert [c.body is None for c in journal.history(A)] == [True, False, False]


def test_runs_give_the_latest_state_newest_run_first(journal: Journal) -> None:
    put(journal, memory(A))
    for run, state in (("r1", "started"), ("r2", "started"), ("r1", "completed")):
        append(journal, Change("run", run, {"state": state}, run=run))
    append(journal, Change("put", A, {"gist": "g"}, run="r2", before={"gist": ""}))
    assert [(c.target, c.body) for c in journal.runs()] == [
        ("r1", {"state": "completed"}),
        ("r2", {"state": "started"}),
    ]
    mine = journal.write(lambda t: t.run_changes("r2"))
    assert [(c.kind, c.target, c.before) for c in mine] == [
        ("run", "r2", None),
        ("put", A, {"gist": ""}),
    ]
    assert journal.write(lambda t: t.run_changes("")) == []


def test_latest_writer_is_the_run_that_set_a_field_last(journal: Journal) -> None:
    put(journal, memory(A, gist="g"))
    append(journal, Change("put", A, {"topic": "t"}, run="r1"))
    append(journal, Change("put", A, {"topic": "u"}, run="r2"))
    append(journal, Change("put", A, {"topic": "v"}))
    append(journal, Change("put", A, {"tags": ["x"]}, run="r3"))

    def writers(transaction: Transaction) -> list[str]:
        return [transaction.latest_writer(A, name) for name in ("topic", "tags", "gist", "kind")]

    assert journal.write(writers) == ["", "r3", "", ""]


def test_what_was_undone_counts_as_never_written(journal: Journal) -> None:
    put(journal, memory(A, gist="g"))
    append(journal, Change("put", A, {"topic": "t"}, run="r1"))
    append(journal, Change("put", A, {"topic": "u"}, run="r2"))
    append(journal, Change("put", A, {"topic": "t"}, source="undo of run r2"))
    assert journal.write(lambda t: t.latest_writer(A, "topic")) == "r1"
    append(journal, Change("put", A, {"topic": ""}, source="undo of run r1"))
    assert journal.write(lambda t: t.latest_writer(A, "topic")) == ""


def test_meta_keeps_the_latest_value(journal: Journal) -> None:
    append(journal, Change("meta", "snapshot", {"value": {"generation": 1}}))
    append(journal, Change("meta", "snapshot", {"value": {"generation": 2}}))
    assert journal.meta("snapshot") == {"generation": 2}


def test_stats_count_changes_and_live_memories(journal: Journal) -> None:
    put(journal, memory(A), memory(B))
    forget(journal, A)
    stats = journal.stats()
    assert (stats["changes"], stats["live"]) == (3, 1)
    assert stats["wal_bytes"] > 0
    assert journal.checkpoint(truncate=True)
    stats = journal.stats()
    assert stats["wal_bytes"] == 0
    assert stats["bytes"] > 4096


def test_a_backup_is_a_private_complete_copy_that_opens(journal: Journal, tmp_path: Path) -> None:
    put(journal, memory(A), memory(B))
    target = tmp_path / "restored" / "journal.db"
    target.parent.mkdir()
    journal.backup(target)
    assert [path.name for path in target.parent.iterdir()] == ["journal.db"]
    if sys.platform != "win32":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(InvalidInput, match="exists"):
        journal.backup(target)
    with pytest.raises(StorageError, match="write"):
        journal.backup(tmp_path / "nowhere" / "journal.db")
    restored = Journal.open(target.parent, clock=lambda: 0.0)
    assert restored.changes(0) == journal.changes(0)
    assert put(restored, memory(C)) == [3]
    assert restored.check() == []
    restored.close()


def test_a_closed_journal_says_so(journal: Journal) -> None:
    journal.close()
    journal.close()
    for call in (journal.last, journal.stats, journal.check, journal.checkpoint):
        with pytest.raises(StorageError, match="closed"):
            call()
    with pytest.raises(StorageError, match="closed"):
        put(journal, memory(A))


@pytest.mark.usefixtures("processes")
@pytest.mark.skipif(sys.platform == "win32", reason="no file modes")
@pytest.mark.parametrize("mask", ["000", "022", "777"])
def test_directory_and_files_are_private_under_any_umask(tmp_path: Path, mask: str) -> None:
    code = """
import os, sys
from pathlib import Path
from memory_core.records import Change
from memory_core.storage.journal.journal import Journal
os.umask(int(sys.argv[2], 8))
directory = Path(sys.argv[1])
journal = Journal.open(directory / "new" / "data", clock=lambda: 0.0)
journal.write(lambda t: t.append(Change("meta", "k", {"value": 1})))
for path in sorted([directory / "new", *(directory / "new").rglob("*")]):
    print(path.name, oct(path.stat().st_mode & 0o777))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), mask],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split("\n")[:-1] == [
        "new 0o700",
        "data 0o700",
        "journal.db 0o600",
        "journal.db-shm 0o600",
        "journal.db-wal 0o600",
        "write.lock 0o600",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="no file modes")
def test_a_journal_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    Journal.open(tmp_path, clock=lambda: 0.0).close()
    (tmp_path / "journal.db").chmod(0o644)
    Journal.open(tmp_path, clock=lambda: 0.0).close()
    assert stat.S_IMODE((tmp_path / "journal.db").stat().st_mode) == 0o600


def test_both_connections_are_durable_and_never_checkpoint_on_their_own(journal: Journal) -> None:
    """A kill cannot tell whether a commit was synced, so the settings are looked at."""
    wanted = {
        "journal_mode": "wal",
        "synchronous": 2,
        "fullfsync": 1,
        "checkpoint_fullfsync": 1,
        "wal_autocheckpoint": 0,
        "secure_delete": 1,
        "temp_store": 2,
    }
    for connection in (journal._reader, journal._writer):
        assert connection is not None
        assert {name: connection.pragma(name) for name in wanted} == wanted


def test_an_old_sqlite_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module.apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(StorageError, match=r"3\.51\.2"):
        Journal.open(tmp_path / "data", clock=lambda: 0.0)
    assert not (tmp_path / "data").exists()


def raw(path: Path, *statements: str) -> None:
    """Change a closed journal behind its back."""
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["CREATE TABLE notes(x)"], "another program"),
        (["PRAGMA user_version = 7"], "another program"),
        ([f"PRAGMA application_id = {APPLICATION_ID}", "PRAGMA user_version = 2"], "format 2"),
    ],
)
def test_a_foreign_or_newer_file_is_refused_and_left_alone(
    tmp_path: Path, statements: list[str], said: str
) -> None:
    path = tmp_path / "journal.db"
    raw(path, *statements)
    before = path.read_bytes()
    with pytest.raises(IncompatibleStore, match=said):
        Journal.open(tmp_path, clock=lambda: 0.0)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"notes of mine\n" * 1000)
    with pytest.raises(IncompatibleStore, match="not a journal"):
        Journal.open(tmp_path, clock=lambda: 0.0)
    assert path.read_bytes() == b"notes of mine\n" * 1000


DAMAGE = {
    "one letter of a text": "UPDATE changes SET body = replace(body, 'text', 'test') WHERE seq = 2",
    "not UTF-8": "UPDATE changes SET body = CAST(x'ff2200' AS TEXT) WHERE seq = 2",
    "a text lost": "UPDATE changes SET body = NULL WHERE seq = 2",
    "another owner": "UPDATE changes SET target = 'x' WHERE seq = 2",
    "another time": "UPDATE changes SET at = at + 1 WHERE seq = 2",
    "another type": "UPDATE changes SET at = x'00' WHERE seq = 2",
    "another version": "UPDATE changes SET format = 2 WHERE seq = 2",
    "unmarked": "UPDATE changes SET scrubbed = 1 WHERE seq = 2",
    "moved": "UPDATE changes SET seq = 5 WHERE seq = 2",
    "checksum": "UPDATE changes SET checksum = x'00' WHERE seq = 2",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_change_is_named_and_hides_no_other(
    tmp_path: Path, how: str, clock: Callable[[], float]
) -> None:
    journal = Journal.open(tmp_path, clock=clock)
    put(journal, memory(A))
    put(journal, memory(B))
    put(journal, memory(C))
    journal.close()
    raw(tmp_path / "journal.db", DAMAGE[how])
    journal = Journal.open(tmp_path, clock=clock)
    seq = 5 if how == "moved" else 2
    good = [c.seq for c in journal.changes(0)]
    assert good == ([1, 3] if how == "moved" else [1])
    with pytest.raises(DamagedChange, match=f"change {seq} ") as caught:
        journal.changes(good[-1])
    assert caught.value.seq == seq
    assert journal.changes(seq) == ([] if how == "moved" else journal.history(C))
    problems = journal.check()
    assert len(problems) == 1
    assert f"change {seq} " in problems[0]
    if how not in ("unmarked", "another owner"):
        with pytest.raises(DamagedChange):
            journal.fold([B])
    assert journal.fold([A, C]).keys() == {A, C}
    journal.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE vectors SET data = zeroblob(length(data)) WHERE seq = 2",
        "UPDATE vectors SET dimension = 1 WHERE seq = 2",
        "UPDATE vectors SET data = NULL WHERE seq = 2",
    ],
)
def test_damaged_vectors_are_named(
    tmp_path: Path, statement: str, clock: Callable[[], float]
) -> None:
    journal = Journal.open(tmp_path, clock=clock)
    put(journal, memory(A))
    journal.write(lambda t: t.put_vectors(A, "fp", [0], np.ones((1, 2), np.float16)))
    journal.close()
    raw(
        tmp_path / "journal.db",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'data BLOB NOT NULL', 'data BLOB')",
    )
    raw(tmp_path / "journal.db", statement)
    journal = Journal.open(tmp_path, clock=clock)
    for call in (lambda: journal.vectors([A], "fp"), lambda: list(journal.all_vectors("fp"))):
        with pytest.raises(DamagedVectors, match=A) as caught:
            call()
        assert caught.value.memory == A
    assert len(journal.check()) == 1
    journal.close()


def test_a_damaged_text_beside_the_changes_is_a_storage_error(
    tmp_path: Path, clock: Callable[[], float]
) -> None:
    journal = Journal.open(tmp_path, clock=clock)
    append(journal, Change("meta", "k", {"value": "v"}))
    assert journal.write(lambda t: t.meta("k")) == "v"
    journal.close()
    raw(tmp_path / "journal.db", "UPDATE meta SET value = CAST(x'22ff22' AS TEXT)")
    journal = Journal.open(tmp_path, clock=clock)
    with pytest.raises(StorageError, match="damaged"):
        journal.meta("k")
    journal.close()


def test_a_damaged_page_is_a_storage_error_and_check_says_so(
    tmp_path: Path, clock: Callable[[], float]
) -> None:
    journal = Journal.open(tmp_path, clock=clock)
    put(journal, *(memory(f"{n:020d}", f"text {n} " * 100) for n in range(50)))
    journal.close()
    path = tmp_path / "journal.db"
    content = bytearray(path.read_bytes())
    for page in range(20, 40):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(content)
    journal = Journal.open(tmp_path, clock=clock)
    with pytest.raises(StorageError, match="damaged"):
        journal.changes(0)
    assert journal.check()
    journal.close()


@pytest.mark.usefixtures("processes")
def test_what_a_killed_process_left_unsynced_is_synced_at_open(
    tmp_path: Path, clock: Callable[[], float]
) -> None:
    """A copy taken of an open journal is what a kill leaves: a log that nobody has copied."""
    live = Journal.open(tmp_path / "live", clock=clock)
    put(live, memory(A))
    code = "import shutil, sys; shutil.copytree(sys.argv[1], sys.argv[2])"
    left = tmp_path / "left"
    arguments = [sys.executable, "-c", code, str(tmp_path / "live"), str(left)]
    subprocess.run(arguments, check=True)  # not in this process: it has the files open
    live.close()
    (left / "journal.db-shm").unlink()
    reopened = Journal.open(left, clock=clock)
    copied = tmp_path / "without log"
    copied.mkdir()
    code = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])"
    arguments = [sys.executable, "-c", code, str(left / "journal.db"), str(copied)]
    subprocess.run(arguments, check=True)
    reopened.close()
    shutil.rmtree(left)
    alone = Journal.open(copied, clock=clock)
    assert alone.fold([A]).keys() == {A}
    alone.close()


def test_the_weight_of_a_link_is_looked_up_by_its_memory(journal: Journal, tmp_path: Path) -> None:
    """And not by a walk over the links of all memories, which grows with the store."""
    journal.write(lambda tx: tx.append(Change("put", A, to_fields(memory(A)))))
    with apsw.Connection(str(next((tmp_path / "data").glob("journal.db")))) as connection:
        rows = connection.execute("EXPLAIN QUERY PLAN " + queries._WEIGHT, (A, B, "updates", 1.0))
        plan = " ".join(row[3] for row in rows)
    assert "changes_target (target=?)" in plan
