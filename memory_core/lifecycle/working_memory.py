"""What one conversation has in mind: working memory, hot buffer, priming. No I/O, no clock.

Time is counted in turns (`tick`). Conversations are told apart by who asks and by the session's
name; without a name there is none, and nothing of it outlives the process: it is how the last few
turns colour the next ones, not something to be remembered.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from memory_core.config import SessionSettings
from memory_core.records import Identity
from memory_core.scoring import decay

T = TypeVar("T")

RECALLED = 40
"""Memories an agent recalled last; a turn that repeats them is an echo."""

CONVERSATIONS = 256
"""Conversations, and agents, that are kept in mind at once."""


@dataclass(frozen=True, slots=True)
class Mind:
    """What a conversation has in mind at one moment, for a recall to look at.

    *hot* are the ids recalled last, oldest first; *working* id -> turns left; *primed* id -> share
    of the strongest priming, 0 to 1; *promoted* id -> the tier it came back from; *topics* are
    those that were fetched already.
    """

    hot: tuple[str, ...] = ()
    working: Mapping[str, int] = field(default_factory=dict)
    primed: Mapping[str, float] = field(default_factory=dict)
    promoted: Mapping[str, str] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()

    def tells(self, id: str) -> dict[str, float | str]:
        """What explains that *id* is in mind: priming, turns left in working memory, promotion."""
        told: dict[str, float | str] = {}
        if id in self.primed:
            told["priming"] = round(decay.boost(self.primed[id]), 4)
        if id in self.working:
            told["working_memory_turns"] = self.working[id]
        if id in self.promoted:
            told["promoted_from"] = self.promoted[id]
        return told


NOTHING = Mind()


@dataclass(frozen=True, slots=True)
class Activation:
    """A memory that a recall brought to mind: its similarity to the cue, its tier and topic.

    *similarity* is a cosine where there is a model. It is *promoted* into the active context when
    it comes from a lower tier.
    """

    id: str
    similarity: float = 0.0
    tier: str = ""
    topic: str = ""


class Session:
    """The state of one conversation; not thread-safe by itself."""

    def __init__(self, settings: SessionSettings) -> None:
        """Start with nothing in mind."""
        self._settings = settings
        self.turn = 0
        self.observed = False
        self._hot: OrderedDict[str, None] = OrderedDict()
        self._working: dict[str, tuple[float, int]] = {}
        self._primed: dict[str, int] = {}
        self._promoted: dict[str, str] = {}
        self._topics: set[str] = set()

    def tick(self) -> None:
        """One turn later: working memory and priming that were not renewed run out."""
        self.turn += 1
        self._working = {id: w for id, w in self._working.items() if w[1] > self.turn}
        most = self._settings.priming_turns
        self._primed = {id: at for id, at in self._primed.items() if self.turn - at <= most}

    def rescore(self, similarities: Mapping[str, float]) -> None:
        """Score what is in working memory against the cue of this turn, so that stale items go."""
        for id, (_, until) in self._working.items():
            if id in similarities:
                self._working[id] = (similarities[id], until)

    def activate(self, found: Iterable[Activation]) -> None:
        """What was recalled enters, or is renewed and keeps its higher score (seed row B2.5)."""
        for item in found:
            self._hot[item.id] = None
            self._hot.move_to_end(item.id)
            score = max(item.similarity, self._working.get(item.id, (item.similarity, 0))[0])
            self._working[item.id] = (score, self.turn + self._settings.working_turns)
            self._primed[item.id] = self.turn
            if item.tier not in ("", "active"):
                self._promoted.setdefault(item.id, item.tier)
            if item.topic:
                self._topics.add(item.topic)
        while len(self._hot) > self._settings.hot:
            self._hot.popitem(last=False)
        while len(self._working) > self._settings.working:
            del self._working[min(self._working, key=lambda id: self._working[id][0])]

    def mind(self) -> Mind:
        """What is in mind now."""
        rate = self._settings.priming_rate
        return Mind(
            tuple(self._hot),
            {id: until - self.turn for id, (_, until) in self._working.items()},
            {id: decay.share(self.turn - at, rate) for id, at in self._primed.items()},
            dict(self._promoted),
            frozenset(self._topics),
        )


class Sessions:
    """What the conversations of one process have in mind; thread-safe."""

    def __init__(self, settings: SessionSettings) -> None:
        """Start with nothing in mind."""
        self._settings = settings
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple[str, str, str], Session] = OrderedDict()
        self._recalled: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def heard(self, who: Identity, session: str) -> None:
        """A turn of the conversation was said: what is in mind ages by one turn."""

        def tick(state: Session) -> None:
            state.observed = True
            state.tick()

        self._within(who, session, tick)

    def asked(self, who: Identity, session: str) -> Mind:
        """What the conversation has in mind; a question ages it where no turns are observed."""

        def look(state: Session) -> Mind:
            if not state.observed:
                state.tick()
            return state.mind()

        return self._within(who, session, look) or NOTHING

    def answered(
        self,
        who: Identity,
        session: str,
        found: Sequence[Activation],
        similarities: Mapping[str, float],
    ) -> None:
        """A recall brought *found* to mind; *similarities* of what was in mind to its cue."""

        def renew(state: Session) -> None:
            state.rescore(similarities)
            state.activate(found)

        self._within(who, session, renew)

    def mind(self, who: Identity, session: str) -> Mind:
        """What the conversation has in mind; asking changes nothing."""
        with self._lock:
            state = self._sessions.get((who.agent, who.team, session))
            return NOTHING if state is None else state.mind()

    def end(self, who: Identity, session: str) -> None:
        """The conversation is over: nothing of it stays in mind."""
        with self._lock:
            self._sessions.pop((who.agent, who.team, session), None)

    def told(self, who: Identity, ids: Iterable[str]) -> None:
        """*ids* were shown to *who*, in whatever conversation; captured again they are echoes."""
        with self._lock:
            mine = self._recalled.setdefault(who.agent, OrderedDict())
            self._recalled.move_to_end(who.agent)
            for id in ids:
                mine[id] = None
                mine.move_to_end(id)
            _cut(mine, RECALLED)
            _cut(self._recalled, CONVERSATIONS)

    def lately(self, who: Identity) -> list[str]:
        """The ids that were shown last to *who*, oldest first."""
        with self._lock:
            return list(self._recalled.get(who.agent, ()))

    def _within(self, who: Identity, session: str, work: Callable[[Session], T]) -> T | None:
        if not session:
            return None
        key = (who.agent, who.team, session)
        with self._lock:
            state = self._sessions.setdefault(key, Session(self._settings))
            self._sessions.move_to_end(key)
            _cut(self._sessions, CONVERSATIONS)
            return work(state)


def _cut(entries: OrderedDict[Any, Any], most: int) -> None:
    """Drop the oldest beyond *most*."""
    while len(entries) > most:
        entries.popitem(last=False)
