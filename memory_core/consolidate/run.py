"""The walk of `consolidate`: one journalled run, previewed, applied or undone.

A run makes one plan without writing anything, then writes it with before-images. It can be
previewed, undone as a whole, and a run that fails or is killed leaves nothing behind. It changes
only what the caller owns.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory_core import link_kinds
from memory_core.config import DecaySettings
from memory_core.consolidate import contradictions, steps, summaries
from memory_core.consolidate.plan import SOURCE, Plan
from memory_core.consolidate.run_log import RunLog, RunRequest
from memory_core.consolidate.steps import ConsolidationTuning, Relate, Summarise, Workspace
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import Busy, EncoderUnavailable, InvalidInput, NotFound
from memory_core.lifecycle.doubts import Doubts, explained
from memory_core.lifecycle.tiers import TierTuning, moves, open_rows
from memory_core.records import Change, Identity, RunReport, Step, Summary, new_id, owner_of
from memory_core.representation import embed
from memory_core.scoring.arrays import Mask, Rows
from memory_core.storage import process_memory
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.journal.journal import Journal
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View

log = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]

STEPS: dict[str, Callable[[Workspace], None]] = {
    "settle": steps.apply_tiers,
    "topics": steps.topics,
    "contradictions": contradictions.contradictions,
    "refresh": summaries.refresh,
    "summaries": summaries.summaries,
    "sessions": summaries.sessions,
    "concepts": summaries.concepts,
    "duplicates": contradictions.near_duplicates,
    "prune": steps.prune_faded,
}
"""In the order in which a run takes them."""

MODES = {
    "sleep": tuple(STEPS),
    "session": ("sessions",),
    "topics": ("topics", "concepts"),
    "deduplicate": ("duplicates",),
    "contradictions": ("contradictions",),
    "prune": ("prune",),
}

EMBEDDED = 16
"""Summaries embedded between two checks for cancellation, about a second. They are embedded one by
one, which uses one core and leaves the others to concurrent calls."""


@dataclass(frozen=True, slots=True)
class _Call:
    """The arguments of one call."""

    who: Identity
    request: RunRequest
    age_s: float
    progress: Progress


class _Stopped(Exception):
    """An undo asked this run to stop."""


class Consolidator:
    """Runs consolidation on one store, on request or by schedule; never while a call waits."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        summarise: Summarise,
        decay: DecaySettings,
        clock: Callable[[], float],
        relate: Relate | None = None,
        tuning: ConsolidationTuning | None = None,
        tiers: TierTuning | None = None,
    ) -> None:
        """Consolidate *store*; compare and embed with the embedder of *gate*.

        *summarise* and *relate* ask a model and return "" when there is none. Summaries are then
        extractive, and nothing is said of a pair that no rule can relate.
        """
        self._relate = relate or no_judgement
        self._store = store
        self._gate = gate
        self._summarise = summarise
        self._decay = decay
        self._tiers = tiers or TierTuning()
        self.tuning = tuning or ConsolidationTuning()
        self._clock = clock
        self._log = RunLog(store)
        self._at_work = 0
        self._ended = threading.Condition()
        self._closing = False

    def stop(self, seconds: float) -> bool:
        """Cancel the runs of every thread of this process and begin no other.

        Each reverts what it has written. False when one is still at work after *seconds*.
        """
        with self._ended:
            self._closing = True
            return self._ended.wait_for(lambda: not self._at_work, seconds)

    def run(
        self,
        who: Identity,
        *,
        mode: str,
        session: str,
        dry_run: bool,
        progress: Progress | None,
        age_s: float = 0.0,
        by_itself: bool = False,
    ) -> RunReport:
        """Consolidate what *who* owns; with *session*, only that conversation.

        *dry_run* makes the same plan and writes nothing: status preview, no run id, and summaries
        without ids. Episodes are summarised from an age of *age_s* seconds. A run that starts
        *by_itself* does not change what an undone run had changed. *progress* gets (done, total,
        message) and may raise to cancel. A run with the same arguments that was killed is resumed
        under its id. Status failed means that an undo stopped it.

        Raises InvalidInput, NotFound for an unknown session, Busy while another run is at work, or
        a StorageError; a run that had started is then journalled as failed and nothing of it stays.
        After stop() every run raises Busy.
        """
        if mode not in MODES:
            raise InvalidInput(f"mode: {mode!r} is unknown", f"use one of {', '.join(MODES)}")
        request = RunRequest(who.agent, mode, session, by_itself)
        told = progress or _silent

        def check(done: int, total: int, message: str) -> None:
            self._check_open()
            told(done, total, message)

        call = _Call(who, request, age_s, check)
        with self._ended:
            self._check_open()
            self._at_work += 1
        try:
            return self._preview(call) if dry_run else self._run_exclusively(call)
        finally:
            process_memory.trim()
            with self._ended:
                self._at_work -= 1
                self._ended.notify_all()

    def _check_open(self) -> None:
        if self._closing:
            raise Busy("the memory is closed", "start it again; the run changed nothing")

    def undo(self, who: Identity, run: str, dry_run: bool = False) -> RunReport:
        """Revert the run *run* of *who*; what was changed since stays and is listed as kept.

        There is no preview: with *dry_run* this raises InvalidInput and changes nothing.

        A run that is at work is asked to stop: it reverts itself at its next step, and the status
        is running until then. What was forgotten meanwhile does not come back. Raises NotFound,
        InvalidInput for a run that failed or was undone before, Busy while another run is at work.
        """
        if dry_run:
            raise InvalidInput(
                "dry_run: an undo has no preview", f"nothing was changed; undo {run} without it"
            )
        try:
            with self._log.exclusive() as interrupted:
                for mark in interrupted:
                    self._log.fail(mark.target, mark.actor, "killed")
                restored, kept = self._log.undo(run, who.agent)
        except Busy:
            if not self._log.ask_to_stop(run, who.agent):
                raise
            return RunReport(run, "running", note="it stops at its next step and changes nothing")
        note = f"{len(kept)} memories were changed since the run and stay so" if kept else ""
        return RunReport(run, "undone", (Step("undo", restored),), kept=tuple(kept), note=note)

    # One run

    def _preview(self, call: _Call) -> RunReport:
        plan = self._plan("", call, call.progress)
        return plan.report("preview", plan.actions, MODES[call.request.mode])

    def _run_exclusively(self, call: _Call) -> RunReport:
        with self._log.exclusive() as interrupted:
            return self._run(*self._resume_or_begin(interrupted, call), call)

    def _resume_or_begin(self, interrupted: list[Change], call: _Call) -> tuple[str, int]:
        """The run to resume and how often it was started, or a new one; others are failed."""
        found = ("", 0)
        for mark in interrupted:
            times = self._log.resumable(mark, call.request)
            if times and not found[0]:
                found = mark.target, times
            else:
                self._log.fail(mark.target, mark.actor, "killed")
        return found if found[0] else (new_id(self._clock()), 0)

    def _run(self, run: str, times: int, call: _Call) -> RunReport:
        mode, why = call.request.mode, "interrupted"
        total = len(MODES[mode]) + 1
        earlier = self._log.written(run) if times else []
        self._log.start(run, call.request, times)

        def progress(done: int, total: int, message: str) -> None:
            if self._log.is_stopping(run):
                raise _Stopped
            call.progress(done, total, message)

        try:
            progress(0, total, f"run {run}")
            plan = self._plan(run, call, progress)
            self._embed(plan, lambda: progress(total - 1, total, "embedding"))
            done = self._log.apply(plan, lambda: progress(total - 1, total, "writing"))
            report = resumed(plan.report("completed", done, MODES[mode]), earlier)
            self._log.complete(plan, report, call.request)
            why = ""
        except _Stopped:
            why = "stopped"
            report = RunReport(run, "failed", note="it was stopped; nothing was changed")
        finally:
            if why:
                self._log.fail(run, call.who.agent, why)
        call.progress(total, total, "done")
        return report

    def _plan(self, run: str, call: _Call, progress: Progress) -> Plan:
        work = self._workspace(run, call)
        names = MODES[call.request.mode]
        for done, name in enumerate(names):
            progress(done, len(names) + 1, name)
            STEPS[name](work)
        return work.plan

    def _embed(self, plan: Plan, check: Callable[[], None]) -> None:
        """Embed what the plan creates, before anything is locked; without a model, backfill does.

        *check* is called between batches and may raise to cancel.
        """
        embedder = self._gate.usable(self._store.fingerprint)
        if embedder is None:
            return
        made = [(each, each.created) for each in plan.actions if each.created is not None]
        try:
            for start in range(0, len(made), EMBEDDED):
                if start:
                    check()
                for action, memory in made[start : start + EMBEDDED]:
                    action.parts, vectors = embed(embedder, memory)
                    action.vectors = vectors.astype(np.float16)
                    action.fingerprint = embedder.fingerprint
        except EncoderUnavailable as problem:
            log.warning("summaries get their vectors later: %s", problem)
            self._gate.back_off(problem)

    # Its input

    def _workspace(self, run: str, call: _Call) -> Workspace:
        who, mode, session = call.who, call.request.mode, call.request.session
        self._store.catch_up()
        embedder, now = self._gate.matching(self._store.fingerprint), self._clock()
        with self._store.reading() as view:
            readable = view.readable(who)
            if session:
                readable &= _of_session(view, readable, session)
            rows = np.flatnonzero(readable).astype(np.int64)
            ids = [view.columns.id(int(row)) for row in rows]
            vectors = _vectors(view, ids, rows) if embedder is not None else {}
            moved = self._moves(view, who, readable, now) if "settle" in MODES[mode] else {}
            related = _linked(view, rows, link_kinds.KNOWN)
            kept_both = _linked(view, rows, {link_kinds.KEPT_BOTH}, link_kinds.HOLDS)
            doubtful = _doubtful(view, self._store.journal, readable)
        if session and not ids:
            raise NotFound(
                f"no session {session[:40]!r}", "recall to see what the sessions are called"
            )
        found = sorted(self._store.memories(ids).values(), key=lambda m: (m.occurred_at, m.id))
        own = [memory for memory in found if memory.agent == who.agent]
        return Workspace(
            plan=Plan(run, who, own, now, owner_of),
            decay=self._decay,
            tuning=self.tuning,
            profile=embedder.profile if embedder is not None else None,
            vectors=vectors,
            moves=moved,
            others=[memory for memory in found if memory.agent != who.agent],
            related=related,
            kept_both=kept_both,
            doubtful=doubtful,
            why=lambda older, newer: explained(self._store.journal, older, newer).reason,
            demoted=lambda id: self._log.set_by_run(id, "importance"),
            silence_s=steps.SESSION_ENDED_S if mode == "sleep" else 0.0,
            age_s=call.age_s,
            excluded=self._log.excluded(who.agent) if call.request.by_itself else frozenset(),
            summarise=self._summarise if run else no_model,
            relate=self._relate if run else no_judgement,
        )

    def _moves(self, view: View, who: Identity, readable: Mask, now: float) -> dict[str, int]:
        own = view.columns.agent == view.columns.code(who.agent, "agent")
        rows = np.flatnonzero(readable & own & open_rows(view)).astype(np.int64)
        return moves(view, rows, self._decay, self._tiers, now)


def _of_session(view: View, readable: Mask, session: str) -> Mask:
    """The mask of the turns of *session*, and of what is derived from them."""
    columns = view.columns
    turns: Mask = readable & (columns.session == columns.code(session, "session"))
    turns &= columns.session >= 0
    found = turns.copy()
    for row in np.flatnonzero(turns):
        found[view.graph.origins(int(row), DERIVED_FROM)] = True
    return found


def _vectors(view: View, ids: list[str], rows: Rows) -> dict[str, NDArray[np.float32]]:
    """The whole vectors (d,) of *rows* by their *ids*; rows without one are left out."""
    if view.vectors is None:
        return {}
    found = zip(ids, view.vectors.wholes(rows), strict=True)
    return {id: vector for id, vector in found if not np.isnan(vector[0])}


def _linked(
    view: View, rows: Rows, kinds: Collection[str], least: float = 0.0
) -> set[frozenset[str]]:
    """Pairs of ids, one of *rows* at least, with a link of *kinds* that weighs *least*."""
    columns, graph = view.columns, view.graph
    return {
        frozenset((columns.id(int(row)), columns.id(other)))
        for row in rows
        for other, kind, weight in graph.neighbours(int(row))
        if kind in kinds and weight >= least
    }


def _doubtful(view: View, journal: Journal, readable: Mask) -> list[tuple[str, str]]:
    """(older, newer) ids of the doubts that nobody has decided, between *readable* rows."""
    pairs, id = Doubts(view, journal).pairs(readable), view.columns.id
    return [(id(older), id(newer)) for older, newer in pairs]


def resumed(report: RunReport, earlier: Sequence[Change]) -> RunReport:
    """*report* with what its run had written *earlier*, before its process was killed."""
    if not earlier:
        return report
    done = {(change.source.removeprefix(SOURCE), change.target) for change in earlier}
    made = [c for c in earlier if c.kind == "put" and "id" in (c.body or {})]
    gone = [
        change.target
        for change in earlier
        if (change.body or {}).get("retired_at") and "superseded_by" not in (change.body or {})
    ]
    written = [
        Summary(c.target, c.body["text"], tuple(c.body["derived_from"])) for c in made if c.body
    ]
    counted = tuple(
        replace(step, changed=step.changed + sum(1 for name, _ in done if name == step.name))
        for step in report.steps
    )
    return replace(
        report,
        steps=counted,
        summaries=(*written, *report.summaries),
        retired=(*gone, *report.retired),
        note=f"taken up again after a kill; {len(earlier)} changes had been written before",
    )


def no_model(_run: str, _sources: object, _sentences: int) -> str:
    """No summary by a model: a preview costs nothing."""
    return ""


def no_judgement(_older: object, _newer: object) -> tuple[str, str, str]:
    """No judgement by a model."""
    return "", "", ""


def _silent(_done: int, _total: int, _message: str) -> None:
    """Report no progress."""
