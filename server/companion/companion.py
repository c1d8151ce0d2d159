"""The companion of conversations with a model: recalls for each turn, and keeps what is said.

A turn is recalled once. Its block stands at the same place, byte for byte, in every later request
of the conversation, so that prompt caches hold. Memory never fails a call: what it cannot do in
time, or at all, is left out and logged.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from memory_core.memory import Memory
from memory_core.records import Identity, new_id
from server.companion.bodies import (
    Dialect,
    answered,
    before,
    first_answer,
    user_turns,
    with_block,
)
from server.hooks.hooks import Hooks

log = logging.getLogger(__name__)

RECALL_SECONDS = 1.0
"""How long a request waits for what its turn brings to mind."""
TURNS = 10_000
"""Turns of conversations whose blocks are kept in mind; the oldest go first."""
FLUSH_SECONDS = 10.0
SESSION, AGENT = "x-anamnesis-session", "x-anamnesis-agent"
"""Headers of a request that name its conversation and agent; they are not sent on."""


V = TypeVar("V")
Answers = Callable[[Identity, Mapping[str, Any]], dict[str, Any]]
"""What a hook's payload is answered with, for whom; see Hooks.answer."""


@dataclass(slots=True)
class _Turn:
    """A turn of the user: its block, and whether its answer has been seen."""

    block: str
    answered: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a conversation is: its session, and the key of its newest turn.

    *first* tells its first turn, "" for one whose session was named.
    """

    session: str
    key: str = ""
    first: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request to a model with its memories, and what is needed to keep the answer."""

    dialect: Dialect
    content: bytes
    who: Identity
    place: _Place
    opens: bool
    """Whether the turn is the first one of its conversation."""


class Companion:
    """Remembers and recalls for the conversations of one client; thread-safe."""

    def __init__(self, answers: Answers, who: Identity, session: str = "") -> None:
        """Speak for *who*; *session* names the conversation, "" a new one for each that begins."""
        self._identity = who
        self._answers = answers
        self._session = session
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._lock = threading.Lock()
        self._asking = ThreadPoolExecutor(4, thread_name_prefix="recall")
        self._keeping = ThreadPoolExecutor(1, thread_name_prefix="keep")
        self._last: Future[None] | None = None

    @classmethod
    def of(cls, memory: Memory, who: Identity, session: str = "") -> Companion:
        """The companion over a *memory* in this process."""
        return cls(Hooks(memory, time.time).answer, who, session)

    def ask(
        self,
        dialect: Dialect,
        content: bytes,
        session: str = "",
        agent: str = "",
        *,
        who: Identity | None = None,
    ) -> Exchange | None:
        """The request *content* with what it brings to mind; None when there is no turn in it.

        *session* and *agent* are those of this call, *who* the caller where that is another one.
        Never raises.
        """
        try:
            if who is None:
                who = Identity(agent, self._identity.team) if agent else self._identity
            return self._ask(dialect, content, session, who)
        except Exception as problem:  # the call goes on without memory
            log.warning("a request goes on without memory: %s", type(problem).__name__)
            return None

    def answered(self, exchange: Exchange, kind: str, content: bytes) -> None:
        """Keep the answer of *exchange* in the background, if *content* came to its end."""
        said, id = answered(exchange.dialect, kind, content)
        with self._lock:
            if id:
                _note(self._places, _held(exchange.who, id), exchange.place)
            if said and exchange.opens and exchange.place.first:
                begun = _Place(exchange.place.session, first=exchange.place.first)
                _note(self._places, _digest(begun.first, said), begun)
            turn = self._turns.get(exchange.place.key)
            if not said.strip() or turn is None or turn.answered:
                return
            turn.answered = True
        event = {"hook_event_name": "Stop", "last_assistant_message": said}
        self._last = self._keeping.submit(self._hear, exchange, event)

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Wait until what was said is kept; False when that takes longer than *seconds*."""
        last = self._last
        try:
            if last is not None:
                last.result(seconds)
        except TimeoutError:
            return False
        return True

    def _ask(
        self, dialect: Dialect, content: bytes, session: str, who: Identity
    ) -> Exchange | None:
        body = json.loads(content)
        turns = user_turns(dialect, body)
        kept, stays = before(body)
        with self._lock:
            place = self._places.get(_held(who, kept)) if kept else None
            session = session or self._session
            if place is not None and session:
                place = _Place(session, place.key)
            if place is None and turns:
                if session or stays:
                    digest = _digest(who.agent, who.team, kept)
                    place = _Place(session or f"chat-{digest[:12]}")
                else:
                    answer = first_answer(dialect, body, turns)
                    place = self._begun(who, [text for _, text in turns], answer)
        if place is None:
            return None
        opens = not place.key and len(turns) == 1
        key, blocks = place.key, {}
        for number, (where, text) in enumerate(turns):
            key = _key(key, who, place.session, text)
            if number < len(turns) - 1:
                with self._lock:
                    turn = self._turns.get(key)
            else:
                turn = self._newest(key, who, place.session, text)
            blocks[where] = turn.block if turn else ""
        place = _Place(place.session, key, place.first)
        if stays:
            with self._lock:
                _note(self._places, _held(who, kept), place)
        if any(blocks.values()):
            changed = with_block(dialect, body, blocks)
            content = json.dumps(changed, ensure_ascii=False, separators=(",", ":")).encode()
        return Exchange(dialect, content, who, place, opens)

    def _begun(self, who: Identity, texts: list[str], answer: str) -> _Place:
        """The beginning of the conversation of the turns *texts*, of which *answer* met the first.

        A single turn that was answered before begins another one. Of several that began alike it is
        the one with that answer, or else the last. Call it with the lock.
        """
        first = _digest(who.agent, who.team, texts[0])
        known = self._places.get(_digest(first, answer)) if answer else None
        known = known or self._places.get(first)
        if len(texts) == 1 and (known is None or self._is_answered(known, who, texts[0])):
            known = _Place(f"chat-{new_id(time.time())}", first=first)
        known = known or _Place(f"chat-{first[:12]}", first=first)
        if len(texts) == 1 or first not in self._places:
            _note(self._places, first, known)
        return known

    def _is_answered(self, place: _Place, who: Identity, text: str) -> bool:
        turn = self._turns.get(_key(place.key, who, place.session, text))
        return turn is None or turn.answered

    def _newest(self, key: str, who: Identity, session: str, text: str) -> _Turn:
        """The turn *text*, recalled now unless it waits for its answer, as in a loop of tools.

        One that is asked again is told what is new, or else what it was told before.
        """
        with self._lock:
            known = self._turns.get(key)
            if known is not None and not known.answered:
                return known
        event = {"hook_event_name": "UserPromptSubmit", "prompt": text, "session_id": session}
        asked = self._asking.submit(self._answers, who, event)
        try:
            told = asked.result(RECALL_SECONDS)
        except TimeoutError:
            log.warning("recall took too long: a request goes on without memory")
            told = {}
        block = told.get("hookSpecificOutput", {}).get("additionalContext", "")
        turn = _Turn(block or (known.block if known else ""))
        with self._lock:
            _note(self._turns, key, turn)
        return turn

    def _hear(self, exchange: Exchange, event: dict[str, Any]) -> None:
        try:
            self._answers(exchange.who, {**event, "session_id": exchange.place.session})
        except Exception as problem:  # nobody waits for it
            log.warning("an answer was not kept: %s", type(problem).__name__)


def _note(known: OrderedDict[str, V], key: str, value: V) -> None:
    """Keep *value* as the newest of *known*, which holds TURNS at most."""
    known[key] = value
    known.move_to_end(key)
    while len(known) > TURNS:
        known.popitem(last=False)


def _key(last: str, who: Identity, session: str, text: str) -> str:
    """What tells the turn *text* after the one with the key *last*."""
    return _digest(last, who.agent, who.team, session, text)


def _held(who: Identity, id: str) -> str:
    """What tells the conversation that the service keeps as *id*, which only *who* goes on with."""
    return _digest(who.agent, who.team, id)


def _digest(*texts: str) -> str:
    return hashlib.sha256(
        json.dumps([" ".join(text.split()) for text in texts]).encode()
    ).hexdigest()
