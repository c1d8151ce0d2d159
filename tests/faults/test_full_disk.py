"""A disk that is full to the last byte: writes say so, reads go on, and forgetting makes room."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import DiskFull
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.remember.request import RememberRequest
from memory_core.storage import disk_reserve
from memory_core.storage.backup import backup
from memory_core.storage.journal.journal import Journal


def fill_up(disk: Path) -> None:
    """Take every byte that is free, as another program may do at any time."""
    with (disk / "filler").open("ab", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(512))


@pytest.fixture
def scenarios() -> Any:
    import memory_scenarios

    return memory_scenarios


def refuse(memory: Memory, who: Any) -> None:
    """Remember until the disk has no room for it: the log may have some left."""
    with pytest.raises(DiskFull, match="free some space"):
        write_on(memory, who)


def write_on(memory: Memory, who: Any) -> None:
    for number in range(2000):
        memory.remember(who, RememberRequest(f"A long note, number {number}. " + "word " * 3000))


def test_forgetting_and_upkeep_work_on_a_full_disk(small_disk: Path, scenarios: Any) -> None:
    who, disk = scenarios.ME, small_disk
    memory = scenarios.open_memory(disk / "store")
    upkeep = memory._runtime.parts().maintenance
    try:
        told = {
            n: memory.remember(who, RememberRequest(scenarios.text_of(f"k{n}"))).id
            for n in range(30)
        }
        upkeep.round()
        assert (disk / "store" / disk_reserve.FILE).stat().st_size == disk_reserve.BYTES
        fill_up(disk)
        refuse(memory, who)
        fill_up(disk)
        assert memory.get(who, told[3]).text == scenarios.text_of("k3")
        report = memory.forget(who, ids=[told[3]], confirm=True, never_again=False)
        assert report.status == "forgotten"
        assert not (disk / "store" / disk_reserve.FILE).exists()
        for _ in range(4):
            upkeep.nudge()
            upkeep.round()
        assert not upkeep.erasing
        files = [path for path in (disk / "store").rglob("*") if path.is_file()]
        assert not [p for p in files if scenarios.text_of("k3").encode() in p.read_bytes()]
        assert [
            hit.memory.id
            for hit in memory.recall(who, RecallRequest(scenarios.text_of("k4"), k=1)).hits
        ] == [told[4]]
        (disk / "filler").unlink()
        memory.remember(who, RememberRequest("There is room again."))
        upkeep.nudge()
        upkeep.round()
        assert upkeep.problems == {}
        assert (disk / "store" / disk_reserve.FILE).stat().st_size == disk_reserve.BYTES
    finally:
        memory.close()


def test_compacting_works_on_a_full_disk(small_disk: Path, scenarios: Any) -> None:
    who, disk = scenarios.ME, small_disk
    memory = scenarios.open_memory(disk / "store")
    upkeep = memory._runtime.parts().maintenance
    try:
        for number in range(9):
            memory.remember(who, RememberRequest(scenarios.text_of(f"k{number}")))
            upkeep.round()
        fill_up(disk)
        upkeep.table_sync._commits = 10_000
        upkeep.table_sync._compact()
        assert upkeep.table_sync._commits == 0
        table = upkeep.table_sync._store.table
        assert table is not None
        assert table.count() == 9
    finally:
        memory.close()


def test_a_table_too_large_for_the_reserve_goes_and_is_built_anew_when_there_is_room(
    small_disk: Path, scenarios: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    who, disk = scenarios.ME, small_disk
    memory = scenarios.open_memory(disk / "store")
    upkeep = memory._runtime.parts().maintenance
    try:
        told = [
            memory.remember(who, RememberRequest(scenarios.text_of(f"k{n}"))).id for n in range(5)
        ]
        upkeep.round()

        def full(*_: object, **__: object) -> None:
            raise DiskFull("no room", "free some")

        with monkeypatch.context() as broken:
            broken.setattr("memory_core.storage.table.table.Table.compact", full)
            upkeep.table_sync._commits = 10_000
            memory.remember(who, RememberRequest("One more."))
            upkeep.nudge()
            upkeep.round()
        assert "table" in upkeep.problems
        assert list((disk / "store" / "table").iterdir()) == []
        assert memory.get(who, told[2]).text == scenarios.text_of("k2")
        upkeep.nudge()
        upkeep.round()
        assert upkeep.problems == {}
        table = memory._runtime.parts().store.table
        assert table is not None
        assert table.count() == 6
    finally:
        memory.close()


def test_a_reserve_is_only_kept_where_there_is_plenty_of_room(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = disk_reserve.DiskReserve(small_disk)
    with (small_disk / "filler").open("wb") as stream:
        stream.truncate()
        stream.write(bytes(20 * 2**20))
    kept.ensure()
    assert not (small_disk / disk_reserve.FILE).exists()
    (small_disk / "filler").unlink()
    kept.ensure()
    assert (small_disk / disk_reserve.FILE).stat().st_size == disk_reserve.BYTES
    assert (small_disk / disk_reserve.FILE).stat().st_mode & 0o777 == 0o600
    (small_disk / disk_reserve.FILE).write_bytes(b"damaged")
    kept.ensure()
    assert (small_disk / disk_reserve.FILE).stat().st_size == disk_reserve.BYTES
    (small_disk / disk_reserve.FILE).unlink()
    monkeypatch.setattr(os, "write", lambda file, data: 7)
    with pytest.raises(Exception, match="a part of the reserve"):
        kept.ensure()
    assert not (small_disk / disk_reserve.FILE).exists()  # a part of a reserve would be no reserve


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(("size", "kept"), [("16m", 2 * 2**20), ("3m", 3 * 2**17)])
def test_a_small_volume_has_a_small_reserve_and_can_forget(
    tmp_path: Path, size: str, kept: int
) -> None:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs rights that this user does not have")
    try:
        journal = Journal.open(tmp_path / "store", clock=lambda: 0.0)
        reserve = disk_reserve.DiskReserve(tmp_path / "store")
        fields = to_fields(MemoryRecord(id="0" * 20, text="The heron waits. " * 20, agent="me"))
        journal.write(lambda tx: tx.append(Change("put", "0" * 20, fields)))
        reserve.ensure()
        assert (tmp_path / "store" / disk_reserve.FILE).stat().st_size == kept
        fill_up(tmp_path)
        body = {"digests": [], "reason": "", "erase": True}
        forget = Change("forget", "0" * 20, body)
        reserve.with_room(lambda: journal.write(lambda tx: tx.forget(forget)))
        assert journal.fold(["0" * 20]) == {}
        journal.close()
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_a_backup_on_a_full_disk_says_so_and_leaves_nothing(
    small_disk: Path, tmp_path: Path
) -> None:
    journal = Journal.open(tmp_path / "store", clock=lambda: 0.0)
    fields = to_fields(MemoryRecord(id="0" * 20, text="The heron waits. " * 20, agent="me"))
    journal.write(lambda tx: tx.append(Change("put", "0" * 20, fields)))
    journal.close()
    fill_up(small_disk)
    with pytest.raises(DiskFull, match=r"no room to write the backup \(No space left on device\)"):
        backup.create(tmp_path / "store", small_disk / "copy", lambda: 0.0)
    assert not (small_disk / "copy").exists()


def test_without_a_reserve_the_disk_is_full(small_disk: Path) -> None:
    def full() -> None:
        raise DiskFull("no room", "free some")

    with pytest.raises(DiskFull):
        disk_reserve.DiskReserve(small_disk).with_room(full)
