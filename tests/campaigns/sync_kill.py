"""kill -9 at every step of a sync; repeated, both machines come to what they come to without it.

    python tests/campaigns/sync_kill.py [--from 1] [--points 1000] [--step 1]

Two machines have told, tagged, replaced and forgotten things apart, and one has synced. The other
one is killed before its n-th step: a change of its journal, or a write to its files in the folder,
of which half the bytes are there then. It syncs again, then both until nothing is sent. Texts,
tags, replacements, retirements and doubts must be those of machines that nobody killed, on both.
Ends when a sync has fewer steps than n, or with exit status 1 at the first thing that is wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from conftest import ToyEmbedder
from material import machine

from memory_core.config import ConsolidationSettings, Settings
from memory_core.interchange.folder import SyncFolder
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.storage.journal.transaction import Transaction

ME = Identity("me")
NOW = 2e9
COMPARED = ("text", "tags", "importance", "retired_at", "superseded_by", "replaced", "valid_until")


class Clock:
    """A clock that stands until it is set."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def opened(place: Path, clock: Clock) -> Memory:
    still = ConsolidationSettings(automatic=False)
    memory = Memory(
        Settings(data_dir=place, consolidation=still), clock=clock, embedder=ToyEmbedder()
    )
    assert memory.wait_ready(60)
    return memory


def prepare(folder: Path) -> None:
    """The stores `one` and `two`, which have lived apart, and the folder that `one` synced with."""
    clock, shared = Clock(NOW), folder / "shared"
    shared.mkdir()
    with opened(folder / "one", clock) as one, opened(folder / "two", clock) as two:
        said = [
            one.remember(ME, RememberRequest(f"Crate number {n} stands in hall {n * 3}.")).id
            for n in range(6)
        ]
        for memory in (one, two, one, two):
            memory.sync(ME, str(shared))
        clock.now += 60
        one.amend(ME, said[0], tags=["blue"])
        one.remember(ME, RememberRequest("Crate number 1 stands in the yard.", replaces=said[1]))
        one.forget(ME, ids=[said[2]], confirm=True)
        one.retire(ME, said[3])
        one.remember(ME, RememberRequest("The ferry leaves at nine on Sundays."))
        clock.now += 60
        two.amend(ME, said[0], tags=["green"], importance=0.9)
        two.remember(ME, RememberRequest("Crate number 1 was sold.", replaces=said[1]))
        two.amend(ME, said[2], tags=["late"])
        two.forget(ME, ids=[said[4]], confirm=True)
        two.remember(ME, RememberRequest("The ferry leaves at nine on Sundays."))
        two.remember(ME, RememberRequest("The pier is closed in May."))
        one.sync(ME, str(shared))
    shared.rename(folder / "carried")  # a folder has the same path wherever it is used


def doomed(folder: Path, last: int) -> None:
    """Sync `two` and die before the step number *last*, in the middle of it if it writes a file."""
    left, append, write = last, Transaction.append, os.fdopen

    def step() -> bool:
        nonlocal left
        left -= 1
        return left == 0

    def appended(self: Transaction, change: Any) -> Any:
        if step():
            os.kill(os.getpid(), signal.SIGKILL)
        return append(self, change)

    def sent(self: SyncFolder, machine: str, name: str, records: Any) -> int:
        if not step():
            return send(self, machine, name, records)

        class Torn:
            def __init__(self, file: Any) -> None:
                self._file = file

            def __enter__(self) -> Torn:
                return self

            def __exit__(self, *_: object) -> None:
                self._file.close()

            def __getattr__(self, name: str) -> Any:
                return getattr(self._file, name)

            def write(self, data: bytes) -> None:
                self._file.write(data[: len(data) // 2])
                self._file.flush()
                os.kill(os.getpid(), signal.SIGKILL)

        os.fdopen = lambda *given: Torn(write(*given))  # type: ignore[assignment]
        return send(self, machine, name, records)

    def blanked(self: SyncFolder, machine: str, gone: Any) -> int:
        if step():
            os.kill(os.getpid(), signal.SIGKILL)
        return blank(self, machine, gone)

    send, blank = SyncFolder.append, SyncFolder.blank
    memory = opened(folder / "two", Clock(NOW + 300))
    Transaction.append = appended  # type: ignore[method-assign, assignment]
    SyncFolder.append = sent  # type: ignore[method-assign]
    SyncFolder.blank = blanked  # type: ignore[method-assign]
    memory.sync(ME, str(folder / "shared"))
    Transaction.append = append  # type: ignore[method-assign]
    memory.close()


def state(memory: Memory) -> Any:
    """What must be the same on each machine: the memories by id, and the doubts."""
    held = {record["id"]: [record[name] for name in COMPARED] for record in memory.export(ME)}
    return held, {(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)}


def settled(folder: Path) -> Any:
    """Sync both until nothing is sent; what both hold then."""
    clock = Clock(NOW + 600)
    with opened(folder / "one", clock) as one, opened(folder / "two", clock) as two:
        for _ in range(8):
            reports = [each.sync(ME, str(folder / "shared")) for each in (two, one)]
            assert [each.problems for each in reports] == [[], []], reports
            if not any(each.sent or each.sent_forgotten for each in reports):
                break
        else:
            raise AssertionError("they never stop sending")
        first, second = state(one), state(two)
        assert first == second, (first, second)
        assert not any(line.strip() and b"hall 6" in line for line in lines(folder)), "forgotten"
    return first


def lines(folder: Path) -> list[bytes]:
    return [line for path in folder.glob("shared/*/*") for line in path.read_bytes().split(b"\n")]


class Machines:
    """The prepared machines of a folder, and what they come to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "at").mkdir()
        prepare(folder / "at")
        (folder / "at").rename(folder / "prepared")
        self._fresh()
        self.wanted = settled(folder / "at")

    def _fresh(self) -> Path:
        place = self._folder / "at"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self._folder / "prepared", place, ignore=shutil.ignore_patterns("*.sock"))
        (place / "carried").rename(place / "shared")
        return place

    def kill(self, point: int) -> bool:
        """Kill at *point* and compare; False when the sync had fewer steps."""
        place = self._fresh()
        words = [sys.executable, __file__, "--doomed", str(place), str(point)]
        ended = subprocess.run(words, check=False).returncode
        assert ended in (0, -signal.SIGKILL), ended
        found = settled(place)
        assert found == self.wanted, (point, found, self.wanted)
        return ended != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="first", type=int, default=1, help="the first step")
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--doomed", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.doomed:
        doomed(Path(args.doomed[0]), int(args.doomed[1]))
        return
    print(machine(0))
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    kills = 0
    with tempfile.TemporaryDirectory(dir=place) as folder:
        machines = Machines(Path(folder))
        for number in range(args.points):
            if not machines.kill(args.first + number * args.step):
                break
            kills += 1
            print(f"\r{kills} kills", end="", file=sys.stderr, flush=True)
    print(f"{kills} kills, each at another step of a sync; both machines came to the same")


if __name__ == "__main__":
    main()
