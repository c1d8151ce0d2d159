"""What a model that is slow or hangs costs `remember`: no time, no memory, no queue that grows.

    python tests/bench/slow_model.py [--writes 2000] [--seconds 5] [--seed 7]

First two stores side by side in one process, one with rules alone, one whose encoder asks a server
on this machine that answers after five seconds. Each note goes to both, in turns, so that whatever
else the machine does meets both alike. The notes are vectorised beforehand: what is measured is the
walk of a write.

Then two processes, one with rules alone, one whose model never answers, write the same notes in
step: how the resident memory of each grows from a warm start to the end, and from half-way on. The
one with the model also tells what it holds: its queue (a look at the ranking columns, cut at
`queue`; what waits beyond it stands in the journal only), what is in the hands of its workers, and
what it has counted.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
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
from memory_core.enrichment.queue import EnrichmentTuning
from memory_core.gist.encoder import choose
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

ME = Identity("me")
WARM_UP = 50
STEPS, SESSIONS = 10, 20
FOR_EVER = 3600.0


def slow_server(seconds: float, over: threading.Event) -> ThreadingHTTPServer:
    """A server that speaks chat completions and takes its time."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turns = json.loads(body["messages"][1]["content"]).get("turns", ())
            if over.wait(seconds):
                return  # nobody listens any more
            empty = {"gist": "", "tags": [], "topic": "", "entities": [], "importance": 0.5}
            said: Any = {"turns": [{**empty, "turn": t["turn"]} for t in turns], "facts": []}
            if not turns:  # it is asked how two memories relate
                said = {"relation": "new", "detail": ""}
            choice = {"message": {"content": json.dumps(said)}, "finish_reason": "stop"}
            answer = json.dumps({"choices": [choice], "usage": {}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


AT_ONCE = Tuning(enrichment=EnrichmentTuning(gather_seconds=0.0))


def asking(url: str) -> dict[str, Any]:
    """The settings of an encoder that asks *url*, whatever it costs."""
    gist = GistSettings(daily_tokens=10**9)
    return {"encoder": "openai", "encoder_model": "slow", "encoder_url": url, "gist": gist}


def resident() -> float:
    """Resident memory of this process in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def timed(memory: Memory, text: str) -> float:
    started = time.perf_counter()
    memory.remember(ME, RememberRequest(text))
    return time.perf_counter() - started


# Time


def times_side_by_side(texts: list[str], url: str, seed: int) -> None:
    """Print p50 and p99 of `remember` with rules and with the slow model, and their ratio."""
    embedder = Prepared()
    embedder.prepare(texts)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        rules = Memory(Settings(data_dir=Path(one)), embedder=embedder)
        model = Memory(
            Settings(data_dir=Path(other), **asking(url)), embedder=embedder, tuning=AT_ONCE
        )
        with rules, model:
            assert rules.wait_ready(60)
            assert model.wait_ready(60)
            for text in texts[:WARM_UP]:
                timed(rules, text)
                timed(model, text)
            times: dict[str, list[float]] = {"rules": [], "model": []}
            for number, text in enumerate(texts[WARM_UP:]):
                pair = [("rules", rules), ("model", model)]
                for name, memory in pair if number % 2 else pair[::-1]:
                    times[name].append(timed(memory, text))
            waiting = model.health(ME).jobs["queued"]
    for name, seconds in times.items():
        p50, p99 = (np.quantile(seconds, q) * 1000 for q in (0.5, 0.99))
        print(f"remember, {name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms")
    ratio, low, high = tail_ratio(times["model"], times["rules"], seed)
    print(
        f"p99 with the model / with rules: {ratio:.2f} (95 % interval {low:.2f} to {high:.2f});"
        f" {waiting} jobs were waiting at the end"
    )


def tail_ratio(model: list[float], rules: list[float], seed: int) -> tuple[float, float, float]:
    """p99 of *model* to that of *rules*, with a 95 % interval by resampling the pairs."""
    pairs = np.array([model, rules])
    rng = np.random.default_rng(seed)
    drawn = (pairs[:, rng.integers(0, pairs.shape[1], pairs.shape[1])] for _ in range(1000))
    ratios = [tails[0] / tails[1] for each in drawn for tails in [np.quantile(each, 0.99, axis=1)]]
    whole = np.quantile(pairs, 0.99, axis=1)
    return whole[0] / whole[1], *np.quantile(ratios, (0.025, 0.975))


# Memory


def child(directory: Path, url: str, writes: int, seed: int) -> None:
    """Write the notes in steps, one for each line on stdin; tell what is held after each."""
    texts = notes(writes + WARM_UP, seed)
    embedder = Prepared()
    embedder.prepare(texts)
    settings = Settings(data_dir=directory, **(asking(url) if url else {}))
    encoder = choose(settings, timeout_seconds=600.0)
    with Memory(settings, embedder=embedder, encoder=encoder, tuning=AT_ONCE) as memory:
        assert memory.wait_ready(60)
        for number, text in enumerate(texts[:WARM_UP]):
            memory.remember(ME, RememberRequest(text, session=f"s{number % SESSIONS}"))
        jobs, state = memory._runtime.parts().worker, memory._runtime.parts().worker._state
        for step in range(STEPS + 1):
            gc.collect()
            held = {
                "resident": resident(),
                "queue": len(jobs.queue.waiting()),
                "hands": len(state.busy),
                "counted": len(state.tried) + state.running.total() + state.failed.total(),
                "due": memory.health(ME).jobs["queued"],
            }
            print(json.dumps(held), flush=True)
            if step == STEPS or not sys.stdin.readline():
                break
            size = writes // STEPS
            start = WARM_UP + step * size
            for number, text in enumerate(texts[start : start + size]):
                memory.remember(ME, RememberRequest(text, session=f"s{number % SESSIONS}"))


def memory_in_step(url: str, writes: int, seed: int) -> None:
    """Print how the memory of two processes grows, one with rules, one with a hanging model."""
    told: dict[str, list[dict[str, float]]] = {"rules": [], "model": []}
    with tempfile.TemporaryDirectory() as folder:
        processes = {}
        for name in told:
            words = [f"{folder}/{name}", url if name == "model" else "", str(writes), str(seed)]
            command = [sys.executable, __file__, "--child", *words]
            processes[name] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        for _ in range(STEPS + 1):
            for name, process in processes.items():
                assert process.stdout is not None
                assert process.stdin is not None
                told[name].append(json.loads(process.stdout.readline()))
            for process in processes.values():
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()
        for process in processes.values():
            process.kill()
            process.communicate()
    grown = []
    for name, steps in told.items():
        first, half, last = (steps[at]["resident"] for at in (0, STEPS // 2, STEPS))
        print(
            f"resident, {name}: {first:.0f} MiB, half-way {half:.0f}, at the end {last:.0f}:"
            f" {last - first:+.1f} MiB over {writes} writes, {last - half:+.1f} in the second half"
        )
        grown.append(last - first)
    print(f"growth with the model hanging / with rules: {grown[1] / grown[0]:.2f}")
    most = {key: max(step[key] for step in told["model"]) for key in ("queue", "hands", "counted")}
    print(
        f"held while the model hangs: at most {most['queue']:.0f} in the queue,"
        f" {most['hands']:.0f} in hand, {most['counted']:.0f} counts;"
        f" {told['model'][-1]['due']:.0f} jobs wait in the journal"
    )


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        directory, url, writes, seed = sys.argv[2:]
        child(Path(directory), url, int(writes), int(seed))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writes", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    over = threading.Event()
    slow, hanging = slow_server(args.seconds, over), slow_server(FOR_EVER, over)
    print(machine(args.seed))
    try:
        texts = notes(args.writes + WARM_UP, args.seed)
        times_side_by_side(texts, f"http://127.0.0.1:{slow.server_address[1]}", args.seed)
        memory_in_step(f"http://127.0.0.1:{hanging.server_address[1]}", args.writes, args.seed)
    finally:
        over.set()
        slow.shutdown()
        hanging.shutdown()


if __name__ == "__main__":
    main()
