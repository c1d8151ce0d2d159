"""The longest call while a snapshot of a large store is written.

    python tests/bench/freeze.py [--memories 100000] [--rounds 3] [--seconds 20] [--seed 7]

A store is filled through the journal, with made vectors of MiniLM's size, so that no model is
needed. One thread recalls and one remembers, each call after the other: first in peace, then while
snapshots are written again and again. Printed are the median, the 99th percentile and the longest
call of both, and the seconds that a snapshot took. Times of the clock: a wait is what is measured.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import open_store
from material import machine, notes, questions, settled

from memory_core.config import ConsolidationSettings, Settings
from memory_core.embedding.base import Profile
from memory_core.maintenance.loop import MaintenanceTuning
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

ME = Identity("me")
NEVER = 10**9


class Made:
    """An embedder whose vectors follow from a hash of the text; it costs nothing."""

    name, fingerprint, dimension = "minilm", "bench", open_store.DIMENSION
    profile = Profile(dimension=open_store.DIMENSION)

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        vector: NDArray[np.float32] = open_store.clustered(np.random.default_rng(seed), 1)[0]
        return vector.astype(np.float32)


class Caller(threading.Thread):
    """Calls again and again until it is stopped, and notes how long each call takes."""

    def __init__(self, call: Callable[[str], object], words: Sequence[str]) -> None:
        super().__init__()
        self._call, self._words = call, words
        self._stop_asked = threading.Event()
        self.milliseconds: list[float] = []

    def run(self) -> None:
        for word in self._words:
            if self._stop_asked.is_set():
                break
            started = time.perf_counter()
            self._call(word)
            self.milliseconds.append(1000 * (time.perf_counter() - started))

    def end(self) -> list[float]:
        self._stop_asked.set()
        self.join()
        return self.milliseconds


def during(memory: Memory, seed: int, work: Callable[[], None]) -> dict[str, list[float]]:
    """The milliseconds of the calls made while *work* is done, by kind of call."""
    callers = {
        "recall": Caller(
            lambda text: memory.recall(ME, RecallRequest(text)), questions(100_000, seed)
        ),
        "remember": Caller(
            lambda text: memory.remember(ME, RememberRequest(text)), notes(20_000, seed)
        ),
    }
    for caller in callers.values():
        caller.start()
    try:
        work()
    finally:
        taken = {name: caller.end() for name, caller in callers.items()}
    return taken


def shown(title: str, taken: dict[str, list[float]]) -> None:
    for name, times in taken.items():
        middle, late = np.percentile(times, [50, 99])
        told = f"p50 {middle:.1f}, p99 {late:.1f}, longest {max(times):.1f} ms, {len(times)} calls"
        print(f"{title}, {name}: {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3, help="snapshots that are written")
    parser.add_argument("--seconds", type=float, default=20.0, help="of calls in peace")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--keep", type=Path, help="folder to fill once, and use again")
    args = parser.parse_args()
    print(machine(args.seed), flush=True)
    with tempfile.TemporaryDirectory() as place:
        folder = args.keep or Path(place) / "store"
        if not (folder / "journal.db").exists():
            open_store.fill(folder, args.memories)
        settings = Settings(data_dir=folder, consolidation=ConsolidationSettings(automatic=False))
        upkeep = MaintenanceTuning(snapshot_changes=NEVER)
        embedder: Any = Made()
        with Memory(settings, embedder=embedder, tuning=Tuning(600, maintenance=upkeep)) as memory:
            assert memory.wait_ready(600)
            print(f"{memory.stats(ME)['memories']:,} memories", flush=True)
            snapshots = memory._runtime.parts().maintenance.snapshots
            settled(memory, 600)
            snapshots.write()
            took: list[float] = []

            def write() -> None:
                for _ in range(args.rounds):
                    started = time.perf_counter()
                    snapshots.write()
                    took.append(time.perf_counter() - started)

            shown("in peace", during(memory, args.seed, lambda: time.sleep(args.seconds)))
            shown("snapshots", during(memory, args.seed + 1, write))
            print(f"a snapshot took {min(took):.1f} to {max(took):.1f} s")


if __name__ == "__main__":
    main()
