"""How long a client waits for each hook, warm: over HTTP, and by the command that it starts.

    python tests/bench/hooks.py [--memories 1000 10000] [--calls 100] [--seed 7]

A store is filled with notes made from the seed, the real server listens over HTTP, and once its
model and its table are loaded each event is called as its client would: POST /hook on a connection
of its own, or `anamnesis hook` as a process of its own with the event on stdin. Both forms and a
bare `python -c pass` take turns, so that a busy machine slows all alike; the ends of conversations,
which set off summaries, come last. Consolidation does not begin by itself: among calls without a
pause it would never end. Printed are percentiles and the best in milliseconds and, for the command,
how many times the bare start it takes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from material import Prepared, fill, machine, notes, questions, settled

from memory_core.config import Settings
from memory_core.memory import Memory
from server.clients.clients import program

ROOT = Path(__file__).parents[2]
LIMIT = 150.0
"""Milliseconds that the 95th percentile of each event may take."""
WARM = 20
BARE = "python -c pass"

Call = Callable[[dict[str, Any]], object]
Taken = dict[tuple[str, str], list[float]]
"""Milliseconds, by event and form."""


def events(note: str, question: str, number: int) -> tuple[dict[str, Any], ...]:
    """A conversation of one exchange, of Claude Code and of Cursor, but for its ends."""
    ours, theirs = told(number)
    answer = f"I have written it down: {note} That was number {number}."
    return (
        {**ours, "hook_event_name": "SessionStart", "source": "startup"},
        {**ours, "hook_event_name": "UserPromptSubmit", "prompt": f"{question} {number}"},
        {**ours, "hook_event_name": "Stop", "last_assistant_message": answer},
        {**ours, "hook_event_name": "PreCompact", "custom_instructions": f"Keep this: {note}"},
        {**ours, "hook_event_name": "PostCompact", "compact_summary": f"In short, {note}"},
        {**theirs, "hook_event_name": "sessionStart"},
        {**theirs, "hook_event_name": "beforeSubmitPrompt", "prompt": f"{note} So be it."},
        {**theirs, "hook_event_name": "afterAgentResponse", "text": f"Understood: {note}"},
    )


def ends(number: int) -> tuple[dict[str, Any], ...]:
    ours, theirs = told(number)
    return (
        {**ours, "hook_event_name": "SessionEnd", "reason": "other"},
        {**theirs, "hook_event_name": "sessionEnd", "reason": "completed"},
    )


def told(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What every event of Claude Code, and of Cursor, says."""
    return (
        {"session_id": f"bench-{number}", "cwd": str(ROOT)},
        {"conversation_id": f"cursor-{number}", "workspace_roots": [str(ROOT)]},
    )


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The real server over *folder*; its address."""
    file = folder / "bench.toml"
    file.write_text("[consolidation]\nautomatic = false\n")
    command = [sys.executable, "-m", "server", "serve", "--transport", "http", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(folder), "--config", str(file)],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stderr
    try:
        url = process.stderr.readline().split()[-1].removesuffix("/mcp")
        process.stderr.readline()
        yield url
    finally:
        process.terminate()
        process.wait(60)


def over_http(url: str, token: str) -> Call:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    place = urlsplit(url)

    def call(event: dict[str, Any]) -> object:
        connection = HTTPConnection(place.hostname or "", place.port, timeout=60)
        connection.request("POST", "/hook", json.dumps(event), headers)
        answer = connection.getresponse()
        assert answer.status == 200
        given = json.loads(answer.read())
        connection.close()
        return given

    return call


class Process:
    """Calls a command with the event on stdin, and keeps what each call costs the processor."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.cpu: list[float] = []
        """Milliseconds a call."""

    def __call__(self, event: dict[str, Any]) -> object:
        before = _spent()
        done = subprocess.run(
            self.command,
            input=json.dumps(event).encode(),
            capture_output=True,
            check=True,
            cwd=ROOT,
        )
        self.cpu.append((_spent() - before) * 1e3)
        return json.loads(done.stdout or b"{}")


def _spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)  # of those that have ended
    return usage.ru_utime + usage.ru_stime


def measure(calls: dict[str, Call], count: int, seed: int) -> Taken:
    """What *count* calls of each event take in each form; the first WARM rounds do not count."""
    rounds = (count + WARM) * len(calls)
    new, asked = notes(rounds, seed + 2), questions(rounds, seed + 1)
    taken: Taken = defaultdict(list)
    recalled = 0
    for place in range(rounds):
        form, call = list(calls.items())[place % len(calls)]
        for event in events(new[place], asked[place], place) if form != BARE else ({},):
            spent, answer = timed(call, event)
            recalled += "hookSpecificOutput" in str(answer)
            if place >= WARM * len(calls):
                taken[event.get("hook_event_name", BARE), form].append(spent)
    assert recalled > count, "hardly anything was recalled: the server is not warm"
    for place in range(rounds):
        form, call = list(calls.items())[place % len(calls)]
        for event in ends(place) if form != BARE else ():
            taken[event["hook_event_name"], form].append(timed(call, event)[0])
    return taken


def timed(call: Call, event: dict[str, Any]) -> tuple[float, object]:
    """Milliseconds of *call*, and what it gave."""
    started = time.perf_counter()
    answer = call(event)
    return (time.perf_counter() - started) * 1e3, answer


def report(taken: Taken) -> float:
    """Print the percentiles; the largest 95th of an event."""
    bare = taken.pop((BARE, BARE))
    start = float(np.median(bare))
    late = float(np.percentile(bare, 95))
    print(f"  {BARE}: p50 {start:.1f}  p95 {late:.1f}  best {min(bare):.1f} ms")
    worst = 0.0
    for (event, form), values in taken.items():
        p50, p95, p99 = (float(np.percentile(values, share)) for share in (50, 95, 99))
        times = f"  {p50 / start:4.1f} times the bare start" if form == "command" else ""
        figures = f"p50 {p50:6.1f}  p95 {p95:6.1f}  p99 {p99:6.1f}  best {min(values):6.1f} ms"
        print(f"  {event:<18} {form:<8} {figures}{times}")
        worst = max(worst, p95)
    return worst


def run(folder: Path, memories: int, calls: int, seed: int) -> None:
    embedder = Prepared()
    with Memory(Settings(data_dir=folder), embedder=embedder) as memory:
        assert memory.wait_ready(60)
        fill(memory, embedder, notes(memories, seed))
        settled(memory)
    print(f"{memories:,} memories, {calls} calls of each event and form", flush=True)
    with serving(folder) as url:
        http = over_http(url, (folder / "token").read_text().strip())
        hook = [*program(sys.executable), "hook", "--data-dir", str(folder)]
        command, bare = Process(hook), Process([sys.executable, "-c", "pass"])
        worst = report(measure({"http": http, "command": command, BARE: bare}, calls, seed))
    ours, theirs = (float(np.median(each.cpu)) for each in (command, bare))
    ratio = f"{ours / theirs:.1f} times that of {BARE} ({theirs:.1f} ms)"
    print(f"  processor time of the command: {ours:.1f} ms, {ratio}")
    word = "under" if worst < LIMIT else "OVER"
    print(f"  largest p95 {worst:.1f} ms, {word} {LIMIT:.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    print(machine(args.seed))
    for memories in args.memories:
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder), memories, args.calls, args.seed)


if __name__ == "__main__":
    main()
