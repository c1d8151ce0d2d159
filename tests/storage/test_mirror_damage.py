"""Whatever happens to the table's files, no answer is wrong and the table is built anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import StorageError
from memory_core.records import MemoryRecord
from memory_core.storage.journal.journal import Journal
from memory_core.storage.table.table import Table

Damage = Callable[[Path], None]


@pytest.mark.parametrize("emptied", [False, True])
def test_the_table_of_a_journal_that_is_lost_is_not_touched(holder: Any, emptied: bool) -> None:
    """It is the last copy of every text, and a new journal would not know one of them."""
    holder.fill(5)
    holder.table_sync.update()
    directory = holder.shop.directory
    holder.shop.close()
    for path in directory.glob("journal.db*"):
        path.unlink()
    if emptied:
        (directory / "journal.db").touch()
    left = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    for read_only in (False, True):
        with pytest.raises(StorageError, match="is lost or empty") as told:
            Journal.open(directory, clock=lambda: 0.0, read_only=read_only)
    assert "restore a backup" in told.value.next_step
    assert left == {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    shutil.rmtree(directory / "table")
    Journal.open(directory, clock=lambda: 0.0).close()  # nothing is left to lose


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
    table.merge([MemoryRecord(id="0" * 20, text="a stranger")], {}, applied=table.applied())
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


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_table_is_never_served_and_built_anew_at_the_next_start(
    make_holder: Any, holder: Any, damage: Damage
) -> None:
    memories = holder.filled()
    assert holder.store.table is not None
    holder.store.table.close()
    holder.store.close()
    damage(holder.folder / "1")
    follower, again = make_holder(holder.shop), make_holder(holder.shop)
    try:
        follower.table_sync.follow()
    except StorageError:
        assert follower.store.table is None
    assert follower.store.memories(memories) == memories
    again.table_sync.update()
    assert again.store.memories(memories) == memories
    again.level()
    whole = damage is lose_manifest  # an earlier commit is whole, and what came after is merged
    assert again.table_sync.rebuilds == (0 if whole else 1)
    rebuilt = ["2"] if damage is lose else ["1.damaged", "2"]
    assert again.generations() == (["1"] if whole or damage is lose else rebuilt)
    follower.table_sync.follow()
    assert follower.store.memories(memories) == memories
    follower.level()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(damage, id=name, marks=() if number % 2 == 0 else pytest.mark.long)
        for number, (name, damage) in enumerate(DAMAGES.items())
    ],
)
def test_damage_while_it_is_open_is_answered_from_the_journal_and_mended(
    holder: Any, damage: Damage
) -> None:
    memories = holder.filled()
    damage(holder.folder / "1")
    if damage is not lose_manifest:  # it can only be seen when the next change is merged
        assert holder.store.memories(memories) == memories
    late = holder.shop.put(holder.store, "a late heron")
    for _ in range(2):
        try:
            holder.table_sync.update()
        except StorageError:
            continue
    assert holder.store.memories([*memories, late.id]) == {**memories, late.id: late}
    if damage not in (one_missing, one_too_many, swapped):  # found at the next start
        holder.level()


def test_a_read_that_fails_makes_the_holder_build_anew(holder: Any) -> None:
    memories = holder.filled()
    zero(holder.folder / "1")
    assert holder.store.memories(memories) == memories
    assert holder.store.table is None
    assert holder.store.table_problem
    holder.table_sync.update()
    assert holder.store.table_problem == ""
    assert (holder.table_sync.rebuilds, holder.generations()) == (1, ["1.damaged", "2"])
    holder.level()


def test_a_generation_removed_under_a_follower_does_not_fail_its_reads(
    make_holder: Any, holder: Any
) -> None:
    memories = holder.filled()
    other = make_holder(holder.shop)
    other.table_sync.follow()
    holder.table_sync.rebuild()
    assert holder.generations() == ["2"]
    assert other.store.memories(memories) == memories
    other.table_sync.follow()
    assert other.store.memories(memories) == memories
    assert other.store.table is not None
    other.level()
