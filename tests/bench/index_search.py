"""Search in the indexes alone: how long one vector search and one lexical search take.

Run: python tests/bench/index_search.py [--large]

Seeded data. Vectors lie in clusters, three to a memory (one whole, two passages), 384 dimensions.
Each figure is of one thread, over 200 queries; --large adds a million vectors (3 GB, minutes).
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))

from memory_core.storage.index.bm25 import LexicalIndex, best
from memory_core.storage.index.vectors import EXACT_LIMIT, VectorIndex

DIMENSION, QUERIES, DEPTH = 384, 200, 50
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def vectors(count: int) -> NDArray[np.float16]:
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((max(10, count // 60), DIMENSION), np.float32)
    result = np.empty((count, DIMENSION), np.float16)
    for start in range(0, count, 10_000):
        near = centres[rng.integers(0, len(centres), min(10_000, count - start))]
        part = near + 0.7 * rng.standard_normal(near.shape, np.float32)
        result[start : start + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return result


def queries(held: NDArray[np.float16]) -> NDArray[np.float32]:
    rng = np.random.default_rng(8)
    near = held[rng.integers(0, len(held), QUERIES)].astype(np.float32)
    near += 0.03 * rng.standard_normal(near.shape, np.float32)
    return near / np.linalg.norm(near, axis=1, keepdims=True)


def timed(call: Callable[[Any], object], arguments: Any) -> str:
    """p50, p95 and p99 in milliseconds of *call* over *arguments*, after ten calls to warm up."""
    for argument in arguments[:10]:
        call(argument)
    taken = []
    for argument in arguments:
        start = time.perf_counter()
        call(argument)
        taken.append(1e3 * (time.perf_counter() - start))
    return " / ".join(f"{np.percentile(taken, share):.3f}" for share in (50, 95, 99))


def seconds(call: Callable[[], object]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def recall(index: VectorIndex, held: NDArray[np.float16], points: NDArray[np.float32]) -> float:
    """Recall@10 against numpy over whole vectors, on 50 queries."""
    whole = held[::3].astype(np.float32)
    truth = np.argpartition(-(points[:50] @ whole.T), 10, axis=1)[:, :10]
    found = [index.search(point, 10, part="whole")[0] for point in points[:50]]
    return float(np.mean([np.isin(t, f).mean() for t, f in zip(truth, found, strict=True)]))


def vector_lines(memories: int) -> Iterator[str]:
    held = vectors(3 * memories)
    points = queries(held)
    rows, parts = np.repeat(np.arange(memories), 3), np.tile([0, 1, 2], memories)
    allowed = np.arange(memories) % 2 == 0
    for limit in (len(held), EXACT_LIMIT):
        index = VectorIndex(DIMENSION, exact_limit=limit)
        built, _ = seconds(lambda index=index: index.put_many(rows, parts, held))
        yield (
            f"{memories:>9,} memories, {len(index):>9,} vectors, {index.method}"
            f" {index.fallback}\n"
            f"    build {built * 1e3:,.0f} ms, recall@10 {recall(index, held, points):.4f}"
        )
        for part in ("whole", "passage"):
            every = timed(lambda q, p=part, i=index: i.search(q, DEPTH, part=p), points)
            half = timed(
                lambda q, p=part, i=index: i.search(q, DEPTH, part=p, allowed=allowed), points
            )
            yield f"    {part:<8} {every} ms, half of the rows allowed {half} ms"
        wrote, read = snapshot_seconds(index, limit)
        yield f"    snapshot written in {wrote * 1e3:,.0f} ms, mapped in {read * 1e3:,.0f} ms"


def snapshot_seconds(index: VectorIndex, limit: int) -> tuple[float, float]:
    """Seconds to write a snapshot of *index* and to load it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        wrote, _ = seconds(lambda: index.frozen().write(path, sequence=1, fingerprint="bench"))
        read, _ = seconds(lambda: VectorIndex.load(path, fingerprint="bench", exact_limit=limit))
    return wrote, read


def texts(count: int) -> list[str]:
    """Twenty words each; the word of rank r is drawn with weight 1 / (r + 30), as in speech without
    its function words."""
    rng = np.random.default_rng(9)
    words = ["".join(rng.choice(LETTERS, rng.integers(3, 9))) for _ in range(20_000)]
    weights = 1 / (np.arange(len(words)) + 30)
    drawn = rng.choice(len(words), (count, 20), p=weights / weights.sum())
    return [" ".join(words[place] for place in row) for row in drawn]


def lexical_lines(count: int) -> Iterator[str]:
    held = texts(count)
    index = LexicalIndex()
    built, _ = seconds(lambda: [index.put(row, text) for row, text in enumerate(held)])
    asked = [" ".join(text.split()[:8]) for text in held[:QUERIES]]
    searched = timed(lambda query: best(index.match(query).scores, DEPTH), asked)
    yield f"{count:>9,} texts, build {built:.2f} s, search of 8 words {searched} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="also a million vectors")
    large = parser.parse_args().large
    print(
        f"python {platform.python_version()}, {platform.machine()}, numpy {np.__version__},"
        f" faiss-cpu {version('faiss-cpu')}; p50 / p95 / p99 of {QUERIES} searches, k {DEPTH}"
    )
    for memories in (1_000, 10_000, 33_333, *((333_333,) if large else ())):
        for line in vector_lines(memories):
            print(line, flush=True)
    for count in (1_000, 10_000, 60_000):
        for line in lexical_lines(count):
            print(line, flush=True)


if __name__ == "__main__":
    main()
