"""No slow death: many mixed calls over stdio to one server; what grows and what slows down.

    python tests/campaigns/soak.py --calls 100000
    python tests/campaigns/soak.py --calls 10000

Prints, of one run: resident memory after a tenth of the calls (warm-up) and at the end, open
descriptors, the p99 of the last tenth of the calls to that of the second tenth (the first holds the
start), the files and bytes on disk and their ratio to text + metadata + one half-precision copy of
all vectors. Timings mean something only as this ratio.
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

KEPT = 200
"""Memories from which on as many are forgotten as remembered: what grows then is no memory."""


def resident(pid: int) -> float:
    """Resident MiB of a process, without what it shares with others."""
    status = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    kilobytes = [int(row.split()[1]) for row in status.splitlines() if row.startswith("Private_")]
    return sum(kilobytes) / 1024


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
        self.texts = 0
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
        elif chance < 0.98 and (len(self.ids) < KEPT or self.draw.random() < 0.5):
            text = sentence(self.draw)
            told = self.call("remember", text=text, session=f"s{self.draw.randrange(50)}")
            if "id" in told:  # else busy, which is counted among the answers
                self.written += 1
                self.texts += len(text.encode())
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
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        soak = Soak(Path(name) / "data", args.seed)
        pid, tenth, begun = soak.server.process.pid, args.calls // 10, time.monotonic()
        times: list[float] = []
        marks: list[tuple[float, int]] = []
        for number in range(1, args.calls + 1):
            start = time.perf_counter()
            soak.step()
            times.append(time.perf_counter() - start)
            if number % tenth == 0:
                marks.append((resident(pid), descriptors(pid)))
                print(f"{number}: {marks[-1][0]:.1f} MiB, {marks[-1][1]} descriptors", flush=True)
            if time.monotonic() - begun > 60 * args.minutes:
                print("time is up", flush=True)
                break
        files, size = on_disk(soak.folder)
        live = len(soak.ids)
        tenth = len(times) // 10
        report = {
            "calls": len(times),
            "answers": dict(soak.answers),
            "written": soak.written,
            "live": live,
            "growth_mib_after_warm_up": round(marks[-1][0] - marks[0][0], 1) if marks else None,
            "descriptors": [marks[0][1], marks[-1][1]] if marks else [],
            "p99_last_to_second_tenth": round(
                p99(times[-tenth:]) / p99(times[tenth : 2 * tenth]), 2
            ),
            "files": files,
            "bytes": size,
            "bytes_of_text_written": soak.texts,
        }
        print(json.dumps(report, indent=1))
        status = soak.server.close()
    sys.exit(status)


if __name__ == "__main__":
    main()
