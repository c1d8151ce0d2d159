"""The journal under kill -9: whatever was acknowledged is there, and it always opens.

The workers are forked from one process that has everything imported, so that a kill costs
milliseconds; each reports what was acknowledged to it through a pipe.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from memory_core.storage.journal.journal import Journal

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(sys.platform == "win32", reason="no kill -9 and no fork"),
]

ROOT = Path(__file__).parents[2]
LONG = 60.0

FORKING = """
import os, signal, sys, threading, time
from pathlib import Path
import numpy as np
from memory_core.records import Change, MemoryRecord, new_id, to_fields
from memory_core.storage.journal.journal import Journal

def say(*words):
    os.write(1, (" ".join(words) + chr(10)).encode())

def work(journal, seed):
    mine = []
    for number in range(100_000):
        id = new_id(time.time())
        fields = to_fields(MemoryRecord(id=id, text=f"text of {id} " * (1 + number % 40)))
        vectors = np.full((1 + number % 3, 64), number % 100, np.float16)

        def build(transaction):
            transaction.append(Change("put", id, fields))
            transaction.put_vectors(id, "fp", range(len(vectors)), vectors)
            transaction.save_receipt(id, {"id": id}, [id])

        journal.write(build)
        say("put", id)
        mine.append(id)
        if number % 7 == seed % 7 and len(mine) > 3:
            gone = mine.pop(0)
            change = Change("forget", gone, {"digests": [gone], "reason": ""})
            say("forgetting", gone)
            journal.write(lambda transaction: transaction.forget(change))
            say("forgot", gone)
        if number % 11 == seed % 11:
            journal.checkpoint(truncate=number % 2 == 0)

def serve(directory, seed, threads):
    journal = Journal.open(Path(directory), clock=time.time, lock_seconds=60.0)
    say("open", str(os.getpid()))
    for each in range(threads):
        threading.Thread(target=work, args=(journal, seed + each), daemon=True).start()
    signal.pause()

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    directory, seed, threads = line.split()
    if os.fork() == 0:
        try:
            serve(directory, int(seed), int(threads))
        finally:
            os._exit(1)
"""


class Workers:
    """Forks writers on one directory and keeps what they were told."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            [sys.executable, "-c", FORKING],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.put: set[str] = set()
        self.forgetting: set[str] = set()
        self.forgot: set[str] = set()
        self.alive: set[int] = set()

    def _pipe(self, pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe

    def start(self, seed: int, threads: int) -> int:
        """Fork a writer; its process id once it has opened the journal."""
        stdin = self._pipe(self.process.stdin)
        stdin.write(f"{self.directory} {seed} {threads}\n")
        stdin.flush()
        while (line := self.listen())[0] != "open":
            pass
        self.alive.add(int(line[1]))
        return int(line[1])

    def listen(self) -> list[str]:
        """The next thing that a writer says."""
        words = self._pipe(self.process.stdout).readline().split()
        assert words, "every writer is gone"
        {"put": self.put, "forgetting": self.forgetting, "forgot": self.forgot}.get(
            words[0], set()
        ).add(words[1])
        return words

    def acknowledged(self, more: int) -> None:
        """Listen until that many more writes were acknowledged."""
        goal = len(self.put) + more
        while len(self.put) < goal:
            self.listen()

    def kill(self, pid: int) -> None:
        """End a writer at once."""
        os.kill(pid, signal.SIGKILL)
        self.alive.discard(pid)
        deadline = time.monotonic() + LONG
        while Path(f"/proc/{pid}").exists() if Path("/proc/self").exists() else _running(pid):
            assert time.monotonic() < deadline
            time.sleep(0.0005)

    def drain(self) -> None:
        """Read what the dead had still said: it was acknowledged before they died."""
        marker = self.start(0, 0)
        self.kill(marker)

    def close(self) -> None:
        """End everything that was started here."""
        for pid in list(self.alive):
            self.kill(pid)
        self.process.kill()
        self.process.communicate()


def _running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    started = Workers(tmp_path)
    yield started
    started.close()


def verify(workers: Workers) -> None:
    """Everything acknowledged is there, whole and once; what was forgotten is not."""
    journal = Journal.open(workers.directory, clock=lambda: 0.0)
    rows = journal.fold(sorted(workers.put))
    assert workers.put - workers.forgetting <= rows.keys()
    assert not rows.keys() & workers.forgot
    assert all(row["text"].startswith(f"text of {id} ") for id, row in rows.items())
    vectors = journal.vectors(sorted(rows), "fp")
    assert vectors.keys() == rows.keys()
    assert all(np.unique(data).size == 1 for _, data in vectors.values())
    assert all(journal.receipt(id) == {"id": id} for id in itertools.islice(rows, 20))
    seqs = [change.seq for change in journal.changes(0, 1_000_000)]
    assert seqs == list(range(1, len(seqs) + 1))
    assert journal.check() == []
    journal.close()


def test_nothing_acknowledged_is_lost_by_kills_at_random_moments(workers: Workers) -> None:
    order = random.Random(20)
    for seed in range(12):
        pid = workers.start(seed, threads=1 + seed % 3)
        workers.acknowledged(order.randint(0, 25))
        time.sleep(order.random() * 0.004)
        workers.kill(pid)
        if seed % 4 == 3:
            workers.drain()
            verify(workers)
    assert len(workers.put) > 100
    assert len(workers.forgot) > 3


def test_a_killed_writer_does_not_hold_up_the_other(workers: Workers) -> None:
    order = random.Random(21)
    workers.start(5, threads=1)
    for seed in range(4):
        pid = workers.start(seed, threads=1)
        workers.acknowledged(order.randint(1, 10))
        workers.kill(pid)
        workers.acknowledged(10)
    for pid in list(workers.alive):
        workers.kill(pid)
    workers.drain()
    verify(workers)
