"""How long a client waits for each hook, warm: over HTTP, and by the command through the engine.

    python tests/bench/hooks.py [--memories 1000 10000] [--calls 100] [--seed 7]

A store is filled with notes made from the seed. The real server listens over HTTP, then ends, and
an engine takes its place; once model and table are loaded each event is called as its client
would: POST /hook on a connection of its own, or the command that `install --hooks` writes, as a
process of its own with the event on stdin. Each form takes turns with a bare `python -c pass` and
with the least that Python can do, `python -I -S -c pass`; the ends of conversations, which set off
summaries, come last. The program is compiled before, as pip does when it installs it. Then
`anamnesis recall` and `anamnesis stats`, by the engine and without one.
Over HTTP consolidation does not begin by itself: among calls without a pause it would never end.
Printed are percentiles and the best in milliseconds and, for the command, how many times the bare
start it takes.
"""

from __future__ import annotations

import argparse
import json
import os
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

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

import engines
from material import Prepared, compiled, fill, machine, notes, questions, settled

from memory_core.config import Settings
from memory_core.memory import Memory
from server.clients.clients import hook_program, program

ROOT = Path(__file__).parents[2]
LIMIT = 150.0
"""Milliseconds that the 95th percentile of each event may take."""
WARM = 20
BARE, LEAST = "python -c pass", "python -I -S -c pass"

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
        self.environment = {**os.environ, "ANAMNESIS_SHARED": "on"}
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
            env=self.environment,
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
        told = events(new[place], asked[place], place)
        for event in told if form not in (BARE, LEAST) else ({},):
            spent, answer = timed(call, event)
            recalled += "hookSpecificOutput" in str(answer)
            if place >= WARM * len(calls):
                taken[event.get("hook_event_name", form), form].append(spent)
    assert recalled > count, "hardly anything was recalled: the server is not warm"
    for place in range(rounds):
        form, call = list(calls.items())[place % len(calls)]
        for event in ends(place) if form not in (BARE, LEAST) else ():
            taken[event["hook_event_name"], form].append(timed(call, event)[0])
    return taken


def timed(call: Call, event: dict[str, Any]) -> tuple[float, object]:
    """Milliseconds of *call*, and what it gave."""
    started = time.perf_counter()
    answer = call(event)
    return (time.perf_counter() - started) * 1e3, answer


def report(taken: Taken) -> float:
    """Print the percentiles; the largest 95th of an event."""
    for form in (LEAST, BARE):
        bare = taken.pop((form, form))
        start = float(np.median(bare))
        late = float(np.percentile(bare, 95))
        print(f"  {form}: p50 {start:.1f}  p95 {late:.1f}  best {min(bare):.1f} ms")
    worst = 0.0
    for (event, form), values in taken.items():
        p50, p95, p99 = (float(np.percentile(values, share)) for share in (50, 95, 99))
        times = f"  {p50 / start:4.1f} times the bare start" if form == "command" else ""
        figures = f"p50 {p50:6.1f}  p95 {p95:6.1f}  p99 {p99:6.1f}  best {min(values):6.1f} ms"
        print(f"  {event:<18} {form:<8} {figures}{times}")
        worst = max(worst, p95)
    return worst


def typed(folder: Path, count: int, seed: int) -> None:
    """Print what commands that somebody types take: by the engine, and, a tenth of them, alone."""
    asked = questions(count + WARM, seed)
    command = program(sys.executable)
    for shared, rounds in (("on", count), ("off", count // 10)):
        for words in (["recall"], ["stats"]):
            taken, before = list[float](), 0.0
            for place in range(WARM + rounds):
                before = _spent() if place == WARM else before
                more = [f"{asked[place]} {place}"] if words == ["recall"] else []
                started = time.perf_counter()
                subprocess.run(
                    [*command, *words, *more, "--data-dir", str(folder)],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=True,
                    cwd=ROOT,
                    env={**os.environ, "ANAMNESIS_SHARED": shared},
                )
                taken.append((time.perf_counter() - started) * 1e3)
            p50, p95 = (float(np.percentile(taken[WARM:], share)) for share in (50, 95))
            cpu = (_spent() - before) * 1e3 / max(1, rounds)
            name = f"anamnesis {words[0]}, {'by the engine' if shared == 'on' else 'alone'}"
            print(f"  {name:<32} p50 {p50:6.1f}  p95 {p95:6.1f} ms  processor {cpu:6.1f} ms")


def run(folder: Path, memories: int, calls: int, seed: int) -> None:
    embedder = Prepared()
    with Memory(Settings(data_dir=folder), embedder=embedder) as memory:
        assert memory.wait_ready(60)
        fill(memory, embedder, notes(memories, seed))
        settled(memory)
    print(f"{memories:,} memories, {calls} calls of each event and form", flush=True)
    bare = Process([sys.executable, "-c", "pass"])
    least = Process([sys.executable, "-I", "-S", "-c", "pass"])
    with serving(folder) as url:
        http = over_http(url, (folder / "token").read_text().strip())
        worst = report(measure({"http": http, BARE: bare, LEAST: least}, calls, seed))
    hook = [*hook_program(sys.executable), "--data-dir", str(folder)]
    command = Process(hook)  # as installed: without a file of settings
    try:
        forms = {"command": command, BARE: bare, LEAST: least}
        worst = max(worst, report(measure(forms, calls, seed + 10)))
        typed(folder, calls, seed + 20)
    finally:
        engines.end(folder)
    ours, start, floor = (float(np.median(each.cpu)) for each in (command, bare, least))
    print(
        f"  processor time of the command: {ours:.1f} ms, {ours / start:.2f} times that of {BARE}"
        f" ({start:.1f} ms), {ours / floor:.2f} times that of {LEAST} ({floor:.1f} ms)"
    )
    word = "under" if worst < LIMIT else "OVER"
    print(f"  largest p95 {worst:.1f} ms, {word} {LIMIT:.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    compiled()
    print(machine(args.seed))
    for memories in args.memories:
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder), memories, args.calls, args.seed)


if __name__ == "__main__":
    main()
