"""`anamnesis hook`: hands what a client writes to stdin to the running server; says what it says.

A client waits for this at every prompt, so nothing is imported but json and socket: http.client
and pathlib alone take twice the time of Python's own start (tests/bench/hooks.py). Without a server
that listens over HTTP the caller does the work in this process.
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
"""The file in the data directory in which a server says where it listens and for whom, if no token
says otherwise: {"url", "agent", "team", "process"}."""
TOKEN = "token"
SECONDS = 2.0
"""How long to wait for the server at each step."""

_MOST = 65_536
"""Bytes of an answer; what is told has MOST_CHARS characters of server.hooks."""


def forwarded(folder: str, who: tuple[str, str], payload: bytes) -> str | None:
    """The answer of the server of the data directory *folder* to *payload*; None without one.

    A server of another agent or team than *who* is none, nor is one that has died.
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


def said(answer: str) -> str:
    """What is printed for *answer*: nothing for an empty one."""
    return answer if answer.strip() not in ("", "{}") else ""


def run(
    folder: str,
    who: tuple[str, str],
    payload: bytes,
    otherwise: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> str:
    """What to print for *payload*, from the server or, without one, from *otherwise*."""
    answer = forwarded(folder, who, payload)
    if answer is not None:
        return said(answer)
    try:
        given = json.loads(payload)
    except ValueError:
        return ""
    return said(json.dumps(otherwise(given), ensure_ascii=False)) if isinstance(given, dict) else ""


def _posted(place: str, authorised: str, payload: bytes) -> tuple[bytes, str]:
    """Status and body of what the server at *place* (host:port) answers to POST /hook."""
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
        return ""  # a server that asks for no token


def _dead(process: object) -> bool:
    """True when the server was killed: its port, and our token with it, may be another's now."""
    if os.name == "nt" or not isinstance(process, int):
        return False  # there, the question would end the process
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
