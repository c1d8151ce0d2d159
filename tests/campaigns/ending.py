"""No orphans: how long the real server lives on after each thing that has to end it.

    python tests/campaigns/ending.py [--limit 5.0] [--rounds 3]

Stdin closes, stdout breaks, the parent dies, the client dies behind a wrapper that keeps the pipe
open, or a signal comes (with HTTP too): at rest, with twenty writes under way, amidst a
consolidation, and while the program is still starting. Printed are the longest seconds of each from
that moment to the end of the process. Every memory that was acknowledged must be there afterwards.
The exit status is 1 when one is not, or when an end took longer than the limit. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from fuzz import Http
from material import machine
from startup import HELLO, Talk

PATIENCE = 60.0
WRITES = 20
FILLING = 60
"""Memories of the store before a consolidation is asked for."""

CHILD = """
import pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, '-m', 'server'], stdin={stdin})
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
{then}
"""
WAITING = CHILD.format(stdin="None", then="child.wait()")
WRAPPER = CHILD.format(
    stdin="subprocess.PIPE",
    then="""
import os, time
for line in sys.stdin.buffer:
    child.stdin.write(line); child.stdin.flush()
time.sleep(60)
""",
)
CLIENT = f"""
import subprocess, sys
wrapper = subprocess.Popen([sys.executable, '-c', {WRAPPER!r}, sys.argv[1]], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    wrapper.stdin.write(line); wrapper.stdin.flush()
"""


def started(program: str, folder: Path) -> tuple[Talk, int]:
    """A client's end of a server, and the server's process id."""
    told = folder / "pid"
    told.unlink(missing_ok=True)
    command = ["-c", program, str(told)] if program else ["-m", "server"]
    chosen = {"ANAMNESIS_DATA_DIR": str(folder / "data"), "ANAMNESIS_OFFLINE": "1"}
    talk = Talk([sys.executable, *command], {**os.environ, **chosen})
    assert "result" in talk.ask(HELLO)
    return talk, int(told.read_text("ascii")) if program else talk.process.pid


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text("ascii")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


# What ends it


def stdin_closes(talk: Talk, pid: int) -> None:
    assert talk.process.stdin
    talk.process.stdin.close()


def stdout_breaks(talk: Talk, pid: int) -> None:
    """Nobody reads any more; it shows with the next answer."""
    assert talk.process.stdin
    assert talk.process.stdout
    talk.process.stdout.close()
    talk.process.stdin.write(b'{"jsonrpc":"2.0","id":9999,"method":"tools/list"}\n')
    talk.process.stdin.flush()


def the_parent_dies(talk: Talk, pid: int) -> None:
    talk.process.kill()


def signalled(number: int) -> Callable[[Talk, int], None]:
    return lambda talk, pid: os.kill(pid, number)


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
WAYS: dict[str, tuple[str, Callable[[Talk, int], None]]] = {
    "stdin closes": ("", stdin_closes),
    "stdout breaks": ("", stdout_breaks),
    "the parent dies": (WAITING, the_parent_dies),
    "the client dies behind a wrapper": (CLIENT, the_parent_dies),
    **{number.name: ("", signalled(number)) for number in SIGNALS},
}


# What it is doing


def starting(talk: Talk) -> list[str]:
    return []


def at_rest(talk: Talk) -> list[str]:
    told = talk.call(1, "remember", text="The heron waits by the weir.")
    return [told["structuredContent"]["id"]]


def writing(talk: Talk) -> list[str]:
    """Twenty writes are sent, and what is acknowledged until half of them were is sure."""
    kept = at_rest(talk)
    assert talk.process.stdout
    for number in range(WRITES):
        ask(talk, 100 + number, "remember", text=f"The stork number {number} stands on a chimney.")
    for _ in range(WRITES // 2):
        answer = json.loads(talk.process.stdout.readline())
        kept.append(answer["result"]["structuredContent"]["id"])
    return kept


def consolidating(talk: Talk) -> list[str]:
    kept = at_rest(talk)
    for number in range(FILLING):
        text = f"On day {number} of the voyage the boat sailed past the harbour of town {number}."
        told = talk.call(10 + number, "remember", text=text, session=f"s{number // 6}")
        kept.append(told["structuredContent"]["id"])
    ask(talk, 500, "consolidate")
    return kept


def ask(talk: Talk, id: int, tool: str, **arguments: Any) -> None:
    """Send a call without waiting for its answer."""
    assert talk.process.stdin
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    talk.process.stdin.write(json.dumps(message).encode() + b"\n")
    talk.process.stdin.flush()


MOMENTS = (starting, at_rest, writing, consolidating)


# Playing


def ended(pid: int) -> float:
    """Seconds until the process is gone."""
    begun = time.monotonic()
    while is_running(pid):
        assert time.monotonic() - begun < PATIENCE, "it lives on"
        time.sleep(0.005)
    return time.monotonic() - begun


def play(
    program: str, end: Callable[[Talk, int], None], moment: Callable[[Talk], list[str]]
) -> float:
    """Seconds of one end; AssertionError when an acknowledged memory is gone."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        talk, pid = started(program, Path(name))
        try:
            kept = moment(talk)
            end(talk, pid)
            seconds = ended(pid)
        finally:
            talk.process.kill()
            talk.process.wait(PATIENCE)
        look(Path(name), kept)
    return seconds


def look(folder: Path, kept: list[str]) -> None:
    talk, _ = started("", folder)
    for number, id in enumerate(kept):
        assert talk.call(1000 + number, "recall", query=id)["structuredContent"]["found"], id
    talk.end()


def over_http() -> float:
    """Seconds from SIGTERM to the end of an HTTP server with a session."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        server = Http(Path(name) / "data")
        server.process.terminate()
        return ended(server.process.pid)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--limit", type=float, default=5.0, help="seconds until the process is gone"
    )
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(machine(0), flush=True)
    longest = 0.0
    for name, (program, end) in WAYS.items():
        for moment in MOMENTS:
            seconds = max(play(program, end, moment) for _ in range(args.rounds))
            print(f"{name}, {moment.__name__.replace('_', ' ')}: {seconds:.2f} s", flush=True)
            longest = max(longest, seconds)
    seconds = max(over_http() for _ in range(args.rounds))
    print(f"SIGTERM over HTTP: {seconds:.2f} s")
    longest = max(longest, seconds)
    print(f"longest {longest:.2f} s, limit {args.limit} s; every acknowledged memory was there")
    sys.exit(longest > args.limit)


if __name__ == "__main__":
    main()
