"""Asks the judges about pairs that nothing settles, one after the other, and writes their verdicts.

Pairs in doubt come first, then what lies near new memories. A verdict is final: a judge is asked
about a pair once, also when its verdict is undone; a contradiction, which leaves the doubt, is
passed on to the next judge. What gives no usable answer is tried ATTEMPTS times in one process.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memory_core.embedding.base import Profile
from memory_core.enrichment import candidates
from memory_core.enrichment.judges import Judge
from memory_core.gist.base import AnswerFailure, ServiceFailure
from memory_core.lifecycle import doubts
from memory_core.records import Change
from memory_core.storage.store import MemoryStore

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""How often the answer for one pair may be unusable before it is given up."""

LOOKED = "judged_until"
"""The meta key of when the last memory was stored that was looked at, in epoch seconds."""


@dataclass(frozen=True, slots=True)
class OpenPair:
    """A pair, by id, and which of the judges is to be asked; *doubted* when it is in doubt.

    Else *cosine* is that of the two, and *place* how many of those near the newer one are nearer.
    """

    older: str
    newer: str
    judge: int = 0
    doubted: bool = True
    cosine: float = 1.0
    place: int = 0


class Judging:
    """The questions of one store, and the next one. Thread-safe."""

    def __init__(
        self, store: MemoryStore, judges: Sequence[Judge], profile: Callable[[], Profile | None]
    ) -> None:
        """Ask *judges* in this order; *profile* is that of the model whose vectors are stored."""
        self._store = store
        self._judges = judges
        self._profile = profile
        self._lock = threading.Lock()
        self._seen = -1
        self._until = self._noted = -1.0
        self._doubts: list[OpenPair] = []
        self._new: list[str] = []
        self._unembedded: list[str] = []
        self._near: list[OpenPair] = []
        self._asking: set[tuple[str, str]] = set()
        self._tried: Counter[OpenPair] = Counter()

    def left(self) -> int:
        """How many pairs in doubt are still to be judged."""
        with self._lock:
            self._look()
            return len(self._doubts)

    def step(self) -> bool:
        """Ask the next question; False when there is none, or when nobody can answer it now."""
        with self._lock:
            self._look()
            question = self._next()
            if question is None:
                return False
            pair = question.older, question.newer
            self._asking.add(pair)
        try:
            return self._ask(question)
        finally:
            with self._lock:
                self._asking.discard(pair)

    def _ask(self, question: OpenPair) -> bool:
        """Write what the judge of *question* says; False when it cannot answer now."""
        pair = question.older, question.newer
        both, judge = self._store.indexed(pair), self._judges[question.judge]
        if len(both) < 2:
            return True
        try:
            found = judge.ask(both[question.older], both[question.newer])
        except AnswerFailure as problem:
            log.info("no verdict on %s and %s: %s", *pair, problem.problem)
            self._missed(question, 1)
            return True
        except ServiceFailure as problem:
            log.debug("not judged yet: %s", problem.problem)
            with self._lock:
                self._waiting(question).insert(0, question)
            return False
        if found is None or not found.relation:
            self._missed(question, ATTEMPTS)
        else:
            said = found.relation, judge.name, found.detail
            doubts.judge(self._store, *pair, *said, question.doubted)
        return True

    # What is waiting

    def _look(self) -> None:
        """Find what is waiting, if anything was written since."""
        if self._seen == self._store.applied or not self._judges:
            return
        if self._until < 0:
            self._until = self._noted = float(self._store.journal.meta(LOOKED) or 0.0)
        names = [judge.name for judge in self._judges]
        with self._store.reading() as view:
            self._seen = self._store.applied
            found = doubts.unjudged(view, self._store.journal, names)
            new, self._until = candidates.latest(view, self._until)
        asked = (self._able(OpenPair(*each)) for each in found if each[:2] not in self._asking)
        self._doubts = [question for question in asked if question is not None]
        self._new = [*self._unembedded, *self._new, *new]
        self._unembedded = []

    def _next(self) -> OpenPair | None:
        """The next question that its judge can answer now, taken from what is waiting."""
        while (question := self._askable()) is None:
            if not self._new or (profile := self._profile()) is None:
                break
            self._near += self._about(self._new.pop(0), profile)
        waiting = question or self._near or self._new or self._unembedded
        if not waiting and self._until > self._noted:
            self._note()
        return question

    def _askable(self) -> OpenPair | None:
        """The first that is waiting for a judge who can answer now."""
        for waiting in (self._doubts, self._near):
            waiting[:] = [able for each in waiting if (able := self._able(each)) is not None]
            for place, question in enumerate(waiting):
                if self._judges[question.judge].may_ask():
                    return waiting.pop(place)
        return None

    def _about(self, id: str, profile: Profile) -> list[OpenPair]:
        """The questions about the new memory *id* that a judge is left to answer."""
        memory = self._store.indexed([id]).get(id)
        near = [] if memory is None else candidates.candidates(self._store, memory, profile)
        if near is None:
            self._unembedded.append(id)
            return []
        asked = (
            self._able(OpenPair(each.older, each.newer, 0, False, each.cosine, place))
            for place, each in enumerate(near)
        )
        return [question for question in asked if question is not None]

    def _able(self, question: OpenPair) -> OpenPair | None:
        """*question* to the first judge from its own on who is left to answer it; None for none.

        Of what nobody doubts, a model that costs something is asked about the nearest alone.
        """
        for place in range(question.judge, len(self._judges)):
            judge, asked = self._judges[place], replace(question, judge=place)
            near = question.cosine >= candidates.NEAR
            wanted = near if judge.free else question.place < candidates.ASKED
            if wanted and self._tried[asked] < ATTEMPTS:
                return asked
        return None

    def _note(self) -> None:
        """Journal until when everything was looked at: it is not looked at again."""
        until = self._noted = self._until
        self._store.commit(lambda tx: tx.append(Change("meta", LOOKED, {"value": until})))

    def _waiting(self, question: OpenPair) -> list[OpenPair]:
        return self._doubts if question.doubted else self._near

    def _missed(self, question: OpenPair, times: int) -> None:
        """Count that *question* had no verdict, and ask it again later, or the next judge.

        What nobody doubts comes up once, so that it need not be remembered.
        """
        with self._lock:
            if question.doubted or times < ATTEMPTS:
                self._tried[question] += times
            else:
                question = replace(question, judge=question.judge + 1)
            if (able := self._able(question)) is not None:
                self._waiting(able).append(able)
