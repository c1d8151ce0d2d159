"""Background model work: named jobs in a few threads, for which no call waits.

The journal holds what is due (MemoryRecord.due), so it survives every restart. One process a store
works (encoder.lock), so that nothing is sent twice. A turn whose answer is unusable is tried again
with others, then alone, then given up.
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
from memory_core.embedding.base import Profile
from memory_core.embedding.embedder import EmbedderGate
from memory_core.enrichment import grounding
from memory_core.enrichment.budget import Budget, BudgetUsed
from memory_core.enrichment.extraction import Extracted, Extraction, input_turn, is_echo, said
from memory_core.enrichment.judges import Judge, LocalJudge
from memory_core.enrichment.judging import Judging
from memory_core.enrichment.queue import EnrichmentTuning, Group, Queue
from memory_core.errors import EncoderUnavailable
from memory_core.gist.base import (
    AnswerFailure,
    Encoded,
    GistEncoder,
    Related,
    ServiceFailure,
)
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
    """The result of `encode`: memories made due again (*asked*), *due* in all, and *left*.

    *problem* says why some are left.
    """

    asked: int
    due: int
    left: int
    problem: str = ""


@dataclass(slots=True)
class _State:
    """The state that the threads share; guarded by the lock."""

    busy: set[str] = field(default_factory=set)
    groups: set[Group] = field(default_factory=set)
    running: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By the name of a job and the id of its memory; of a summary, that of its first source."""
    failed: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    hurry: bool = False
    done: int = 0
    """Batches that were processed."""
    gone: int = 0
    """Threads that have ended."""


class ModelJudge:
    """The language model behind the encoder, within its budget."""

    free = False

    def __init__(self, budget: Budget, queue: Queue) -> None:
        """Ask through *budget* about what *queue* lets a model see."""
        self.name = f"{budget.encoder.name}:{budget.encoder.model}"
        self._budget = budget
        self._queue = queue

    def may_ask(self) -> bool:
        """See Judge: the service answers, and today's budget is not used up."""
        return self._budget.may_ask()

    def ask(self, older: MemoryRecord, newer: MemoryRecord) -> Related | None:
        """See Judge; None when the model may not see both."""
        if not all(map(self._queue.may_see, (older, newer))):
            return None
        from memory_core.gist.prompts import most_tokens  # imported only with a model

        texts = input_turn(older).text, input_turn(newer).text
        return self._budget.call(most_tokens(texts, 1), lambda encoder: encoder.relate(*texts))


class Worker:
    """The model work of one store in one process; without a model it does nothing."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        encoder: GistEncoder,
        settings: Settings,
        clock: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
        tuning: EnrichmentTuning | None = None,
    ) -> None:
        """Process what is due in *store* with *encoder*; the embedder of *gate* embeds facts."""
        self.budget = Budget(store, encoder, settings.gist, clock, monotonic)
        self._tuning = tuning or EnrichmentTuning()
        self.queue = Queue(store, settings.gist, clock, self._tuning)
        self._writes = encoder.name != "passthrough"
        self.local = None if settings.judge is None else LocalJudge(settings.judge)
        self.judges: list[Judge] = [] if self.local is None else [self.local]
        if self._writes:
            self.judges.append(ModelJudge(self.budget, self.queue))
        self._store = store
        self._gate = gate
        self._settings = settings.gist
        self._extraction = Extraction(store, encoder.version)
        self._judging = Judging(store, self.judges, self._profile)
        self._ours = FileLock(store.directory / "encoder.lock")
        self._lock = threading.Lock()
        self._state = _State()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    # Life

    def start(self) -> None:
        """Start the threads, if a model is configured."""
        if not self.judges or self._store.journal.read_only:
            return
        names = [f"encoder-{number}" for number in range(self._tuning.workers)]
        self._threads = [threading.Thread(target=self._run, name=n, daemon=True) for n in names]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let calls under way finish within `drain_seconds`; the rest stays due."""
        self._stopping.set()
        end = time.monotonic() + self._tuning.drain_seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        if not self._threads:
            self._ours.release()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                worked = self.step() or self._judge()
            except Exception as problem:  # the thread goes on; the memories are still due
                log.warning("model work stopped: %s", problem)
                worked = False
            if not worked:
                self._stopping.wait(POLL_SECONDS)
        with self._lock:
            self._state.gone += 1
            if self._state.gone == len(self._threads):  # no other process may begin before that
                self._ours.release()

    def encode(self, who: Identity, since: float | None, progress: Progress | None) -> EncodeReport:
        """Process what is due; with *since* (epoch seconds), also what an older version encoded.

        Only what *who* owns is made due again. Ends when nothing is left or nothing can be done; a
        later call continues an interrupted one. Raises EncoderUnavailable without a model.
        """
        if not self.judges:
            raise EncoderUnavailable("no model was chosen", "set ANAMNESIS_ENCODER")
        version = self.budget.encoder.version
        asked = 0 if since is None else self.queue.requeue(who, since, version)
        first = self._left()
        self._state.hurry = True
        try:
            while self._go_on() or self._judge():
                if progress is not None:
                    progress(first - self._left(), first, f"{self._left()} left")
        finally:
            self._state.hurry = False
        problem = self.budget.problem
        other = "" if self._acquire() else "another process is at work on them"
        return EncodeReport(asked, first, self._left(), problem.problem if problem else other)

    def now(self, id: str, seconds: float) -> bool:
        """Process what is due of the memory *id* now; True when nothing is left of it.

        False without a model, after *seconds*, or when the model cannot be asked.
        """
        if not self._writes:
            return False
        until = time.monotonic() + seconds
        self._state.hurry = True
        try:
            while self._due(id):
                if time.monotonic() > until or not self._go_on():
                    return False
        finally:
            self._state.hurry = False
        return True

    def _due(self, id: str) -> bool:
        self._store.catch_up()
        memory = self._store.indexed([id]).get(id)
        return memory is not None and bool(memory.due) and memory.encoded != FAILED

    def _go_on(self) -> bool:
        """Process the next batch; True also when threads of this process had it meanwhile.

        While they are still at work on one, this waits for 50 ms.
        """
        with self._lock:
            before = self._state.done
        if self.step():
            return True
        with self._lock:
            done, busy = self._state.done, bool(self._state.busy)
        return done > before or (busy and not self._stopping.wait(0.05))

    def _left(self) -> int:
        waiting = max(waiting for waiting, _ in self.queue.counts().values())
        return (waiting if self._writes else 0) + self._judging.left()

    # One batch

    def step(self) -> bool:
        """Process the next batch in this thread; False when nothing can be done now."""
        if not self._writes or not self.budget.may_ask() or not self._acquire():
            return False
        with self._batch() as ids:
            turns = list(self._store.indexed(ids).values()) if ids else []
            with self._running((name, memory.id) for memory in turns for name in memory.due):
                done = bool(turns) and self._encode(turns)
                with self._lock:
                    self._state.done += done
                return done

    def _judge(self) -> bool:
        """Ask the next question to a judge; False when nothing can be done now."""
        return bool(self.judges) and self._acquire() and self._judging.step()

    def _profile(self) -> Profile | None:
        """That of the model whose vectors are stored; None while it is not ready."""
        embedder = self._gate.matching(self._store.fingerprint)
        return None if embedder is None else embedder.profile

    def _acquire(self) -> bool:
        """True when this process holds, or now gets, encoder.lock."""
        with self._lock:
            return self._ours.held or self._ours.acquire(0.0)

    @contextmanager
    def _batch(self) -> Iterator[list[str]]:
        """The ids of the next batch, reserved for this thread during the block."""
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
        """Send *turns* to the model and write the result; False when the service did not answer."""
        for memory in filter(is_echo, turns):
            self._extraction.write(self._extraction.done(memory.id))
        turns = [memory for memory in turns if not is_echo(memory)]
        if not turns:
            return True
        context = self.queue.context(turns[0])
        try:
            made = self._ask(context, turns)
        except AnswerFailure as problem:
            self._unusable(turns, problem)
        except ServiceFailure as problem:
            log.debug("still due: %s", problem.problem)
            return False
        else:
            outcome = self._extraction.outcome(
                context, turns, made, self._gate.matching(self._store.fingerprint)
            )
            for reason in outcome.dropped:
                log.info("a fact was dropped: %s", reason)
            self._extraction.write(outcome)
            self._forget_tries(turns)
        return True

    def _ask(self, context: Sequence[MemoryRecord], turns: Sequence[MemoryRecord]) -> Encoded:
        from memory_core.gist.prompts import most_tokens  # imported only with a model

        shown, before = [input_turn(m) for m in turns], [input_turn(m) for m in context]
        most = most_tokens((each.text for each in (*before, *shown)), len(shown))
        return self.budget.call(most, lambda encoder: encoder.encode(shown, before))

    def _unusable(self, turns: Sequence[MemoryRecord], problem: AnswerFailure) -> None:
        """Count a try of *turns*; one that was tried alone ATTEMPTS times is given up."""
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

    # For consolidation

    def summarise(self, run: str, sources: Sequence[MemoryRecord], sentences: int) -> str:
        """A model's summary of *sources*, as job `summarise:RUN`; "" when it gives none.

        Every number, date and name of the summary occurs in the sources.
        """
        if not self._writes or not all(map(self.queue.may_see, sources)):
            return ""
        from memory_core.gist.prompts import most_tokens

        texts = [
            f"{each.speaker}: {each.text}".removeprefix(": ") for each in map(input_turn, sources)
        ]
        most = most_tokens(texts, 2)
        with self._running([(SUMMARISE, sources[0].id)]):
            try:
                made = self.budget.call(most, lambda encoder: encoder.summarise(texts, sentences))
            except (ServiceFailure, AnswerFailure) as problem:
                log.warning("%s:%s is extractive: %s", SUMMARISE, run, problem.problem)
                with self._lock:
                    self._state.failed[SUMMARISE] += 1
                return ""
        foreign = grounding.ungrounded(made.text, said(sources))
        if foreign:
            log.warning("%s:%s is extractive: %r is in no source", SUMMARISE, run, foreign)
        return "" if foreign else made.text

    def judged(self, older: MemoryRecord, newer: MemoryRecord) -> tuple[str, str, str]:
        """How the last of the judges relates *newer* to *older*: the relation, why, and its name.

        Relation "" when there is none or when it gives no verdict.
        """
        if not self.judges:
            return "", "", ""
        judge = self.judges[-1]
        try:
            found = judge.ask(older, newer) or Related("")
        except (ServiceFailure, AnswerFailure) as problem:
            log.info("no judgement: %s", problem.problem)
            found = Related("")
        return found.relation, found.detail, judge.name

    # Reporting

    @contextmanager
    def _running(self, jobs: Iterable[tuple[str, str]]) -> Iterator[None]:
        counted = Counter(jobs)
        with self._lock:
            self._state.running += counted
        try:
            yield
        finally:
            with self._lock:
                self._state.running -= counted

    def check(self, who: Identity) -> Check:
        """The health check of the encoder, with the fix when something is wrong.

        Its counts are those that *who* may know.
        """
        if not self._writes:
            return Check("encoder", "ok", "passthrough: rules, no model needed")
        name = f"{self.budget.encoder.name}:{self.budget.encoder.model}"
        counts = self.counts(who)
        waiting = f"{counts['queued']} jobs wait, rules are used meanwhile"
        if (problem := self.budget.problem) is not None:
            return Check("encoder", "degraded", f"{problem.problem}; {waiting}", problem.next_step)
        if self.budget.spent:
            used = BudgetUsed(self._settings.daily_tokens)
            return Check("encoder", "degraded", f"{used.problem}; {waiting}", used.next_step)
        if counts["failed"]:
            detail = f"{name}; {counts['failed']} jobs were given up"
            return Check("encoder", "degraded", detail, "run `anamnesis encode --since DATE`")
        return Check("encoder", "ok", f"{name}; {counts['queued']} jobs wait")

    def counts(self, who: Identity) -> dict[str, Any]:
        """Queued, running and failed jobs, in total and by name.

        Of memories that *who* may read; an admin is told those of all, and summaries that failed.
        """
        found = self.queue.counts(who)
        with self._lock:
            jobs, failed = self._state.running.copy(), self._state.failed.copy()
        if not who.admin:
            jobs = Counter({job: n for job, n in jobs.items() if self._store.may_read(who, job[1])})
            failed = Counter()
        running = Counter[str]()
        for (name, _), number in jobs.items():
            running[name] += number
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
