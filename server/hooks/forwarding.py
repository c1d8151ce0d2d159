"""The hook's call to a server over HTTP that listens for the same data directory.

A client waits for its hook, so json and socket are all that is imported: http.client and pathlib
alone take twice the time of Python's own start.
"""

# ruff: noqa: PTH118, PTH123
from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping

from server.hooks import fence
from server.hooks.client import ADDRESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TOKEN = "token"
SECONDS = 2.0
"""Timeout of each step of the call."""

_MOST = 65_536
"""Bytes of an answer. Its context has at most briefing.MOST_CHARS characters."""


def forwarded(folder: str, who: tuple[str, str], payload: bytes) -> str | None:
    """The answer to *payload* of the server of the data directory *folder*; None without a server.

    A server of another agent or team than *who*, on another machine, or one whose process has ended
    does not count. Whoever listens there gets neither token nor payload before it has proved that
    it wrote the address; and of what it says only context is passed on, fenced here.
    """
    try:
        server = json.loads(_read(os.path.join(folder, ADDRESS)))
        if (server["agent"], server["team"]) != who or _dead(server):
            return None
        place = _here(server["url"].partition("://")[2])
        if not place or not _proved(place, server["key"]):
            return None
        status, answer = _posted(place, _authorised(os.path.join(folder, TOKEN)), payload)
        told = json.loads(answer)
        if status != b"200" or not isinstance(told, dict):
            return None
        return json.dumps(fence.vouched(told, _event(payload)), ensure_ascii=False)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _here(place: str) -> str:
    """*place* (host:port) as an address of this machine's loopback, "" for any other."""
    host, _, port = place.rpartition(":")
    host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "localhost": "127.0.0.1"}.get(host, host)
    numbers = host.split(".")
    own = len(numbers) == 4 and numbers[0] == "127" and all(map(str.isdecimal, numbers))
    return f"{host}:{port}" if own or host == "[::1]" else ""


def _proved(place: str, key: str) -> bool:
    """True when who listens at *place* knows the *key* that the server left for us."""
    from hashlib import blake2s

    nonce, port = os.urandom(16).hex(), place.rpartition(":")[2]
    request = f"GET /healthz?nonce={nonce} HTTP/1.0\r\nHost: {place}\r\n\r\n"
    status, answer = _exchanged(place, request.encode())
    known = blake2s(f"{port} {nonce}".encode(), key=bytes.fromhex(key)).hexdigest()
    return status == b"200" and json.loads(answer).get("proof") == known


def _event(payload: bytes) -> str:
    given = json.loads(payload)
    return str(given.get("hook_event_name", "")) if isinstance(given, dict) else ""


def _posted(place: str, authorised: str, payload: bytes) -> tuple[bytes, str]:
    """Status and body of the answer to POST /hook of the server at *place* (host:port)."""
    head = (
        f"POST /hook HTTP/1.0\r\nHost: {place}\r\n{authorised}"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return _exchanged(place, head.encode() + payload)


def _exchanged(place: str, request: bytes) -> tuple[bytes, str]:
    """Status and body of what is answered at *place* to *request*."""
    host, _, port = place.rpartition(":")
    address = host.strip("[]").encode(), int(port)  # bytes: a str loads the tables of IDNA
    with socket.create_connection(address, SECONDS) as line:  # type: ignore[arg-type]
        line.sendall(request)
        answer = b""
        while len(answer) < _MOST and (more := line.recv(_MOST)):
            answer += more
    head_bytes, _, body = answer.partition(b"\r\n\r\n")
    return head_bytes.split(b" ", 2)[1], body.decode("utf-8")


def _authorised(file: str) -> str:
    try:
        return f"Authorization: Bearer {_read(file).strip()}\r\n"
    except OSError:
        return ""  # a server that requires no token


def started(process: int) -> str:
    """When *process* was started, in ticks since the machine was; "" where /proc does not tell."""
    try:
        return _read(f"/proc/{process}/stat").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _dead(server: Mapping[str, Any]) -> bool:
    """True when the process of *server* has ended, also when its number went to another one."""
    process = server.get("process")
    if isinstance(process, int) and server.get("started", "") not in ("", started(process)):
        return True
    if os.name == "nt" or not isinstance(process, int):
        return False  # os.kill would end the process there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _read(file: str) -> str:
    with open(file, encoding="utf-8") as stream:
        return stream.read()
