"""What many memories take on the disk: files, and bytes for each byte that has to be kept.

    python tests/campaigns/room.py --writes 100000

Writes so many different memories, twenty a transaction, with vectors of the default model's size
for the whole and each sentence, to the real journal; table, snapshots and compaction follow in the
thread of upkeep. Prints files and bytes to the sum of text, metadata (a memory as it is exported,
without empty fields) and one half-precision copy of all vectors: the most that was seen on the way,
and what is left when upkeep has caught up. The reserve of 8 MiB is counted too.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from soak import RAM, WORDS, on_disk

from memory_core import records
from memory_core.config import Settings
from memory_core.embedding.base import Profile
from memory_core.memory import Memory
from memory_core.records import Change, Identity
from memory_core.storage.journal.journal import Transaction

WHO = Identity("me", "", frozenset({"read", "write"}))
LOOKS = 50
"""Looks at the disk on the way."""
TOGETHER = 20
"""Memories a transaction."""
DIMENSION = 384


class Given:
    """A model that nothing is asked of, with as many numbers as the default one."""

    name = fingerprint = "given"
    dimension = DIMENSION
    profile = Profile()

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full((len(texts), DIMENSION), DIMENSION**-0.5, np.float32)

    def query(self, text: str) -> NDArray[np.float32]:
        return np.full(DIMENSION, DIMENSION**-0.5, np.float32)


def said(draw: random.Random, number: int) -> tuple[records.MemoryRecord, int]:
    """One memory of 8 to 60 words, some with tags, and in how many sentences, one to four."""
    sentences = [
        " ".join(draw.choices(WORDS, k=draw.randint(7, 15))).capitalize() + "."
        for _ in range(draw.randint(1, 4))
    ]
    text, now = f"Number {number}: {' '.join(sentences)}", time.time()
    memory = records.MemoryRecord(
        id=records.new_id(now),
        text=text,
        agent=WHO.agent,
        session=f"conversation {number // 40}",
        position=number % 40,
        speaker=draw.choice(("Mara", "")),
        tags=tuple(draw.sample(("garden", "house", "boat"), draw.randint(0, 2))),
        importance=round(draw.random(), 2),
        occurred_at=now,
        recorded_at=now,
        content_hash=records.content_hash(text),
    )
    return memory, len(sentences)


def write(memory: Memory, told: Sequence[tuple[records.MemoryRecord, int]], draw: Any) -> None:
    """All of *told* in one transaction, with random vectors."""
    store = memory._runtime.parts().store

    def build(tx: Transaction) -> None:
        for each, sentences in told:
            parts = [0] if sentences == 1 else list(range(sentences + 1))
            drawn = draw.normal(size=(len(parts), DIMENSION))
            unit = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
            tx.append(Change("put", each.id, records.to_fields(each)))
            tx.put_vectors(each.id, store.fingerprint, parts, unit.astype(np.float16))

    store.commit(build)


def kept(memory: Memory) -> int:
    """Bytes of text and metadata of all memories, and of their vectors in half precision."""
    records = (
        {name: value for name, value in record.items() if value or value == 0}
        for record in memory.export(WHO)
    )
    told = sum(len(json.dumps(record, ensure_ascii=False).encode()) for record in records)
    with memory._runtime.parts().store.reading() as view:
        vectors = view.vectors
    assert vectors is not None
    return told + 2 * DIMENSION * len(vectors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the store lies; else in memory")
    args = parser.parse_args()
    draw, vectors = random.Random(args.seed), np.random.default_rng(args.seed)
    where = args.folder or (RAM if RAM.is_dir() else None)
    with tempfile.TemporaryDirectory(dir=where) as name:
        folder, begun = Path(name) / "data", time.monotonic()
        seen: list[tuple[int, int]] = []
        with Memory(Settings(data_dir=folder), embedder=Given()) as memory:
            memory.wait_ready(60)
            for number in range(0, args.writes, TOGETHER):
                write(memory, [said(draw, number + n) for n in range(TOGETHER)], vectors)
                if number % max(1, args.writes // LOOKS) < TOGETHER:
                    seen.append(on_disk(folder))
                    print(f"{number}: {seen[-1]}, {time.monotonic() - begun:.0f} s", flush=True)
            store = memory._runtime.parts().store
            while store.unsynced:
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
        }
        print(json.dumps(report, indent=1))
        for path in sorted(folder.iterdir()):
            inside = on_disk(path) if path.is_dir() else (1, path.stat().st_size)
            print(f"{path.name:20} {inside[0]:5} files {inside[1] / 2**20:8.1f} MiB")


if __name__ == "__main__":
    main()
