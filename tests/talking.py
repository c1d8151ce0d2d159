"""A server process on stdin and stdout, spoken to line by line."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ANSWER_SECONDS = 60.0
END_SECONDS = 30.0
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Talk:
    """A server process, spoken to line by line."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
        )
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.log = b""
        self.threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line)

    def _read_log(self) -> None:
        assert self.process.stderr
        with self.process.stderr as told:
            self.log = told.read()

    def send(self, line: bytes | dict[str, Any]) -> None:
        assert self.process.stdin
        data = line if isinstance(line, bytes) else json.dumps(line).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def get(self) -> dict[str, Any]:
        return json.loads(self.lines.get(timeout=ANSWER_SECONDS))  # type: ignore[no-any-return]

    def ask(self, id: Any, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        answer = self.get()
        assert answer["id"] == id
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.ask("call", "tools/call", {"name": tool, "arguments": arguments})
        return answer["result"]  # type: ignore[no-any-return]

    def hello(self, name: str = "test") -> None:
        client = {"name": name, "version": "1"}
        assert "result" in self.ask(0, "initialize", {**HELLO, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ended(self) -> int:
        """The exit status; fails when the process does not end in time."""
        return self.process.wait(END_SECONDS)

    def finish(self) -> None:
        """Kill the process.

        A process that it left and that holds its pipes is for the watch over all processes to find:
        a pipe cannot be closed here while a thread reads it, so each closes its own at the end.
        """
        self.process.kill()
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()  # also ends what outlived the process and holds its pipes
        self.process.wait(END_SECONDS)
        limit = time.monotonic() + END_SECONDS
        for thread in self.threads:
            thread.join(max(0.0, limit - time.monotonic()))
