"""Sleep as a run: settle -> topics -> contradictions -> refresh -> summaries -> ... -> prune.

One run is one plan, made without writing anything and then written with before-images: it can be
previewed, undone as a whole, and a run that fails or is killed leaves nothing behind (design,
section 5). The steps are in `sleep` and `relations`; only what the caller owns is changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.consolidate import contradictions, summaries
from memory_core.consolidate import steps as sleep
from memory_core.consolidate.plan import SOURCE, Plan
from memory_core.consolidate.run_log import RunLog, RunRequest
from memory_core.consolidate.steps import Relate, Summarise, Workspace
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import Busy, EncoderUnavailable, InvalidInput, NotFound
from memory_core.records import Change, Identity, RunReport, Step, Summary, new_id, owner_of
from memory_core.relations import corrections, duplicates
from memory_core.representation import embed
from memory_core.storage import process_memory
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore

log = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]

STEPS: dict[str, Callable[[Workspace], None]] = {
    "settle": sleep.apply_tiers,
    "topics": sleep.topics,
    "contradictions": contradictions.contradictions,
    "refresh": summaries.refresh,
    "summaries": summaries.summaries,
    "sessions": summaries.sessions,
    "concepts": summaries.concepts,
    "duplicates": contradictions.repetitions,
    "prune": sleep.prune_faded,
}
"""In the order in which one run takes them."""

EMBEDDED = 16
"""Summaries between two looks whether the run was cancelled, about a second. Each is embedded on
its own: that keeps one core busy and leaves the others to the calls meanwhile."""

MODES = {
    "sleep": tuple(STEPS),
    "session": ("sessions",),
    "topics": ("topics", "concepts"),
    "deduplicate": ("duplicates",),
    "contradictions": ("contradictions",),
    "prune": ("prune",),
}


@dataclass(frozen=True, slots=True)
class _Call:
    """What one call asks for."""

    who: Identity
    run: RunRequest
    age_s: float
    tell: Progress


class _Stopped(Exception):
    """Somebody has asked for the end of the run that is at work."""


class Consolidator:
    """Runs sleep on one store, by hand or by schedule; never on the path of a call."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        summarise: Summarise,
        settings: Settings,
        clock: Callable[[], float],
        relate: Relate | None = None,
    ) -> None:
        """Consolidate *store*; compare and embed with what *gate* has loaded.

        *summarise* and *relate* ask a model and give "" when there is none; then summaries are
        extractive, and what no rule can relate is only reported.
        """
        self._relate = relate or no_judgement
        self._store = store
        self._gate = gate
        self._summarise = summarise
        self._settings = settings
        self._clock = clock
        self._runs = RunLog(store)

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

        *dry_run* plans the same and writes nothing: status preview, no run id, and summaries
        without ids. Episodes are summarised from an age of *age_s* seconds. A run that begins
        *by_itself* leaves alone what an undone run had changed. *progress* gets (done, total,
        message) and may raise to cancel. A run of the same kind that a kill left half done
        is taken up under its id. Raises InvalidInput, NotFound for an unknown session, Busy while
        another run is at work, or a StorageError; a run that had begun is then journalled as
        failed and nothing of it remains. Status failed: it was stopped by undo.
        """
        if mode not in MODES:
            raise InvalidInput(f"mode: {mode!r} is unknown", f"use one of {', '.join(MODES)}")
        run = RunRequest(who.agent, mode, session, by_itself)
        asked = _Call(who, run, age_s, progress or _silent)
        try:
            return self._preview(asked) if dry_run else self._run_alone(asked)
        finally:
            corrections.clear_cache()
            process_memory.trim()

    def undo(self, who: Identity, run: str) -> RunReport:
        """Take back the run *run* of *who*; what was changed since stays and is listed as kept.

        A run that is at work is stopped: it takes back what it has written at its next step, and
        the status is running until then. What was forgotten meanwhile is never brought back.
        Raises NotFound, InvalidInput for a run that was undone before or failed, Busy while
        another run is at work.
        """
        try:
            with self._runs.alone() as left:
                for mark in left:
                    self._runs.fail(mark.target, mark.actor, "killed")
                restored, kept = self._runs.undo(run, who.agent)
        except Busy:
            if not self._runs.ask_to_stop(run, who.agent):
                raise
            return RunReport(run, "running", note="it stops at its next step and changes nothing")
        note = f"{len(kept)} memories were changed since the run and stay so" if kept else ""
        return RunReport(run, "undone", (Step("undo", restored),), kept=tuple(kept), note=note)

    # One run

    def _preview(self, asked: _Call) -> RunReport:
        plan = self._plan("", asked, asked.tell)
        return plan.report("preview", plan.actions, MODES[asked.run.mode])

    def _run_alone(self, asked: _Call) -> RunReport:
        with self._runs.alone() as left:
            return self._run(*self._take_up(left, asked), asked)

    def _take_up(self, left: list[Change], asked: _Call) -> tuple[str, int]:
        """The run to go on with and how often it was started, or a new one; others are failed."""
        found = ("", 0)
        for mark in left:
            times = self._runs.resumable(mark, asked.run)
            if times and not found[0]:
                found = mark.target, times
            else:
                self._runs.fail(mark.target, mark.actor, "killed")
        return found if found[0] else (new_id(self._clock()), 0)

    def _run(self, run: str, times: int, asked: _Call) -> RunReport:
        mode, why = asked.run.mode, "interrupted"
        total = len(MODES[mode]) + 1
        earlier = self._runs.written(run) if times else []
        self._runs.start(run, asked.run, times)

        def tell(done: int, total: int, message: str) -> None:
            if self._runs.is_stopping(run):
                raise _Stopped
            asked.tell(done, total, message)

        try:
            tell(0, total, f"run {run}")
            plan = self._plan(run, asked, tell)
            self._embed(plan, lambda: tell(total - 1, total, "embedding"))
            done = self._runs.apply(plan, lambda: tell(total - 1, total, "writing"))
            report = resumed(plan.report("completed", done, MODES[mode]), earlier)
            self._runs.complete(plan, report, asked.run)
            why = ""
        except _Stopped:
            why = "stopped"
            report = RunReport(run, "failed", note="it was stopped; nothing was changed")
        finally:
            if why:
                self._runs.fail(run, asked.who.agent, why)
        asked.tell(total, total, "done")
        return report

    def _plan(self, run: str, asked: _Call, tell: Progress) -> Plan:
        scene = self._look(run, asked)
        steps = MODES[asked.run.mode]
        for done, name in enumerate(steps):
            tell(done, len(steps) + 1, name)
            STEPS[name](scene)
        return scene.plan

    def _embed(self, plan: Plan, go_on: Callable[[], None]) -> None:
        """Vectors for what the plan creates, before anything is locked; without a model, later.

        *go_on* is called between batches and may raise to cancel.
        """
        embedder = self._gate.usable(self._store.fingerprint)
        if embedder is None:
            return
        made = [(each, each.created) for each in plan.actions if each.created is not None]
        try:
            for start in range(0, len(made), EMBEDDED):
                if start:
                    go_on()
                for action, memory in made[start : start + EMBEDDED]:
                    action.parts, vectors = embed(embedder, memory)
                    action.vectors = vectors.astype(np.float16)
                    action.fingerprint = embedder.fingerprint
        except EncoderUnavailable as problem:
            log.warning("summaries get their vectors later: %s", problem)
            self._gate.back_off(problem)

    def _embedder(self) -> Embedder | None:
        embedder = self._gate.embedder
        fits = embedder is not None and embedder.fingerprint == self._store.fingerprint
        return embedder if fits else None

    # What there is

    def _look(self, run: str, asked: _Call) -> Workspace:
        who, mode, session = asked.who, asked.run.mode, asked.run.session
        self._store.catch_up()
        embedder = self._embedder()
        with self._store.reading():
            columns = self._store.columns
            readable = self._store.readable(who)
            if session:
                turns = readable & (columns.session == columns.code(session, "session"))
                turns &= columns.session >= 0
                readable &= turns | self._resting_on(turns)
            rows = np.flatnonzero(readable).astype(np.int64)
            ids = [columns.id(int(row)) for row in rows]
            vectors = self._vectors(ids, rows) if embedder is not None else {}
            related = self._related(rows)
        if session and not ids:
            raise NotFound(
                f"no session {session[:40]!r}", "recall to see what the sessions are called"
            )
        found = sorted(self._store.memories(ids).values(), key=lambda m: (m.occurred_at, m.id))
        own = [memory for memory in found if memory.agent == who.agent]
        now = self._clock()
        return Workspace(
            plan=Plan(run, who, own, now, owner_of),
            settings=self._settings,
            profile=embedder.profile if embedder is not None else None,
            vectors=vectors,
            others=[memory for memory in found if memory.agent != who.agent],
            related=related,
            demoted=lambda id: self._runs.decided(id, "importance"),
            silence_s=sleep.SESSION_ENDED_S if mode == "sleep" else 0.0,
            age_s=asked.age_s,
            left=self._runs.left_alone(who.agent) if asked.run.by_itself else frozenset(),
            summarise=self._summarise if run else no_model,
            relate=self._relate if run else no_judgement,
        )

    def _resting_on(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The mask of what is derived from *rows*, whose owners and scopes it has."""
        found = np.zeros_like(rows)
        for row in np.flatnonzero(rows):
            found[self._store.graph.origins(int(row), DERIVED_FROM)] = True
        return found

    def _vectors(self, ids: list[str], rows: NDArray[np.int64]) -> dict[str, NDArray[np.float32]]:
        index = self._store.vectors
        if index is None:
            return {}
        found = zip(ids, index.wholes(rows), strict=True)
        return {id: vector for id, vector in found if not np.isnan(vector[0])}

    def _related(self, rows: NDArray[np.int64]) -> set[frozenset[str]]:
        """Pairs whose relation an earlier run, or the write of the later one, has found."""
        columns, graph = self._store.columns, self._store.graph
        return {
            frozenset((columns.id(int(row)), columns.id(other)))
            for row in rows
            for other, kind, _ in graph.neighbours(int(row))
            if kind in (*duplicates.RELATIONS, duplicates.DUPLICATE_OF)
        }


def resumed(report: RunReport, earlier: Sequence[Change]) -> RunReport:
    """*report* with what its run had written *earlier*, before its process died."""
    if not earlier:
        return report
    done = {(change.source.removeprefix(SOURCE), change.target) for change in earlier}
    made = [c for c in earlier if c.kind == "put" and "id" in (c.body or {})]
    gone = [
        change.target
        for change in earlier
        if (change.body or {}).get("retired_at") and "superseded_by" not in (change.body or {})
    ]
    told = [
        Summary(c.target, c.body["text"], tuple(c.body["derived_from"])) for c in made if c.body
    ]
    steps = tuple(
        replace(step, changed=step.changed + sum(1 for name, _ in done if name == step.name))
        for step in report.steps
    )
    return replace(
        report,
        steps=steps,
        summaries=(*told, *report.summaries),
        retired=(*gone, *report.retired),
        note=f"taken up again after a kill; {len(earlier)} changes had been written before",
    )


def no_model(_run: str, _sources: object, _sentences: int) -> str:
    """No model's summary: a preview costs nothing."""
    return ""


def no_judgement(_older: object, _newer: object) -> tuple[str, str]:
    """No model's judgement."""
    return "", ""


def _silent(_done: int, _total: int, _message: str) -> None:
    """Nobody asked for progress."""
