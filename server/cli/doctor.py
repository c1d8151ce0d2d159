"""`anamnesis doctor`: the health report for people, with the command that mends each finding.

It also says something when the memory cannot be opened at all, and when there is none yet.
"""

from __future__ import annotations

import re
import stat
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memory_core.config import Settings
from memory_core.errors import MemoryCoreError
from memory_core.records import Check, Identity
from server import trying
from server.clients import clients
from server.cli import console
from server.cli import install as installing
from server.clients.clients import Client
from server.outcome import Outcome

READY_SECONDS = 60.0
"""How long the model may take to load before it is reported as it is."""

_ORDER = ("ok", "repaired", "degraded", "failing")
_COMMAND = re.compile(r"`([^`]+)`")


def doctor(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Check the folder, the model and, when there is a memory, every part; failing is exit 1."""
    del args
    checks = [_folder(settings.data_dir), _weights(settings)]
    if _begun(settings.data_dir):
        checks += _parts(settings)
    checks += _clients(environment)
    status = max((check.status for check in checks), key=_ORDER.index)
    found = [
        {
            "name": c.name,
            "status": c.status,
            "detail": c.detail,
            "fix": c.fix,
            "command": command(c),
        }
        for c in checks
    ]
    return Outcome(
        {"status": status, "checks": found}, _told(status, found), int(status == "failing")
    )


def command(check: Check) -> str:
    """The command in the fix of *check*, or "" when a command does not mend it."""
    found = _COMMAND.search(check.fix)
    return found[1] if found else ""


def _told(status: str, found: Iterable[Mapping[str, Any]]) -> str:
    found = list(found)
    rows = [(c["name"], c["status"], c["detail"]) for c in found]
    lines = [console.table(("check", "status", "detail"), rows)]
    for check in found:
        if check["status"] in ("degraded", "failing"):
            lines.append(f"{check['name']}: {check['command'] or check['fix']}")
    return "\n".join([*lines, f"status: {status}"])


def _begun(directory: Path) -> bool:
    return (directory / "journal.db").exists()


def _folder(directory: Path) -> Check:
    """Whether the data directory is there and private."""
    try:
        mode = stat.S_IMODE(directory.stat().st_mode)
    except FileNotFoundError:
        return Check("data directory", "ok", f"{directory} is made by the first memory")
    except OSError as problem:
        detail = f"{directory} cannot be read ({problem.strerror})"
        return Check("data directory", "failing", detail, "give this user access, or name another")
    if mode & 0o077 and sys.platform != "win32":
        detail = f"{directory} can be read by others (mode {mode:o})"
        return Check("data directory", "degraded", detail, f"`chmod 700 '{directory}'`")
    if not _begun(directory):
        return Check("data directory", "ok", f"{directory} holds no memory yet")
    return Check("data directory", "ok", str(directory))


def _weights(settings: Settings) -> Check:
    """Whether the default model's files are on this machine; others are asked when they load."""
    if settings.embedder != "minilm":
        return Check("weights", "ok", f"{settings.embedder} keeps its own")
    from memory_core.embedding.acquisition import locate

    try:
        return Check("weights", "ok", str(locate(settings)))
    except MemoryCoreError as problem:
        return Check("weights", "degraded", problem.problem, problem.next_step)


def _clients(environment: Mapping[str, str]) -> list[Check]:
    """Each client that has an entry of ours, with what became of starting it as the client does."""
    user = clients.user(environment)
    checks = []
    for client in clients.CLIENTS.values():
        try:
            entry = installing.installed(client, user)
        except MemoryCoreError as problem:
            checks.append(Check(client.name, "degraded", problem.problem, problem.next_step))
            continue
        if entry is not None:
            checks.append(_client(client, entry, environment))
    return checks


def _client(client: Client, entry: Mapping[str, Any], environment: Mapping[str, str]) -> Check:
    problem = trying.problem(entry, environment)
    if not problem:
        return Check(client.name, "ok", "its entry starts" if "command" in entry else "it answers")
    if "url" in entry:
        return Check(client.name, "degraded", problem, "`anamnesis serve --transport http`")
    return Check(client.name, "degraded", problem, f"`anamnesis install {client.name}`")


def _parts(settings: Settings) -> list[Check]:
    """What health finds, or why the memory cannot be opened."""
    from memory_core.memory import Memory

    try:
        with Memory(settings) as memory:
            memory.wait_ready(READY_SECONDS)
            return list(memory.health(Identity(settings.agent, settings.team)).checks)
    except MemoryCoreError as problem:
        return [Check("memory", "failing", problem.problem, problem.next_step)]
