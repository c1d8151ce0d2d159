"""What the LanceDB table costs: import, open, merge, get with and without the index, bytes.

Run: python tests/bench/table.py [--rows 1000 10000] [--seed 7]. Median and worst of the repeats in
milliseconds, in a temporary folder.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from memory_core.records import MemoryRecord, new_id
from memory_core.storage.table.table import Filter, Table

DIMENSION = 384
WORDS = ("the", "port", "of", "our", "database", "moved", "after", "lunch", "said", "Mara")


def memories(count: int, rng: np.random.Generator) -> list[MemoryRecord]:
    made = []
    for number in range(count):
        when = 1_700_000_000.0 + number * 61.123456
        text = " ".join(rng.choice(WORDS, size=30))
        made.append(
            MemoryRecord(
                id=new_id(when),
                text=text,
                agent="me",
                session=f"s{number // 40}",
                position=number % 40,
                speaker="Mara",
                role="user",
                gist=text[:60],
                tags=("database", "work"),
                entities=("Mara", "host"),
                occurred_at=when,
                recorded_at=when + 0.5,
                content_hash=f"{number:032x}",
            )
        )
    return made


def vectors(of: list[MemoryRecord], rng: np.random.Generator) -> dict[str, np.ndarray]:
    matrix = rng.normal(size=(len(of), DIMENSION)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return {memory.id: vector for memory, vector in zip(of, matrix, strict=True)}


def timed(name: str, call: Callable[[], object], repeats: int = 1) -> None:
    took = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        took.append((time.perf_counter() - start) * 1000)
    worst = f"  worst {max(took):8.1f}" if repeats > 1 else ""
    print(f"{name:<58}{statistics.median(took):9.1f} ms{worst}")


def measure(folder: Path, count: int, rng: np.random.Generator) -> None:
    print(f"\n{count:,} memories of {DIMENSION} dimensions")
    table = Table.create(folder, dimension=DIMENSION)
    made = memories(count, rng)
    table.merge(made, vectors(made, rng), applied=count)
    table.compact(grace_seconds=0)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{'bytes a memory, compacted':<58}{size / count:9.0f}")
    chosen = [made[int(n)].id for n in rng.choice(count, size=8, replace=False)]
    for size in (1, 100, 2000):
        more = memories(size, rng)
        given = vectors(more, rng)
        for what, kept in (("new", given), ("there, with vectors", given), ("there, without", {})):
            merge = functools.partial(table.merge, more, kept, applied=1)
            timed(f"merge of {size}, all {what}", merge)
    timed("compact", lambda: table.compact(grace_seconds=0))
    timed("get of 8, indexed", lambda: table.get(chosen), 30)
    for number in range(64):
        table.merge(made[number : number + 1], {}, applied=4 + number)
    timed("get of 8, after 64 more commits", lambda: table.get(chosen), 30)
    timed("applied()", table.applied, 30)
    timed("count()", table.count, 30)
    session = Filter(session="s3", live=True)
    timed("listing of 20, filtered", lambda: table.listing(where=session, limit=20), 10)
    timed("scan of everything", lambda: list(table.scan()))
    timed("open", lambda: Table.open(folder, dimension=DIMENSION), 10)
    timed("compact of 64 commits", lambda: table.compact(grace_seconds=0))
    timed("delete of one", lambda: table.merge([], {}, applied=99, deleted=chosen[:1]))
    table._open.drop_index("id_idx")
    timed("get of 8, no index", lambda: table.get(chosen), 30)
    timed("merge of 1, no index", lambda: table.merge(made[:1], {}, applied=100), 5)


def importing(whole: bool) -> str:
    """Processor time and resident memory of the first import, the median of five processes."""
    way = "nullcontext" if whole else "light_import"
    code = f"""if True:
        import time, numpy, pyarrow, pydantic
        from pathlib import Path
        from contextlib import nullcontext
        from memory_core.storage.table.lance import light_import
        pages = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * 4 / 1024
        before, started = pages(), time.process_time()
        with {way}():
            import lancedb
        print((time.process_time() - started) * 1e3, pages() - before)"""
    found = [[float(word) for word in run([sys.executable, "-c", code]).split()] for _ in range(5)]
    took, grown = (statistics.median(column) for column in zip(*found, strict=True))
    return f"{took:.0f} ms, {grown:.0f} MiB"


def run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    packages = ("lancedb", "pyarrow", "numpy")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{versions}, seed {arguments.seed}")

    for whole in (True, False):
        print(f"import of lancedb{', all of it' if whole else ', as here'}: {importing(whole)}")
    for count in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder) / "1", count, np.random.default_rng(arguments.seed))


if __name__ == "__main__":
    main()
