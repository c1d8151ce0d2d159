"""Any file but the journal goes bad, over and over; everything must be served and built anew.

    python tests/campaigns/damage.py [--count 1000] [--seconds 3600] [--seed 1]

A memory with a table of several commits and a snapshot is copied, one to three of its derived files
are zeroed, cut, flipped, deleted or swapped, before it is opened or while it is open, and every
memory is recalled and listed before and after upkeep. At the end 10,000 memories are rebuilt from
the journal alone, and the time that took is printed; with `--count 0` this is all that is done.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import memory_scenarios as scenarios
from damages import WAYS, spoil
from material import machine

from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.remember.request import RememberRequest

LARGE = 10_000


def make(folder: Path) -> Any:
    """A memory with several commits in its table, a compaction and a snapshot; its account."""
    account, said = scenarios.Account(), list[list[str]]()
    memory = scenarios.open_memory(folder)
    client = scenarios.Client(memory, lambda *words: said.append([str(w) for w in words]))
    for number in range(24):
        client.remember(f"k{number}")
        if number % 5 == 4:
            client.round()
    client.compact()
    memory.close()
    account.take(said)
    return account


def serve(memory: Memory, account: Any) -> None:
    """Everything is recalled by its words, listed and given by its id."""
    for key, id in account.ids.items():
        text = scenarios.text_of(key)
        found = memory.recall(scenarios.ME, RecallRequest(text, k=3))
        texts = {hit.memory.id: hit.memory.text for hit in (*found.hits, *found.partial)}
        assert texts.get(id) == text, f"{key} is not recalled"
        assert memory.get(scenarios.ME, id).text == text
    listed = {each.id for each in memory.listing(scenarios.ME, limit=100)}
    assert listed == set(account.ids.values())


def once(whole: Path, copy: Path, account: Any, order: random.Random) -> list[str]:
    """One copy, some damage, everything looked up; what was damaged."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(whole, copy)
    running, done = order.random() < 0.3, list[str]()

    def damage(place: Path) -> None:
        for _ in range(order.randint(1, 3)):
            way = order.choice(list(WAYS))
            done.append(f"{way} {spoil(place, way, order)}")

    if not running:
        damage(copy)
    memory = scenarios.open_memory(copy)
    try:
        if running:
            serve(memory, account)
            memory._runtime.parts().maintenance.round()
            damage(copy / "table")
        serve(memory, account)
        account.verify(memory)
        serve(memory, account)
    except BaseException:
        print("  after:", "; ".join(done), "(running)" if running else "", flush=True)
        raise
    finally:
        memory.close()
    return done


def rebuild(folder: Path) -> float:
    """Seconds from opening LARGE memories, with nothing but the journal, until all is built."""
    memory = scenarios.open_memory(folder)
    with ThreadPoolExecutor(32) as pool:
        list(
            pool.map(
                lambda n: memory.remember(scenarios.ME, RememberRequest(scenarios.text_of(f"{n}"))),
                range(LARGE),
            )
        )
    memory.close()
    for part in ("table", "index"):
        shutil.rmtree(folder / part, ignore_errors=True)
    started = time.monotonic()
    memory = scenarios.open_memory(folder)
    parts = memory._runtime.parts()
    parts.maintenance.round()
    took = time.monotonic() - started
    assert parts.maintenance.problems == {}
    assert parts.store.table is not None
    assert parts.store.table.count() == LARGE
    with parts.store.reading() as view:
        vectors = view.vectors
    assert vectors is not None
    assert vectors.rows_with_vectors == LARGE
    memory.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="damaged copies")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(machine(args.seed), flush=True)
    order, started, ways = random.Random(args.seed), time.monotonic(), Counter[str]()
    copies = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        account = make(folder / "whole")
        while copies < args.count and time.monotonic() < started + args.seconds:
            done = once(folder / "whole", folder / "copy", account, order)
            ways.update(each.split()[0] for each in done)
            copies += 1
            if copies % 50 == 0:
                print(f"  {copies:,} after {time.monotonic() - started:,.0f} s", flush=True)
        told = ", ".join(f"{way} {count}" for way, count in sorted(ways.items()))
        print(f"{copies:,} damaged copies ({told}): everything served, everything built anew")
        print(f"{LARGE:,} memories rebuilt from the journal in {rebuild(folder / 'large'):.1f} s")


if __name__ == "__main__":
    main()
