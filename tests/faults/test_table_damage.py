"""What damage to its files does to the table: an error that says so, or the right answer.

LanceDB never calls fsync, so after a power cut any file of the last minutes may be short, full of
zeros or missing. Everything here can happen to a user; nothing may hang, crash the process or give
a wrong memory.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.errors import DiskFull, ReadOnly, StorageError
from memory_core.records import MemoryRecord
from memory_core.storage.generations import Generations
from memory_core.storage.table.table import Filter, Table

DIMENSION = 8
ROOT = Path(__file__).parents[2]
Damage = Callable[[Path], None]


def memory(number: int, text: str = "text") -> MemoryRecord:
    return MemoryRecord(id=f"{number:020d}", text=f"{text} {number} " * 9, occurred_at=number + 0.5)


def vectors(memories: list[MemoryRecord]) -> dict[str, Any]:
    return {m.id: np.arange(1, DIMENSION + 1, dtype=np.float32) for m in memories}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, MemoryRecord]]:
    """A table with compacted and fresh data files, an index over rows, deletions and versions."""
    folder = tmp_path_factory.mktemp("whole") / "1"
    table = Table.create(folder, dimension=DIMENSION)
    oracle: dict[str, MemoryRecord] = {}
    batches = [range(300), range(300, 310), range(5, 10), range(400, 403)]
    for applied, numbers in enumerate(batches, start=1):
        memories = [memory(n, f"batch {applied}") for n in numbers]
        table.merge(memories, vectors(memories), applied=applied)
        oracle.update({m.id: m for m in memories})
        if applied == 2:
            table.compact(grace_seconds=0)
    table.close()
    return folder, oracle


@pytest.fixture
def copy(whole: tuple[Path, dict[str, MemoryRecord]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole[0], tmp_path / "1"))


def files(folder: Path, pattern: str) -> list[Path]:
    found = sorted((folder / "memories.lance").glob(pattern))
    assert found, pattern
    return found


def newest_manifest(folder: Path) -> list[Path]:
    return files(folder, "_versions/*.manifest")[:1]  # named 2**64 - 1 - version


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def zero_tail(path: Path) -> None:
    body = path.read_bytes()
    path.write_bytes(body[: len(body) // 2] + bytes(len(body) - len(body) // 2))


def delete(path: Path) -> None:
    path.unlink()


WRECKS = [truncate, empty, zero, zero_tail]


@pytest.mark.parametrize("damage", WRECKS)
def test_a_wrecked_newest_manifest_is_a_storage_error(copy: Path, damage: Damage) -> None:
    damage(newest_manifest(copy)[0])
    with pytest.raises(StorageError):
        Table.open(copy, dimension=DIMENSION)


@pytest.mark.parametrize("damage", WRECKS)
def test_an_open_handle_reports_a_wrecked_newest_manifest(copy: Path, damage: Damage) -> None:
    table = Table.open(copy, dimension=DIMENSION)
    damage(newest_manifest(copy)[0])
    calls: list[Callable[[], object]] = [
        table.applied,
        table.count,
        table.ids,
        lambda: table.get([memory(1).id]),
        lambda: table.listing(where=Filter(), limit=3),
        lambda: list(table.scan()),
        lambda: table.vectors([memory(1).id]),
        lambda: table.merge([memory(1)], {}, applied=9),
        lambda: table.compact(grace_seconds=0),
    ]
    for call in calls:
        with pytest.raises(StorageError):
            call()


def test_a_lost_newest_manifest_gives_the_state_before_with_its_sequence(
    copy: Path, whole: tuple[Path, dict[str, MemoryRecord]]
) -> None:
    delete(newest_manifest(copy)[0])
    table = Table.open(copy, dimension=DIMENSION)
    lost = [memory(n, "batch 4") for n in range(400, 403)]
    assert table.applied() == 3
    assert table.count() == len(whole[1]) - len(lost)
    assert table.get([m.id for m in lost]) == {}
    table.merge(lost, vectors(lost), applied=4)
    assert {m.id: m for part in table.scan() for m in part} == whole[1]


@pytest.mark.parametrize("pattern", ["data/*", "_indices/*/*", "_deletions/*"])
@pytest.mark.parametrize("damage", [*WRECKS, delete])
def test_a_table_with_wrecked_files_does_not_open(copy: Path, pattern: str, damage: Damage) -> None:
    for path in files(copy, pattern):
        damage(path)
    with pytest.raises(StorageError):
        Table.open(copy, dimension=DIMENSION)


@pytest.mark.parametrize("pattern", ["_transactions/*", "_versions/*.json"])
@pytest.mark.parametrize("damage", [*WRECKS, delete])
def test_files_that_hold_no_state_may_be_lost(
    copy: Path, whole: tuple[Path, dict[str, MemoryRecord]], pattern: str, damage: Damage
) -> None:
    for path in files(copy, pattern):
        damage(path)
    table = Table.open(copy, dimension=DIMENSION)
    table.merge([memory(1, "later")], {}, applied=5)
    expected = {**whole[1], memory(1).id: memory(1, "later")}
    assert {m.id: m for part in table.scan() for m in part} == expected


def test_an_emptied_folder_is_a_storage_error(copy: Path) -> None:
    for path in list(copy.rglob("*")):
        if path.is_file():
            path.unlink()
    with pytest.raises(StorageError):
        Table.open(copy, dimension=DIMENSION)
    shutil.rmtree(copy / "memories.lance")
    with pytest.raises(StorageError):
        Table.open(copy, dimension=DIMENSION)


def test_a_text_that_the_disk_changed_is_never_given_out(copy: Path) -> None:
    table = Table.open(copy, dimension=DIMENSION)
    table.merge([MemoryRecord(id="x", text="port 5432 " + "é" * 9)], {}, applied=5)
    table.close()
    changed = 0
    for path in files(copy, "data/*"):
        body = path.read_bytes()
        changed += body.count(b"port 5432")
        path.write_bytes(body.replace(b"port 5432", b"port 5433"))
    assert changed == 1
    with pytest.raises(StorageError, match="damaged"):
        Table.open(copy, dimension=DIMENSION).get(["x"])


def test_create_refuses_a_damaged_table_and_the_next_generation_works(copy: Path) -> None:
    generations = Generations(copy.parent)
    empty(newest_manifest(copy)[0])
    with pytest.raises(StorageError):
        Table.create(copy, dimension=DIMENSION)
    number = generations.create()
    table = Table.create(generations.path(number), dimension=DIMENSION)
    table.merge([memory(1)], {}, applied=1)
    generations.quarantine(1)
    again = Table.open(generations.path(number), dimension=DIMENSION)
    assert again.get([memory(1).id]) == {memory(1).id: memory(1)}


def mutilate(path: Path, way: str, chance: random.Random) -> None:
    body = bytearray(path.read_bytes())
    if way == "cut":
        del body[chance.randrange(len(body)) :]
    elif way == "bit":
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
    elif way == "bytes":
        for _ in range(20):
            body[chance.randrange(len(body))] ^= 0xFF
    else:
        start = chance.randrange(len(body) // 512 + 1) * 512
        body[start : start + 512] = bytes(len(body[start : start + 512]))
    path.write_bytes(bytes(body))


LOST = ["cut", "block"]  # what a disk without fsync does
ROT = [*LOST, "bit", "bytes"]  # what it does over the years; checked where memories are kept
PLACES = [("data/*", ROT), ("_indices/*/*", ROT), ("_deletions/*", LOST), ("_versions/*", LOST)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("pattern", "ways"), PLACES, ids=[place for place, _ in PLACES])
def test_random_damage_gives_an_error_or_the_right_memories(
    copy: Path,
    whole: tuple[Path, dict[str, MemoryRecord]],
    pattern: str,
    ways: list[str],
    seed: int,
) -> None:
    chance = random.Random(seed)
    places = newest_manifest(copy) if pattern == "_versions/*" else files(copy, pattern)
    mutilate(chance.choice(places), chance.choice(ways), chance)
    oracle = whole[1]
    wanted = {id: m for id, m in oracle.items() if int(id) % 3 == 0}
    try:
        table = Table.open(copy, dimension=DIMENSION)
        rows = {m.id: m for part in table.scan(100) for m in part}
        found = table.get(list(wanted))
    except StorageError:
        return
    assert rows == oracle
    # An index that lost a block may hide a row from get; the store then asks the journal.
    hidden = set(wanted) - set(found) if pattern.startswith("_indices") else set()
    assert found == {id: m for id, m in wanted.items() if id not in hidden}


def test_a_memory_that_is_there_twice_is_a_storage_error(copy: Path) -> None:
    import lancedb

    theirs = lancedb.connect(copy).open_table("memories")
    theirs.add(theirs.search().where(f"id = '{memory(1).id}'").to_arrow())
    table = Table.open(copy, dimension=DIMENSION)
    with pytest.raises(StorageError, match="twice"):
        table.get([memory(0).id, memory(1).id])
    with pytest.raises(StorageError, match="twice"):
        table.ids()


MERGING = """
import sys
from pathlib import Path
from memory_core.records import MemoryRecord
from memory_core.storage.table.table import Table
table = Table.open(Path(sys.argv[1]), dimension=8)
for n in range(10**6):
    table.merge([MemoryRecord(id=f"{n}-{k}", text="x" * 500) for k in range(20)], {}, applied=n + 1,
                deleted=[f"{n - 5}-0"])
    if n % 5 == 4:
        table.compact(grace_seconds=0)
    print(n, flush=True)
"""


@pytest.mark.parametrize("rounds", [2, 9])
def test_a_killed_writer_leaves_whole_commits(tmp_path: Path, processes: Any, rounds: int) -> None:
    Table.create(tmp_path / "1", dimension=8).close()
    arguments = [sys.executable, "-c", MERGING, str(tmp_path / "1")]
    writer = processes.start(*arguments, stdout=subprocess.PIPE)
    for _ in range(rounds):
        assert writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    table = Table.open(tmp_path / "1", dimension=8)
    applied = table.applied()
    assert applied >= rounds
    kept = {f"{n}-{k}" for n in range(applied) for k in range(20)}
    gone = {f"{n - 5}-0" for n in range(applied)}
    halfway = {f"{applied - 5}-0"}  # its deletion is a commit of its own and may have come first
    assert set(table.ids()) in (kept - gone, kept - gone - halfway)
    assert table.count() == len(table.ids())
    table.merge([memory(1)], {}, applied=applied + 1)
    assert table.get([memory(1).id]) == {memory(1).id: memory(1)}


# A disk that is full or read-only


@pytest.fixture
def disk(tmp_path: Path, processes: Any) -> Iterator[Path]:
    """A file system of its own, 2 MiB."""
    point = tmp_path / "disk"
    point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(point)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small tmpfs needs rights that this user does not have")
    yield point
    subprocess.run(["umount", "--lazy", str(point)], check=True, timeout=20)


def fill(disk: Path) -> None:
    """Take every free block; what an earlier failure gave back too."""
    with (disk / "filler").open("ab", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(4096))


def test_on_a_full_disk_writes_say_so_and_reads_go_on(disk: Path) -> None:
    table = Table.create(disk / "1", dimension=DIMENSION)
    memories = [memory(n) for n in range(50)]
    for number, m in enumerate(memories, start=1):
        table.merge([m], vectors([m]), applied=number)
    writes: list[Callable[[], object]] = [
        lambda: table.merge([memory(99)], {}, applied=51),
        lambda: table.merge([], {}, applied=51, deleted=[memory(0).id]),
        lambda: table.compact(grace_seconds=0),
        lambda: Table.create(disk / "2", dimension=DIMENSION),
    ]
    for write in writes:
        fill(disk)
        with pytest.raises(DiskFull):
            write()
    again = Table.open(disk / "1", dimension=DIMENSION)
    for reader in (table, again):
        assert (reader.applied(), reader.count()) == (50, 50)
        assert reader.get([m.id for m in memories]) == {m.id: m for m in memories}
    (disk / "filler").unlink()
    table.merge([memory(99)], {}, applied=51, deleted=[memory(0).id])
    assert (table.applied(), table.count()) == (51, 50)


@pytest.mark.usefixtures("processes")
def test_on_a_read_only_disk_writes_say_so_and_reads_go_on(disk: Path) -> None:
    table = Table.create(disk / "1", dimension=DIMENSION)
    table.merge([memory(1)], {}, applied=1)
    remount = ["mount", "-o", "remount,ro", str(disk)]
    subprocess.run(remount, check=True, capture_output=True, timeout=20)
    generations = Generations(disk / "table")
    writes: list[Callable[[], object]] = [
        lambda: table.merge([memory(2)], {}, applied=2),
        lambda: table.merge([], {}, applied=2, deleted=[memory(1).id]),
        lambda: Table.create(disk / "2", dimension=DIMENSION),
        generations.create,
    ]
    for write in writes:
        with pytest.raises(ReadOnly):
            write()
    again = Table.open(disk / "1", dimension=DIMENSION)
    for reader in (table, again):
        assert reader.applied() == 1
        assert reader.get([memory(1).id]) == {memory(1).id: memory(1)}
