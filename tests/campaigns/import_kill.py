"""kill -9 at changes of the journal that an import writes; resumed, nothing is lost or doubled.

    python tests/campaigns/import_kill.py [--from 1] [--points 100]

An import of a conversation of a hundred turns is killed just before its n-th change is written, for
n from 1 on, each on a store of its own. The same import is then repeated in this process: all turns
must be there once, in order, under one run, and its undo must leave nothing. The first thing that
is wrong ends the campaign with exit status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from conftest import ToyEmbedder
from importing import conversation
from material import machine, notes

from memory_core.config import ConsolidationSettings, Settings
from memory_core.importing.request import ImportRequest
from memory_core.memory import Memory
from memory_core.records import Change, Identity
from memory_core.storage.journal.transaction import Transaction

ME = Identity("me")
TURNS = 100


def opened(store: str) -> Memory:
    still = ConsolidationSettings(automatic=False)
    memory = Memory(
        Settings(data_dir=Path(store), consolidation=still),
        clock=lambda: 2e9,
        embedder=ToyEmbedder(),
    )
    assert memory.wait_ready(60)
    return memory


def doomed(store: str, path: str, last: int) -> None:
    """Import *path* and die before the change number *last*."""
    memory, append, left = opened(store), Transaction.append, last

    def appended(self: Transaction, change: Change) -> object:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return append(self, change)

    Transaction.append = appended  # type: ignore[method-assign, assignment]
    memory.import_files(ME, ImportRequest(path))
    memory.close()


def checked(store: str, path: str, texts: list[str]) -> int:
    """How many turns the killed import had stored; raises AssertionError for anything wrong."""
    with opened(store) as memory:
        before = memory.listing(ME, limit=1000)
        report = memory.import_files(ME, ImportRequest(path))
        assert report.counts["reinforced"] == len(before), report.counts
        assert sum(report.counts.values()) == TURNS, report.counts
        turns = sorted(memory.listing(ME, limit=1000), key=lambda turn: turn.position)
        assert [turn.text for turn in turns] == texts
        assert [turn.position for turn in turns] == list(range(TURNS))
        memory.consolidate(ME, undo=report.run)
        assert memory.listing(ME, limit=1000) == []
    return len(before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="first", type=int, default=1, help="the first change")
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--doomed", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.doomed:
        doomed(args.doomed[0], args.doomed[1], int(args.doomed[2]))
        return
    print(machine(7))
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    texts, kills, resumed = notes(TURNS, 7), 0, []
    with tempfile.TemporaryDirectory(dir=place) as folder:
        path = Path(folder) / "conversations.json"
        path.write_text(json.dumps([conversation(0, texts)]), encoding="utf-8")
        for point in range(args.first, args.first + args.points):
            store = f"{folder}/{point}"
            words = [sys.executable, __file__, "--doomed", store, str(path), str(point)]
            ended = subprocess.run(words, check=False).returncode
            kills += ended == -signal.SIGKILL
            assert ended in (0, -signal.SIGKILL), ended
            resumed.append(checked(store, str(path), texts))
            print(f"\r{point} points, {kills} kills", end="", file=sys.stderr, flush=True)
    span = f"{min(resumed)} to {max(resumed)}"
    print(f"{args.points} points, {kills} kills; stored before the kill: {span}")


if __name__ == "__main__":
    main()
