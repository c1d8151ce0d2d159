"""The commands observe and seed: turns of a conversation, and facts in bulk, a line each."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memory_core.errors import InvalidInput, ScopeDenied
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from server.cli import console
from server.cli.console import Outcome
from server.cli.import_export import READY_SECONDS, read_lines
from server.protocol import rendering

if TYPE_CHECKING:
    from memory_core.memory import Memory as Engine

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


def observe(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Keep the turns of a file or of stdin that pass the relevance gate; the others are named."""
    engine.wait_ready(READY_SECONDS)
    statuses: Counter[str] = Counter()
    ids: list[str] = []
    skipped: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, given in _each(args.file, "observe", TURN, "content", problems):
        turn = _turn(given, args)
        try:
            seen = engine.observe(who, turn)
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


def seed(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Remember every line of a file, without the relevance gate (seed row A2.8)."""
    engine.wait_ready(READY_SECONDS)
    statuses: Counter[str] = Counter()
    ids: list[str] = []
    problems: list[str] = []
    for number, given in _each(args.file, "seed", FACT, "text", problems):
        try:
            fact = {"kind": "fact", "source": args.source, **given}
            request = RememberRequest(**fact, trust="user", client="command line")
            receipt = engine.remember(who, request)
        except (InvalidInput, ScopeDenied) as problem:
            problems.append(f"line {number}: {problem}")
            continue
        statuses[receipt.status] += 1
        ids.append(receipt.id)
    text = "\n".join([_counted("seeded", statuses), *problems])
    data = {"seeded": dict(statuses), "ids": ids, "problems": problems}
    return Outcome(data, text, 1 if problems else 0)


def _each(
    file: str, label: str, known: Iterable[str], plain: str, problems: list[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and fields of every line: an object of *known* fields, or text, which is *plain*."""
    with read_lines(file) as (lines, size), console.progress(label) as move:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield number, _fields(line.strip(), tuple(known), plain)
            except InvalidInput as problem:
                problems.append(f"line {number}: {problem}")
            move(number, size, label)


def _fields(line: str, known: tuple[str, ...], plain: str) -> dict[str, Any]:
    if not line.startswith("{"):
        return {plain: line}
    try:
        given = json.loads(line)
    except ValueError:
        return {plain: line}  # a sentence may begin with a brace
    unknown = sorted(given.keys() - set(known))
    if unknown or plain not in given:
        problem = f"unknown field {unknown[0]}" if unknown else f"{plain} is missing"
        raise InvalidInput(problem, f"give an object with {', '.join(known)}, or plain text")
    return dict(given)


def _turn(given: Mapping[str, Any], args: Namespace) -> ConversationTurn:
    return ConversationTurn(
        role=given.get("role", args.role),
        content=given["content"],
        timestamp=given.get("timestamp"),
        session=given.get("session", args.session),
        speaker=given.get("speaker", args.speaker),
        tags=args.tags,
        source=args.source,
        client="command line",
    )


def _counted(label: str, statuses: Counter[str]) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    return f"{label}: {counts or 'nothing'}"
