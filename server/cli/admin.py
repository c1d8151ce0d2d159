"""The commands that put a copy of the memory away, bring it back, and save what is left of one."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from memory_core.config import Settings
from memory_core.storage.backup import backup as backups
from memory_core.storage.backup import salvage as salvaging
from server.cli import console
from server.cli.console import Outcome
from server.http.tokens import Tokens
from server.protocol import rendering


def backup(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Copy the memory to a folder; exit code 1 when what is copied is damaged."""
    del environment
    made = backups.create(settings.data_dir, _path(args), time.time)
    lines = [f"{_told(made)} copied to {args.folder}", "what is forgotten later stays in this copy"]
    lines += [f"damaged: {problem}" for problem in made.damaged]
    return Outcome(asdict(made), "\n".join(lines), 1 if made.damaged else 0)


def restore(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Bring a backup back to a data directory that holds no memory."""
    del environment
    found = backups.restore(_path(args), settings.data_dir)
    text = f"{_told(found)}, copied {rendering.iso(found.at)}, restored to {settings.data_dir}"
    return Outcome(asdict(found), text)


def salvage(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Copy what is whole of a damaged memory to a folder; exit code 1 when something is missing."""
    del environment
    found = salvaging.salvage(settings.data_dir, _path(args), time.time)
    lines = [f"{found.memories} memories, {found.changes} changes salvaged to {args.folder}"]
    lines += [f"lost: changes {first} to {last}" for first, last in found.lost]
    lines.append(f"look at it with --data-dir {args.folder}; {settings.data_dir} was only read")
    return Outcome(asdict(found), "\n".join(lines), 1 if found.lost else 0)


def _told(backup: backups.Backup) -> str:
    return f"{backup.memories} memories, sequence {backup.sequence}"


def _path(args: Namespace) -> Path:
    return Path(args.folder).expanduser()


def setup(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Fetch and check the model's weights."""
    del args
    from memory_core.embedding import acquisition

    with console.progress("fetch the model") as move:
        folder = acquisition.acquire(
            settings,
            acquisition.indexes(environment),
            progress=lambda done, total: move(done, total, "fetch the model"),
        )
    return Outcome({"model": str(folder)}, f"the embedding model is in {folder}")


def token(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Add, list or revoke tokens."""
    del environment
    tokens = Tokens(settings.data_dir)
    if args.action == "add":
        rights = [right.strip() for right in args.rights.split(",") if right.strip()]
        secret = tokens.add(settings.agent, settings.team, rights)
        grant = tokens.find(secret)
        assert grant is not None
        return Outcome({"id": grant.id, "token": secret}, secret)
    if args.action == "revoke":
        gone = tokens.revoke(args.id)
        return Outcome({"revoked": gone.id}, f"token {gone.id} of {gone.agent} revoked")
    rows = [
        (g.id, g.agent, g.team, ",".join(g.rights), rendering.iso(g.created)) for g in tokens.all()
    ]
    columns = ("id", "agent", "team", "rights", "created")
    data = [dict(zip(columns, row, strict=True)) for row in rows]
    return Outcome(data, console.table(columns, rows) if rows else "no tokens yet")
