"""The LanceDB table follows the journal, generation by generation."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.errors import DiskFull
from memory_core.records import Change
from memory_core.storage.table import rows
from memory_core.storage.table.table import Table

Damage = Callable[[Path], None]


def test_the_first_round_builds_a_table_of_all_rows_and_vectors(holder: Any) -> None:
    memories = holder.fill()
    holder.table_sync.update()
    holder.level()
    assert holder.generations() == ["1"]
    assert holder.store.memories(memories) == memories
    table = holder.store.table
    assert table is not None
    (seventh,) = (id for id, memory in memories.items() if memory.text == "heron 7")
    held = table.vectors(list(memories))
    assert held.keys() == memories.keys()
    np.testing.assert_array_equal(held[seventh], holder.shop.vectors("heron 7")[0])


def test_rows_come_from_the_table_once_it_is_level(
    holder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = holder.fill(5)
    holder.table_sync.update()
    monkeypatch.setattr(holder.store.journal, "fold", lambda ids: pytest.fail("journal was asked"))
    assert holder.store.memories(memories) == memories


def test_changes_are_merged_and_unmerged_ones_come_from_the_journal(holder: Any) -> None:
    memories = list(holder.fill(5).values())
    holder.table_sync.update()
    store, shop = holder.store, holder.shop
    shop.change(store, memories[0].id, speaker="Ana")
    shop.forget(store, memories[1].id, erase=False)
    late = shop.put(store, "a late heron")
    assert store.memories([memories[0].id])[memories[0].id].speaker == "Ana"
    assert set(store.memories([m.id for m in memories])) == {m.id for m in memories} - {
        memories[1].id
    }
    holder.table_sync.update()
    holder.level()
    assert holder.generations() == ["1"]
    assert store.table is not None
    assert store.table.get([late.id]) == {late.id: late}
    assert store.table.get([memories[0].id])[memories[0].id].speaker == "Ana"


def test_a_follower_serves_what_the_holder_wrote(make_holder: Any, holder: Any) -> None:
    memories = holder.fill(5)
    holder.table_sync.update()
    other = make_holder(holder.shop)
    assert len(other.store.unsynced) == 5
    other.table_sync.follow()
    assert other.store.unsynced == {}
    assert other.store.memories(memories) == memories
    late = holder.shop.put(holder.store, "a late heron")
    other.store.catch_up()
    assert other.store.memories([late.id]) == {late.id: late}
    holder.table_sync.update()
    other.table_sync.follow()
    assert other.store.unsynced == {}
    other.level()


def test_a_follower_never_serves_a_row_that_is_older_than_what_it_has_applied(
    make_holder: Any,
    make_shop: Any,
) -> None:
    """The table is at a sequence between two changes of one memory, and holds neither of them."""
    shop = make_shop(table_batch=1)
    holder = make_holder(shop)
    twice, once = shop.put(holder.store, "twice"), shop.put(holder.store, "once")
    holder.table_sync.update()
    other = make_holder(shop)
    other.table_sync.follow()
    shop.change(holder.store, twice.id, speaker="Ana")
    other.store.catch_up()
    shop.change(holder.store, once.id, speaker="Ana")
    shop.change(holder.store, twice.id, speaker="Ben")
    assert holder.store.table is not None
    holder.table_sync._merge_ids(
        holder.store.table, [once.id], holder.store.oldest_unsynced(1)[0][1]
    )
    other.table_sync.follow()
    assert other.store.memories([twice.id])[twice.id].speaker == "Ben"


# Generations


def test_forgetting_builds_a_new_generation_and_removes_the_old(holder: Any) -> None:
    memories = list(holder.fill(5).values())
    holder.table_sync.update()
    holder.shop.forget(holder.store, memories[2].id)
    holder.table_sync.update()
    assert holder.generations() == ["2"]
    assert holder.table_sync.rebuilds == 0
    holder.level()
    held = b"".join(p.read_bytes() for p in holder.folder.rglob("*") if p.is_file())
    assert b"heron 1" in held
    assert b"heron 2" not in held
    holder.table_sync.update()
    assert holder.generations() == ["2"]


def test_another_dimension_builds_a_new_generation(make_holder: Any, shop: Any) -> None:
    holder = make_holder(shop, model=False)
    holder.fill(3)
    holder.table_sync.update()
    holder.store.adopt("toy", "toy-1", 8)
    late = shop.put(holder.store, "a heron with a vector")
    holder.table_sync.update()
    assert holder.generations() == ["2"]
    holder.level()
    assert late.id in holder.store.memories([late.id])


def test_a_table_without_a_column_of_today_is_built_anew(
    holder: Any, make_holder: Any, shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = {name: sort for name, sort in rows.FIELDS.items() if name != "keywords"}
    with monkeypatch.context() as before:
        before.setattr(rows, "FIELDS", older)
        for name, value in {
            "FIELDS": older,
            "_ROW": [*older, "checksum"],
            "SCHEMA_VERSION": 2,
        }.items():
            before.setattr(f"memory_core.storage.table.table.{name}", value)
        memories = holder.fill(3)
        holder.table_sync.update()
        assert holder.generations() == ["1"]
        assert "keywords" not in holder.store.table._open.schema.names
    late = shop.put(holder.store, "a late heron", keywords=("pond",))
    upgraded = make_holder(shop)
    assert upgraded.store.memories(memories) == memories, "served by the journal until then"
    upgraded.table_sync.update()
    assert upgraded.generations() == ["1.damaged", "2"]
    upgraded.level()
    assert "keywords" in upgraded.store.table._open.schema.names
    assert upgraded.store.memories([late.id])[late.id].keywords == ("pond",)


def test_what_a_killed_holder_left_behind_is_tidied_up(holder: Any) -> None:
    holder.fill(3)
    holder.table_sync.update()
    for name in ("2", "7", "3.damaged"):
        shutil.copytree(holder.folder / "1", holder.folder / name)
    holder.table_sync.tidy()
    assert holder.generations() == ["1", "3.damaged"]
    holder.table_sync.tidy(quarantined=True)
    assert holder.generations() == ["1"]
    holder.level()


@pytest.mark.parametrize("failing", ["create", "merge"])
def test_a_build_that_fails_leaves_no_folder_and_the_old_table_serves(
    holder: Any, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    memories = holder.filled()

    def full(*_: object, **__: object) -> None:
        raise DiskFull("no room", "free some")

    with monkeypatch.context() as broken:
        broken.setattr(Table, failing, full)
        for _ in range(3):
            with pytest.raises(DiskFull):
                holder.table_sync.rebuild()
    assert holder.generations() == ["1"]
    assert holder.store.memories(memories) == memories
    assert holder.store.table is not None
    holder.level()


def test_on_a_full_disk_the_table_with_something_forgotten_goes_all_the_same(
    holder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = holder.filled()
    gone = memories.popitem()[0]
    holder.shop.forget(holder.store, gone)

    def full(*_: object, **__: object) -> None:
        raise DiskFull("no room", "free some")

    with monkeypatch.context() as broken:
        broken.setattr(Table, "merge", full)
        with pytest.raises(DiskFull):
            holder.table_sync.update()
    assert holder.generations() == []
    assert holder.store.memories([*memories, gone]) == memories
    holder.table_sync.update()
    holder.level()


def test_long_work_ends_between_two_batches_when_told_to(make_holder: Any, make_shop: Any) -> None:
    shop = make_shop(table_batch=2)
    holder = make_holder(shop)
    memories = holder.fill(4)
    holder.table_sync.update()
    stop = shop.table_sync(holder.store, lambda: True)
    stop.rebuild()
    assert holder.generations() == ["1"]
    holder.fill(4, "stork")
    stop.update()
    assert len(holder.store.unsynced) == 4
    assert holder.store.memories(memories) == memories


def test_commits_are_compacted_also_those_of_earlier_processes(
    make_holder: Any, make_shop: Any
) -> None:
    shop = make_shop(compact_commits=6)
    holder = make_holder(shop)
    holder.fill(1)
    holder.table_sync.update()
    compacted: list[Table] = []
    for number in range(4):
        again = make_holder(shop)
        shop.put(again.store, f"stork {number}")
        original = Table.compact

        def note(self: Table, *, grace_seconds: float, original: Any = original) -> None:
            compacted.append(self)
            original(self, grace_seconds=grace_seconds)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Table, "compact", note)
            again.table_sync.update()
            again.level()
        again.store.close()
    assert compacted


def test_keeping_a_level_table_writes_nothing(holder: Any) -> None:
    holder.fill(3)
    holder.table_sync.update()
    assert holder.store.table is not None
    versions, sequence = holder.store.table.versions(), holder.store.journal.last()
    for _ in range(3):
        holder.table_sync.update()
    assert (holder.store.table.versions(), holder.store.journal.last()) == (versions, sequence)


def test_a_change_that_names_no_memory_leaves_the_table_alone(holder: Any) -> None:
    holder.fill(3)
    holder.table_sync.update()
    holder.store.commit(lambda tx: tx.append(Change("meta", "x", {"value": 1})))
    holder.shop.snapshots(holder.store).write_if_due()
    assert holder.store.unsynced == {}
    holder.level()
