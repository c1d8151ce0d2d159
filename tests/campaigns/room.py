"""What many memories take on the disk: files, and bytes for each byte that has to be kept.

    python tests/campaigns/room.py --writes 100000

Remembers so many different memories through the real journal, table, snapshots and compaction, with
upkeep in its thread, and prints files and bytes to the sum of text, metadata (a memory as it is
exported, without empty fields) and one half-precision copy of all vectors: the most that was seen
on the way, and what is left when upkeep has caught up. Vectors come from the text's hash, so that
no model is waited for.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from soak import RAM, WORDS, on_disk

from memory_core.config import Settings
from memory_core.embedding.embedder import Profile
from memory_core.memory import Memory
from memory_core.records import Identity

WHO = Identity("me", "", frozenset({"read", "write"}))
LOOKS = 50
"""Looks at the disk on the way."""
DIMENSION = 384


class Hashed:
    """A direction of its own for each text, as many numbers as the default model has."""

    name = fingerprint = "hashed"
    dimension = DIMENSION
    profile = Profile()

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.query(text) for text in texts])

    @functools.lru_cache(maxsize=64)  # noqa: B019  one lives as long as the program
    def query(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        drawn = np.random.default_rng(seed).normal(size=DIMENSION)
        return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def said(draw: random.Random, number: int) -> dict[str, Any]:
    """One memory to tell: 8 to 60 words in one to four sentences, some with tags."""
    sentences = [
        " ".join(draw.choices(WORDS, k=draw.randint(7, 15))).capitalize() + "."
        for _ in range(draw.randint(1, 4))
    ]
    return {
        "text": f"Number {number}: {' '.join(sentences)}",
        "session": f"conversation {number // 40}",
        "speaker": draw.choice(("Mara", "")),
        "tags": draw.sample(("garden", "house", "boat"), draw.randint(0, 2)),
    }


def kept(memory: Memory) -> int:
    """Bytes of text and metadata of all memories, and of their vectors in half precision."""
    records = (
        {name: value for name, value in record.items() if value or value == 0}
        for record in memory.export(WHO)
    )
    told = sum(len(json.dumps(record, ensure_ascii=False).encode()) for record in records)
    vectors = memory._engine.parts().store.vectors
    assert vectors is not None
    return told + 2 * DIMENSION * len(vectors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the store lies; else in memory")
    args = parser.parse_args()
    draw, where = random.Random(args.seed), args.folder or (RAM if RAM.is_dir() else None)
    with tempfile.TemporaryDirectory(dir=where) as name:
        folder, begun = Path(name) / "data", time.monotonic()
        seen: list[tuple[int, int]] = []
        took: list[float] = []
        with Memory(Settings(data_dir=folder), embedder=Hashed()) as memory:
            memory.wait_ready(60)
            for number in range(1, args.writes + 1):
                start = time.perf_counter()
                memory.remember(WHO, **said(draw, number))
                took.append(time.perf_counter() - start)
                if number % max(1, args.writes // LOOKS) == 0:
                    seen.append(on_disk(folder))
                    print(f"{number}: {seen[-1]}, {time.monotonic() - begun:.0f} s", flush=True)
            store = memory._engine.parts().store
            while store.behind:
                time.sleep(1.0)
            settled = on_disk(folder)
            needed = kept(memory)
        files, size = on_disk(folder)
        report = {
            "writes": args.writes,
            "bytes_kept": needed,
            "most_files": max(count for count, _ in seen),
            "files_when_level": settled[0],
            "bytes_when_level_to_kept": round(settled[1] / needed, 2),
            "files_when_closed": files,
            "bytes_when_closed_to_kept": round(size / needed, 2),
            "most_bytes_to_kept_at_the_end": round(max(each for _, each in seen) / needed, 2),
            "median_ms_a_write": round(1000 * statistics.median(took), 1),
        }
        print(json.dumps(report, indent=1))
        for path in sorted(folder.iterdir()):
            inside = on_disk(path) if path.is_dir() else (1, path.stat().st_size)
            print(f"{path.name:20} {inside[0]:5} files {inside[1] / 2**20:8.1f} MiB")


if __name__ == "__main__":
    main()
