"""What the second thread of numpy's BLAS costs a recall, by k.

A recall compares its best candidates, 4 k of them, with each other. As one matrix product that
wakes the other threads of OpenBLAS, which spin for 20 ms and more behind it; scoring.arrays.cosines
multiplies in tiles that stay on the calling thread. Each question is asked both ways in turn, in
one process, with a pause behind it that lets the spinning end, so that CPU time holds it; the
embedding of the question is made beforehand.

Run: python tests/bench/one_thread.py [--memories 3000] [--questions 60] [--seed 7]. Prints the BLAS
and its kernel, and by k the medians of CPU and wall time of a recall in milliseconds.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from material import Asked, fill, machine, notes, questions
from numpy.typing import NDArray

from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.recall import rehearsal, selection
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity

ME = Identity("me")
PAUSE = 0.1
"""Seconds after each recall, longer than a thread of OpenBLAS spins (2**26 cycles)."""


def kernel() -> str:
    """The version and the kernel of the OpenBLAS that numpy brings; "" for another library."""
    for path in (Path(np.__file__).parents[1] / "numpy.libs").glob("*openblas*"):
        library = ctypes.CDLL(str(path))
        names = ("get_config64_", "get_corename64_")
        for each in (getattr(library, f"scipy_openblas_{name}", None) for name in names):
            if each is None:
                return ""
            each.restype = ctypes.c_char_p
        found = [getattr(library, f"scipy_openblas_{name}")().decode() for name in names]
        return f"{' '.join(found[0].split()[:2])}, kernel {found[1]}"
    return ""


def whole(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosines as one product."""
    return left @ right.T


def ask(memory: Memory, question: str, k: int) -> tuple[float, float]:
    """CPU and wall seconds of one recall; the CPU time includes the pause behind it."""
    cpu, wall = time.process_time(), time.perf_counter()
    memory.recall(ME, RecallRequest(question, k=k, context=0))
    wall = time.perf_counter() - wall
    time.sleep(PAUSE)
    return time.process_time() - cpu, wall


def ask_whole(memory: Memory, question: str, k: int) -> tuple[float, float]:
    """The same with each comparison as one matrix product."""
    with patch.object(selection, "cosines", whole), patch.object(rehearsal, "cosines", whole):
        return ask(memory, question, k)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=3000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    print(machine(args.seed))
    print(kernel())
    texts, asked = notes(args.memories, args.seed), questions(args.questions, args.seed)
    still = ConsolidationSettings(automatic=False)
    embedder = Asked()
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Settings(data_dir=Path(folder), consolidation=still), embedder=embedder) as memory,
    ):
        memory.wait_ready(60)
        fill(memory, embedder, texts)
        for question in asked:
            ask(memory, question, 8)
        print("k    one product: CPU, wall    tiles: CPU, wall (ms)")
        for k in (8, 10, 20, 50):
            pairs = [(ask_whole(memory, q, k), ask(memory, q, k)) for q in asked]
            figures = [
                statistics.median(pair[way][clock] for pair in pairs) * 1e3
                for way in (0, 1)
                for clock in (0, 1)
            ]
            print(f"{k:<4}" + "".join(f"{each:9.2f}" for each in figures))


if __name__ == "__main__":
    main()
