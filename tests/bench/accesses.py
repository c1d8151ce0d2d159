"""What rehearsal costs a recall: noting accesses and co-recall, beside journalling them at once.

Run: python tests/bench/accesses.py [--memories 2000] [--recalls 500] [--seed 7]. Each recall notes
eight memories and associates five. Prints CPU milliseconds of noting (median, p99), of one commit
at once in its place, and how many journal changes and versions of the table each of them made.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from material import Prepared, fill, machine, notes, settled

from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.records import Identity

ME = Identity("me")
LIMIT = 0.1
"""Milliseconds that rehearsal may cost on the path of a recall."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=2000)
    parser.add_argument("--recalls", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    print(machine(args.seed))
    texts = notes(args.memories, args.seed)
    embedder = Prepared()
    still = ConsolidationSettings(automatic=False)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), consolidation=still)
        with Memory(settings, embedder=embedder) as memory:
            memory.wait_ready(60.0)
            fill(memory, embedder, texts)
            settled(memory)
            ids = [record["id"] for record in memory.export(ME)]
            return compare(memory, ids, args.recalls, random.Random(args.seed))


def compare(memory: Memory, ids: list[str], recalls: int, drawn: random.Random) -> int:
    parts = memory._runtime.parts()
    upkeep = parts.maintenance
    assert parts.store.table is not None
    upkeep.accesses.flush()
    chosen = [drawn.sample(ids, 8) for _ in range(recalls)]
    changes = parts.store.journal.last()
    version = parts.store.table.versions()
    noted = []
    for each in chosen:
        start = time.thread_time_ns()
        upkeep.accesses.associate(each[:5])
        upkeep.accesses.record(each)
        noted.append((time.thread_time_ns() - start) / 1e6)
    between = parts.store.journal.last() - changes, parts.store.table.versions() - version
    upkeep.accesses.flush()
    folded = parts.store.journal.last() - changes
    at_once = []
    for each in chosen[: max(1, recalls // 10)]:
        start = time.thread_time_ns()
        upkeep.accesses.associate(each[:5])
        upkeep.accesses.record(each)
        upkeep.accesses.flush()
        at_once.append((time.thread_time_ns() - start) / 1e6)
    median, late = np.quantile(noted, [0.5, 0.99])
    print(f"{recalls} recalls, {len(ids)} memories")
    print(f"noting: median {median:.4f} ms, p99 {late:.4f} ms of CPU, limit {LIMIT} ms")
    print(f"meanwhile {between[0]} journal changes and {between[1]} versions of the table")
    print(f"folded in later: {folded} journal changes in one commit")
    print(f"a commit at once in its place: median {np.median(at_once):.2f} ms of CPU")
    return int(median > LIMIT or any(between))


if __name__ == "__main__":
    sys.exit(main())
