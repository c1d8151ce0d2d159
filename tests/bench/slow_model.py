"""What a model that takes five seconds an answer costs `remember`: nothing, in one run.

    python tests/bench/slow_model.py [--writes 2000] [--seconds 5] [--seed 7]

Two stores side by side, one with rules alone, one whose encoder asks a server on this machine that
answers after five seconds. Each note goes to both, in turns, so that whatever else the machine does
meets both alike. The notes are vectorised beforehand: what is measured is the walk of a write. The
last lines tell how the queue and the memory of the process grew.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from material import Prepared, machine, notes

from memory_core.config import GistSettings, Settings
from memory_core.memory import Memory
from memory_core.records import Identity

ME = Identity("me")
WARM_UP = 50


def slow_server(seconds: float, over: threading.Event) -> ThreadingHTTPServer:
    """A server that speaks chat completions and takes its time."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turns = json.loads(body["messages"][1]["content"])["turns"]
            over.wait(seconds)
            empty = {"gist": "", "tags": [], "topic": "", "entities": [], "importance": 0.5}
            said: Any = {"turns": [{**empty, "turn": t["turn"]} for t in turns], "facts": []}
            choice = {"message": {"content": json.dumps(said)}, "finish_reason": "stop"}
            answer = json.dumps({"choices": [choice], "usage": {}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def resident() -> float:
    """Resident memory of this process in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def timed(memory: Memory, text: str) -> float:
    started = time.perf_counter()
    memory.remember(ME, text)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writes", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    texts = notes(args.writes + WARM_UP, args.seed)
    embedder = Prepared()
    embedder.prepare(texts)
    over = threading.Event()
    server = slow_server(args.seconds, over)
    gist = GistSettings(daily_tokens=10**9, gather_seconds=0.0)
    asking = {
        "encoder": "openai",
        "encoder_model": "slow",
        "encoder_url": f"http://127.0.0.1:{server.server_address[1]}",
        "gist": gist,
    }
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        rules = Memory(Settings(data_dir=Path(one)), embedder=embedder)
        model = Memory(Settings(data_dir=Path(other), **asking), embedder=embedder)  # type: ignore[arg-type]
        with rules, model:
            assert rules.wait_ready(60)
            assert model.wait_ready(60)
            for text in texts[:WARM_UP]:
                timed(rules, text)
                timed(model, text)
            before = half = resident()
            times = {"rules": [], "model": []}  # type: dict[str, list[float]]
            most = 0
            for number, text in enumerate(texts[WARM_UP:]):
                pair = [("rules", rules), ("model", model)]
                for name, memory in pair if number % 2 else pair[::-1]:
                    times[name].append(timed(memory, text))
                half = resident() if number == args.writes // 2 else half
                if number % 100 == 0:
                    most = max(most, model.health(ME).jobs["running"])
            jobs = model.health(ME).jobs
            print(machine(args.seed))
            for name, seconds in times.items():
                p50, p99 = (np.quantile(seconds, q) * 1000 for q in (0.5, 0.99))
                print(f"remember, {name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms")
            ratio = np.quantile(times["model"], 0.99) / np.quantile(times["rules"], 0.99)
            print(f"p99 with the model / with rules: {ratio:.2f}")
            print(f"jobs: {jobs['queued']} wait in the journal, at most {most} ran at a time")
            print(
                f"memory: {before:.0f} MiB, half-way {half:.0f}, then {resident():.0f}, two stores"
            )
            over.set()
    server.shutdown()


if __name__ == "__main__":
    main()
