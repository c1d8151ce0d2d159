"""The whole memory under kill -9: what was acknowledged is there, once, and it always opens.

Two processes at a time remember, recall and forget on one directory, with LanceDB, FAISS and
snapshots at work behind them, and are killed at random moments.
"""

from __future__ import annotations

import pickle
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.maintenance.loop import MaintenanceTuning
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning
from tests.views import view_of

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(sys.platform == "win32", reason="no kill -9"),
]

ROOT = Path(__file__).parents[2]
ME = Identity("me")
TUNING = Tuning(
    lock_seconds=60.0,  # no writer gives up because the machine is busy
    maintenance=MaintenanceTuning(
        round_seconds=0.02, snapshot_changes=30, compact_commits=8, table_batch=5
    ),
)

WORKER = """
import importlib.util, os, pickle, sys, threading
from pathlib import Path
from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

spec = importlib.util.spec_from_file_location("conftest", "tests/conftest.py")
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)
import faiss, lancedb

ME = Identity("me")
directory, seed = sys.argv[1:3]
tuning = pickle.loads(bytes.fromhex(sys.argv[3]))

def say(*words):
    os.write(1, (" ".join(words) + chr(10)).encode())

def work(memory, thread):
    mine = []
    for number in range(10_000):
        key = f"{seed}.{thread}.{number}"
        say("trying", key)
        text = f"heron number {key} waits by the weir"
        told = memory.remember(ME, RememberRequest(text, key=key, session=thread))
        say("stored", key, told.id)
        mine.append(told.id)
        if number % 4 == 3:
            gone = mine.pop(0)
            say("forgetting", gone)
            memory.forget(ME, ids=[gone], confirm=True, never_again=False)
            say("forgot", gone)
        if number % 3 == 0:
            found = memory.recall(ME, RecallRequest(f"heron number {key}", k=3))
            assert told.id in [hit.memory.id for hit in (*found.hits, *found.partial)]

sys.stdin.readline()
memory = Memory(
    Settings(data_dir=Path(directory)), embedder=shared.ToyEmbedder(), tuning=tuning
)
memory.wait_ready(120)
threads = [threading.Thread(target=work, args=(memory, name), daemon=True) for name in "ab"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
say("ended")
"""


class Log:
    """What the writers said: tried keys, ids by key, ids that were being or are forgotten."""

    def __init__(self) -> None:
        self.tried: set[str] = set()
        self.stored: dict[str, str] = {}
        self.forgetting: set[str] = set()
        self.forgot: set[str] = set()

    def take(self, line: str) -> None:
        word, *rest = line.split()
        assert word != "ended", "a writer failed"
        if word == "trying":
            self.tried.add(rest[0])
        elif word == "stored":
            self.stored[rest[0]] = rest[1]
        else:
            getattr(self, word).add(rest[0])


class Writer:
    """One process, started and waiting for the word to go."""

    def __init__(self, directory: Path, seed: int, log: Log) -> None:
        self.log = log
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(directory), str(seed), pickle.dumps(TUNING).hex()],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def listen(self, stored: int) -> None:
        """Until so many more writes were acknowledged to it."""
        assert self.process.stdout is not None
        goal = len(self.log.stored) + stored
        while len(self.log.stored) < goal:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read() if self.process.stderr else ""
            self.log.take(line)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        complained = self.process.stderr.read()
        assert "Traceback" not in complained, complained
        for line in self.process.stdout.read().splitlines(keepends=True):
            if line.endswith("\n"):
                self.log.take(line)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def crew(directory: Path) -> Iterator[tuple[Log, list[Writer]]]:
    log = Log()
    writers = [Writer(directory, seed, log) for seed in range(2)]
    yield log, list(writers)
    for writer in writers:
        if writer.process.poll() is None:
            writer.process.kill()
        writer.process.communicate()


def verify(memory: Memory, log: Log) -> None:
    """Everything acknowledged is there, once, in every part; what was forgotten is not."""
    records = {record["id"]: record for record in memory.export(ME)}
    acknowledged = set(log.stored.values())
    assert acknowledged - log.forgetting <= records.keys()
    assert not records.keys() & log.forgot
    counted = Counter(record["text"] for record in records.values())
    assert set(counted.values()) <= {1}
    possible = {f"heron number {key} waits by the weir" for key in log.tried}
    assert counted.keys() <= possible
    for key, id in log.stored.items():
        if id in records:
            assert records[id]["text"] == f"heron number {key} waits by the weir"
    parts = memory._runtime.parts()
    for _ in range(3):
        parts.maintenance.round()
    assert parts.maintenance.problems == {}
    assert not parts.maintenance.erasing
    assert parts.store.table is not None
    assert sorted(parts.store.table.ids()) == sorted(records)
    vectors = view_of(parts.store).vectors
    assert vectors is not None
    assert vectors.rows_with_vectors == len(records)
    assert [record["id"] for record in memory.export(ME)] == list(records)


def retry(memory: Memory, log: Log) -> None:
    """The clients that got no answer ask again under their keys."""
    for key in sorted(log.tried):
        id = log.stored.get(key)
        if id in log.forgetting:
            continue
        text = f"heron number {key} waits by the weir"
        told = memory.remember(ME, RememberRequest(text, key=key, session=key.split(".")[1]))
        assert id in (None, told.id)
        log.stored[key] = told.id


@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_by_kills_at_random_moments(
    crew: tuple[Log, list[Writer]], open_memory: Any, clock: Any
) -> None:
    log, writers = crew
    order = random.Random(30)
    for writer in writers:
        writer.go()
    for writer in writers:
        writer.listen(order.randint(5, 9))
    for writer in writers:
        time.sleep(order.random() * 0.01)
        writer.kill()
    clock.now = time.time()  # the writers' clock: one that is behind it is degraded
    memory = open_memory("store", tuning=TUNING)
    verify(memory, log)
    retry(memory, log)
    verify(memory, log)
    assert memory.health(ME, repair=True).status == "ok"
    memory.close()
    assert len(log.stored) > 16
    assert log.forgot
