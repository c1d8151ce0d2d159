"""Hooks: captures the turns that a client reports and answers with memories as context.

The events are those of Claude Code and Cursor, received by POST /hook and by `anamnesis hook`. A
hook must never block its client: a failure is logged and the answer is empty.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from memory_core.errors import InvalidInput, MemoryCoreError, ScopeDenied, abandoned
from memory_core.records import Hit, Identity, Recollection
from memory_core.remember.request import ConversationTurn
from memory_core.text import secrets
from server.hooks import pause
from server.hooks.briefing import briefing
from server.hooks.draining import Drain
from server.hooks.payload import ANSWERED, ENDS, TAG, folder, said, tag, without_private
from server.hooks.payload import session as session_of
from server.hooks.reminder import HITS, Told, remind
from server.protocol import rendering, structure
from server.protocol.calling import calling

if TYPE_CHECKING:
    from memory_core.memory import Memory

log = logging.getLogger(__name__)

CLIENT = "hook"
"""The client that memories stored here name."""
MOST_PARTS = 3
"""Memories that one text is captured as, at most (roughly: they end with a line)."""
PROMPT_CHARS = 1_200
"""Characters that are told at a prompt, at most."""
MOST_CHARS = 8_000

FORGETTING = (*ENDS, "PostCompact")
"""Events after which a conversation no longer holds what it was told."""

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
        self._told = Told()
        self._drain: Drain | None = None
        self._events: dict[str, Callable[[Identity, Mapping[str, Any]], Answer]] = {
            "SessionStart": self._session_start,
            "UserPromptSubmit": self._prompt,
            "Stop": _nothing,
            "PreCompact": _nothing,
            "PostCompact": _nothing,
            "SessionEnd": _nothing,
            "sessionStart": self._cursor_session_start,
            "beforeSubmitPrompt": _go_on,
            "afterAgentResponse": _nothing,
            "sessionEnd": _nothing,
        }

    def answer(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        """The JSON answer to *payload*; {} without context and for unknown events.

        Its words are captured: from the spool when the payload says that it is `spooled` there,
        else here. Raises what the memory raises.
        """
        name = str(payload.get("hook_event_name", ""))
        event = self._events.get(name)
        if event is None:
            return {}
        if pause.until(str(self._memory.settings.data_dir), self._clock()) is not None:
            return _go_on(who, payload) if event is _go_on else {}
        payload = without_private(payload)
        abandoned.set(None)  # what was said is kept, also when nobody waits for the answer
        with calling(CLIENT):
            answer = event(who, payload)
        if not payload.get("spooled"):
            self._capture(who, payload)
        elif name in ANSWERED and not self._ends_with_it:
            self.drain.start()
        else:
            self.drain.run()
        if name in FORGETTING or payload.get("source") in ("clear", "compact"):
            self._told.forget(who, session_of(payload))
        if name in ENDS and (session := session_of(payload)):
            self._memory.end_session(who, session, wait=self._ends_with_it)
        return answer

    @property
    def drain(self) -> Drain:
        """What takes over the spool of the memory's data directory."""
        if self._drain is None:
            self._drain = Drain(self._memory.settings.data_dir, self._keep)
        return self._drain

    # What is told

    def _session_start(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        return _context("SessionStart", self._briefing(who, payload))

    def _prompt(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        prompt = payload.get("prompt")
        context = self._recalled(who, prompt, payload) if _has_text(prompt) else ""
        return _context("UserPromptSubmit", context)

    def _cursor_session_start(self, who: Identity, payload: Mapping[str, Any]) -> Answer:
        """Cursor accepts context only at the start of a session."""
        context = self._briefing(who, payload)
        return {"additional_context": context} if context else {}

    # What is captured

    def _capture(self, who: Identity, payload: Mapping[str, Any]) -> None:
        """Capture the words of *payload*; what cannot be stored does not fail the answer."""
        try:
            self._keep(who, payload, self._clock())
        except MemoryCoreError as problem:
            log.warning("a hook stored nothing: %s", type(problem).__name__)

    def _keep(self, who: Identity, payload: Mapping[str, Any], at: float) -> None:
        """Capture the words of *payload*, said at epoch seconds *at*.

        Raises Busy or a StorageError when that is not possible now; what is refused for good, such
        as a secret, is left out.
        """
        tags = [found] if (found := self._project(who, payload)) else []
        for role, words in said(without_private(payload)):
            for place, part in enumerate(self._parts(words)):
                turn = ConversationTurn(
                    role,
                    part,
                    at,
                    session_of(payload),
                    tags=tags,
                    trust="quoted" if place and role == "user" else "",  # so much is pasted
                    client=CLIENT,
                )
                try:
                    self._memory.observe(who, turn)
                except (InvalidInput, ScopeDenied) as problem:
                    log.warning("a hook stored nothing: %s", type(problem).__name__)

    def _project(self, who: Identity, payload: Mapping[str, Any]) -> str:
        """The tag of the project: the one that the client's machine names, else by its path alone.

        Of a path the innermost folder counts that is a known project, else the last folder.
        """
        if "project" in payload or not (place := folder(payload)):
            return tag(payload)
        names = [name for name in re.split(r"[/\\\\]+", place) if name.strip(" .:")]
        known = set(self._memory.names(who, "tags"))
        for name in reversed(names):
            if (found := tag({"project": name})) in known:
                return found
        return tag({"project": names[-1]}) if names else ""

    def _parts(self, text: str) -> list[str]:
        """*text* in pieces of at most the length of a memory, its secrets masked before the cut.

        Of a text of more than MOST_PARTS pieces the first ones and the last one: people write what
        they want before or after what they paste.
        """
        limits = self._memory.settings.limits
        most = limits.text_chars
        if len(text) <= most:
            return [text]
        if len(text) > MOST_PARTS * most:
            text = f"{text[: (MOST_PARTS - 1) * most]}\n{text[-most + 1 :]}"
        masked, kinds = secrets.mask(text, personal_too=limits.secrets != "mask_keys_only")
        if kinds and limits.secrets == "refuse":
            return []
        return list(parts(masked, most))

    def _recalled(self, who: Identity, prompt: str, payload: Mapping[str, Any]) -> str:
        """What is worth saying about *prompt*, other projects' last; mostly ""."""
        session, mine = session_of(payload), self._project(who, payload)
        told = self._told.of(who, session)
        found = remind(self._memory, who, prompt, session, told, mine.removeprefix(TAG))
        if found is None:
            return ""
        hits = sorted(found.hits, key=lambda hit: _of_other_project(hit.memory.tags, mine))[:HITS]
        shown = tuple(_without_tag(hit, mine) for hit in hits)
        text, count = self._fenced(replace(found, hits=shown), PROMPT_CHARS)
        self._told.note(who, session, [hit.memory.id for hit in hits[:count]])
        return text

    def _briefing(self, who: Identity, payload: Mapping[str, Any]) -> str:
        mine, session = self._project(who, payload), session_of(payload)
        text, ids, _ = briefing(self._memory, who, mine, session, self._clock())
        self._memory.shown(who, ids)
        self._told.note(who, session, ids)
        return text

    def _fenced(self, found: Recollection, most: int) -> tuple[str, int]:
        """*found* as fenced text of at most *most* characters, and how many hits it holds.

        As many as fit; a single one is clipped.
        """
        for count in range(len(found.hits), 0, -1):
            fewer = replace(found, hits=found.hits[:count])
            for tokens in (most, most // 4, most // 5, most // 8)[: 4 if count == 1 else 1]:
                text = rendering.recall(structure.recollection(fewer, self._clock(), tokens))
                if len(text) <= most:
                    return text, count
        return "", 0


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


def _nothing(_: Identity, __: Mapping[str, Any]) -> Answer:
    return {}


def _go_on(_: Identity, __: Mapping[str, Any]) -> Answer:
    """Cursor sends the prompt when it is told to."""
    return {"continue": True}


def _context(event: str, text: str) -> Answer:
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _has_text(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and bool(text.strip())


def _of_project(tags: tuple[str, ...]) -> bool:
    return any(tag.startswith(TAG) for tag in tags)


def _without_tag(hit: Hit, tag: str) -> Hit:
    """*hit* without *tag*: that it is of the project of whoever asks goes without saying."""
    tags = tuple(each for each in hit.memory.tags if each != tag)
    return replace(hit, memory=replace(hit.memory, tags=tags))


def _of_other_project(tags: tuple[str, ...], tag: str) -> bool:
    """True when *tags* name a project, and not that of *tag*."""
    return _of_project(tags) and tag not in tags
