"""The commands `observe` and `seed`, for turns and facts in bulk; `pause` and `resume` of hooks."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from memory_core.errors import InvalidInput, ScopeDenied
from memory_core.records import ROLES, Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from memory_core.text.time.timestamps import iso
from server.cli import console
from server.cli.console import Outcome
from server.cli.grammar import CLIENT, PLACE, command, with_memory
from server.cli.invocation import Invocation
from server.cli.place import place
from server.hooks import pause
from server.protocol import rendering

if TYPE_CHECKING:
    from memory_core.memory import Memory

REPEAT = "repeat the command for the rest"
"""What to do after an interruption: what is stored already is known again."""
TURN = ("role", "content", "timestamp", "session", "speaker")
FACT = (
    "text",
    "kind",
    "importance",
    "tags",
    "when",
    "speaker",
    "session",
    "role",
    "scope",
    "source",
)


@command("observe")
@click.argument("file", type=PLACE, default="-")
@click.option(
    "--role",
    type=click.Choice(ROLES[1:]),
    default="user",
    show_default=True,
    help="The speaker's part, where a line names none.",
)
@click.option("--session", default="", metavar="NAME", help="The conversation, likewise.")
@click.option("--speaker", default="", metavar="NAME", help="Who said it, likewise.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; repeatable.")
@click.option("--source", default="", metavar="TEXT", help="Where it comes from.")
@with_memory(ready=True, begins=True)
def observe(
    memory: Memory,
    who: Identity,
    file: str,
    role: str,
    session: str,
    speaker: str,
    tags: Sequence[str],
    source: str,
) -> Outcome:
    """Store what is relevant of a conversation.

    FILE (default: stdin) has a turn a line, plain text or JSON with role, content, timestamp,
    session and speaker. The relevance gate skips lines and names each with its reason. The exit
    code is 1 when a line is wrong.
    """
    statuses: Counter[str] = Counter()
    ids: list[str] = []
    skipped: list[dict[str, Any]] = []
    problems: list[str] = []
    with _told_if_interrupted("observed", statuses):
        for number, given in _each(file, "observe", TURN, "content", problems):
            turn = ConversationTurn(
                role=given.get("role", role),
                content=given["content"],
                timestamp=given.get("timestamp"),
                session=given.get("session", session),
                speaker=given.get("speaker", speaker),
                tags=tags,
                source=source,
                client=CLIENT,
            )
            try:
                seen = memory.observe(who, turn)
            except (InvalidInput, ScopeDenied) as problem:
                problems.append(f"line {number}: {problem}")
                continue
            if seen.receipt is not None:
                statuses[seen.receipt.status] += 1
                ids.append(seen.receipt.id)
            for left in seen.skipped:
                statuses["skipped"] += 1
                skipped.append(
                    {"line": number, "reason": left.reason, "of": left.of, "text": left.text}
                )
    lines = [_counted("observed", statuses)]
    lines += [
        f"line {s['line']} skipped, {s['reason']}: {rendering.line(s['text'])[:60]}"
        for s in skipped
    ]
    data = {"observed": dict(statuses), "ids": ids, "skipped": skipped, "problems": problems}
    return Outcome(data, "\n".join([*lines, *problems]), 1 if problems else 0)


@command("seed")
@click.argument("file", type=PLACE)
@click.option("--source", default="", metavar="TEXT", help="Where it comes from.")
@with_memory(ready=True, begins=True)
def seed(memory: Memory, who: Identity, file: str, source: str) -> Outcome:
    """Store every line of a file.

    FILE is not filtered by relevance; `-` is stdin. A line is plain text or JSON with text, kind
    (default: fact), tags, when, speaker, session, importance and source. The exit code is 1 when a
    line is wrong.
    """
    statuses: Counter[str] = Counter()
    ids: list[str] = []
    problems: list[str] = []
    with _told_if_interrupted("seeded", statuses):
        for number, given in _each(file, "seed", FACT, "text", problems):
            try:
                fact = {"kind": "fact", "source": source, **given}
                request = RememberRequest(**fact, trust="user", client=CLIENT)
                receipt = memory.remember(who, request)
            except (InvalidInput, ScopeDenied) as problem:
                problems.append(f"line {number}: {problem}")
                continue
            statuses[receipt.status] += 1
            ids.append(receipt.id)
    text = "\n".join([_counted("seeded", statuses), *problems])
    data = {"seeded": dict(statuses), "ids": ids, "problems": problems}
    return Outcome(data, text, 1 if problems else 0)


@command("pause", example="anamnesis pause --for 2h")
@click.option("--for", "span", default="", metavar="TIME", help="30s, 45m, 2h or 3d.")
@click.pass_obj
def pause_hooks(call: Invocation, span: str) -> Outcome:
    """Pause the hooks of all clients.

    They capture and tell nothing until `anamnesis resume`, or for the time that --for gives. Tools
    and commands work on.
    """
    end = time.time() + _seconds(span) if span else None
    try:
        pause.begin(str(call.settings.data_dir), end)
    except OSError as error:
        from memory_core.storage.errors import from_os_error

        raise from_os_error(error, f"write {pause.PAUSED}") from error
    until = "" if end is None else iso(end)
    text = f"hooks are paused until {until or '`anamnesis resume`'}"
    return Outcome({"paused": True, "until": until}, text)


@command("resume")
@click.pass_obj
def resume_hooks(call: Invocation) -> Outcome:
    """Let the hooks work again."""
    try:
        pause.end(str(call.settings.data_dir))
    except OSError as error:
        from memory_core.storage.errors import from_os_error

        raise from_os_error(error, f"remove {pause.PAUSED}") from error
    return Outcome({"paused": False}, "hooks work")


def _seconds(span: str) -> float:
    """The seconds of "30s", "45m", "2h" or "3d". Raises InvalidInput."""
    found = re.fullmatch(r"(\d{1,6})\s*([smhd])", span.strip().lower())
    if found is None or not int(found[1]):
        raise InvalidInput(f"{span} is no time", "give a number and a unit, such as 30m, 2h or 3d")
    return int(found[1]) * {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}[found[2]]


def _each(
    file: str, label: str, known: Iterable[str], plain: str, problems: list[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and fields of every line: an object of *known* fields, or text, which is *plain*."""
    with place.get().lines(file) as (lines, size), console.progress(label) as move:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield number, _fields(line.strip(), tuple(known), plain)
            except InvalidInput as problem:
                problems.append(f"line {number}: {problem}")
            move(number, size, label)


def _fields(line: str, known: tuple[str, ...], plain: str) -> dict[str, Any]:
    if "\0" in line:
        raise InvalidInput("it holds NUL characters, as a file in UTF-16 does", "save it as UTF-8")
    if not line.startswith("{"):
        return {plain: line}
    try:
        given = json.loads(line)
    except RecursionError:
        raise InvalidInput("its JSON is nested too deeply", "give its text alone") from None
    except ValueError:
        return {plain: line}  # a sentence may begin with a brace
    unknown = sorted(given.keys() - set(known))
    if unknown or plain not in given:
        problem = f"unknown field {unknown[0]}" if unknown else f"{plain} is missing"
        raise InvalidInput(problem, f"give an object with {', '.join(known)}, or plain text")
    return dict(given)


@contextmanager
def _told_if_interrupted(label: str, statuses: Counter[str]) -> Iterator[None]:
    """Let an interruption say what is stored by then, by *statuses*."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_counted(label, statuses), REPEAT) from None


def _counted(label: str, statuses: Counter[str]) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    return f"{label}: {counts or 'nothing'}"
