"""Hooks: captures the turns that a client reports and answers with memories as context.

The events are those of Claude Code and Cursor, received by POST /hook and by `anamnesis hook`. A
hook must never block its client: a failure is logged and the answer is empty.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from memory_core.errors import MemoryCoreError
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Recollection
from memory_core.remember.request import ConversationTurn
from memory_core.text import secrets
from memory_core.validation import QUERY_CHARS
from server.protocol import rendering, structure

if TYPE_CHECKING:
    from memory_core.memory import Memory

log = logging.getLogger(__name__)

MOST_CHARS = 8_000
"""Characters of the context; clients cut off what is over 10,000."""
HITS = 5
BRIEFED = 8
TAG = "project:"

_TOKENS = 1_600
_SURE = ("high", "moderate")
_LOOKED_AT = 200
_TAG_CHARS = 100

Answer = dict[str, Any]


class Hooks:
    """The answers to hook payloads, from one memory."""

    def __init__(
        self, memory: Memory, clock: Callable[[], float], *, ends_with_it: bool = False
    ) -> None:
        """*clock* returns epoch seconds, for the age of memories.

        *ends_with_it*: the process ends after the event, so its work is not left to the background.
        """
        self._memory = memory
        self._ends_with_it = ends_with_it
        self._clock = clock
        self._events: dict[str, Callable[[Identity, Mapping[str, Any]], Answer]] = {
            "SessionStart": self._session_start,
            "UserPromptSubmit": self._prompt,
            "Stop": self._capturing(("assistant", "last_assistant_message")),
            "PreCompact": self._capturing(
                ("assistant", "last_assistant_message"), ("user", "custom_instructions")
            ),
            "PostCompact": self._capturing(("assistant", "compact_summary")),
            "SessionEnd": self._session_end,
            "sessionStart": self._cursor_session_start,
            "beforeSubmitPrompt": self._cursor_prompt,
            "afterAgentResponse": self._capturing(("assistant", "text")),
            "sessionEnd": self._session_end,
        }

    def answer(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        """The JSON answer to *payload*; {} without context and for unknown events.

        Raises what the memory raises.
        """
        event = self._events.get(str(payload.get("hook_event_name", "")))
        return event(who, payload) if event is not None else {}

    # Claude Code

    def _session_start(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        return _context("SessionStart", self._briefing(who, payload))

    def _prompt(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        prompt = payload.get("prompt")
        context = self._recalled(who, prompt, payload) if _has_text(prompt) else ""
        self._capture(who, "user", prompt, payload)
        return _context("UserPromptSubmit", context)

    def _capturing(
        self, *fields: tuple[str, str]
    ) -> Callable[[Identity, Mapping[str, Any]], Answer]:
        """A function that captures each of the *fields* (role, name) and answers nothing."""

        def capture(who: Identity, payload: Mapping[str, Any]) -> Answer:
            for role, field in fields:
                self._capture(who, role, payload.get(field), payload)
            return {}

        return capture

    def _session_end(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        if session := _session(payload):
            self._memory.end_session(who, session, wait=self._ends_with_it)
        return {}

    # Cursor, which accepts context only at the start of a session

    def _cursor_session_start(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        context = self._briefing(who, payload)
        return {"additional_context": context} if context else {}

    def _cursor_prompt(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        self._capture(who, "user", payload.get("prompt"), payload)
        return {"continue": True}

    # Both

    def _capture(self, who: Identity, role: str, text: object, payload: Mapping[str, Any]) -> None:
        """Store a turn if it passes the relevance gate.

        A turn that cannot be stored (a full disk, a refused secret) does not fail the answer.
        """
        if not _has_text(text):
            return
        tags = [tag] if (tag := project_tag(payload)) else []
        try:
            for place, part in enumerate(self._parts(text)):
                turn = ConversationTurn(
                    role,
                    part,
                    session=_session(payload),
                    tags=tags,
                    trust="quoted" if place and role == "user" else "",  # so much is pasted
                    client="hook",
                )
                self._memory.observe(who, turn)
        except MemoryCoreError as problem:
            log.warning("a hook stored nothing: %s", type(problem).__name__)

    def _parts(self, text: str) -> list[str]:
        """*text* in pieces of at most the length of a memory, its secrets masked before the cut."""
        limits = self._memory.settings.limits
        if len(text) <= limits.text_chars:
            return [text]
        masked, kinds = secrets.mask(text)
        if kinds and limits.secrets == "refuse":
            return []
        return list(parts(masked, limits.text_chars))

    def _recalled(self, who: Identity, prompt: str, payload: Mapping[str, Any]) -> str:
        """Memories of other sessions for *prompt*, other projects' last; "" below moderate."""
        query = prompt[:QUERY_CHARS]
        found = self._memory.recall(
            who, RecallRequest(query, k=3 * HITS, session=_session(payload), elsewhere=True)
        )
        if not found.found or found.feeling not in _SURE:
            return ""
        tag = project_tag(payload)
        hits = sorted(found.hits, key=lambda hit: _of_other_project(hit.memory.tags, tag))
        return self._fenced(replace(found, hits=tuple(hits), recent=()), HITS)

    def _briefing(self, who: Identity, payload: Mapping[str, Any]) -> str:
        """The most important of the newest memories, those of the project before general ones."""
        tag, weightiest = project_tag(payload), self._memory.weightiest
        own = weightiest(who, limit=BRIEFED, among=_LOOKED_AT, tag=tag) if tag else []
        others = weightiest(who, limit=BRIEFED, among=_LOOKED_AT, but=TAG)
        chosen = [*own, *others][:BRIEFED]
        by_time = sorted(chosen, key=lambda record: record.occurred_at)
        doubted = self._memory.doubted(who, [record.id for record in by_time])
        return self._fenced(structure.unranked(by_time, doubted), BRIEFED)

    def _fenced(self, found: Recollection, most: int) -> str:
        """*found* as fenced text of at most MOST_CHARS characters, with as many hits as fit."""
        for count in range(min(most, len(found.hits)), 0, -1):
            fewer = replace(found, hits=found.hits[:count])
            text = rendering.recall(structure.recollection(fewer, self._clock(), _TOKENS))
            if len(text) <= MOST_CHARS:
                return text
        return ""


def project_tag(payload: Mapping[str, Any]) -> str:
    """The tag of the session's project, named after the folder of its repository; or ""."""
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
    """*text* in pieces of at most *most* characters, cut at the end of a line or else of a word.

    A text that is longer than a memory may be is captured as several.
    """
    while len(text) > most:
        ends = (text.rfind(mark, most // 2, most) for mark in "\n ")
        cut = next((end for end in ends if end > 0), most)
        yield text[:cut]
        text = text[cut:]
    yield text


def silently(answer: Callable[[], Answer]) -> Answer:
    """The result of *answer*; {} when it fails. The log gets the type of the error only."""
    try:
        return answer()
    except Exception as problem:  # a call ends here, and the client's work goes on
        log.warning("a hook failed with %s", type(problem).__name__)
        return {}


def _context(event: str, text: str) -> Answer:
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _has_text(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and bool(text.strip())


def _session(payload: Mapping[str, Any]) -> str:
    return str(payload.get("session_id") or payload.get("conversation_id") or "")


def _of_project(tags: tuple[str, ...]) -> bool:
    return any(tag.startswith(TAG) for tag in tags)


def _of_other_project(tags: tuple[str, ...], tag: str) -> bool:
    """True when *tags* name a project, and not that of *tag*."""
    return _of_project(tags) and tag not in tags
