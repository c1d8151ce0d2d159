"""The command that shows the history of a memory and takes one change of it back."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memory_core.records import Change, Identity
from server.cli import console
from server.protocol import text as render
from server.outcome import Outcome

if TYPE_CHECKING:
    from memory_core.memory import Memory as Engine

SHOWN_CHARS = 60


def history(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Show every change of a memory, or take one back."""
    if args.undo:
        change, done = engine.undo_change(who, args.id, args.undo)
        told = {"memory": args.id, "change": change.seq, "done": done}
        return Outcome(told, f"change {change.seq} of {args.id} is taken back; {done}")
    rows = [_row(change) for change in engine.history(who, args.id)]
    columns = ("change", "when", "who", "how", "what")
    cells = [tuple(row[name] for name in columns) for row in rows]
    return Outcome(rows, console.table(columns, cells))


def _row(change: Change) -> dict[str, Any]:
    how = " ".join(filter(None, (change.source, f"run {change.run}" if change.run else "")))
    return {
        "change": change.seq,
        "when": render.iso(change.at),
        "who": change.actor,
        "how": how,
        "what": _what(change),
        "kind": change.kind,
        "values": dict(change.body or {}),
    }


def _what(change: Change) -> str:
    """The change in words: what was set to what, shortened."""
    body: Mapping[str, Any] = change.body or {}
    if change.body is None:
        return f"{change.kind}, erased"
    if change.kind == "link":
        return f"{body['kind']} {body['b']}" if body["weight"] >= 0.5 else f"not {body['kind']}"
    if change.kind == "vectors":
        return f"{len(body['parts'])} vectors"
    if change.kind != "put":
        return change.kind
    if "id" in body:
        return f"begins: {_short(body['text'])}"
    if "merged" in body:
        return f"said again: {_short(body['merged'].get('text', ''))}"
    return ", ".join(f"{name} = {_short(value)}" for name, value in body.items())


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
