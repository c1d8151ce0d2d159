"""Model work behind the calls: named jobs, four at a time, none of which anybody waits for.

What is to be done stands in the journal (Memory.due), so it survives every restart; the queue of a
process is only the next part of it. One process a store works (encoder.lock), so that nothing is
sent twice. A turn that the model cannot handle is tried with others, then alone, then given up.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import EmbedderGate
from memory_core.enrichment import grounding
from memory_core.enrichment.budget import Budget, BudgetUsed
from memory_core.enrichment.extraction import Extracted, Extraction, is_echo, said, turn
from memory_core.enrichment.queue import Group, Queue
from memory_core.errors import EncoderUnavailable
from memory_core.gist.base import AnswerFailure, Encoded, GistEncoder, Related, ServiceFailure
from memory_core.records import FAILED, JOBS, Check, Identity, MemoryRecord
from memory_core.storage.locks import FileLock
from memory_core.storage.store import MemoryStore

log = logging.getLogger(__name__)

SUMMARISE = "summarise"
"""The job of a consolidation run; the other names are records.JOBS."""

ATTEMPTS = 3
"""How often the answer for one turn may be unusable before it is given up."""

POLL_SECONDS = 1.0

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class EncodeReport:
    """What `encode` did: how many it *asked* for again, how many were *due* and are *left*.

    *problem* says why some are left.
    """

    asked: int
    due: int
    left: int
    problem: str = ""


@dataclass(slots=True)
class _State:
    """What the workers share; behind the lock."""

    busy: set[str] = field(default_factory=set)
    groups: set[Group] = field(default_factory=set)
    running: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    hurry: bool = False
    gone: int = 0
    """Workers that have ended."""


class Worker:
    """The background jobs of one store in one process; without a model there are none."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        encoder: GistEncoder,
        settings: Settings,
        clock: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Work with *encoder* on what is due in *store*; facts are embedded by *gate*'s model."""
        self.budget = Budget(store, encoder, settings.gist, clock, monotonic)
        self.queue = Queue(store, settings.gist, clock)
        self.active = encoder.name != "passthrough"
        self._store = store
        self._gate = gate
        self._settings = settings.gist
        self._extraction = Extraction(store, encoder.version, settings.tiers.keep_importance)
        self._ours = FileLock(store.directory / "encoder.lock")
        self._lock = threading.Lock()
        self._state = _State()
        self._stopping = threading.Event()
        self._workers: list[threading.Thread] = []

    # Life

    def start(self) -> None:
        """Start the workers, if there is a model to work with."""
        if not self.active or self._store.journal.read_only:
            return
        names = [f"encoder-{number}" for number in range(self._settings.workers)]
        self._workers = [threading.Thread(target=self._run, name=n, daemon=True) for n in names]
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """Let calls under way finish within `drain_seconds`; the rest is done at the next start."""
        self._stopping.set()
        end = time.monotonic() + self._settings.drain_seconds
        for worker in self._workers:
            worker.join(max(0.0, end - time.monotonic()))
        if not self._workers:
            self._ours.release()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                worked = self.step()
            except Exception as problem:  # a job ends here; what it was about is still due
                log.warning("model work stopped: %s", problem)
                worked = False
            if not worked:
                self._stopping.wait(POLL_SECONDS)
        with self._lock:
            self._state.gone += 1
            if self._state.gone == len(self._workers):  # nobody else may begin before the last
                self._ours.release()

    def encode(self, who: Identity, since: float | None, progress: Progress | None) -> EncodeReport:
        """Do now what is due, with *since* (epoch seconds) also what an older version encoded.

        Only what *who* owns is made due again. Goes on until nothing is left or nothing can be
        done; interrupted, it goes on where it was. Raises EncoderUnavailable without a model.
        """
        if not self.active:
            raise EncoderUnavailable("no model was chosen", "set ANAMNESIS_ENCODER")
        version = self.budget.encoder.version
        asked = 0 if since is None else self.queue.ask_again(who, since, version)
        first = self._left()
        self._state.hurry = True
        try:
            while self.step() or self._waits_for_others():
                if progress is not None:
                    progress(first - self._left(), first, f"{self._left()} left")
        finally:
            self._state.hurry = False
        problem = self.budget.problem
        other = "" if self._take() else "another process is at work on them"
        return EncodeReport(asked, first, self._left(), problem.problem if problem else other)

    def _waits_for_others(self) -> bool:
        """True, after a moment, while workers of this process have memories in hand."""
        with self._lock:
            busy = bool(self._state.busy)
        return busy and not self._stopping.wait(0.05)

    def _left(self) -> int:
        return max(waiting for waiting, _ in self.queue.counts().values())

    # One batch

    def step(self) -> bool:
        """Do the next batch in this thread; False when nothing can be done now."""
        if not self.active or not self.budget.may_ask() or not self._take():
            return False
        with self._batch() as ids:
            turns = list(self._store.indexed(ids).values()) if ids else []
            with self._running(name for memory in turns for name in memory.due):
                return bool(turns) and self._encode(turns)

    def _take(self) -> bool:
        """True when this process is the one that works."""
        with self._lock:
            return self._ours.held or self._ours.acquire(0.0)

    @contextmanager
    def _batch(self) -> Iterator[list[str]]:
        """The ids of the next batch, in nobody else's hands for the block."""
        state = self._state
        with self._lock:
            found = self.queue.batch(state.busy, state.groups, state.tried, hurry=state.hurry)
            ids, groups = [each.id for each in found], {each.group for each in found}
            state.busy.update(ids)
            state.groups |= groups
        try:
            yield ids
        finally:
            with self._lock:
                state.busy.difference_update(ids)
                state.groups -= groups

    def _encode(self, turns: Sequence[MemoryRecord]) -> bool:
        """Send *turns* to the model and write what follows; False when it did not serve."""
        for memory in filter(is_echo, turns):
            self._extraction.write(self._extraction.done(memory.id))
        turns = [memory for memory in turns if not is_echo(memory)]
        if not turns:
            return True
        context = self.queue.context(turns[0])
        try:
            made = self._asked(context, turns)
        except AnswerFailure as problem:
            self._unusable(turns, problem)
        except ServiceFailure as problem:
            log.debug("still due: %s", problem.problem)
            return False
        else:
            outcome = self._extraction.outcome(context, turns, made, self._embedder())
            for reason in outcome.dropped:
                log.info("a fact was dropped: %s", reason)
            self._extraction.write(outcome)
            self._forget_tries(turns)
        return True

    def _asked(self, context: Sequence[MemoryRecord], turns: Sequence[MemoryRecord]) -> Encoded:
        from memory_core.gist.prompts import most_tokens  # only where a model was chosen

        shown, before = [turn(memory) for memory in turns], [turn(memory) for memory in context]
        most = most_tokens((each.text for each in (*before, *shown)), len(shown))
        return self.budget.call(most, lambda encoder: encoder.encode(shown, before))

    def _embedder(self) -> Embedder | None:
        embedder = self._gate.embedder
        fits = embedder is not None and embedder.fingerprint == self._store.fingerprint
        return embedder if fits else None

    def _unusable(self, turns: Sequence[MemoryRecord], problem: AnswerFailure) -> None:
        """Count a try for *turns*; what was tried alone and often enough is given up."""
        with self._lock:
            self._state.tried.update(memory.id for memory in turns)
            tries = self._state.tried[turns[0].id]
        if len(turns) > 1 or tries < ATTEMPTS:
            return
        names = ", ".join(f"{name}:{turns[0].id}" for name in turns[0].due)
        log.warning("given up: %s: %s", names, problem.problem)
        self._extraction.write(Extracted({turns[0].id: {"encoded": FAILED}}))
        self._forget_tries(turns)

    def _forget_tries(self, turns: Sequence[MemoryRecord]) -> None:
        with self._lock:
            for memory in turns:
                self._state.tried.pop(memory.id, None)

    # For sleep

    def summarise(self, run: str, sources: Sequence[MemoryRecord], sentences: int) -> str:
        """A model's summary of *sources*, as job `summarise:RUN`; "" when there is none to be had.

        Every number, date and name of it stands in the sources.
        """
        if not self.active or not all(map(self.queue.may_see, sources)):
            return ""
        from memory_core.gist.prompts import most_tokens

        texts = [f"{each.speaker}: {each.text}".removeprefix(": ") for each in map(turn, sources)]
        most = most_tokens(texts, 2)
        with self._running([SUMMARISE]):
            try:
                made = self.budget.call(most, lambda encoder: encoder.summarise(texts, sentences))
            except (ServiceFailure, AnswerFailure) as problem:
                log.warning("%s:%s is extractive: %s", SUMMARISE, run, problem.problem)
                with self._lock:
                    self._state.failed[SUMMARISE] += 1
                return ""
        foreign = grounding.ungrounded(made.text, said(sources))
        if foreign:
            log.warning("%s:%s is extractive: %r stands in no source", SUMMARISE, run, foreign)
        return "" if foreign else made.text

    def relate(self, older: MemoryRecord, newer: MemoryRecord) -> Related:
        """How *newer* relates to *older* as a model judges it; relation "" when there is none."""
        if not self.active or not all(map(self.queue.may_see, (older, newer))):
            return Related("")
        from memory_core.gist.prompts import most_tokens

        texts = turn(older).text, turn(newer).text
        try:
            return self.budget.call(most_tokens(texts, 1), lambda encoder: encoder.relate(*texts))
        except (ServiceFailure, AnswerFailure) as problem:
            log.info("no judgement: %s", problem.problem)
            return Related("")

    def judged(self, older: MemoryRecord, newer: MemoryRecord) -> tuple[str, str]:
        """The relation of `relate` and its reason."""
        found = self.relate(older, newer)
        return found.relation, found.detail

    # Knowing

    @contextmanager
    def _running(self, names: Iterable[str]) -> Iterator[None]:
        counted = Counter(names)
        with self._lock:
            self._state.running += counted
        try:
            yield
        finally:
            with self._lock:
                self._state.running -= counted

    def check(self) -> Check:
        """The line of health about the encoder, with the fix when something is wrong."""
        service = self.budget
        if not self.active:
            return Check("encoder", "ok", "passthrough: rules, no model needed")
        name = f"{service.encoder.name}:{service.encoder.model}"
        counts = self.counts()
        waiting = f"{counts['queued']} jobs wait, rules serve meanwhile"
        if (problem := service.problem) is not None:
            return Check("encoder", "degraded", f"{problem.problem}; {waiting}", problem.next_step)
        if service.spent:
            used = BudgetUsed(self._settings.daily_tokens)
            return Check("encoder", "degraded", f"{used.problem}; {waiting}", used.next_step)
        if counts["failed"]:
            detail = f"{name}; {counts['failed']} jobs were given up"
            return Check("encoder", "degraded", detail, "run `anamnesis encode --since DATE`")
        return Check("encoder", "ok", f"{name}; {counts['queued']} jobs wait")

    def counts(self) -> dict[str, Any]:
        """Queued, running and failed jobs, in all and by name (seed row A3.7)."""
        found = self.queue.counts()
        with self._lock:
            running, failed = self._state.running.copy(), self._state.failed.copy()
        by_name = {
            name: {
                "queued": max(0, found.get(name, (0, 0))[0] - running[name]),
                "running": running[name],
                "failed": found.get(name, (0, 0))[1] + failed[name],
            }
            for name in (*JOBS, SUMMARISE)
        }
        totals = {
            state: sum(counts[state] for counts in by_name.values())
            for state in ("queued", "running", "failed")
        }
        return totals | by_name
