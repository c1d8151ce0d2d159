"""Whether what a client's configuration says about us really starts, or answers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

SECONDS = 30.0
"""Clients give a server a minute to answer `initialize`."""

_PASSED_ON = {
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "APPDATA", "HOMEDRIVE", "HOMEPATH"),
    *("LOCALAPPDATA", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"),
}
"""What clients give to the servers they start; other variables stay with the shell."""

_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "anamnesis doctor", "version": "1"},
    },
}


def problem(entry: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Why a client with *entry* gets no answer to `initialize`; "" when it gets one."""
    try:
        answer = _asked(entry) if "url" in entry else _started(entry, environment)
        name = json.loads(answer)["result"]["serverInfo"]["name"]
    except _Unanswered as said:
        return str(said)
    except (ValueError, LookupError, TypeError):
        return "what answers is no MCP server"
    return "" if name == "anamnesis" else f"what answers is {name!r:.60}"


class _Unanswered(Exception):
    pass


def _started(entry: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """The first line that the command of *entry* answers."""
    passed = {name: value for name, value in environment.items() if name.upper() in _PASSED_ON}
    try:
        command = [str(entry["command"]), *map(str, entry.get("args", ()))]
        done = subprocess.run(
            command,
            input=json.dumps(_HELLO) + "\n",
            env={**passed, **dict(entry.get("env") or {})},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _Unanswered(f"nothing came within {SECONDS:.0f} s") from None
    except (OSError, LookupError, TypeError, ValueError) as problem:
        raise _Unanswered(f"it cannot be started ({problem})") from None
    if not done.stdout.strip():
        last = done.stderr.strip().splitlines()[-1:] or ["without a word"]
        raise _Unanswered(f"it ended with status {done.returncode}: {last[0]:.200}")
    return done.stdout.splitlines()[0]


def _asked(entry: Mapping[str, Any]) -> str:
    """What the server at the URL of *entry* answers."""
    import httpx2

    headers = {**dict(entry.get("headers") or {}), "Accept": "application/json, text/event-stream"}
    try:
        answer = httpx2.post(str(entry["url"]), json=_HELLO, headers=headers, timeout=SECONDS)
    except httpx2.HTTPError as problem:
        raise _Unanswered(f"{entry['url']} does not answer ({problem})") from None
    if answer.status_code != 200:
        raise _Unanswered(f"{entry['url']} answers {answer.status_code}")
    return answer.text.partition("data: ")[2] or answer.text
