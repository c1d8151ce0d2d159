"""The LanceDB table follows the journal, and whatever happens to it no answer is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.errors import DiskFull, StorageError
from memory_core.records import Change, Memory
from memory_core.storage.mirror import Mirror
from memory_core.storage.snapshots import Snapshots
from memory_core.storage.store import MemoryStore
from memory_core.storage.table import Table

Damage = Callable[[Path], None]


class Holder:
    """A store with its mirror, as the process that holds maintenance.lock has them."""

    def __init__(self, shop: Any, **options: Any) -> None:
        self.shop = shop
        self.store: MemoryStore = shop.open(**options)
        self.mirror = Mirror(self.store, shop.settings.storage)

    @property
    def folder(self) -> Path:
        return self.shop.directory / "table"

    def generations(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def fill(self, number: int = 30, bird: str = "heron") -> dict[str, Memory]:
        memories = [self.shop.put(self.store, f"{bird} {each}") for each in range(number)]
        return {memory.id: memory for memory in memories}

    def level(self) -> None:
        """The table holds exactly what the journal holds."""
        store = self.store
        assert store.behind == {}
        assert store.table is not None
        ids = store.table.ids()
        assert sorted(ids) == sorted(store.journal.fold(ids))
        assert len(ids) == int(store.columns.live.sum()) == store.table.count()
        assert store.table.applied() <= store.journal.last()


@pytest.fixture
def holder(shop: Any) -> Holder:
    return Holder(shop)


def test_the_first_round_builds_a_table_of_all_rows_and_vectors(holder: Holder) -> None:
    memories = holder.fill()
    holder.mirror.keep()
    holder.level()
    assert holder.generations() == ["1"]
    assert holder.store.memories(memories) == memories
    table = holder.store.table
    assert table is not None
    query = holder.shop.vectors("heron 7")[0].astype(np.float32)
    from memory_core.storage.table import Filter

    best, cosine = table.vector_search(query, 1, Filter())[0]
    assert memories[best].text == "heron 7"
    assert cosine == pytest.approx(1.0, abs=1e-3)


def test_rows_come_from_the_table_once_it_is_level(
    holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = holder.fill(5)
    holder.mirror.keep()
    monkeypatch.setattr(holder.store.journal, "fold", lambda ids: pytest.fail("journal was asked"))
    assert holder.store.memories(memories) == memories


def test_changes_are_merged_and_unmerged_ones_come_from_the_journal(holder: Holder) -> None:
    memories = list(holder.fill(5).values())
    holder.mirror.keep()
    store, shop = holder.store, holder.shop
    shop.change(store, memories[0].id, speaker="Ana")
    shop.forget(store, memories[1].id, erase=False)
    late = shop.put(store, "a late heron")
    assert store.memories([memories[0].id])[memories[0].id].speaker == "Ana"
    assert set(store.memories([m.id for m in memories])) == {m.id for m in memories} - {
        memories[1].id
    }
    holder.mirror.keep()
    holder.level()
    assert holder.generations() == ["1"]
    assert store.table is not None
    assert store.table.get([late.id]) == {late.id: late}
    assert store.table.get([memories[0].id])[memories[0].id].speaker == "Ana"


def test_a_follower_serves_what_the_holder_wrote(holder: Holder) -> None:
    memories = holder.fill(5)
    holder.mirror.keep()
    other = Holder(holder.shop)
    assert len(other.store.behind) == 5
    other.mirror.follow()
    assert other.store.behind == {}
    assert other.store.memories(memories) == memories
    late = holder.shop.put(holder.store, "a late heron")
    other.store.catch_up()
    assert other.store.memories([late.id]) == {late.id: late}
    holder.mirror.keep()
    other.mirror.follow()
    assert other.store.behind == {}
    other.level()


def test_a_follower_never_serves_a_row_that_is_older_than_what_it_has_applied(
    make_shop: Any,
) -> None:
    """The table is at a sequence between two changes of one memory, and holds neither of them."""
    shop = make_shop(apply_batch=1)
    holder = Holder(shop)
    twice, once = shop.put(holder.store, "twice"), shop.put(holder.store, "once")
    holder.mirror.keep()
    other = Holder(shop)
    other.mirror.follow()
    shop.change(holder.store, twice.id, speaker="Ana")
    other.store.catch_up()
    shop.change(holder.store, once.id, speaker="Ana")
    shop.change(holder.store, twice.id, speaker="Ben")
    assert holder.store.table is not None
    holder.mirror._merge_ids(holder.store.table, [once.id], holder.store.tail(1)[0][1])
    other.mirror.follow()
    assert other.store.memories([twice.id])[twice.id].speaker == "Ben"


# Damage


def data_files(folder: Path) -> list[Path]:
    found = sorted((folder / "memories.lance" / "data").glob("*"))
    assert found
    return found


def manifests(folder: Path) -> list[Path]:
    """Newest first."""
    return sorted((folder / "memories.lance" / "_versions").glob("*.manifest"))


def truncate(folder: Path) -> None:
    for path in data_files(folder):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(folder: Path) -> None:
    for path in data_files(folder):
        path.write_bytes(b"")


def zero(folder: Path) -> None:
    for path in data_files(folder):
        path.write_bytes(bytes(path.stat().st_size))


def lose(folder: Path) -> None:
    shutil.rmtree(folder)


def lose_data(folder: Path) -> None:
    shutil.rmtree(folder / "memories.lance" / "data")


def tear_manifest(folder: Path) -> None:
    manifests(folder)[0].write_bytes(b"torn")


def lose_manifest(folder: Path) -> None:
    """The commits after the first are gone, as after a power cut."""
    for path in manifests(folder)[:-2]:
        path.unlink()


def ahead(folder: Path) -> None:
    table = Table.open(folder, dimension=8)
    table.merge([], {}, applied=10**9)
    table.close()


def one_missing(folder: Path) -> None:
    table = Table.open(folder, dimension=8)
    table.merge([], {}, applied=table.applied(), deleted=table.ids()[:1])
    table.close()


def one_too_many(folder: Path) -> None:
    table = Table.open(folder, dimension=8)
    table.merge([Memory(id="0" * 20, text="a stranger")], {}, applied=table.applied())
    table.close()


def swapped(folder: Path) -> None:
    """The number fits, the memories do not."""
    one_missing(folder)
    one_too_many(folder)


DAMAGES: dict[str, Damage] = {
    each.__name__: each
    for each in (
        *(truncate, empty, zero, lose, lose_data, tear_manifest, lose_manifest),
        *(ahead, one_missing, one_too_many, swapped),
    )
}


def filled(holder: Holder) -> dict[str, Memory]:
    """A table of several commits, with a changed row in it."""
    memories = holder.fill(6)
    holder.mirror.keep()
    memories |= holder.fill(3, "stork")
    first = next(iter(memories))
    holder.shop.change(holder.store, first, speaker="Ana")
    holder.mirror.keep()
    memories = holder.store.memories(memories)
    assert memories[first].speaker == "Ana"
    holder.level()
    return memories


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_table_is_never_served_and_built_anew_at_the_next_start(
    holder: Holder, damage: Damage
) -> None:
    memories = filled(holder)
    assert holder.store.table is not None
    holder.store.table.close()
    holder.store.close()
    damage(holder.folder / "1")
    follower, again = Holder(holder.shop), Holder(holder.shop)
    try:
        follower.mirror.follow()
    except StorageError:
        assert follower.store.table is None
    assert follower.store.memories(memories) == memories
    again.mirror.keep()
    assert again.store.memories(memories) == memories
    again.level()
    whole = damage is lose_manifest  # an earlier commit is whole, and what came after is merged
    assert again.mirror.rebuilds == (0 if whole else 1)
    assert again.generations() == ["1" if whole or damage is lose else "2"]
    follower.mirror.follow()
    assert follower.store.memories(memories) == memories
    follower.level()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_while_it_is_open_is_answered_from_the_journal_and_mended(
    holder: Holder, damage: Damage
) -> None:
    memories = filled(holder)
    damage(holder.folder / "1")
    if damage is not lose_manifest:  # it can only be seen when the next change is merged
        assert holder.store.memories(memories) == memories
    late = holder.shop.put(holder.store, "a late heron")
    for _ in range(2):
        try:
            holder.mirror.keep()
        except StorageError:
            continue
    assert holder.store.memories([*memories, late.id]) == {**memories, late.id: late}
    if damage not in (one_missing, one_too_many, swapped):  # found at the next start
        holder.level()


def test_a_read_that_fails_makes_the_holder_build_anew(holder: Holder) -> None:
    memories = filled(holder)
    zero(holder.folder / "1")
    assert holder.store.memories(memories) == memories
    assert holder.store.table is None
    assert holder.store.table_problem
    holder.mirror.keep()
    assert holder.store.table_problem == ""
    assert (holder.mirror.rebuilds, holder.generations()) == (1, ["2"])
    holder.level()


def test_a_generation_removed_under_a_follower_does_not_fail_its_reads(holder: Holder) -> None:
    memories = filled(holder)
    other = Holder(holder.shop)
    other.mirror.follow()
    holder.mirror.rebuild()
    assert holder.generations() == ["2"]
    assert other.store.memories(memories) == memories
    other.mirror.follow()
    assert other.store.memories(memories) == memories
    assert other.store.table is not None
    other.level()


# Generations


def test_forgetting_builds_a_new_generation_and_removes_the_old(holder: Holder) -> None:
    memories = list(holder.fill(5).values())
    holder.mirror.keep()
    holder.shop.forget(holder.store, memories[2].id)
    holder.mirror.keep()
    assert holder.generations() == ["2"]
    assert holder.mirror.rebuilds == 0
    holder.level()
    held = b"".join(p.read_bytes() for p in holder.folder.rglob("*") if p.is_file())
    assert b"heron 1" in held
    assert b"heron 2" not in held
    holder.mirror.keep()
    assert holder.generations() == ["2"]


def test_another_dimension_builds_a_new_generation(shop: Any) -> None:
    holder = Holder(shop, model=False)
    holder.fill(3)
    holder.mirror.keep()
    holder.store.adopt("toy", "toy-1", 8)
    late = shop.put(holder.store, "a heron with a vector")
    holder.mirror.keep()
    assert holder.generations() == ["2"]
    holder.level()
    assert late.id in holder.store.memories([late.id])


def test_what_a_killed_holder_left_behind_is_tidied_up(holder: Holder) -> None:
    holder.fill(3)
    holder.mirror.keep()
    for name in ("2", "7", "3.damaged"):
        shutil.copytree(holder.folder / "1", holder.folder / name)
    holder.mirror.tidy()
    assert holder.generations() == ["1"]
    holder.level()


@pytest.mark.parametrize("failing", ["create", "merge"])
def test_a_build_that_fails_leaves_no_folder_and_the_old_table_serves(
    holder: Holder, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    memories = filled(holder)

    def full(*_: object, **__: object) -> None:
        raise DiskFull("no room", "free some")

    with monkeypatch.context() as broken:
        broken.setattr(Table, failing, full)
        for _ in range(3):
            with pytest.raises(DiskFull):
                holder.mirror.rebuild()
    assert holder.generations() == ["1"]
    assert holder.store.memories(memories) == memories
    assert holder.store.table is not None
    holder.level()


def test_on_a_full_disk_the_table_with_something_forgotten_goes_all_the_same(
    holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = filled(holder)
    gone = memories.popitem()[0]
    holder.shop.forget(holder.store, gone)

    def full(*_: object, **__: object) -> None:
        raise DiskFull("no room", "free some")

    with monkeypatch.context() as broken:
        broken.setattr(Table, "merge", full)
        with pytest.raises(DiskFull):
            holder.mirror.keep()
    assert holder.generations() == []
    assert holder.store.memories([*memories, gone]) == memories
    holder.mirror.keep()
    holder.level()


def test_long_work_ends_between_two_batches_when_told_to(make_shop: Any) -> None:
    shop = make_shop(apply_batch=2)
    holder = Holder(shop)
    memories = holder.fill(4)
    holder.mirror.keep()
    stop = Mirror(holder.store, shop.settings.storage, lambda: True)
    stop.rebuild()
    assert holder.generations() == ["1"]
    holder.fill(4, "stork")
    stop.keep()
    assert len(holder.store.behind) == 4
    assert holder.store.memories(memories) == memories


def test_commits_are_compacted_also_those_of_earlier_processes(make_shop: Any) -> None:
    shop = make_shop(compact_commits=6)
    holder = Holder(shop)
    holder.fill(1)
    holder.mirror.keep()
    compacted: list[Table] = []
    for number in range(4):
        again = Holder(shop)
        shop.put(again.store, f"stork {number}")
        original = Table.compact

        def note(self: Table, *, grace_seconds: float, original: Any = original) -> None:
            compacted.append(self)
            original(self, grace_seconds=grace_seconds)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Table, "compact", note)
            again.mirror.keep()
            again.level()
        again.store.close()
    assert compacted


def test_keeping_a_level_table_writes_nothing(holder: Holder) -> None:
    holder.fill(3)
    holder.mirror.keep()
    assert holder.store.table is not None
    versions, sequence = holder.store.table.versions(), holder.store.journal.last()
    for _ in range(3):
        holder.mirror.keep()
    assert (holder.store.table.versions(), holder.store.journal.last()) == (versions, sequence)


def test_a_change_that_names_no_memory_leaves_the_table_alone(holder: Holder) -> None:
    holder.fill(3)
    holder.mirror.keep()
    holder.store.commit(lambda tx: tx.append(Change("meta", "x", {"value": 1})))
    Snapshots(holder.store, holder.shop.settings.storage).keep()
    assert holder.store.behind == {}
    holder.level()
