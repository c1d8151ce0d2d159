"""Every tool over stdio and HTTP with arguments made from the schemas: each call is answered.

    python tests/campaigns/fuzz.py --minutes 10 --seed 1

A call counts as answered when a result, an error result whose text begins with one of our codes, or
a protocol error comes back within the deadline; anything else ends the campaign with the seed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import queue
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fuzzing import arguments, damaged

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
CODES = (
    "invalid_input", "too_large", "not_found", "scope_denied", "busy", "disk_full", "read_only",
    "encoder_unavailable", "incompatible_store", "storage",
)  # fmt: skip
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "fuzz", "version": "1"},
}


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "ANAMNESIS_DATA_DIR": str(folder), "ANAMNESIS_OFFLINE": "1",
            "ANAMNESIS_SHARED": "off",
            "PYTHONPATH": str(ROOT)}  # fmt: skip


class Stdio:
    """A server on pipes."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "server"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=ROOT, env=environment(folder),
        )  # fmt: skip
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}, 0)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.replace(b"\n", b" ") + b"\n")
        self.process.stdin.flush()

    def ask(self, message: dict[str, Any], id: int) -> dict[str, Any]:
        self.send(json.dumps(message).encode())
        while True:
            answer = json.loads(self._lines.get(timeout=SECONDS))
            if answer.get("id") == id:
                return answer  # type: ignore[no-any-return]

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


class Http:
    """A server on a port of this machine, without a token."""

    def __init__(self, folder: Path) -> None:
        said = folder.with_suffix(".log")
        with said.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "server", "serve", "--transport", "http", "--port", "0",
                 "--no-token"],
                stderr=log, cwd=ROOT, env=environment(folder),
            )  # fmt: skip
        end = time.monotonic() + SECONDS
        while not (found := re.search(r":(\d+)/mcp", said.read_text("utf-8"))):
            assert time.monotonic() < end, said.read_text("utf-8")
            time.sleep(0.05)
        self._port = int(found[1])
        self._session = ""
        self.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}, 0)

    def post(self, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
        headers = {"Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}  # fmt: skip
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        try:
            connection.request("POST", "/mcp", body, headers)
            response = connection.getresponse()
            self._session = response.getheader("Mcp-Session-Id") or self._session
            return response.status, response.read()
        finally:
            connection.close()

    def send(self, line: bytes) -> None:
        status, _ = self.post(line)
        assert status < 600

    def ask(self, message: dict[str, Any], id: int) -> dict[str, Any]:
        status, body = self.post(json.dumps(message).encode())
        assert status < 500, (status, body[:300])
        data = [line[6:] for line in body.splitlines() if line.startswith(b"data: ")]
        for text in data or [body]:
            if text.strip():
                answer = json.loads(text)
                if answer.get("id") in (id, None, "server-error"):
                    return answer  # type: ignore[no-any-return]
        raise AssertionError((status, body[:300]))

    def close(self) -> int:
        self.process.terminate()
        status = self.process.wait(15)
        return 0 if status in (0, -15) else status


def judged(answer: dict[str, Any]) -> str:
    """What kind of answer it is; AssertionError when it is none."""
    if "error" in answer:
        assert answer["error"]["message"]
        return "protocol error"
    result = answer["result"]
    if not result.get("isError"):
        return "done"
    text = result["content"][0]["text"]
    code = text.partition(":")[0]
    assert code in CODES, text
    assert "internal error" not in text, text
    return str(code)


def play(target: Stdio | Http, tools: list[dict[str, Any]], seed: int, calls: int) -> Counter[str]:
    """*calls* calls and some broken messages between them; what was answered."""
    draw, found = random.Random(seed), Counter[str]()
    for number in range(1, calls + 1):
        tool = draw.choice(tools)
        given = arguments(tool["inputSchema"], draw)
        params = {"name": tool["name"], "arguments": given}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        if draw.random() < 0.15:
            broken = damaged(json.dumps(message).encode(), draw)
            if b'"id"' not in broken or isinstance(target, Http):
                target.send(broken)  # whether it asks for an answer nobody can tell
                found["broken"] += 1
        try:
            found[judged(target.ask(message, number))] += 1
        except (AssertionError, queue.Empty, OSError) as problem:
            raise AssertionError(f"seed {seed}, call {number}: {message!r:.600}") from problem
    return found


def tools_of(target: Stdio | Http) -> list[dict[str, Any]]:
    listed = target.ask({"jsonrpc": "2.0", "id": -1, "method": "tools/list", "params": {}}, -1)
    return listed["result"]["tools"]  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    args = parser.parse_args()
    begun, seed, total = time.monotonic(), args.seed, Counter[str]()
    while time.monotonic() - begun < 60 * args.minutes:
        for kind in (Stdio, Http):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                target = kind(Path(folder) / "data")
                total += play(target, tools_of(target), seed, 300)
                assert target.close() == 0
        print(f"seed {seed}: {sum(total.values())} calls, {dict(total)}", flush=True)
        seed += 1
    print(f"every one of {sum(total.values())} calls was answered, from seed {args.seed}")


if __name__ == "__main__":
    main()
