"""The commands on memories: those of the five tools, and what else a user does with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import click

from memory_core.errors import InvalidInput
from memory_core.recall.request import RecallRequest
from memory_core.records import KINDS, ROLES, VISIBILITIES, Change, ForgetReport, Identity
from memory_core.remember.request import RememberRequest
from memory_core.validation import TIMES
from server.cli import console, people
from server.cli.console import Outcome
from server.cli.grammar import (
    CLIENT,
    ERASE_SECONDS,
    MEMORY_ID,
    READY_SECONDS,
    STORING_SECONDS,
    command,
    on_a_terminal,
    with_memory,
)
from server.cli.place import Progress, place
from server.cli.plain_words import plain
from server.protocol import rendering, structure
from server.protocol.schemas import Mode

if TYPE_CHECKING:
    from memory_core.lifecycle.versions import Version
    from memory_core.maintenance.reembedding import Reembedding
    from memory_core.memory import Memory

_ENOUGH_TOKENS = 1_000_000


@command("remember", example='anamnesis remember "The spare key is under the blue flowerpot."')
@click.argument("text")
@click.option("--kind", type=click.Choice(KINDS), help="Kind of memory.  [default: episode]")
@click.option(
    "--importance", type=float, default=0.0, metavar="0-1", help="0: judged by the server."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; repeatable.")
@click.option("--when", default="", metavar="ISO", help="When it happened.  [default: now]")
@click.option("--speaker", default="", metavar="NAME", help="Who said it.")
@click.option("--session", default="", metavar="NAME", help="The conversation.")
@click.option("--scope", type=click.Choice(VISIBILITIES), help="Who reads it.  [default: private]")
@click.option("--source", default="", metavar="TEXT", help="Where it comes from.")
@click.option("--role", type=click.Choice(ROLES[1:]), help="The speaker's part.")
@click.option(
    "--replaces", default="", type=MEMORY_ID, metavar="ID", help="The memory that this corrects."
)
@click.option("--again", is_flag=True, help="Store it even if it was forgotten before.")
@with_memory(ready=STORING_SECONDS, begins=True)
def remember(
    memory: Memory,
    who: Identity,
    text: str,
    kind: str | None,
    importance: float,
    tags: Sequence[str],
    when: str,
    speaker: str,
    session: str,
    scope: str | None,
    source: str,
    role: str | None,
    replaces: str,
    again: bool,
) -> Outcome:
    """Store a memory.

    TEXT is up to 20,000 characters; `-` reads it from stdin. The exit code is 1 when the text is
    refused because it was forgotten.
    """
    request = RememberRequest(
        _stdin() if text == "-" else text,
        kind=kind or "",
        importance=importance,
        tags=tags,
        when=when,
        speaker=speaker,
        session=session,
        scope=scope or "",
        source=source,
        replaces=replaces,
        role=role or "",
        trust="user",
        client=CLIENT,
    )
    done = memory.remember(who, request)
    if done.status == "refused" and again:
        done = memory.remember(who, replace(request, replaces=done.id))
    answer = structure.receipt(done)
    text = people.remembered(people.abridged(memory, who, answer))
    return Outcome(answer, text, 1 if done.status == "refused" else 0)


def _stdin() -> str:
    with place.get().lines("-") as (lines, _):
        return "".join(lines)


@command("recall", example='anamnesis recall "how do I get into the flat without my key?"')
@click.argument("query")
@click.option(
    "-k", "--top", type=int, default=8, show_default=True, metavar="N", help="Memories, 1 to 50."
)
@click.option("--scope", type=click.Choice(VISIBILITIES), help="Only memories of this scope.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind; repeatable."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag; repeatable.")
@click.option("--speaker", default="", metavar="NAME", help="Only what NAME said.")
@click.option("--session", default="", metavar="NAME", help="The current conversation.")
@click.option("--since", default="", metavar="ISO", help="Only from then on.")
@click.option("--until", default="", metavar="ISO", help="Only up to then, inclusive.")
@click.option("--as-of", default="", metavar="ISO", help="Answer with what was known then.")
@click.option(
    "--context",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Turns before and after each memory, 0 to 5.",
)
@click.option("--explain", is_flag=True, help="Show why each memory was chosen or rejected.")
@with_memory(ready=True)
def recall(
    memory: Memory,
    who: Identity,
    query: str,
    top: int,
    scope: str | None,
    kinds: Sequence[str],
    tags: Sequence[str],
    speaker: str,
    session: str,
    since: str,
    until: str,
    as_of: str,
    context: int,
    explain: bool,
) -> Outcome:
    """Find memories.

    QUERY is a question, a cue or an id.
    """
    request = RecallRequest(
        query,
        k=top,
        scope=scope or "",
        kinds=kinds,
        tags=tags,
        speaker=speaker,
        session=session,
        since=since,
        until=until,
        as_of=as_of,
        context=context,
        explain=explain,
        cut=True,
    )
    found = memory.recall(who, request)
    answer = structure.recollection(found, time.time(), _ENOUGH_TOKENS, full=True)
    shown = people.abridged(memory, who, answer)
    return Outcome(answer, recall_tables(shown, explain=explain))


def recall_tables(answer: Mapping[str, Any], *, explain: bool) -> str:
    """Tables of the memories found, of recent turns and of rejected candidates."""
    rows = [
        (n, rendering.day(hit.get("when")), _speaker(hit), _hit(hit, explain=explain))
        for n, hit in enumerate([*answer["memories"], *answer.get("partial", [])], 1)
    ]
    head = f"confidence {answer['confidence']} ({answer['feeling']})"
    if not answer["memories"]:
        nothing = rendering.nothing(answer)
        head = f"{nothing}{', only the half-matches above' if rows else ''}; {head}"
    lines = [console.table(("", "when", "speaker", "memory"), rows)] if rows else []
    if answer.get("recent"):
        turns = [(_speaker(turn), turn["text"]) for turn in answer["recent"]]
        lines.append(console.table(("speaker", "recent turns"), turns))
    note = [f"note: {answer['note']}"] if answer.get("note") else []
    rejected = [(hit["score"], _hit(hit, explain=True)) for hit in answer.get("rejected", [])]
    trace = [console.table(("score", "rejected"), rejected)] if rejected else []
    return "\n".join([*lines, head, *note, *trace])


def _speaker(item: Mapping[str, Any]) -> str:
    return str(item.get("speaker", ""))


def _hit(hit: Mapping[str, Any], *, explain: bool) -> str:
    """The text of a memory between its neighbours, then what is known of it, a line each."""
    lines = [
        *(f"  before: {_speaker(turn)} {turn['text']}".rstrip() for turn in hit.get("before", ())),
        hit["text"],
        *(f"  after: {_speaker(turn)} {turn['text']}".rstrip() for turn in hit.get("after", ())),
    ]
    facts = [hit["id"], hit.get("kind", ""), hit.get("scope", ""), *hit.get("tags", [])]
    lines.append(" · ".join(fact for fact in facts if fact))
    if mark := rendering.out_of_date(hit):
        lines.append(mark)
    if explain and hit.get("why"):
        lines.append(
            f"score {hit['score']}; why: "
            + ", ".join(f"{name} {value}" for name, value in hit["why"].items())
        )
    return "\n".join(lines)


@command("consolidate", example="anamnesis consolidate --dry-run")
@click.option(
    "--mode",
    type=click.Choice(get_args(Mode)),
    default="sleep",
    show_default=True,
    help="Which steps run; sleep runs all.",
)
@click.option("--session", default="", metavar="NAME", help="Only this conversation.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--undo", default="", metavar="RUN", help="Undo the run with this id.")
@with_memory(ready=True)
def consolidate(
    memory: Memory, who: Identity, mode: str, session: str, dry_run: bool, undo: str
) -> Outcome:
    """Summarise, merge and link memories, and retire faded ones.

    The exit code is 1 when the run fails.
    """
    with console.progress("consolidate") as move:
        done = memory.consolidate(
            who, mode=mode, session=session, dry_run=dry_run, undo=undo, progress=move
        )
    answer = structure.run_report(done, structure.says(memory, who))
    text = people.consolidated(people.abridged(memory, who, answer))
    return Outcome(answer, text, 1 if done.status == "failed" else 0)


@command("forget", example='anamnesis forget --query "spare key"')
@click.argument("ids", nargs=-1, type=MEMORY_ID, metavar="[ID]...")
@click.option("--query", default="", metavar="TEXT", help="Show candidates; deletes nothing.")
@click.option("--source", default="", metavar="TEXT", help="All memories with exactly this source.")
@click.option("--reason", default="", metavar="TEXT", help="Why; stored with the deletion.")
@click.option("--allow-again", is_flag=True, help="The same text may be remembered later.")
@click.option("--yes", is_flag=True, help="Delete; without it the command only previews.")
@with_memory(ready=False)
def forget(
    memory: Memory,
    who: Identity,
    ids: Sequence[str],
    query: str,
    source: str,
    reason: str,
    allow_again: bool,
    yes: bool,
) -> Outcome:
    """Delete memories for good.

    Give ids or a source. Without --yes the command only shows what it would delete; on a terminal
    it asks which of what --query finds shall go, by number.
    """
    if sum(map(bool, (ids, query, source))) > 1:
        raise InvalidInput("more than one of ids, --query and --source", "give one of them")
    if query:
        memory.wait_ready(READY_SECONDS)

    def preview_or_delete(chosen: Sequence[str], query: str, *, confirm: bool) -> ForgetReport:
        return memory.forget(
            who,
            ids=chosen,
            query=query,
            source=source,
            reason=reason,
            never_again=not allow_again,
            confirm=confirm,
            finish_seconds=ERASE_SECONDS,
        )

    done = preview_or_delete(ids, query, confirm=yes)
    if query and on_a_terminal() and (picked := _picked(memory, who, done)):
        done = preview_or_delete(picked, "", confirm=False)
        derived = f", with {len(done.derived)} derived from them" if done.derived else ""
        if click.confirm(f"Delete {len(done.removed)} for good{derived}?", err=True):
            done = preview_or_delete(picked, "", confirm=True)
    answer = structure.forget_report(done)
    text = people.forgotten(people.abridged(memory, who, answer))
    if done.status == "preview":
        text += "\ngive the ids (or --source) and --yes to delete for good"
    return Outcome(answer, text)


def _picked(memory: Memory, who: Identity, done: ForgetReport) -> list[str]:
    """The ids of those of a preview that the user chooses by number."""
    answer = people.abridged(memory, who, structure.forget_report(done))
    if not done.removed:
        return []
    click.echo(people.forgotten(answer), err=True)
    named = click.prompt("Which? (1 3-4, a for all, empty for none)", default="", err=True)
    return [done.removed[place].id for place in people.chosen(named, len(answer["removed"]))]


@command("health", example="anamnesis health")
@click.option("--repair", is_flag=True, help="Check every checksum and rebuild what is damaged.")
@with_memory(ready=True)
def health(memory: Memory, who: Identity, repair: bool) -> Outcome:
    """Check every part of the memory with a real round trip.

    The exit code is 1 when the status is failing.
    """
    answer = structure.health_report(memory.health(who, repair=repair), place.get().serving())
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


@command("encode")
@click.option("--since", default="", metavar="ISO", help="Encode again what is from then on.")
@with_memory(ready=True)
def encode(memory: Memory, who: Identity, since: str) -> Outcome:
    """Let the language model do what is due now.

    The exit code is 1 when some are left.
    """
    with console.progress("encode") as move:
        done = memory.encode(who, since, move)
    text = f"encoded: {done.due - done.left}, left: {done.left}"
    text += f" ({done.problem})" if done.left and done.problem else ""
    data = {"asked": done.asked, "encoded": done.due - done.left, "left": done.left}
    return Outcome(data | {"problem": done.problem}, text, 1 if done.left else 0)


@command("stats")
@with_memory(ready=False)
def stats(memory: Memory, who: Identity) -> Outcome:
    """Count memories without loading a model."""
    counts = memory.stats(who)
    return Outcome(counts, console.pairs(counts))


_SHOWN_CHARS = 60


@command("history")
@click.argument("id", type=MEMORY_ID)
@click.option(
    "--undo",
    type=click.IntRange(min=1),
    metavar="CHANGE",
    help="Undo the change with this number.",
)
@with_memory(ready=False)
def history(memory: Memory, who: Identity, id: str, undo: int | None) -> Outcome:
    """Show every change of a memory, or undo one."""
    if undo:
        change, done = memory.undo_change(who, id, undo)
        undone = {"memory": id, "change": change.seq, "done": done}
        return Outcome(undone, f"change {change.seq} of {id} is undone; {done}")
    changes = memory.history(who, id)
    rows = [_history_row(change) for change in changes]
    columns = ("change", "when", "who", "how", "what")
    cells = [tuple(_history_row(each, plain)[name] for name in columns) for each in changes]
    return Outcome(
        rows, f"{_version(id, memory.version(who, id))}\n{console.table(columns, cells)}"
    )


def _version(id: str, version: Version) -> str:
    """How the memory came to be, and whether it is the latest: "version 2, updates ID"."""
    parent = f", {version.relation} {version.parent}" if version.parent else ", new"
    root = f", from {version.root}" if version.number > 2 else ""
    later = f"; the latest is {version.latest}" if version.latest != id else ""
    return f"version {version.number}{parent}{root}{later}"


def _history_row(change: Change, say: Callable[[str], str] = str) -> dict[str, Any]:
    """What *change* was, with the names of sources, links and fields as *say* has them."""
    run = f"run {change.run}" if change.run else ""
    how = " ".join(filter(None, (say(change.source), run)))
    return {
        "change": change.seq,
        "when": rendering.iso(change.at),
        "who": change.actor,
        "how": how,
        "what": _changed_values(change, say),
        "kind": change.kind,
        "values": dict(change.body or {}),
    }


def _changed_values(change: Change, say: Callable[[str], str]) -> str:
    """What the change set to what, shortened."""
    body: Mapping[str, Any] = change.body or {}
    if change.body is None:
        return f"{change.kind}, erased"
    if change.kind == "link":
        kind = say(body["kind"])
        return f"{kind} {body['b']}" if body["weight"] >= 0.5 else f"not {kind}"
    if change.kind == "vectors":
        return f"{len(body['parts'])} vectors"
    if change.kind != "put":
        return change.kind
    if "id" in body:
        return f"begins: {_short(body['text'])}"
    if "merged" in body:
        return f"said again: {_short(body['merged'].get('text', ''))}"
    return ", ".join(f"{say(name)} = {_short(_value(name, value))}" for name, value in body.items())


def _value(name: str, value: Any) -> Any:
    """The *value* of the field *name*, a time as a date."""
    return rendering.iso(value) if name in TIMES and value is not None else value


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


POLL_SECONDS = 0.2
STALLED_SECONDS = 120.0
"""How long `reembed` waits without progress, its own or a server's, before it ends."""


@command("reembed")
@click.argument("model", default="")
@click.option("--no-wait", is_flag=True, help="Leave the work to a running server.")
@with_memory(ready=False, begins=True)
def reembed(memory: Memory, who: Identity, model: str, no_wait: bool) -> Outcome:
    """Change the embedding model.

    MODEL is the new one, by default that of the settings. Recall uses the old model until all
    memories have vectors of the new one. The exit code is 1 when the change is not finished.
    """
    del who
    name = model or memory.settings.embedder
    change = memory.reembedding
    change.begin(name)
    if not no_wait:
        with console.progress("reembed") as move:
            _finish(change, move)
    left, under_way = change.left(), change.target is not None
    data = {"model": name, "changed": not under_way, "left": left}
    if under_way:
        text = f"{left} memories to go; a running server goes on, or repeat the command"
        return Outcome(data, text, 0 if no_wait else 1)
    if left:
        text = f"the store works with {name}; {left} memories get their vectors later"
        return Outcome(data, text)
    return Outcome(data, f"the store works with {name}")


def _finish(change: Reembedding, move: Progress) -> None:
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
