"""How long one `remember` and one `recall` take, what they spend it on, and the memory of a server.

    python tests/bench/calls.py [--memories 1000 10000] [--calls 200] [--seed 7]

A store is filled with notes made from the seed. Then new notes are remembered, one at a time and
durably, and questions are asked, in a process that has everything loaded, while maintenance goes
on as always. Parts are timed around the embedder and the store: embed, search (vectors and BM25),
fetch (rows by id), commit (journal, then catching up); the rest is everything else. The last line
is the resident memory of a real server on the same store after calls of every kind.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from material import FILLERS, Prepared, fill, machine, notes, questions, settled
from startup import Talk, ours

from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from tests.views import view_of

ME = Identity("me")
PARTS = ("embed", "search", "fetch", "commit")
SEARCHES, DEPTH = 200, 50


class Watch:
    """Sums the time that the calling thread spends in the methods it is put around."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._thread = threading.get_ident()
        self._inside = False

    def around(self, owner: Any, method: str, part: str) -> None:
        """Time *owner*.*method* as *part*; what it calls in turn is not counted twice."""
        call = getattr(owner, method)

        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._inside or threading.get_ident() != self._thread:
                return call(*args, **kwargs)
            self._inside = True
            started = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                self.spent[part] += time.perf_counter() - started
                self._inside = False

        setattr(owner, method, timed)


def watched(memory: Memory, embedder: Prepared) -> Watch:
    watch = Watch()
    store = memory._runtime.parts().store
    view = view_of(store)
    for method in ("documents", "query"):
        watch.around(embedder, method, "embed")
    for method in ("search", "similarities", "wholes"):
        watch.around(view.vectors, method, "search")
    watch.around(view.lexical, "match", "search")
    for method in ("indexed", "memories"):
        watch.around(store, method, "fetch")
    watch.around(store, "commit", "commit")
    return watch


def measure(name: str, watch: Watch, call: Callable[[str], object], texts: Sequence[str]) -> None:
    """Call with each text; print percentiles in milliseconds and the share of each part."""
    for text in texts[:10]:
        call(text)
    watch.spent.clear()
    taken = []
    for text in texts[10:]:
        started = time.perf_counter()
        call(text)
        taken.append(time.perf_counter() - started)
    p50, p95, p99 = (1e3 * np.percentile(taken, share) for share in (50, 95, 99))
    whole = sum(taken)
    parts = {part: watch.spent[part] / whole for part in PARTS if watch.spent[part]}
    parts["rest"] = 1 - sum(parts.values())
    shares = ", ".join(f"{part} {share:.0%}" for part, share in parts.items())
    print(f"  {name:<9} p50 {p50:6.1f}  p95 {p95:6.1f}  p99 {p99:6.1f} ms   {shares}", flush=True)


def index_search(memory: Memory, asked: Sequence[str], embedder: Prepared) -> None:
    """The three searches of a recall without the rest of it, the 50 best of each."""
    store = memory._runtime.parts().store
    view = view_of(store)
    assert view.vectors is not None
    vectors = [embedder.query(text) for text in asked[:SEARCHES]]
    taken = []
    for text, vector in zip(asked, vectors, strict=False):
        started = time.perf_counter()
        view.vectors.search(vector, DEPTH, part="whole")
        view.vectors.search(vector, DEPTH, part="passage")
        view.lexical.match(text)
        taken.append(time.perf_counter() - started)
    p50, p99 = (1e3 * np.percentile(taken, share) for share in (50, 99))
    print(f"  index search alone (whole, passages, BM25) p50 {p50:.2f}  p99 {p99:.2f} ms")


@contextmanager
def serving(folder: Path) -> Iterator[Talk]:
    talk = Talk(ours(folder))
    try:
        talk.handshake()
        yield talk
    finally:
        talk.end()


def resident(folder: Path, new: Sequence[str], asked: Sequence[str]) -> str:
    """Resident memory of a server over *folder* after 50 recalls, 50 remembers and its upkeep."""
    with serving(folder) as talk:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            report = talk.call(10, "health")["structuredContent"]
            checks = {check["name"]: check.get("detail", "") for check in report["checks"]}
            if report["status"] == "ok" and "loading" not in checks["table"]:
                break
            time.sleep(0.2)
        for number, (text, question) in enumerate(zip(new, asked, strict=False)):
            talk.call(20 + 2 * number, "remember", text=text)
            talk.call(21 + 2 * number, "recall", query=question)
        time.sleep(3)  # the merge that follows writes
        status = Path(f"/proc/{talk.process.pid}/status")
        if not status.exists():
            return "unknown on this system"
        lines = (line.split() for line in status.read_text().splitlines())
        kib = {line[0]: int(line[1]) for line in lines if line[0] in ("VmRSS:", "RssFile:")}
        mapped = kib["RssFile:"] / 1024
        return f"{kib['VmRSS:'] / 1024:.0f} MiB, of which {mapped:.0f} MiB are files (shared)"


def run(folder: Path, memories: int, calls: int, seed: int) -> None:
    texts = notes(memories + calls + 60, seed)
    held, new, more = texts[:memories], texts[memories:-50], texts[-50:]
    asked = questions(calls + 10, seed + 1)
    embedder = Prepared()
    with Memory(Settings(data_dir=folder), embedder=embedder) as memory:
        assert memory.wait_ready(60)
        took = fill(memory, embedder, held)
        settled(memory)
        print(f"{memories:,} memories (filled by {FILLERS} callers at {memories / took:,.0f}/s)")
        watch = watched(memory, embedder)
        measure("remember", watch, lambda text: memory.remember(ME, RememberRequest(text)), new)
        measure("recall", watch, lambda text: memory.recall(ME, RecallRequest(text)), asked)
        index_search(memory, asked, embedder)
    print(f"  resident memory of a warm server: {resident(folder, more, asked)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    print(machine(args.seed))
    for memories in args.memories:
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder), memories, args.calls, args.seed)


if __name__ == "__main__":
    main()
