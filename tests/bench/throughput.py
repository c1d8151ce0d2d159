"""How many durable writes a second: 64 concurrent callers against one at a time.

    python tests/bench/throughput.py [--rounds 3] [--callers 64] [--seed 7]

Vectors are made beforehand, so that what is measured is the walk of a write without the model:
parse, relate, commit. Every write is acknowledged after its own fsync, shared or not. The rounds
alternate, each in a fresh store; the second pair of lines is the journal alone.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from material import Prepared, machine, notes

from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.records import Change, Identity, new_id
from memory_core.remember.request import RememberRequest
from memory_core.storage.journal.journal import Journal

ME = Identity("me")
ALONE, EACH = 300, 40
"""Writes one at a time, and writes of each concurrent caller."""


def rate(write: Callable[[str], object], texts: Sequence[str], callers: int) -> float:
    """Writes a second when *callers* threads share *texts*."""
    if callers == 1:
        started = time.perf_counter()
        for text in texts:
            write(text)
        return len(texts) / (time.perf_counter() - started)
    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(write, texts[:callers]))  # threads exist from here on
        started = time.perf_counter()
        list(pool.map(write, texts[callers:]))
        return (len(texts) - callers) / (time.perf_counter() - started)


def remembering(embedder: Prepared, texts: Sequence[str], callers: int) -> float:
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Settings(data_dir=Path(folder)), embedder=embedder) as memory,
    ):
        assert memory.wait_ready(60)
        memory.remember(ME, RememberRequest("The first memory of a store costs more."))
        return rate(lambda text: memory.remember(ME, RememberRequest(text)), texts, callers)


def journalling(texts: Sequence[str], callers: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal.open(Path(folder), clock=time.time)

        def write(text: str) -> None:
            id = new_id(time.time())
            body = {"id": id, "text": text, "agent": "me"}
            journal.write(lambda tx: tx.append(Change("put", id, body, actor="me")))

        try:
            return rate(write, texts, callers)
        finally:
            journal.close()


def report(name: str, measure: Callable[[int], float], rounds: int, callers: int) -> None:
    alone, together = [], []
    for _ in range(rounds):
        alone.append(measure(1))
        together.append(measure(callers))
    one, many = statistics.median(alone), statistics.median(together)
    ratio = statistics.median(m / o for o, m in zip(alone, together, strict=True))
    print(
        f"{name}: one at a time {one:,.0f} writes/s, {callers} callers {many:,.0f} writes/s, "
        f"ratio {ratio:.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    print(machine(args.seed))
    texts = notes(args.callers * (EACH + 1), args.seed)
    embedder = Prepared()
    embedder.prepare(texts)

    def some(callers: int) -> Sequence[str]:
        return texts if callers > 1 else texts[:ALONE]

    report("remember", lambda c: remembering(embedder, some(c), c), args.rounds, args.callers)
    report("journal alone", lambda c: journalling(some(c), c), args.rounds, args.callers)


if __name__ == "__main__":
    main()
