"""Hooks: a client tells what happens in a conversation; it is captured, and what it brings to mind
goes back as context, without a tool call (seed rows B7.5, B1.14).

The events are those of Claude Code and of Cursor. Over HTTP they come to POST /hook, from the
command line to `anamnesis hook`. A hook must never stand in its client's way: what fails is logged
and answered with nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from memory_core.errors import MemoryCoreError
from memory_core.recall.request import RecallRequest
from memory_core.records import Hit, Identity, Recollection
from memory_core.remember.request import ConversationTurn
from memory_core.text import secrets
from server.protocol import rendering, structure

if TYPE_CHECKING:
    from memory_core.memory import Memory

log = logging.getLogger(__name__)

MOST_CHARS = 8_000
"""Of injected text; clients show the beginning only of what is over 10,000."""
HITS = 5
BRIEFED = 8
TAG = "project:"

_TOKENS = 1_600
_SURE = ("high", "moderate")
_LOOKED_AT = 200
_TAG_CHARS = 100

Answer = dict[str, Any]


class Hooks:
    """Answers hook payloads over one memory."""

    def __init__(
        self, memory: Memory, clock: Callable[[], float], *, ends_with_it: bool = False
    ) -> None:
        """*clock* gives epoch seconds, for the age of memories.

        *ends_with_it*: the process ends with the event, so nothing is left for later.
        """
        self._memory = memory
        self._ends_with_it = ends_with_it
        self._clock = clock
        self._events: dict[str, Callable[[Identity, Mapping[str, Any]], Answer]] = {
            "SessionStart": self._begun,
            "UserPromptSubmit": self._asked,
            "Stop": self._said(("assistant", "last_assistant_message")),
            "PreCompact": self._said(
                ("assistant", "last_assistant_message"), ("user", "custom_instructions")
            ),
            "PostCompact": self._said(("assistant", "compact_summary")),
            "SessionEnd": self._ended,
            "sessionStart": self._begun_in_cursor,
            "beforeSubmitPrompt": self._asked_in_cursor,
            "afterAgentResponse": self._said(("assistant", "text")),
            "sessionEnd": self._ended,
        }

    def answer(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        """What the client is to be told about *payload*; {} when there is nothing to say.

        An event that is not known is nothing to us. Raises what the memory raises.
        """
        event = self._events.get(str(payload.get("hook_event_name", "")))
        return event(who, payload) if event is not None else {}

    # Claude Code

    def _begun(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        return _context("SessionStart", self._briefing(who, payload))

    def _asked(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        prompt = payload.get("prompt")
        told = self._brought_to_mind(who, prompt, payload) if _says(prompt) else ""
        self._keep(who, "user", prompt, payload)
        return _context("UserPromptSubmit", told)

    def _said(self, *fields: tuple[str, str]) -> Callable[[Identity, Mapping[str, Any]], Answer]:
        """Captures what each of the *fields* holds, said by its role."""

        def keep(who: Identity, payload: Mapping[str, Any]) -> Answer:
            for role, field in fields:
                self._keep(who, role, payload.get(field), payload)
            return {}

        return keep

    def _ended(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        if session := _session(payload):
            self._memory.end_session(who, session, wait=self._ends_with_it)
        return {}

    # Cursor, which takes context only at the beginning

    def _begun_in_cursor(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        told = self._briefing(who, payload)
        return {"additional_context": told} if told else {}

    def _asked_in_cursor(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        self._keep(who, "user", payload.get("prompt"), payload)
        return {"continue": True}

    # What they share

    def _keep(self, who: Identity, role: str, text: object, payload: Mapping[str, Any]) -> None:
        """Capture a turn; the relevance gate decides whether it is worth it.

        What cannot be stored, on a full disk or for a secret in it, does not stop what is told.
        """
        if not _says(text):
            return
        tags = [tag] if (tag := project_tag(payload)) else []
        try:
            for part in self._parts(text):
                turn = ConversationTurn(
                    role, part, session=_session(payload), tags=tags, client="hook"
                )
                self._memory.observe(who, turn)
        except MemoryCoreError as problem:
            log.warning("a hook kept nothing: %s", type(problem).__name__)

    def _parts(self, text: str) -> list[str]:
        """*text* in pieces as long as a memory may be, no secret cut in two."""
        limits = self._memory.settings.limits
        if len(text) <= limits.text_chars:
            return [text]
        masked, kinds = secrets.mask(text)
        if kinds and limits.secrets == "refuse":
            return []
        return list(parts(masked, limits.text_chars))

    def _brought_to_mind(self, who: Identity, prompt: str, payload: Mapping[str, Any]) -> str:
        """What *prompt* brings to mind from elsewhere, the project's own first; "" when unsure."""
        query = prompt[: self._memory.settings.limits.query_chars]
        found = self._memory.recall(
            who, RecallRequest(query, k=3 * HITS, session=_session(payload), elsewhere=True)
        )
        if not found.found or found.feeling not in _SURE:
            return ""
        tag = project_tag(payload)
        hits = sorted(found.hits, key=lambda hit: _elsewhere(hit.memory.tags, tag))
        return self._fenced(replace(found, hits=tuple(hits), recent=()), HITS)

    def _briefing(self, who: Identity, payload: Mapping[str, Any]) -> str:
        """What matters here: of the newest memories the most important, the project's first."""
        tag, weightiest = project_tag(payload), self._memory.weightiest
        own = weightiest(who, limit=BRIEFED, among=_LOOKED_AT, tag=tag) if tag else []
        others = weightiest(who, limit=BRIEFED, among=_LOOKED_AT, but=TAG)
        chosen = [*own, *others][:BRIEFED]
        by_time = sorted(chosen, key=lambda record: record.occurred_at)
        hits = tuple(Hit(record, 0.0) for record in by_time)
        return self._fenced(Recollection(bool(hits), 1.0, "high", hits), BRIEFED)

    def _fenced(self, found: Recollection, most: int) -> str:
        """*found* as fenced text of at most MOST_CHARS, with as many memories as fit."""
        for count in range(min(most, len(found.hits)), 0, -1):
            fewer = replace(found, hits=found.hits[:count])
            text = rendering.recall(structure.recollection(fewer, self._clock(), _TOKENS))
            if len(text) <= MOST_CHARS:
                return text
        return ""


def project_tag(payload: Mapping[str, Any]) -> str:
    """The tag of the project that the conversation is in, after its repository's folder; or ""."""
    roots = payload.get("workspace_roots") or ()
    place = payload.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
    if not isinstance(place, str) or not place:
        return ""
    folder = Path(place)
    for each in (folder, *folder.parents):
        if each.name and (each / ".git").exists():
            name = "".join(char for char in each.name if char.isprintable())
            return f"{TAG}{name}"[:_TAG_CHARS].strip()
    return ""


def parts(text: str, most: int) -> Iterator[str]:
    """*text* in pieces of at most *most* characters, cut where a line ends, or a word, if one does.

    What is longer than a memory may be is captured in several: nothing that was said is cut off.
    """
    while len(text) > most:
        ends = (text.rfind(mark, most // 2, most) for mark in "\n ")
        cut = next((end for end in ends if end > 0), most)
        yield text[:cut]
        text = text[cut:]
    yield text


def silently(answer: Callable[[], Answer]) -> Answer:
    """What *answer* gives, {} when it fails; what failed is logged without its text."""
    try:
        return answer()
    except Exception as problem:  # a call ends here, and the client's work goes on
        log.warning("a hook failed with %s", type(problem).__name__)
        return {}


def _context(event: str, text: str) -> Answer:
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _says(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and bool(text.strip())


def _session(payload: Mapping[str, Any]) -> str:
    return str(payload.get("session_id") or payload.get("conversation_id") or "")


def _of_project(tags: tuple[str, ...]) -> bool:
    return any(tag.startswith(TAG) for tag in tags)


def _elsewhere(tags: tuple[str, ...], tag: str) -> bool:
    """True for what belongs to another project, and only to others."""
    return _of_project(tags) and tag not in tags
