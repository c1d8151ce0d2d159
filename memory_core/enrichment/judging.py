"""Asks the encoder about pairs in doubt, one after the other, and writes its verdicts.

A verdict is final: a pair is asked about once, also when its verdict is undone. What gives no
usable answer is tried ATTEMPTS times in one process; the doubt stays until somebody decides it.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable

from memory_core.gist.base import AnswerFailure, Related, ServiceFailure
from memory_core.lifecycle import doubts
from memory_core.records import MemoryRecord
from memory_core.storage.store import MemoryStore

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""How often the answer for one pair may be unusable before it is given up."""

Ask = Callable[[MemoryRecord, MemoryRecord], Related | None]
"""(older, newer) -> how a model relates them; None when it may not see them."""

Pair = tuple[str, str]


class Judging:
    """The pairs of one store that are to be judged, and the next one. Thread-safe."""

    def __init__(self, store: MemoryStore, ask: Ask, name: str) -> None:
        """Judge by *ask*, which raises ServiceFailure and AnswerFailure; *name* is the model's."""
        self._store = store
        self._ask = ask
        self._name = name
        self._lock = threading.Lock()
        self._seen = -1
        self._waiting: list[Pair] = []
        self._tried: Counter[Pair] = Counter()

    def left(self) -> int:
        """How many pairs are still to be judged."""
        with self._lock:
            self._look()
            return len(self._waiting)

    def step(self) -> bool:
        """Judge the next pair; False when there is none, or when the service does not answer."""
        with self._lock:
            self._look()
            if not self._waiting:
                return False
            pair = self._waiting.pop(0)
        both = self._store.indexed(pair)
        if len(both) < 2:
            return True
        try:
            found = self._ask(*(both[id] for id in pair))
        except AnswerFailure as problem:
            log.info("no verdict on %s and %s: %s", *pair, problem.problem)
            self._again(pair)
            return True
        except ServiceFailure as problem:
            log.debug("not judged yet: %s", problem.problem)
            with self._lock:
                self._waiting.insert(0, pair)
            return False
        if found is None or not found.relation:
            self._tried[pair] = ATTEMPTS
        else:
            doubts.judge(self._store, *pair, found.relation, self._name, found.detail)
        return True

    def _look(self) -> None:
        """Find what is waiting, if anything was written since."""
        if self._seen == self._store.applied:
            return
        with self._store.reading() as view:
            self._seen = self._store.applied
            found = doubts.unjudged(view, self._store.journal)
        self._waiting = [pair for pair in found if self._tried[pair] < ATTEMPTS]

    def _again(self, pair: Pair) -> None:
        with self._lock:
            self._tried[pair] += 1
            if self._tried[pair] < ATTEMPTS:
                self._waiting.append(pair)
