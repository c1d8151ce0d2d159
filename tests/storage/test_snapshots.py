"""A snapshot gives what the journal gives, or it is not used."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.errors import DiskFull
from memory_core.records import Change, to_fields
from memory_core.storage.index import faiss_scans, files
from memory_core.storage.index.vector_source import SNAPSHOT
from memory_core.storage.index.vectors import FrozenVectors, VectorIndex
from memory_core.storage.store import MemoryStore
from tests.views import view_of


def filled(shop: Any, number: int = 12) -> tuple[MemoryStore, list[str]]:
    """A store with passages, a memory without vectors and one that was forgotten."""
    store = shop.open()
    ids = [shop.put(store, f"heron {each}").id for each in range(number)]
    store.commit(lambda tx: tx.put_vectors(ids[1], "toy-1", [0, 1, 2], shop.vectors("parts", 3)))
    bare = shop.memory("without vectors")
    store.commit(lambda tx: tx.append(Change("put", bare.id, to_fields(bare))))
    shop.forget(store, ids.pop(0), erase=False)
    return store, [*ids, bare.id]


def folders(shop: Any) -> list[str]:
    return sorted(path.name for path in (shop.directory / "index").iterdir())


def same_vectors(shop: Any, store: MemoryStore, ids: list[str]) -> None:
    """Every vector and every search result of *store* equals an index of the journal's vectors."""
    oracle = VectorIndex(8)
    held = store.journal.vectors(ids, "toy-1")
    for number, id in enumerate(ids):
        if id in held:
            oracle.put(number, *held[id])
    index = view_of(store).vectors
    assert index is not None
    assert index.rows_with_vectors == len(held)
    rows = np.array([view_of(store).columns.row(id) for id in ids], np.int64)
    wanted = oracle.wholes(np.arange(len(ids)))
    np.testing.assert_array_equal(index.wholes(rows), wanted)
    query = shop.vectors("a question")[0].astype(np.float32)
    for part in ("whole", "passage"):
        found, scores = index.search(query, 6, part=part)  # type: ignore[arg-type]
        best, cosines = oracle.search(query, 6, part=part)  # type: ignore[arg-type]
        assert [view_of(store).columns.id(int(row)) for row in found] == [ids[row] for row in best]
        np.testing.assert_allclose(scores, cosines, rtol=1e-6)


def loads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether vectors were read from the journal one model at a time, at each load."""
    read: list[bool] = []
    from memory_core.storage.journal.journal import Journal

    original = Journal.all_vectors

    def note(self: Journal, *arguments: Any, **options: Any) -> Any:
        read.append(True)
        return original(self, *arguments, **options)

    monkeypatch.setattr(Journal, "all_vectors", note)
    return read


def test_a_snapshot_gives_what_the_journal_gives_though_rows_have_moved(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ids = filled(shop)
    shop.snapshots(store).write()
    rows = [view_of(store).columns.row(id) for id in ids]
    from_journal = loads(monkeypatch)
    again = shop.open()
    assert from_journal == []
    assert again.snapshot_problem == ""
    # forgotten ones leave no row behind
    assert [view_of(again).columns.row(id) for id in ids] != rows
    same_vectors(shop, again, ids)


def test_what_changed_since_the_snapshot_comes_from_the_journal(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ids = filled(shop)
    shop.snapshots(store).write()
    store.commit(lambda tx: tx.put_vectors(ids[3], "toy-1", [0], shop.vectors("other")))
    ids.append(shop.put(store, "a new heron").id)
    shop.forget(store, ids.pop(4), erase=False)
    from_journal = loads(monkeypatch)
    again = shop.open()
    assert from_journal == []
    same_vectors(shop, again, ids)


def test_a_memory_that_came_back_without_vectors_does_not_get_the_old_ones(shop: Any) -> None:
    store = shop.open()
    heron = shop.put(store, "a heron")
    shop.snapshots(store).write()
    shop.forget(store, heron.id, erase=False)
    store.commit(lambda tx: tx.append(Change("put", heron.id, {**to_fields(heron), "text": "x"})))
    same_vectors(shop, shop.open(), [heron.id])


def flip(path: Path) -> None:
    held = bytearray(path.read_bytes())
    held[len(held) // 2] ^= 1
    path.write_bytes(held)


def damages(folder: Path) -> dict[str, Callable[[], None]]:
    made: dict[str, Callable[[], None]] = {"folder": lambda: shutil.rmtree(folder)}
    for path in sorted(folder.iterdir()):
        made[f"{path.name} flipped"] = lambda path=path: flip(path)
        made[f"{path.name} short"] = lambda path=path: path.write_bytes(path.read_bytes()[:-9])
        made[f"{path.name} empty"] = lambda path=path: path.write_bytes(b"")
        made[f"{path.name} lost"] = lambda path=path: path.unlink()
    return made


def test_a_damaged_snapshot_is_not_used_and_written_anew(shop: Any) -> None:
    store, ids = filled(shop)
    keeper = shop.snapshots(store)
    keeper.write()
    for name in list(damages(shop.directory / "index" / "1")):
        generation = next(filter(str.isdigit, folders(shop)))
        damages(shop.directory / "index" / generation)[name]()
        again = shop.open()
        assert again.snapshot_problem, name
        same_vectors(shop, again, ids)
        mending = shop.snapshots(again)
        mending.write_if_due()
        mending.write_if_due()
        new = generation if name == "folder" else str(int(generation) + 1)
        aside = set() if name == "folder" else {f"{generation}.damaged"}
        assert {new} | aside == set(folders(shop))
        fresh = shop.open()
        assert fresh.snapshot_problem == "", name
        same_vectors(shop, fresh, ids)
        again.close()
        fresh.close()


def test_a_snapshot_of_another_time_line_is_not_used(shop: Any) -> None:
    """A restored backup of the journal names a generation that holds other vectors."""
    store, ids = filled(shop)
    shop.snapshots(store).write()
    value = {"generation": 1, "sequence": 3}
    store.commit(lambda tx: tx.append(Change("meta", SNAPSHOT, {"value": value})))
    again = shop.open()
    assert "stands for" in again.snapshot_problem
    same_vectors(shop, again, ids)


def test_a_snapshot_of_another_model_is_not_used(shop: Any) -> None:
    store, ids = filled(shop)
    shop.snapshots(store).write()
    path = shop.directory / "index" / "1" / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["fingerprint"] == "toy-1"

    def switch(tx: Any) -> None:
        for id in ids[:3]:
            tx.put_vectors(id, "toy-2", [0], shop.vectors(f"{id} anew"))
        value = {"name": "toy", "fingerprint": "toy-2", "dimension": 8}
        tx.append(Change("meta", "embedding", {"value": value}))

    store.commit(switch)
    again = shop.open()
    assert "toy-1" in again.snapshot_problem
    vectors = view_of(again).vectors
    assert vectors is not None
    assert vectors.rows_with_vectors == 3
    row = view_of(again).columns.row(ids[0])
    np.testing.assert_array_equal(
        vectors.wholes(np.array([row])),
        shop.vectors(f"{ids[0]} anew").astype(np.float32),
    )


def test_a_new_one_is_written_after_so_many_changes_and_not_before(make_shop: Any) -> None:
    shop = make_shop(snapshot_changes=10)
    store = shop.open()
    keeper = shop.snapshots(store)
    shop.put(store, "a heron")
    keeper.write_if_due()
    assert not (shop.directory / "index").exists()
    for number in range(5):
        shop.put(store, f"heron {number}")
    keeper.write_if_due()
    assert folders(shop) == ["1"]
    keeper.write_if_due()
    assert folders(shop) == ["1"]
    for number in range(5):
        shop.put(store, f"weir {number}")
    keeper.write_if_due()
    assert folders(shop) == ["2"]


def test_what_is_written_for_a_memory_does_not_grow_with_their_number(make_shop: Any) -> None:
    shop = make_shop(snapshot_changes=2)
    store = shop.open()
    keeper, written = shop.snapshots(store), []
    for number in range(200):
        shop.put(store, f"heron {number}")
        keeper.write_if_due()
        (last,) = folders(shop) or ["0"]
        written.append(int(last))
    early, late = written[99], written[199] - written[99]
    assert 10 < late < early / 2
    assert late <= 100 / 10 + 5


def test_forgetting_writes_a_new_one_without_what_was_forgotten(shop: Any) -> None:
    store, ids = filled(shop)
    keeper = shop.snapshots(store)
    keeper.write()
    gone = ids.pop(2)
    assert gone in (shop.directory / "index" / "1" / "ids.txt").read_text()
    shop.forget(store, gone)
    assert keeper.stale
    keeper.write_if_due()
    assert not keeper.stale
    assert folders(shop) == ["2"]
    assert gone not in (shop.directory / "index" / "2" / "ids.txt").read_text()
    same_vectors(shop, shop.open(), ids)


def test_memories_come_and_go_while_one_is_written(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two of its files, and two pieces of its vectors, the store is changed."""
    store, ids = filled(shop, 40)
    came: list[str] = []
    snapshots, changing = shop.snapshots(store), False

    def change() -> None:
        nonlocal changing
        if not changing:  # it reads too
            changing = True
            came.append(shop.put(store, f"stork {len(came)}").id)
            shop.forget(store, ids.pop(0), erase=False)
            changing = False

    def between(owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def changed(*given: Any, **named: Any) -> Any:
            change()
            return inner(*given, **named)

        monkeypatch.setattr(owner, name, changed)

    monkeypatch.setattr(faiss_scans, "CHUNK", 8)
    at = store.applied
    between(files, "write")
    between(files, "begin")
    between(files, "finish")
    between(store, "reading")  # once for the indexes, then once a piece of the vectors
    snapshots.write()
    monkeypatch.undo()
    assert len(came) > 8
    meta = store.journal.meta(SNAPSHOT)
    assert at < meta["sequence"] < at + 2 * 4, "as of its beginning"
    from_journal = loads(monkeypatch)
    again = shop.open()
    assert from_journal == []
    assert held_ids(again) == {*ids, *came} == held_ids(store)
    same_vectors(shop, again, [*ids, *came])


def held_ids(store: MemoryStore) -> set[str]:
    return {id for id in view_of(store).columns.ids() if id}


def test_one_that_cannot_be_written_leaves_no_folder(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ids = filled(shop)
    keeper = shop.snapshots(store)
    keeper.write()

    def full(*_: object, **__: object) -> None:
        raise DiskFull("no room", "free some")

    with monkeypatch.context() as broken:
        broken.setattr(FrozenVectors, "write", full)
        for _ in range(3):
            with pytest.raises(DiskFull):
                keeper.write()
        assert folders(shop) == ["1"]
        shop.forget(store, ids.pop(2))
        with pytest.raises(DiskFull):
            keeper.write_if_due()
        assert folders(shop) == []  # it held something forgotten
    same_vectors(shop, shop.open(), ids)
    keeper.write_if_due()
    same_vectors(shop, shop.open(), ids)


def test_without_vectors_there_is_none_and_an_empty_index_can_be_written(shop: Any) -> None:
    bare = shop.open(model=False)
    shop.put(bare, "a heron")
    shop.snapshots(bare).write()
    assert not (shop.directory / "index").exists()
    store = shop.open()
    shop.snapshots(store).write()
    again = shop.open()
    assert again.snapshot_problem == ""
    vectors = view_of(again).vectors
    assert vectors is not None
    assert len(vectors) == 0


def test_what_a_killed_holder_left_behind_is_tidied_up(shop: Any) -> None:
    store, ids = filled(shop)
    keeper = shop.snapshots(store)
    keeper.write()
    shutil.copytree(shop.directory / "index" / "1", shop.directory / "index" / "2")
    keeper.tidy()
    assert folders(shop) == ["1"]
    same_vectors(shop, shop.open(), ids)
