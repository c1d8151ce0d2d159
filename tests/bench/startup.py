"""How long from process start to the first answers over stdio, beside a bare SDK server.

    python tests/bench/startup.py [--rounds N] [--memories N]

The rounds alternate between the two servers, so that a busy machine slows both alike; medians and
the ratio of one run are printed with machine and versions. With --memories a store of that size is
filled first, and the time to the first recall is measured too: the first one that answers (it may
be lexical only) and the first one that says nothing about being lexical only.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
def echo(text: str) -> str:
    "Give the text back."
    return text
server.run()
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


class Talk:
    """A server process and its lines."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=environment,
        )

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        if "id" not in message:
            return {}
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]

    def call(self, id: int, tool: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        answer = self.ask({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        return answer["result"]  # type: ignore[no-any-return]

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def handshake(self) -> tuple[float, float]:
        """Seconds from process start to the answers of initialize and of tools/list."""
        assert "result" in self.ask(HELLO)
        initialized = self.seconds
        self.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert "result" in self.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        return initialized, self.seconds

    def end(self) -> float:
        """Close stdin; seconds until the process has ended."""
        assert self.process.stdin
        assert self.process.stdout
        closing = time.perf_counter()
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        return time.perf_counter() - closing


def ours(folder: Path) -> list[str]:
    return [sys.executable, "-m", "server", "--data-dir", str(folder)]


def compare(rounds: int, folder: Path) -> None:
    """Alternate both servers and print medians and ratios."""
    bare, own, ends = [], [], []
    for number in range(rounds + 1):
        servers = (([sys.executable, "-c", BARE], bare), (ours(folder), own))
        for command, figures in servers:
            talk = Talk(command)
            measured = talk.handshake()
            ended = talk.end()
            if number:  # the first round warms the file cache
                figures.append(measured)
                if figures is own:
                    ends.append(ended)
    for name, column in (("initialize", 0), ("tools/list", 1)):
        theirs, mine = ([row[column] * 1000 for row in figures] for figures in (bare, own))
        for kind, of in (("median", statistics.median), ("best", min)):
            print(
                f"process start to {name}, {kind} of {rounds}: bare {of(theirs):.0f} ms, "
                f"ours {of(mine):.0f} ms, ratio {of(mine) / of(theirs):.3f}"
            )
    print(f"stdin closed to process ended: {statistics.median(ends) * 1000:.0f} ms")


def first_recalls(memories: int, rounds: int, folder: Path) -> None:
    """Fill a store, then measure the first lexical and the first dense recall of a new process."""
    sys.path.insert(0, str(ROOT))
    from material import Prepared, fill, notes, settled

    from memory_core.config import Settings
    from memory_core.memory import Memory

    embedder = Prepared()
    with Memory(Settings(data_dir=folder), embedder=embedder) as memory:
        assert memory.wait_ready(300)
        fill(memory, embedder, notes(memories, 7))
        settled(memory)
    lexical, dense = [], []
    for _ in range(rounds):
        talk = Talk(ours(folder))
        talk.handshake()
        id, first = 10, 0.0
        while True:
            answer = talk.call(id, "recall", query="who lost the red bicycle?", max_tokens=500)
            first = first or talk.seconds
            assert not answer.get("isError"), answer
            if "lexical" not in answer["structuredContent"].get("note", ""):
                break
            id += 1
        lexical.append(first)
        dense.append(talk.seconds)
        talk.end()
    first, second = statistics.median(lexical), statistics.median(dense)
    print(
        f"{memories} memories, median of {rounds}: start to first recall {first:.2f} s, "
        f"to first dense recall {second:.2f} s"
    )


def imports() -> None:
    """Milliseconds of importing the bare SDK, and our server up to the handshake."""
    for name, modules in (
        ("bare SDK", "mcp.server"),
        (
            "our server",
            "server.cli.serve, server.engine.own, "
            "server.protocol.server, server.protocol.lazy_memory",
        ),
    ):
        figures = []
        for _ in range(5):
            code = (
                f"import time; t = time.perf_counter(); import {modules}\n"
                "print(time.perf_counter() - t)"
            )
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
            )
            figures.append(float(done.stdout))
        print(f"import {name}: {statistics.median(figures) * 1000:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--memories", type=int, default=0)
    args = parser.parse_args()
    os.environ["ANAMNESIS_SHARED"] = "off"  # with one engine for all: engine.py
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("mcp", "pydantic", "lancedb")
    )
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(f"{machine}, Python {platform.python_version()}, {versions}")
    imports()
    with tempfile.TemporaryDirectory() as folder:
        compare(args.rounds, Path(folder) / "data")
        if args.memories:
            first_recalls(args.memories, args.rounds, Path(folder) / "filled")


if __name__ == "__main__":
    main()
