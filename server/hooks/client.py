"""The hook's call to the running server, or to a function of this process without a server.

A client waits for its hook at every prompt, so only json and socket are imported: http.client and
pathlib alone take twice the time of Python's own start (tests/bench/hooks.py).
"""

# ruff: noqa: PTH118, PTH123
from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ADDRESS = "http.json"
"""The file in the data directory in which a server that listens over HTTP writes its address and
its owner: {"url", "agent", "team", "process"}."""
TOKEN = "token"
SECONDS = 2.0
"""Timeout of each step of the call."""

_MOST = 65_536
"""Bytes of an answer. Its context has at most hooks.MOST_CHARS characters."""


def forwarded(folder: str, who: tuple[str, str], payload: bytes) -> str | None:
    """The answer to *payload* of the server of the data directory *folder*; None without a server.

    A server of another agent or team than *who*, or one whose process has ended, does not count.
    """
    try:
        server = json.loads(_read(os.path.join(folder, ADDRESS)))
        if (server["agent"], server["team"]) != who or _dead(server.get("process")):
            return None
        place = server["url"].partition("://")[2]
        status, answer = _posted(place, _authorised(os.path.join(folder, TOKEN)), payload)
        return answer if status == b"200" and isinstance(json.loads(answer), dict) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _printed(answer: str) -> str:
    """The output for *answer*; "" for an empty one."""
    return answer if answer.strip() not in ("", "{}") else ""


def run(
    folder: str,
    who: tuple[str, str],
    payload: bytes,
    otherwise: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> str:
    """The output for *payload*: the server's answer or, without a server, that of *otherwise*."""
    answer = forwarded(folder, who, payload)
    if answer is not None:
        return _printed(answer)
    try:
        given = json.loads(payload)
    except ValueError:
        return ""
    if not isinstance(given, dict):
        return ""
    return _printed(json.dumps(otherwise(given), ensure_ascii=False))


def _posted(place: str, authorised: str, payload: bytes) -> tuple[bytes, str]:
    """Status and body of the answer to POST /hook of the server at *place* (host:port)."""
    host, _, port = place.rpartition(":")
    head = (
        f"POST /hook HTTP/1.0\r\nHost: {place}\r\n{authorised}"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    address = host.strip("[]").encode(), int(port)  # bytes: a str loads the tables of IDNA
    with socket.create_connection(address, SECONDS) as line:  # type: ignore[arg-type]
        line.sendall(head.encode() + payload)
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


def _dead(process: object) -> bool:
    """True when the server's process has ended: its port, and our token, may go to another."""
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
