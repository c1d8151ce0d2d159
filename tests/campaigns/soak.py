"""No slow death: many mixed calls over stdio to one server; what grows and what slows down.

    python tests/campaigns/soak.py --calls 100000
    python tests/campaigns/soak.py --calls 10000

Prints of one run: the memory that the server has to itself (the median of each tenth, and the
growth from the end of the warm-up to the last tenth), its descriptors, the p99 of the last tenth of
the calls to that of the second tenth (the first holds the start), the answers by kind, files and
bytes. Timings mean something only as this ratio.

The warm-up is a tenth of the calls, and 4,000 at least: by then the caches are full that have a
bound (SQLite's pages, LanceDB's, words that no text holds any more, empty rows).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fuzz import Stdio, judged

WORDS = (
    *("heron", "weir", "stork", "chimney", "crane", "marsh", "boat"),
    *("harbour", "lamp", "garden", "key", "tin", "tea", "road"),
)

RAM = Path("/dev/shm")
EVERY = 100
"""Calls between two looks at the server's memory."""
WARM_UP = 4_000
"""Calls of the shortest warm-up."""
KEPT = 200
"""Memories from which on each new one has an old one forgotten: what grows then is no memory."""


def resident(pid: int) -> float:
    """MiB of memory that a process has to itself.

    Without clean pages of files: the system takes those back when it needs room. The model's
    weights are such, and the more of its words were met, the more of them have been read.
    """
    status = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    held = ("Private_Dirty:", "Swap:")
    return sum(int(row.split()[1]) for row in status.splitlines() if row.startswith(held)) / 1024


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def sentence(draw: random.Random) -> str:
    words = " ".join(draw.choices(WORDS, k=12))
    return f"Number {draw.randrange(10**9)}: {words}."


class Soak:
    """One server and the calls made to it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.server = Stdio(folder)
        self.folder = folder
        self.draw = random.Random(seed)
        self.ids: list[str] = []
        self.written = 0
        self.answers: Counter[str] = Counter()
        self.number = 0

    def call(self, name: str, **given: Any) -> dict[str, Any]:
        self.number += 1
        params = {"name": name, "arguments": given}
        message = {"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params}
        answer = self.server.ask(message, self.number)
        self.answers[judged(answer)] += 1
        return answer["result"].get("structuredContent") or {}

    def step(self) -> None:
        """Mostly recalls and writes, now and then all else; about KEPT memories stay."""
        chance = self.draw.random()
        if chance < 0.45:
            self.call("recall", query=sentence(self.draw), k=5)
        elif chance < 0.98 and len(self.ids) < KEPT:
            text = sentence(self.draw)
            told = self.call("remember", text=text, session=f"s{self.draw.randrange(50)}")
            if "id" in told:  # else busy, which is counted among the answers
                self.written += 1
                self.ids.append(told["id"])
        elif chance < 0.98:
            id = self.ids.pop(self.draw.randrange(len(self.ids)))
            self.call("forget", ids=[id], confirm=True, never_again=False)
        elif chance < 0.985:
            self.call("health")
        else:
            self.call("recall", query=self.draw.choice(self.ids or ["nothing"]))


def p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98]


def on_disk(folder: Path) -> tuple[int, int]:
    """Files and bytes under *folder*."""
    found = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(found), sum(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000, help="5,000 at least")
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the store lies; else in memory")
    args = parser.parse_args()
    where = args.folder or (RAM if RAM.is_dir() else None)
    with tempfile.TemporaryDirectory(dir=where, ignore_cleanup_errors=True) as name:
        soak = Soak(Path(name) / "data", args.seed)
        times, samples = played(soak, args.calls, time.monotonic() + 60 * args.minutes)
        print(json.dumps(report(soak, times, samples), indent=1))
        status = soak.server.close()
    sys.exit(status)


def played(soak: Soak, calls: int, end: float) -> tuple[list[float], list[tuple[float, int]]]:
    """Seconds of each call; memory and descriptors after every hundredth."""
    pid, begun = soak.server.process.pid, time.monotonic()
    times: list[float] = []
    samples: list[tuple[float, int]] = []
    for number in range(1, calls + 1):
        start = time.perf_counter()
        soak.step()
        times.append(time.perf_counter() - start)
        if number % EVERY == 0:
            samples.append((resident(pid), descriptors(pid)))
        if number % (calls // 10) == 0:
            memory = statistics.median(each for each, _ in samples[-(calls // 10 // EVERY) :])
            passed = time.monotonic() - begun
            print(f"{number}: {memory:.1f} MiB, {samples[-1][1]} descriptors, {passed:.0f} s")
            sys.stdout.flush()
        if time.monotonic() > end:
            print("time is up", flush=True)
            break
    return times, samples


def report(soak: Soak, times: list[float], samples: list[tuple[float, int]]) -> dict[str, Any]:
    tenth, warm = len(times) // 10, max(len(times) // 10, WARM_UP) // EVERY
    first = samples[warm : warm + tenth // EVERY]
    last = samples[-(tenth // EVERY) :]
    before, after = (statistics.median(each for each, _ in some) for some in (first, last))
    files, size = on_disk(soak.folder)
    return {
        "calls": len(times),
        "answers": dict(soak.answers),
        "written": soak.written,
        "live": len(soak.ids),
        "mib_after_warm_up": round(before, 1),
        "mib_at_the_end": round(after, 1),
        "growth_mib_after_warm_up": round(after - before, 1),
        "descriptors": [statistics.median_high(each for _, each in some) for some in (first, last)],
        "most_descriptors": max(each for _, each in samples),
        "p99_ms": [round(1000 * p99(times[n * tenth : (n + 1) * tenth]), 1) for n in range(10)],
        "p99_last_to_second_tenth": round(p99(times[-tenth:]) / p99(times[tenth : 2 * tenth]), 2),
        "files": files,
        "bytes": size,
    }


if __name__ == "__main__":
    main()
