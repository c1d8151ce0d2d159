"""From what a caller passes to a draft that can be written: every argument checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memory_core import validation
from memory_core.config import LimitSettings
from memory_core.records import KINDS, ROLES, TRUSTS, ConversationTurn, Identity, Link, Memory
from memory_core.remember.writer import Draft


def draft(
    who: Identity,
    text: str,
    limits: LimitSettings,
    now: float,
    *,
    kind: str = "",
    importance: float = 0.0,
    tags: Sequence[str] = (),
    when: str | float = "",
    speaker: str = "",
    session: str = "",
    scope: str = "",
    source: str = "",
    replaces: str = "",
    role: str = "",
    trust: str = "agent",
    client: str = "",
    key: str = "",
) -> Draft:
    """The draft of a memory of *who*; see Memory.remember for the arguments and the errors."""
    cleaned, warnings = validation.prose(text, "text", limits.text_chars, validation.SPLIT)
    memory = Memory(
        id="",
        text=cleaned,
        visibility=validation.write_scope(who, scope),
        agent=who.agent,
        team=who.team,
        session=validation.label(session, "session"),
        speaker=validation.label(speaker, "speaker"),
        role=validation.one_of(role, "role", ROLES),
        kind=validation.one_of(kind, "kind", KINDS) or "episode",
        tags=validation.labels(tags, "tags"),
        importance=validation.number(importance, "importance", 0.0, 1.0),
        occurred_at=validation.when(when, "when", now),
        source=validation.text(source, "source", limits.source_chars),
        trust=validation.one_of(trust, "trust", TRUSTS) or "agent",
        client=validation.text(client, "client", validation.LABEL_CHARS),
    )
    return Draft(
        memory,
        judged=importance > 0.0,
        replaces=validation.reference(replaces, "replaces"),
        key=validation.label(key, "key"),
        warnings=warnings,
    )


def of_turn(
    who: Identity,
    turn: ConversationTurn,
    limits: LimitSettings,
    now: float,
    scope: str,
    tags: Sequence[str],
    trust: str,
    source: str,
    client: str,
) -> Draft:
    """The draft of a captured *turn*; what an assistant or a tool said carries trust agent."""
    spoken = turn.role in ("", "user")
    return draft(
        who,
        turn.content,
        limits,
        now,
        tags=tags,
        when="" if turn.timestamp is None else turn.timestamp,
        speaker=turn.speaker,
        session=turn.session,
        scope=scope,
        source=source,
        role=turn.role,
        trust=trust or ("user" if spoken else "agent"),
        client=client,
    )


def imported(who: Identity, memory: Memory, limits: LimitSettings) -> Memory:
    """The exported *memory* as *who* may bring it in; see Memory.bring_in for the errors.

    Only an admin can bring in what belongs to another agent or team. Its trust is import, or web.
    """
    validation.imported(memory, limits)
    own = memory.agent == who.agent and memory.visibility != "team"
    if not (own or (who.admin and memory.agent)):
        memory = replace(memory, agent=who.agent, team=who.team)
    validation.write_scope(replace(who, team=memory.team), memory.visibility)
    return replace(memory, trust=memory.trust if memory.trust == "web" else "import")


def links(given: Any) -> list[Link]:
    """The links of an exported record. Raises InvalidInput for what is no list of links."""
    try:
        return [_link(one["a"], one["b"], one["kind"], one["weight"]) for one in given]
    except (TypeError, KeyError) as problem:
        raise validation.invalid(
            "links", f"is no list of links ({problem})", "give them as they were exported"
        ) from None


def _link(a: Any, b: Any, kind: Any, weight: Any) -> Link:
    ends = validation.reference(a, "links"), validation.reference(b, "links")
    return Link(
        *ends, validation.label(kind, "links"), validation.number(weight, "links", 0.0, 1e9)
    )
