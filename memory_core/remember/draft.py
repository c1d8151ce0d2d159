"""From a request to a draft: every argument of remember and observe is checked here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from memory_core import validation
from memory_core.beliefs import quoted
from memory_core.config import LimitSettings
from memory_core.records import KINDS, ROLES, TRUSTS, Identity, Link, MemoryRecord
from memory_core.remember.request import ConversationTurn, RememberRequest
from memory_core.storage.accesses import CO_RECALL
from memory_core.text import roles, secrets
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.time import timestamps


@dataclass(frozen=True, slots=True)
class Draft:
    """What a caller asks to have stored, checked; the memory has no id yet."""

    memory: MemoryRecord
    judged: bool
    """True when the caller gave the importance."""
    replaces: str = ""
    key: str = ""
    asked: str = ""
    """A hash of the request, for the key."""
    seen: int = 0
    edit: bool = False
    passive: bool = False
    """True for a captured turn: one that repeats what was said on this occasion reinforces it."""
    leaving: tuple[str, ...] = ()
    """Ids that leave the ring when this enters."""
    warnings: tuple[str, ...] = ()


def of_request(who: Identity, request: RememberRequest, limits: LimitSettings, now: float) -> Draft:
    """The draft of what *request* asks, said *now* unless it says when.

    Raises InvalidInput, TooLarge or ScopeDenied for an argument that is not allowed.
    """
    text, warnings = validation.prose(request.text, "text", limits.text_chars, validation.SPLIT)
    said = validation.when(request.when, "when", now)
    if said > now + _AHEAD_SECONDS:
        warnings = (*warnings, _FUTURE.format(timestamps.day_words(said)))
    memory = MemoryRecord(
        id="",
        text=text,
        visibility=validation.write_scope(who, request.scope),
        agent=who.agent,
        team=who.team,
        session=validation.label(request.session, "session"),
        speaker=validation.label(request.speaker, "speaker"),
        role=_role(request),
        kind=validation.one_of(request.kind, "kind", KINDS) or "episode",
        tags=validation.labels(request.tags, "tags"),
        importance=validation.number(request.importance, "importance", 0.0, 1.0),
        occurred_at=said,
        source=validation.text(request.source, "source", validation.SOURCE_CHARS),
        trust=_web(request) or validation.one_of(request.trust, "trust", TRUSTS) or "agent",
        client=validation.text(request.client, "client", validation.LABEL_CHARS),
    )
    return Draft(
        memory,
        judged=request.importance > 0.0,
        replaces=validation.reference(request.replaces, "replaces"),
        key=_key(request.key),
        asked=validation.label(request.asked, "asked"),
        seen=validation.whole(request.seen, "seen", 0, 2**53),
        edit=request.edit,
        warnings=warnings,
    )


_AHEAD_SECONDS = 86_400.0
"""How far ahead a clock may be: a day has begun elsewhere before it begins in UTC."""
_FUTURE = (
    "the new text counts as said on {}, which is yet to come; "
    "the date of a plan belongs in its text: store it so, without when, in the place of this"
)


def _key(given: str) -> str:
    """The idempotency key *given*; a hash of one that holds a secret, for keys are stored."""
    key = validation.label(given, "key")
    if not secrets.mask(key)[1]:
        return key
    return blake2b(key.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _role(request: RememberRequest) -> str:
    """The role that *request* gives; without one, that which its speaker names."""
    speaker = validation.label(request.speaker, "speaker")
    client = validation.text(request.client, "client", validation.LABEL_CHARS)
    return validation.one_of(request.role, "role", ROLES) or roles.role_of(speaker, client)


def _web(request: RememberRequest) -> str:
    """web for what an agent has from a page, by its source; else ""."""
    paged = request.trust in ("", "agent") and request.source.startswith(_ADDRESSES)
    return "web" if paged else ""


_ADDRESSES = ("http://", "https://", "www.")


def of_turn(who: Identity, turn: ConversationTurn, limits: LimitSettings, now: float) -> Draft:
    """The draft of a *turn* of a conversation. Raises as of_request does."""
    validation.text(turn.content, "content", limits.text_chars, validation.SPLIT)
    request = RememberRequest(
        turn.content,
        tags=turn.tags,
        when="" if turn.timestamp is None else turn.timestamp,
        speaker=turn.speaker,
        session=turn.session,
        scope=turn.scope,
        source=turn.source,
        role=turn.role,
        trust=turn.trust,
        client=turn.client,
    )
    if not turn.trust:
        request = replace(request, trust=_trust_of(_role(request), turn.content))
    return of_request(who, request, limits, now)


def _trust_of(role: str, content: str) -> str:
    """The trust of a captured turn: what it quotes and pastes is no statement of the user."""
    if role not in quoted.SPEAKING:
        return "agent"
    return "quoted" if quoted.is_content(content) else "user"


def imported(who: Identity, memory: MemoryRecord, limits: LimitSettings) -> MemoryRecord:
    """The exported *memory* as *who* may import it; see Memory.bring_in for the errors.

    Only an admin can import for another agent or team. Its trust is import, or web.
    """
    validation.imported(memory, limits)
    own = memory.agent == who.agent and memory.visibility != "team"
    if not (own or (who.admin and memory.agent)):
        memory = replace(memory, agent=who.agent, team=who.team)
    validation.write_scope(replace(who, team=memory.team), memory.visibility)
    return replace(
        memory,
        role=memory.role or roles.role_of(memory.speaker, memory.client),
        trust=max(memory.trust, "import", key=TRUSTS.index),
    )


def links(given: Any) -> list[Link]:
    """The links of an exported record. Raises InvalidInput for what is no list of links."""
    try:
        validation.few(given, "links", validation.LINKS_MOST)
        return [_link(one["a"], one["b"], one["kind"], one["weight"]) for one in given]
    except (TypeError, KeyError) as problem:
        raise validation.invalid(
            "links", f"is no list of links ({problem})", "give them as they were exported"
        ) from None


_KIND = lazy_pattern(r"[a-z_]{1,40}")


def _link(a: Any, b: Any, kind: Any, weight: Any) -> Link:
    ends = validation.reference(a, "links"), validation.reference(b, "links")
    kind = validation.label(kind, "links")
    if not _KIND.fullmatch(kind):
        raise validation.invalid("links", f"{kind!r:.40} is no kind", "give it as it was exported")
    most = validation.CO_RECALL_MOST if kind == CO_RECALL else 1.0
    return Link(*ends, kind, validation.number(weight, "links", 0.0, most))
