"""What the signals beyond vectors and BM25 cost a recall.

Links, words nearby, words near in meaning, standing preferences, dates asked for.

Run: python tests/bench/signals.py [--memories 6000] [--questions 200] [--seed 7]. Each question is
asked with and without them, in turn, in one process; the query embedding is made beforehand. Prints
CPU time, median in milliseconds, the difference and the ratio.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from material import Asked, machine, notes, questions
from numpy.typing import NDArray

from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.recall import spreading
from memory_core.recall.request import RecallRequest
from memory_core.recall.signals import preferences
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.scoring import activation
from memory_core.storage.index import bm25
from memory_core.text.time import dates

ME = Identity("me")
SESSION = 40
LIMIT = 3.0
"""Milliseconds that the added signals may cost at 6,000 memories."""


def cost(memory: Memory, question: str) -> float:
    """CPU seconds of one recall."""
    begin = time.process_time()
    memory.recall(ME, RecallRequest(question, context=0))
    return time.process_time() - begin


def plain(terms: NDArray[np.floating], _: Any) -> NDArray[np.float64]:
    """BM25 of the text alone."""
    total: NDArray[np.float64] = terms.sum(axis=0, dtype=np.float64)
    return total


def without(memory: Memory, question: str) -> float:
    """The same recall, its added signals left out."""
    with (
        patch.object(spreading, "spread", lambda view, cues, found, allowed: found),
        patch.object(activation, "nearby_words", plain),
        patch.object(dates, "asks_when", lambda query: False),
        patch.object(bm25, "near_terms", lambda term: []),
        patch.object(preferences, "asks_for_help", lambda query: False),
    ):
        return cost(memory, question)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=6000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    print(machine(args.seed))
    texts, asked = notes(args.memories, args.seed), questions(args.questions, args.seed)
    embedder = Asked()
    embedder.prepare(texts)
    still = ConsolidationSettings(automatic=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Settings(data_dir=Path(folder), consolidation=still), embedder=embedder) as memory,
    ):
        memory.wait_ready(60)
        for number, text in enumerate(texts):
            memory.remember(ME, RememberRequest(text, session=f"s{number // SESSION}"))
        for question in asked:
            cost(memory, question)
        pairs = [(cost(memory, q), without(memory, q)) for q in asked]
    whole, bare = (statistics.median(side) * 1e3 for side in zip(*pairs, strict=True))
    added = statistics.median((a - b) * 1e3 for a, b in pairs)
    print(f"recall {whole:.2f} ms, without the added signals {bare:.2f} ms of CPU")
    print(f"added {added:.2f} ms (limit {LIMIT:.0f}), ratio {whole / bare:.2f}")


if __name__ == "__main__":
    main()
