"""A whole consolidation run on a large store: how long, how much memory, and what calls feel of it.

    python tests/bench/sleep.py [--memories 1000 10000] [--calls 200] [--seed 7] [--profile]

A store is filled with notes made from the seed. `remember` and `recall` are called in turn while
nothing else goes on, and again, without pause, while a run by hand works in the same process. The
ratio of their 99th percentiles is what a run costs those who call meanwhile. The memory is what the
process held before, and at most during, the run.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from material import Prepared, fill, machine, notes, questions, settled

from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, RunReport
from memory_core.remember.request import RememberRequest

ME = Identity("me")
NEW = 20_000
"""Notes that may be remembered meanwhile."""

Times = dict[str, list[float]]


class Caller:
    """Remembers and recalls in turn, and keeps how long each took."""

    def __init__(self, memory: Memory, new: Iterator[str], asked: Iterator[str]) -> None:
        self._memory, self._new, self._asked = memory, new, asked

    def call(self, goes_on: Callable[[int], bool]) -> Times:
        taken: Times = {"remember": [], "recall": []}
        while goes_on(len(taken["recall"])):
            for name, call in (
                ("remember", lambda: self._memory.remember(ME, RememberRequest(next(self._new)))),
                ("recall", lambda: self._memory.recall(ME, RecallRequest(next(self._asked)))),
            ):
                started = time.perf_counter()
                call()
                taken[name].append(time.perf_counter() - started)
        return taken


def resident(field: str) -> float:
    """MiB of this process: "VmRSS" now, "VmHWM" at most since forget_peak()."""
    lines = (line.split() for line in Path("/proc/self/status").read_text("ascii").splitlines())
    return next(int(line[1]) for line in lines if line[0] == f"{field}:") / 1024


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", "ascii")


def run(folder: Path, memories: int, calls: int, seed: int, *, profile: bool) -> None:
    texts = notes(memories + NEW, seed)
    embedder = Prepared()
    settings = Settings(data_dir=folder, consolidation=ConsolidationSettings(automatic=False))
    with Memory(settings, embedder=embedder) as memory:
        assert memory.wait_ready(60)
        fill(memory, embedder, texts[:memories])
        settled(memory)
        caller = Caller(memory, iter(texts[memories:]), cycle(questions(1_000, seed + 1)))
        caller.call(lambda done: done < 20)
        quiet = caller.call(lambda done: done < calls)
        forget_peak()
        before, started = resident("VmRSS"), time.perf_counter()
        report, meanwhile = slept(memory, caller, profile=profile)
        took, peak = time.perf_counter() - started, resident("VmHWM")
        steps = ", ".join(f"{step.name} {step.changed}" for step in report.steps)
        print(f"{memories:,} memories: a run of {took:.1f} s ({steps})")
        print(f"  resident {before:.0f} MiB before, {peak:.0f} MiB at most")
        for name in quiet:
            show(name, quiet[name], meanwhile[name])


def slept(memory: Memory, caller: Caller, *, profile: bool) -> tuple[RunReport, Times]:
    """One run, and the calls made while it was at work."""
    done = threading.Event()
    reports: list[RunReport] = []

    def sleep() -> None:
        profiler = cProfile.Profile()
        if profile:
            profiler.enable()
        told = time.perf_counter()

        def tell(_done: int, _total: int, message: str) -> None:
            nonlocal told
            now = time.perf_counter()
            if profile:
                print(f"    {now - told:6.1f} s, then: {message}")
            told = now

        reports.append(memory.consolidate(ME, progress=tell))
        if profile:
            profiler.disable()
            pstats.Stats(profiler).sort_stats("cumtime").print_stats(45)
        done.set()

    thread = threading.Thread(target=sleep)
    thread.start()
    meanwhile = caller.call(lambda _: not done.is_set())
    thread.join()
    return reports[0], meanwhile


def show(name: str, quiet: list[float], meanwhile: list[float]) -> None:
    a, b = ([1e3 * float(np.percentile(each, p)) for p in (50, 99)] for each in (quiet, meanwhile))
    print(
        f"  {name:<9} p50 {a[0]:6.1f}  p99 {a[1]:7.1f} ms quiet; during the run p50 {b[0]:6.1f}  "
        f"p99 {b[1]:7.1f}  longest {1e3 * max(meanwhile):7.1f} ms ({len(meanwhile)} calls); "
        f"p99 ratio {b[1] / a[1]:.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--profile", action="store_true", help="tell where the run's time goes")
    args = parser.parse_args()
    print(machine(args.seed))
    for memories in args.memories:
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder), memories, args.calls, args.seed, profile=args.profile)


if __name__ == "__main__":
    main()
