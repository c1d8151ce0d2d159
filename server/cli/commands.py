"""The commands: each asks the engine and returns an Outcome, which the command line prints."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from memory_core.config import Settings
from memory_core.errors import InvalidInput
from memory_core.records import Identity, Receipt
from server.cli import console
from server.cli.admin import backup, restore, salvage, setup, token
from server.cli.capture import observe, seed
from server.cli.console import Outcome
from server.cli.doctor import doctor
from server.cli.evaluate import evaluate
from server.cli.import_export import bring_in, export
from server.cli.install import install, uninstall
from server.protocol import rendering, structure

if TYPE_CHECKING:
    from memory_core.memory import Memory as Engine
from typing import TYPE_CHECKING

from memory_core.records import Change

if TYPE_CHECKING:
    from memory_core.memory import Memory as Engine
import time
from typing import TYPE_CHECKING

from memory_core.recall.request import RecallRequest
from memory_core.remember.request import RememberRequest

if TYPE_CHECKING:
    from memory_core.maintenance.reembedding import Reembedding
    from memory_core.memory import Memory as Engine


READY_SECONDS = 60.0
"""How long a command waits for the model; without it recall is lexical and says so."""
_ENOUGH_TOKENS = 1_000_000


def remember(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Store a memory; refused (it was forgotten) is exit code 1."""
    text = sys.stdin.read() if args.text == "-" else args.text
    engine.wait_ready(READY_SECONDS)

    def store(replaces: str) -> Receipt:
        return engine.remember(
            who,
            RememberRequest(
                text,
                kind=args.kind,
                importance=args.importance,
                tags=args.tags,
                when=args.when,
                speaker=args.speaker,
                session=args.session,
                scope=args.scope,
                source=args.source,
                replaces=replaces,
                role=args.role,
                trust="user",
                client="command line",
            ),
        )

    done = store(args.replaces)
    if done.status == "refused" and args.again:
        done = store(done.id)
    answer = structure.receipt(done)
    return Outcome(answer, rendering.remember(answer), 1 if done.status == "refused" else 0)


def recall(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Find memories."""
    import time

    engine.wait_ready(READY_SECONDS)
    found = engine.recall(
        who,
        RecallRequest(
            args.query,
            k=args.top,
            scope=args.scope,
            kinds=args.kinds,
            tags=args.tags,
            speaker=args.speaker,
            session=args.session,
            since=args.since,
            until=args.until,
            as_of=args.as_of,
            context=args.context,
            explain=args.explain,
        ),
    )
    answer = structure.recollection(found, time.time(), _ENOUGH_TOKENS)
    return Outcome(answer, _recalled(answer, explain=args.explain))


def _recalled(answer: Mapping[str, Any], *, explain: bool) -> str:
    """A table of hits with their texts, then what else came."""
    rows = [
        (n, hit["score"], hit.get("when", "")[:10], _who(hit), _told(hit, explain=explain))
        for n, hit in enumerate([*answer["memories"], *answer.get("partial", [])], 1)
    ]
    head = f"confidence {answer['confidence']} ({answer['feeling']})"
    if not answer["memories"]:
        head = f"nothing found{', only the half-matches above' if rows else ''}; {head}"
    lines = [console.table(("", "score", "when", "speaker", "memory"), rows)] if rows else []
    if answer.get("recent"):
        turns = [(_who(turn), turn["text"]) for turn in answer["recent"]]
        lines.append(console.table(("speaker", "recent turns"), turns))
    note = [f"note: {answer['note']}"] if answer.get("note") else []
    rejected = [(hit["score"], _told(hit, explain=True)) for hit in answer.get("rejected", [])]
    trace = [console.table(("score", "rejected"), rejected)] if rejected else []
    return "\n".join([*lines, head, *note, *trace])


def _who(item: Mapping[str, Any]) -> str:
    return str(item.get("speaker", ""))


def _told(hit: Mapping[str, Any], *, explain: bool) -> str:
    turns = [f"  before: {_who(turn)} {turn['text']}".rstrip() for turn in hit.get("before", [])]
    turns += [hit["text"]]
    turns += [f"  after: {_who(turn)} {turn['text']}".rstrip() for turn in hit.get("after", [])]
    facts = [hit["id"], hit.get("kind", ""), hit.get("scope", ""), *hit.get("tags", [])]
    turns.append(" · ".join(fact for fact in facts if fact))
    if explain and hit.get("why"):
        turns.append("why: " + ", ".join(f"{name} {value}" for name, value in hit["why"].items()))
    return "\n".join(turns)


def consolidate(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Run, preview or undo a consolidation; a failed run is exit code 1."""
    engine.wait_ready(READY_SECONDS)
    with console.progress("consolidate") as move:
        done = engine.consolidate(
            who,
            mode=args.mode,
            session=args.session,
            dry_run=args.dry_run,
            undo=args.undo,
            progress=move,
        )
    answer = structure.run_report(done)
    return Outcome(answer, rendering.consolidate(answer), 1 if done.status == "failed" else 0)


def forget(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Preview or delete."""
    if sum(map(bool, (args.ids, args.query, args.source))) > 1:
        raise InvalidInput("more than one of ids, --query and --source", "give one of them")
    if args.query:
        engine.wait_ready(READY_SECONDS)
    done = engine.forget(
        who,
        ids=args.ids,
        query=args.query,
        source=args.source,
        reason=args.reason,
        never_again=not args.allow_again,
        confirm=args.yes,
    )
    answer = structure.forget_report(done)
    hint = (
        "\ngive the ids (or --source) and --yes to delete for good"
        if done.status == "preview"
        else ""
    )
    return Outcome(answer, rendering.forget(answer) + hint)


def health(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Check every part; failing is exit code 1."""
    engine.wait_ready(READY_SECONDS)
    answer = structure.health_report(engine.health(who, repair=args.repair))
    checks = [
        (c["name"], c["status"], "; fix: ".join(filter(None, (c.get("detail"), c.get("fix")))))
        for c in answer["checks"]
    ]
    rest = {
        name: value for name, value in answer.items() if name not in ("status", "checks") and value
    }
    text = "\n".join(
        [
            console.table(("check", "status", "detail"), checks),
            console.pairs(rest),
            f"status: {answer['status']}",
        ]
    )
    return Outcome(answer, text, 1 if answer["status"] == "failing" else 0)


def encode(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Let the model do what is due now; what is left over is exit code 1."""
    engine.wait_ready(READY_SECONDS)
    with console.progress("encode") as move:
        done = engine.encode(who, args.since, move)
    text = f"encoded: {done.due - done.left}, left: {done.left}"
    text += f" ({done.problem})" if done.left and done.problem else ""
    data = {"asked": done.asked, "encoded": done.due - done.left, "left": done.left}
    return Outcome(data | {"problem": done.problem}, text, 1 if done.left else 0)


def stats(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Count memories; loads no model."""
    del args
    counts = engine.stats(who)
    return Outcome(counts, console.pairs(counts))


def clear(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Remove what this agent owns; without --yes it only counts."""
    if not args.yes:
        count = engine.stats(who)["memories"]
        raise InvalidInput(
            f"this would remove what agent {who.agent} owns (it can read {count})",
            "say --yes to do it; export first to keep a copy",
        )
    count = engine.clear(who)
    return Outcome({"removed": count}, f"removed: {count}")


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
        "when": rendering.iso(change.at),
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


WITH_ENGINE: dict[str, Callable[[Any, Identity, Namespace], Outcome]] = {
    "remember": remember,
    "observe": observe,
    "seed": seed,
    "recall": recall,
    "consolidate": consolidate,
    "forget": forget,
    "history": history,
    "encode": encode,
    "health": health,
    "reembed": reembed,
    "stats": stats,
    "export": export,
    "import": bring_in,
    "clear": clear,
}
WITHOUT_ENGINE: dict[str, Callable[[Settings, Namespace, Mapping[str, str]], Outcome]] = {
    "setup": setup,
    "evaluate": evaluate,
    "token": token,
    "install": install,
    "uninstall": uninstall,
    "doctor": doctor,
    "backup": backup,
    "restore": restore,
    "salvage": salvage,
}
