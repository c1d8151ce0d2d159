"""The command `doctor`: the health report for people, with the command that repairs each finding.

It also reports when the memory cannot be opened, and when there is none yet.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from memory_core.config import Settings
from memory_core.errors import MemoryCoreError, StorageError
from memory_core.records import Check
from memory_core.text.time.timestamps import iso
from server.cli import console, install
from server.cli.console import Outcome
from server.cli.grammar import READY_SECONDS, command
from server.cli.invocation import Invocation, has_memory, open_memory
from server.clients import clients
from server.clients.clients import Client
from server.hooks import pause

SECONDS = 30.0
"""Clients give a server a minute to answer `initialize`."""

_PASSED_ON = {
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "APPDATA", "HOMEDRIVE", "HOMEPATH"),
    *("LOCALAPPDATA", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"),
}
"""The variables that clients pass to the servers they start; they do not pass the others."""

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

_ORDER = ("ok", "repaired", "degraded", "failing")
_COMMAND = re.compile(r"`([^`]+)`")


@command("doctor", example="anamnesis doctor")
@click.pass_obj
def doctor(call: Invocation) -> Outcome:
    """Find what is wrong and the command that repairs it.

    Checks the data directory, the model, the entries of clients and, where there is a memory, each
    of its parts. The exit code is 1 when one is failing.
    """
    checks = [_folder(call.settings.data_dir), _weights(call.settings)]
    checks += _pause(call.settings.data_dir)
    if has_memory(call.settings.data_dir):
        checks += _parts(call)
    checks += _clients(call.environment)
    status = max((check.status for check in checks), key=_ORDER.index)
    found = [
        {
            "name": c.name,
            "status": c.status,
            "detail": c.detail,
            "fix": c.fix,
            "command": repair_command(c),
        }
        for c in checks
    ]
    return Outcome(
        {"status": status, "checks": found}, _table(status, found), int(status == "failing")
    )


def repair_command(check: Check) -> str:
    """The command in the fix of *check*, or "" when no command repairs it."""
    found = _COMMAND.search(check.fix)
    return found[1] if found else ""


def _table(status: str, found: Iterable[Mapping[str, Any]]) -> str:
    found = list(found)
    rows = [(c["name"], c["status"], c["detail"]) for c in found]
    lines = [console.table(("check", "status", "detail"), rows)]
    for check in found:
        if check["status"] in ("degraded", "failing"):
            lines.append(f"{check['name']}: {check['command'] or check['fix']}")
    return "\n".join([*lines, f"status: {status}"])


def _folder(directory: Path) -> Check:
    """Whether the data directory exists, is private and has all of its memory, or none."""
    from memory_core.storage.journal.files import refuse_remains  # with SQLite's wrapper

    try:
        mode = stat.S_IMODE(directory.stat().st_mode)
    except FileNotFoundError:
        return Check("data directory", "ok", f"{directory} is made by the first memory")
    except OSError as problem:
        return _unreadable(directory, problem.strerror)
    if not os.access(directory, os.R_OK | os.X_OK):
        return _unreadable(directory, "Permission denied")
    if mode & 0o077 and sys.platform != "win32":
        detail = f"{directory} can be read by others (mode {mode:o})"
        return Check("data directory", "degraded", detail, f"`chmod 700 '{directory}'`")
    try:
        refuse_remains(directory)
    except StorageError as problem:
        return Check("data directory", "failing", problem.problem, problem.next_step)
    if not has_memory(directory):
        return Check("data directory", "ok", f"{directory} holds no memory yet")
    return Check("data directory", "ok", str(directory))


def _unreadable(directory: Path, reason: str | None) -> Check:
    from memory_core.storage import ownership

    whose = ownership.foreign(directory)
    detail = f"{directory} cannot be read ({reason})" + (f": {whose}" if whose else "")
    fix = ownership.remedy(directory) if whose else f"`chmod u+rwx '{directory}'`"
    return Check("data directory", "failing", detail, fix)


def _pause(directory: Path) -> list[Check]:
    """That the hooks are paused, which somebody may have forgotten; nothing when they are not.

    What nobody may read is named by another check, and says nothing of a pause.
    """
    end = pause.until(str(directory), time.time())
    if end is None or not os.access(directory, os.R_OK | os.X_OK):
        return []
    until = "without an end" if end == math.inf else f"until {iso(end)}"
    detail = f"hooks are paused {until}: they capture and tell nothing"
    return [Check("pause", "degraded", detail, "`anamnesis resume`")]


def _weights(settings: Settings) -> Check:
    """Whether the default model's files are on this machine; other models check when they load."""
    if settings.embedder != "minilm":
        return Check("weights", "ok", f"{settings.embedder} keeps its own")
    from memory_core.embedding.acquisition import locate

    try:
        return Check("weights", "ok", str(locate(settings)))
    except MemoryCoreError as problem:
        return Check("weights", "degraded", problem.problem, problem.next_step)


def _clients(environment: Mapping[str, str]) -> list[Check]:
    """One check for each client with an entry of ours: whether the entry starts a server."""
    user = clients.user(environment)
    checks = []
    for client in clients.CLIENTS.values():
        try:
            entry = install.installed(client, user)
        except MemoryCoreError as problem:
            checks.append(Check(client.name, "degraded", problem.problem, problem.next_step))
            continue
        if entry is not None:
            checks.append(_client(client, entry, environment))
    return checks


def _client(client: Client, entry: Mapping[str, Any], environment: Mapping[str, str]) -> Check:
    trouble = probe(entry, environment)
    if not trouble:
        return Check(client.name, "ok", "its entry starts" if "command" in entry else "it answers")
    if "url" in entry:
        return Check(client.name, "degraded", trouble, "`anamnesis serve --transport http`")
    return Check(client.name, "degraded", trouble, f"`anamnesis install {client.name}`")


def _parts(call: Invocation) -> list[Check]:
    """The checks of `health`, or why the memory cannot be opened."""
    try:
        with open_memory(call.settings) as memory:
            memory.wait_ready(READY_SECONDS)
            return list(memory.health(call.who).checks)
    except MemoryCoreError as problem:
        return [Check("memory", "failing", problem.problem, problem.next_step)]


def probe(entry: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Start or call the server of *entry* as its client does; returns why it fails, or ""."""
    try:
        answer = _asked(entry) if "url" in entry else _started(entry, environment)
        name = json.loads(answer)["result"]["serverInfo"]["name"]
    except _Unanswered as reason:
        return str(reason)
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
    """The answer of the server at the URL of *entry*."""
    import httpx2

    headers = {**dict(entry.get("headers") or {}), "Accept": "application/json, text/event-stream"}
    try:
        answer = httpx2.post(str(entry["url"]), json=_HELLO, headers=headers, timeout=SECONDS)
    except httpx2.HTTPError as problem:
        raise _Unanswered(f"{entry['url']} does not answer ({problem})") from None
    if answer.status_code != 200:
        raise _Unanswered(f"{entry['url']} answers {answer.status_code}")
    return answer.text.partition("data: ")[2] or answer.text
