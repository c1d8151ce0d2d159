"""The commands on a whole data directory: backups, tokens, the model's weights, and removal."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory_core.config import PACKAGED
from memory_core.errors import InvalidInput, MemoryCoreError
from memory_core.records import Identity
from server.cli import console
from server.cli.console import Outcome
from server.cli.grammar import ERASE_SECONDS, PLACE, SectionedGroup, command, with_memory
from server.cli.invocation import Invocation
from server.protocol import rendering

if TYPE_CHECKING:
    from memory_core.memory import Memory
    from memory_core.storage.backup.backup import Backup

log = logging.getLogger(__name__)


@command("backup", example="anamnesis backup memory-copy")
@click.argument("folder", type=PLACE, metavar="DIR")
@click.pass_obj
def backup(call: Invocation, folder: str) -> Outcome:
    """Copy the memory to a new folder.

    DIR must be empty or not exist. Servers may go on writing meanwhile. The exit code is 1 when
    what is copied is damaged.
    """
    from memory_core.storage.backup import backup as backups

    target = Path(folder).expanduser()
    made = backups.create(call.settings.data_dir, target, time.time)
    _note(call.settings.data_dir, target, made)
    lines = [f"{_size(made)} copied to {folder}", "what is forgotten later stays in this copy"]
    lines += [f"damaged: {problem}" for problem in made.damaged]
    return Outcome(asdict(made), "\n".join(lines), 1 if made.damaged else 0)


@command("restore", example="anamnesis restore memory-copy --data-dir restored-memory")
@click.argument("folder", type=PLACE, metavar="DIR")
@click.pass_obj
def restore(call: Invocation, folder: str) -> Outcome:
    """Restore a backup from its folder.

    The data directory must not hold a memory.
    """
    from memory_core.storage.backup import backup as backups

    data_dir = call.settings.data_dir
    found, model = backups.restore(Path(folder).expanduser(), data_dir)
    _note(data_dir, Path(folder).expanduser(), found)
    lines = [f"{_size(found)}, copied {rendering.iso(found.at)}, restored to {data_dir}"]
    if model not in ("", PACKAGED, call.settings.embedder):
        lines.append(
            f"it works with the model {model}: set ANAMNESIS_EMBEDDER to that, or run "
            f"`anamnesis reembed`"
        )
    return Outcome(asdict(found) | {"model": model}, "\n".join(lines))


def _note(data_dir: Path, place: Path, made: Backup) -> None:
    """Note the backup in the memory; where that cannot be written, forget does not name it."""
    from memory_core.storage.backup import backup as backups

    try:
        backups.note(data_dir, place, made, time.time)
    except MemoryCoreError as problem:
        log.warning("forget will not name this backup: %s", problem)


@command("salvage", example="anamnesis salvage saved-memory")
@click.argument("folder", type=PLACE, metavar="DIR")
@click.pass_obj
def salvage(call: Invocation, folder: str) -> Outcome:
    """Copy what is whole of a damaged memory to a new folder.

    DIR must be empty or not exist. The damaged files are only read. Where the journal is lost, the
    memories come from the table. The exit code is 1 when something is lost.
    """
    from memory_core.storage.backup import salvage as salvages

    data_dir = call.settings.data_dir
    found = salvages.salvage(data_dir, Path(folder).expanduser(), time.time)
    lines = [f"{found.memories} memories, {found.changes} changes salvaged to {folder}"]
    lines += [f"lost: changes {first} to {last}" for first, last in found.lost]
    if found.table:
        lines = [f"{found.memories} memories salvaged to {folder}, from table {found.table}"]
        lines.append("lost: history, links, and which texts were never to be kept again")
        lines.append("what was said or forgotten last may be missing, or back")
    lines += [f"damaged: {problem}" for problem in found.damaged]
    lines.append(f"look at it with --data-dir {folder}; {data_dir} was only read")
    return Outcome(asdict(found), "\n".join(lines), 1 if found.lost or found.table else 0)


def _size(backup: Backup) -> str:
    return f"{backup.memories} memories, sequence {backup.sequence}"


@command("setup", example="anamnesis setup")
@click.pass_obj
def setup(call: Invocation) -> Outcome:
    """Fetch the embedding model if this machine has none."""
    from memory_core.embedding import acquisition

    with console.progress("fetch the model") as move:
        folder = acquisition.acquire(
            call.settings,
            acquisition.indexes(call.environment),
            progress=lambda done, total: move(done, total, "fetch the model"),
        )
    return Outcome({"model": str(folder)}, f"the embedding model is in {folder}")


@command("clear")
@click.option("--yes", is_flag=True, help="Remove; without it nothing happens.")
@with_memory(ready=False)
def clear(memory: Memory, who: Identity, yes: bool) -> Outcome:
    """Remove every memory of this agent, for good."""
    if not yes:
        count = memory.stats(who)["memories"]
        raise InvalidInput(
            f"this would remove what agent {who.agent} owns (it can read {count})",
            "say --yes to do it; export first to keep a copy",
        )
    from memory_core.forget import FORGOTTEN

    count = memory.clear(who)
    erased = memory.finish_erasing(ERASE_SECONDS)
    lines = [f"removed: {count}", "" if erased else FORGOTTEN, memory.copies(who)]
    return Outcome({"removed": count}, "\n".join(line for line in lines if line))


@command("add", example="anamnesis token add --agent laptop --rights read")
@click.option(
    "--rights",
    default="read,write",
    show_default=True,
    metavar="LIST",
    help="Of read, write and admin.",
)
@click.option("--no-encoder", is_flag=True, help="Send nothing stored with it to a model.")
@click.pass_obj
def add_token(call: Invocation, rights: str, no_encoder: bool) -> Outcome:
    """Make a token for this agent and team, and print it once."""
    from server.http.tokens import Tokens

    tokens = Tokens(call.settings.data_dir)
    wanted = [right.strip() for right in rights.split(",") if right.strip()]
    secret = tokens.add(call.settings.agent, call.settings.team, wanted, encode=not no_encoder)
    grant = tokens.find(secret)
    assert grant is not None
    return Outcome({"id": grant.id, "token": secret}, secret)


@command("list")
@click.pass_obj
def list_tokens(call: Invocation) -> Outcome:
    """Show tokens by id, agent, team and rights."""
    from server.http.tokens import Tokens

    columns = ("id", "agent", "team", "rights", "created")
    rows: Sequence[tuple[str, ...]] = [
        (each.id, each.agent, each.team, ",".join(each.rights), rendering.iso(each.created))
        for each in Tokens(call.settings.data_dir).all()
    ]
    data = [dict(zip(columns, row, strict=True)) for row in rows]
    return Outcome(data, console.table(columns, rows) if rows else "no tokens yet")


@command("revoke")
@click.argument("id")
@click.pass_obj
def revoke_token(call: Invocation, id: str) -> Outcome:
    """Revoke the token ID."""
    from server.http.tokens import Tokens

    gone = Tokens(call.settings.data_dir).revoke(id)
    return Outcome({"revoked": gone.id}, f"token {gone.id} of {gone.agent} revoked")


@click.group(
    "token",
    cls=SectionedGroup,
    sections={"Commands": (add_token, list_tokens, revoke_token)},
)
def token() -> None:
    """Manage the tokens of the HTTP server."""
