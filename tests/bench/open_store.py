"""How long it takes to open a store, split into what is done on the way.

    python tests/bench/open_store.py [--memories N] [--rounds N] [--keep FOLDER]

A store is filled through its own door, with vectors of MiniLM's size. Then fresh processes open it,
with a snapshot of the vectors and without; medians are printed, with machine and versions. "Other"
is what no part accounts for. The idle figure is one round of maintenance when nothing was new.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parent.parent.parent
DIMENSION = 384
WORDS = [
    "heron",
    "weir",
    "mill",
    "river",
    "bridge",
    "harbour",
    "ferry",
    "oven",
    "bread",
    "rye",
    "sourdough",
    "letter",
    "port",
    "server",
    "release",
    "birch",
    "lane",
    "garden",
    "water",
    "summer",
    "winter",
    "storm",
    "rudder",
    "sail",
    "boat",
    "lake",
    "market",
    "price",
    "invoice",
    "train",
    "ticket",
    "platform",
    "doctor",
    "appointment",
    "allergy",
    "nuts",
    "recipe",
    "dinner",
    "birthday",
    "present",
    "book",
    "chapter",
]


def fill(folder: Path, number: int) -> None:
    """*number* memories in conversations of twenty turns, half of them with passages."""
    import numpy as np

    from memory_core.records import Change, MemoryRecord, content_hash, new_id, to_fields

    store, order, now = opened(folder), random.Random(1), 1_700_000_000.0
    store.adopt("minilm", "bench", DIMENSION)
    vectors = clustered(np.random.default_rng(1), 3 * number)
    for start in range(0, number, 500):

        def build(tx: Any, start: int = start) -> None:
            for each in range(start, min(start + 500, number)):
                text = f"{each}: " + " ".join(order.choices(WORDS, k=order.randint(6, 40))) + "."
                at = now + 60.0 * each
                memory = MemoryRecord(
                    id=new_id(at),
                    text=text,
                    agent="me",
                    session=f"s{each // 20}",
                    position=each % 20,
                    speaker=("Ana", "Ben")[each % 2],
                    role=("user", "assistant")[each % 2],
                    entities=("Birch Lane",) if each % 9 == 0 else (),
                    tags=(WORDS[each % 40],),
                    occurred_at=at,
                    recorded_at=at,
                    content_hash=content_hash(text),
                )
                tx.append(Change("put", memory.id, to_fields(memory)))
                parts = range(1 + 2 * (each % 2))
                rows = vectors[3 * each : 3 * each + len(parts)]
                tx.put_vectors(memory.id, "bench", parts, rows)

        store.commit(build)
    store.journal.checkpoint(truncate=True)
    store.close()


def clustered(random: Any, number: int) -> Any:
    """*number* unit vectors around 400 centres, as texts have their subjects."""
    import numpy as np

    centres = np.random.default_rng(0).normal(size=(400, DIMENSION)).astype(np.float32)
    noise = random.normal(size=(number, DIMENSION)).astype(np.float32)
    vectors = centres[random.integers(0, len(centres), number)] + 0.8 * noise
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def opened(folder: Path) -> Any:
    from memory_core.representation import index_text
    from memory_core.storage.store import MemoryStore

    return MemoryStore(folder, clock=time.time, index_text=index_text)


def snapshot(folder: Path) -> None:
    from memory_core.maintenance.snapshots import Snapshots

    store = opened(folder)
    store.catch_up()
    Snapshots(store).write()
    store.close()


def measure(folder: Path) -> dict[str, float]:
    """Milliseconds of each part of opening, of the first lexical search and of an idle round."""
    begun = time.perf_counter()
    from memory_core import representation
    from memory_core.storage import store as store_module
    from memory_core.storage.index import vector_source
    from memory_core.storage.index.bm25 import LexicalIndex
    from memory_core.storage.index.columns import Columns
    from memory_core.storage.index.graph import Graph
    from memory_core.storage.journal.journal import Journal

    spent = {"imports": time.perf_counter() - begun}
    parts: list[tuple[str, Any, str]] = [
        ("journal read", Journal, "changes"),
        ("columns", Columns, "put"),
        ("graph", Graph, "put"),
        ("index text", representation, "index_text"),
        ("lexical", LexicalIndex, "put"),
        ("vectors", vector_source.VectorSource, "load"),
        ("batches", store_module.Replayer, "batch"),
    ]
    with ExitStack() as patches:
        for name, owner, attribute in parts:
            timed = _timed(getattr(owner, attribute), name, spent)
            patches.enter_context(mock.patch.object(owner, attribute, timed))
        start = time.perf_counter()
        store = opened(folder)
        spent["journal open"] = time.perf_counter() - start
        store.catch_up()
        total = time.perf_counter() - start
    spent["other"] = total - sum(value for name, value in spent.items() if name != "imports")
    spent["open"] = total
    start = time.perf_counter()
    with store.reading() as view:
        view.lexical.match("which heron waits at the harbour")
    spent["first lexical search"] = time.perf_counter() - start
    spent["idle round"] = _idle(store)
    return {name: 1000 * value for name, value in spent.items()}


def _timed(inner: Callable[..., Any], name: str, spent: dict[str, float]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return inner(*arguments, **options)
        finally:
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - start

    return call


def _idle(store: Any) -> float:
    from memory_core.config import Settings
    from memory_core.embedding.embedder import EmbedderGate
    from memory_core.maintenance.loop import Maintenance
    from memory_core.representation import embed

    gate = EmbedderGate(lambda: None)  # type: ignore[arg-type,return-value]
    settings = Settings(data_dir=store.directory)
    upkeep = Maintenance(store, gate, settings, time.time, embed)
    for _ in range(4):
        upkeep.round()
    start = time.perf_counter()
    for _ in range(200):
        upkeep.round()
    upkeep.stop()
    return (time.perf_counter() - start) / 200


def run(folder: Path, rounds: int) -> dict[str, float]:
    """Medians over fresh processes."""
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]\n"
    code += "import open_store, json, pathlib\n"
    code += "print(json.dumps(open_store.measure(pathlib.Path(sys.argv[1]))))"
    found = []
    for _ in range(rounds):
        command = [sys.executable, "-c", code, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    return {name: statistics.median(each[name] for each in found) for name in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="fill this folder, or use it as it is")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    versions = ("numpy", "apsw", "faiss-cpu", "lancedb")
    told = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in versions)
    print(f"{platform.machine()}, Python {platform.python_version()}, {told}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary) / "store"
        if not folder.exists():
            fill(folder, options.memories)
        columns = {"vectors from the journal": run(folder, options.rounds)}
        snapshot(folder)
        columns["vectors from a snapshot"] = run(folder, options.rounds)
    print(f"\nmilliseconds, {options.memories:,} memories" + "".join(f"  {c:>26}" for c in columns))
    for name in columns["vectors from the journal"]:
        print(f"{name:36}" + "".join(f"  {column[name]:26.2f}" for column in columns.values()))


if __name__ == "__main__":
    main()
