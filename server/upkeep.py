"""The commands that need no memory of the user's: setup and token."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from memory_core.config import Settings
from server.cli import console
from server.protocol import text as render
from server.http.tokens import Tokens
from server.outcome import Outcome


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
        (g.id, g.agent, g.team, ",".join(g.rights), render.iso(g.created)) for g in tokens.all()
    ]
    columns = ("id", "agent", "team", "rights", "created")
    data = [dict(zip(columns, row, strict=True)) for row in rows]
    return Outcome(data, console.table(columns, rows) if rows else "no tokens yet")
