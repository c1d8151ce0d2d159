"""Many clients on one directory: each write is there once, seen by others, and nobody waits long.

    python tests/campaigns/clients.py [--clients 5] [--writes 10000] [--seconds 7200] [--seed 1]

Each client is a process with a whole memory of its own. It remembers one note after the other under
its keys, and now and then looks for the newest note of another client, which must be there. Half
way the process that holds maintenance.lock is killed; another one has to take over, and the client
is started again and repeats the write that got no answer. Vectors come from a toy model whose words
are known beforehand, so that the store is measured and not the model. At the end everything is
looked up. The exit status is 1 when something was lost, doubled, refused or not seen.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import numpy as np
from material import machine
from memory_scenarios import ME, shared, text_of

from memory_core.config import ConsolidationSettings, Settings
from memory_core.errors import MemoryCoreError
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning
from memory_core.storage.locks import FileLock

LOOK_EVERY = 20
"""Writes between two looks for what another client wrote."""
PATIENCE = 60.0


@dataclass(frozen=True)
class Plan:
    """What a run does, and where."""

    folder: Path
    clients: int
    writes: int
    seed: int
    lock_seconds: float
    """How long a write waits for another process before it is refused as busy."""

    @property
    def settings(self) -> Settings:
        awake = ConsolidationSettings(automatic=False)  # else it writes while it is looked through
        return Settings(data_dir=self.folder / "store", consolidation=awake)

    def opened(self) -> Memory:
        tuning = Tuning(lock_seconds=self.lock_seconds)
        return Memory(self.settings, embedder=shared.ToyEmbedder(), tuning=tuning)

    def log(self, number: int) -> Path:
        return self.folder / f"client{number}"


class Client:
    """One process; everything that it says goes to a file of its own."""

    def __init__(self, plan: Plan, number: int) -> None:
        self.plan, self.number = plan, number
        self.log = plan.log(number).open("a", buffering=1)

    def say(self, *words: object) -> None:
        self.log.write(" ".join(map(str, words)) + "\n")

    def run(self, first: int) -> None:
        with self.plan.opened() as memory:
            memory.wait_ready(PATIENCE)
            for count in range(first, self.plan.writes):
                self.write(memory, f"{self.number}.{count}")
                if count % LOOK_EVERY == LOOK_EVERY - 1:
                    self.look(memory, (self.number + 1 + count // LOOK_EVERY) % self.plan.clients)
            self.say("ended")

    def write(self, memory: Memory, key: str) -> None:
        started = time.monotonic()
        try:
            text = text_of(f"{self.plan.seed}.{key}")
            id = memory.remember(ME, RememberRequest(text, key=key, session=f"s{self.number}")).id
            self.say("stored", key, id, f"{1e3 * (time.monotonic() - started):.2f}")
        except MemoryCoreError as problem:
            self.say("refused", key, problem.code, f"{1e3 * (time.monotonic() - started):.2f}")

    def look(self, memory: Memory, other: int) -> None:
        """The newest note that *other* was told is stored must be here at the first call."""
        newest = last_stored(self.plan.log(other))
        if newest is None:
            return
        key, id = newest
        found = memory.recall(ME, RecallRequest(id))
        same = [hit.memory.text for hit in found.hits] == [text_of(f"{self.plan.seed}.{key}")]
        self.say("seen" if same else "unseen", key)


def last_stored(log: Path) -> tuple[str, str] | None:
    """Key and id of the last complete line that says that something was stored."""
    if not log.exists():
        return None
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 400))
        lines = file.read().decode().split("\n")[:-1]
    words = [line.split() for line in lines if line.startswith("stored ")]
    return (words[-1][1], words[-1][2]) if words else None


def said(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def start(plan: Plan, number: int, first: int = 0) -> int:
    """Fork a client; its process id. Nothing but imports was done before."""
    child = os.fork()
    if child:
        return child
    try:
        Client(plan, number).run(first)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


class Crowd:
    """All clients of a run, and the death of the one that keeps what is derived."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.lock = FileLock(plan.folder / "store" / "maintenance.lock")
        self.running = {start(plan, number): number for number in range(plan.clients)}
        self.failed = 0
        self.killed = False
        self.takeover = -1.0
        """Seconds until another process held the lock."""

    def watch(self, seconds: float) -> None:
        """Until all have ended; the holder is killed when half of the writes are done."""
        end = time.monotonic() + seconds
        while self.running:
            if time.monotonic() > end:
                raise TimeoutError("the clients did not end in time")
            self.reap()
            if not self.killed and self.done() > self.plan.clients * self.plan.writes / 2:
                self.kill_holder()
            time.sleep(0.05)

    def reap(self) -> None:
        for pid in list(self.running):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                del self.running[pid]
                self.failed += status != 0

    def end(self) -> None:
        """Kill the clients that still run: at the time limit, or after a failure."""
        for pid in self.running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.running = {}

    def done(self) -> int:
        found = (last_stored(self.plan.log(number)) for number in range(self.plan.clients))
        return sum(0 if last is None else 1 + int(last[0].split(".")[1]) for last in found)

    def kill_holder(self) -> None:
        pid = self.lock.owner()
        if pid not in self.running:
            return
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.killed, number = True, self.running.pop(pid)
        began = time.monotonic()
        while self.lock.owner() not in self.running:
            assert time.monotonic() < began + PATIENCE, "nobody took maintenance.lock over"
            time.sleep(0.01)
        self.takeover = time.monotonic() - began
        stored = [words for words in said(self.plan.log(number)) if words[0] == "stored"]
        first = 1 + int(stored[-1][1].split(".")[1]) if stored else 0
        self.running[start(self.plan, number, first)] = number


def verify(plan: Plan) -> dict[str, Any]:
    """What became of every write, and how long each waited."""
    words = [line for number in range(plan.clients) for line in said(plan.log(number))]
    stored = {line[1]: line[2] for line in words if line[0] == "stored"}
    waits = np.array([float(line[3]) for line in words if line[0] in ("stored", "refused")])
    with plan.opened() as memory:
        memory.wait_ready(PATIENCE)
        parts = memory._runtime.parts()
        parts.maintenance.round()
        texts = {record["id"]: record["text"] for record in memory.export(ME)}
        table = parts.store.table
        same = table is not None and set(table.ids()) == set(texts)
        status = memory.health(ME).status
    counted = Counter(texts.values())
    return {
        "writes": plan.clients * plan.writes,
        "lost": sum(texts.get(id) != text_of(f"{plan.seed}.{key}") for key, id in stored.items()),
        "missing": plan.clients * plan.writes - len(stored),
        "doubled": sum(count - 1 for count in counted.values()),
        "refused": sum(line[0] == "refused" for line in words),
        "seen": sum(line[0] == "seen" for line in words),
        "unseen": sum(line[0] == "unseen" for line in words),
        "table_agrees": same,
        "health": status,
        **{f"p{share}_ms": round(float(np.percentile(waits, share)), 1) for share in (50, 99)},
        "max_ms": round(float(waits.max()), 1),
    }


def run(plan: Plan, seconds: float) -> dict[str, Any]:
    (plan.folder / "store").mkdir(mode=0o700)
    started = time.monotonic()
    crowd = Crowd(plan)
    try:
        crowd.watch(seconds)
    finally:
        crowd.end()
    took = time.monotonic() - started
    found = verify(plan) | {"failed": crowd.failed, "takeover_s": round(crowd.takeover, 2)}
    return found | {"seconds": round(took, 1), "writes_a_second": round(found["writes"] / took)}


WRONG = ("lost", "missing", "doubled", "refused", "unseen", "failed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=5)
    parser.add_argument("--writes", type=int, default=10_000, help="of each client")
    parser.add_argument("--seconds", type=float, default=7200.0)
    parser.add_argument("--lock-seconds", type=float, default=2.0, help="until a write is busy")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="lancedb fork support")
    print(machine(args.seed), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(Path(folder), args.clients, args.writes, args.seed, args.lock_seconds)
        found = run(plan, args.seconds)
    print(json.dumps(found))
    sys.exit(any(found[name] for name in WRONG) or not found["table_agrees"])


if __name__ == "__main__":
    main()
