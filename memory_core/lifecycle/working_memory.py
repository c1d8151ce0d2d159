"""The working memory of each conversation: what was recalled lately, hot buffer and priming.

No I/O and no clock: time is counted in turns (`tick`). A conversation is identified by who asks and
by the name of the session; without a name there is none. Nothing of it outlives the process.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from memory_core.records import Identity
from memory_core.scoring import decay

T = TypeVar("T")

RECALLED = 40
"""The last memories shown to an agent; a turn that repeats one of them is an echo."""

CONVERSATIONS = 256
"""Conversations, and agents, whose state is kept at once; the oldest are dropped."""

HOT = 20
"""Recalled memories in the hot buffer, as in an earlier system."""

WORKING, WORKING_TURNS = 10, 5
"""Memories in working memory, and turns after which one that is not recalled again leaves it."""

PRIMING_RATE, PRIMING_TURNS = 0.3, 10
"""Priming is 1 + 0.3 e^(-rate x turns): 5 % of it is left after ten turns, when it is dropped."""


@dataclass(frozen=True, slots=True)
class Mind:
    """The state of a conversation at one moment, as a recall sees it.

    *hot* are the ids recalled last, oldest first; *working* id -> turns left; *primed* id -> share
    of the strongest priming, 0 to 1; *promoted* id -> the tier it came back from; *topics* are
    those whose members were fetched already.
    """

    hot: tuple[str, ...] = ()
    working: Mapping[str, int] = field(default_factory=dict)
    primed: Mapping[str, float] = field(default_factory=dict)
    promoted: Mapping[str, str] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()

    def explain(self, id: str) -> dict[str, float | str]:
        """The priming of *id*, its turns left in working memory, and its promotion, where any."""
        why: dict[str, float | str] = {}
        if id in self.primed:
            why["priming"] = round(decay.boost(self.primed[id]), 4)
        if id in self.working:
            why["working_memory_turns"] = self.working[id]
        if id in self.promoted:
            why["promoted_from"] = self.promoted[id]
        return why


EMPTY = Mind()


@dataclass(frozen=True, slots=True)
class Activation:
    """A memory that a query activates: its similarity to the query, its tier and topic.

    *similarity* is a cosine, 0 without a model. A memory of a lower tier is promoted into the
    active context.
    """

    id: str
    similarity: float = 0.0
    tier: str = ""
    topic: str = ""


class WorkingMemory:
    """The state of one conversation; not thread-safe by itself."""

    def __init__(self) -> None:
        """Start empty."""
        self.turn = 0
        self.observed = False
        self._hot: OrderedDict[str, None] = OrderedDict()
        self._working: dict[str, tuple[float, int]] = {}
        self._primed: dict[str, int] = {}
        self._promoted: dict[str, str] = {}
        self._topics: set[str] = set()

    def tick(self) -> None:
        """Count one turn; working memory and priming that were not renewed expire."""
        self.turn += 1
        self._working = {id: w for id, w in self._working.items() if w[1] > self.turn}
        self._primed = {
            id: at for id, at in self._primed.items() if self.turn - at <= PRIMING_TURNS
        }

    def rescore(self, similarities: Mapping[str, float]) -> None:
        """Score working memory by the query of this turn, so that stale items are dropped first."""
        for id, (_, until) in self._working.items():
            if id in similarities:
                self._working[id] = (similarities[id], until)

    def activate(self, found: Iterable[Activation]) -> None:
        """Add what was recalled, or renew it; of two scores the higher one counts."""
        for item in found:
            self._hot[item.id] = None
            self._hot.move_to_end(item.id)
            score = max(item.similarity, self._working.get(item.id, (item.similarity, 0))[0])
            self._working[item.id] = (score, self.turn + WORKING_TURNS)
            self._primed[item.id] = self.turn
            if item.tier not in ("", "active"):
                self._promoted.setdefault(item.id, item.tier)
            if item.topic:
                self._topics.add(item.topic)
        while len(self._hot) > HOT:
            self._hot.popitem(last=False)
        while len(self._working) > WORKING:
            del self._working[min(self._working, key=lambda id: self._working[id][0])]

    def mind(self) -> Mind:
        """The state at this moment."""
        return Mind(
            tuple(self._hot),
            {id: until - self.turn for id, (_, until) in self._working.items()},
            {id: decay.share(self.turn - at, PRIMING_RATE) for id, at in self._primed.items()},
            dict(self._promoted),
            frozenset(self._topics),
        )


class Sessions:
    """The working memory of the conversations of one process; thread-safe."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple[str, str, str], WorkingMemory] = OrderedDict()
        self._recalled: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def heard(self, who: Identity, session: str) -> None:
        """Note a turn of the conversation: its working memory ages by one turn."""

        def tick(state: WorkingMemory) -> None:
            state.observed = True
            state.tick()

        self._within(who, session, tick)

    def asked(self, who: Identity, session: str) -> Mind:
        """The state of the conversation; a query ages it where no turns are observed."""

        def look(state: WorkingMemory) -> Mind:
            if not state.observed:
                state.tick()
            return state.mind()

        return self._within(who, session, look) or EMPTY

    def answered(
        self,
        who: Identity,
        session: str,
        found: Sequence[Activation],
        similarities: Mapping[str, float],
    ) -> None:
        """Note that a recall activated *found*.

        *similarities* are the cosines of working memory to its query.
        """

        def renew(state: WorkingMemory) -> None:
            state.rescore(similarities)
            state.activate(found)

        self._within(who, session, renew)

    def mind(self, who: Identity, session: str) -> Mind:
        """The state of the conversation; reading it changes nothing."""
        with self._lock:
            state = self._sessions.get((who.agent, who.team, session))
            return EMPTY if state is None else state.mind()

    def last(self, who: Identity) -> str:
        """The conversation of *who* that was used last, "" for none."""
        with self._lock:
            used = reversed(self._sessions)
            return next((key[2] for key in used if key[:2] == (who.agent, who.team)), "")

    def end(self, who: Identity, session: str) -> None:
        """Drop the state of the conversation, which is over."""
        with self._lock:
            self._sessions.pop((who.agent, who.team, session), None)

    def note_shown(self, who: Identity, ids: Iterable[str]) -> None:
        """Note that *ids* were shown to *who*, in any conversation; a repeat of one is an echo."""
        with self._lock:
            mine = self._recalled.setdefault(who.agent, OrderedDict())
            self._recalled.move_to_end(who.agent)
            for id in ids:
                mine[id] = None
                mine.move_to_end(id)
            _cut(mine, RECALLED)
            _cut(self._recalled, CONVERSATIONS)

    def shown(self, who: Identity) -> list[str]:
        """The ids that were shown last to *who*, oldest first."""
        with self._lock:
            return list(self._recalled.get(who.agent, ()))

    def _within(self, who: Identity, session: str, work: Callable[[WorkingMemory], T]) -> T | None:
        if not session:
            return None
        key = (who.agent, who.team, session)
        with self._lock:
            state = self._sessions.setdefault(key, WorkingMemory())
            self._sessions.move_to_end(key)
            _cut(self._sessions, CONVERSATIONS)
            return work(state)


def _cut(entries: OrderedDict[Any, Any], most: int) -> None:
    """Drop the oldest beyond *most*."""
    while len(entries) > most:
        entries.popitem(last=False)
