"""The command that changes the embedding model of a store."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import TYPE_CHECKING

from memory_core.records import Identity
from server.cli import console
from server.outcome import Outcome

if TYPE_CHECKING:
    from memory_core.memory import Memory as Engine
    from memory_core.maintenance.reembedding import Reembedding

POLL_SECONDS = 0.2
STALLED_SECONDS = 120.0
"""How long the command waits without any progress, here or by a server, before it lets go."""


def reembed(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Begin the change and, unless told otherwise, see it through; left undone is exit code 1."""
    del who
    name = args.model or engine.settings.embedder
    change = engine.reembedding
    change.begin(name)
    if not args.no_wait:
        with console.progress("reembed") as move:
            _see_through(change, move)
    left, under_way = change.left(), change.target is not None
    data = {"model": name, "changed": not under_way, "left": left}
    if under_way:
        text = f"{left} memories to go; a server on this memory goes on, or repeat the command"
        return Outcome(data, text, 0 if args.no_wait else 1)
    if left:
        return Outcome(
            data, f"the store works with {name}; {left} memories get their vectors later"
        )
    return Outcome(data, f"the store works with {name}")


def _see_through(change: Reembedding, move: console.Progress) -> None:
    """Work, or watch another process work, until nothing is left or nothing moves."""
    total = least = left = change.left()
    moved = time.monotonic()
    while (change.target is not None or left) and time.monotonic() - moved < STALLED_SECONDS:
        if not change.step():
            time.sleep(POLL_SECONDS)
        left = change.left()
        move(max(0, total - left), total, "reembed")
        if left < least:
            least, moved = left, time.monotonic()
