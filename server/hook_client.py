"""`anamnesis hook`: hands what a client writes to stdin to the running server; says what it says.

Only the standard library is imported, so that it adds little more than Python's own start. Without
a server that listens over HTTP the caller does the work in this process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ADDRESS = "http.json"
"""The file in the data directory in which a server says where it listens and for whom, if no token
says otherwise: {"url", "agent", "team"}."""
TOKEN = "token"
SECONDS = 5.0


def forwarded(folder: Path, who: tuple[str, str], payload: bytes) -> str | None:
    """The answer of the server of the data directory *folder* to *payload*; None without one.

    A server of another agent or team than *who* is none.
    """
    try:
        server = json.loads((folder / ADDRESS).read_text("utf-8"))
        if (server["agent"], server["team"]) != who:
            return None
        url = urlsplit(server["url"])
        headers = {"Content-Type": "application/json", **_authorised(folder / TOKEN)}
        connection = HTTPConnection(url.hostname or "", url.port, timeout=SECONDS)
        try:
            connection.request("POST", "/hook", payload, headers)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8")
        finally:
            connection.close()
        return text if answer.status == 200 else None
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return None


def said(answer: str) -> str:
    """What is printed for *answer*: nothing for an empty one."""
    return answer if answer.strip() not in ("", "{}") else ""


def run(
    folder: Path,
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


def _authorised(file: Path) -> dict[str, str]:
    try:
        return {"Authorization": f"Bearer {file.read_text('utf-8').strip()}"}
    except OSError:
        return {}  # a server that asks for no token
