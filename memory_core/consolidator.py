"""Sleep as a run: look -> topics -> summaries -> sessions -> contradictions -> duplicates -> prune.

One run is one plan, made without writing anything and then written with before-images: it can be
previewed, undone as a whole, and a run that fails or is killed leaves nothing behind (design,
section 5). The steps are in `sleep` and `relations`; only what the caller owns is changed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from memory_core import relations, sleep
from memory_core.config import Settings
from memory_core.embedding.embedder import Embedder, EmbedderGate
from memory_core.errors import InvalidInput, NotFound
from memory_core.gist.encoder import GistEncoder
from memory_core.records import Identity, RunReport, Step, new_id
from memory_core.scoring import duplicates
from memory_core.sleep import Scene
from memory_core.storage.run_plan import Plan
from memory_core.storage.runs import Runs
from memory_core.storage.store import MemoryStore
from memory_core.tombstones import owner_of
from memory_core.wording import embed

Progress = Callable[[int, int, str], None]

STEPS: dict[str, Callable[[Scene], None]] = {
    "topics": sleep.topics,
    "summaries": sleep.summaries,
    "sessions": sleep.sessions,
    "contradictions": relations.contradictions,
    "duplicates": relations.repetitions,
    "prune": sleep.prune_faded,
}
"""In the order in which one run takes them."""

MODES = {
    "sleep": tuple(STEPS),
    "session": ("sessions",),
    "topics": ("topics",),
    "deduplicate": ("duplicates",),
    "contradictions": ("contradictions",),
    "prune": ("prune",),
}


class Consolidator:
    """Runs sleep on one store, by hand or by schedule; never on the path of a call."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        encoder: GistEncoder,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        """Consolidate *store*; compare and embed with what *gate* has loaded."""
        self._store = store
        self._gate = gate
        self._encoder = encoder
        self._settings = settings
        self._clock = clock
        self._runs = Runs(store)

    def run(
        self,
        who: Identity,
        *,
        mode: str,
        session: str,
        dry_run: bool,
        progress: Progress | None,
    ) -> RunReport:
        """Consolidate what *who* owns; with *session*, only that conversation.

        *dry_run* plans the same and writes nothing: status preview, no run id, and summaries
        without ids. *progress* gets (done, total, message) and may raise to cancel. Raises
        InvalidInput, NotFound for an unknown session, Busy while another run is at work, or a
        StorageError; a run that had begun is then journalled as failed and nothing of it remains.
        """
        if mode not in MODES:
            raise InvalidInput(f"mode: {mode!r} is unknown", f"use one of {', '.join(MODES)}")
        tell = progress or _silent
        if dry_run:
            plan = self._plan("", who, mode, session, tell)
            return plan.report("preview", plan.actions, MODES[mode])
        with self._runs.alone():
            return self._run(who, mode, session, tell)

    def undo(self, who: Identity, run: str) -> RunReport:
        """Take back the run *run* of *who*; what was changed since stays and is listed as kept.

        What was forgotten meanwhile is never brought back. Raises NotFound, InvalidInput for a run
        that was undone before or failed, Busy while a run is at work.
        """
        with self._runs.alone():
            restored, kept = self._runs.undo(run, who.agent)
        note = f"{len(kept)} memories were changed since the run and stay so" if kept else ""
        return RunReport(run, "undone", (Step("undo", restored),), kept=tuple(kept), note=note)

    # One run

    def _run(self, who: Identity, mode: str, session: str, tell: Progress) -> RunReport:
        run, total, completed = new_id(self._clock()), len(MODES[mode]) + 1, False
        self._runs.start(run, who.agent, mode)
        try:
            tell(0, total, f"run {run}")
            plan = self._plan(run, who, mode, session, tell)
            self._embed(plan)
            done = self._runs.apply(plan, lambda: tell(total - 1, total, "writing"))
            report = plan.report("completed", done, MODES[mode])
            self._runs.complete(plan, report, mode)
            completed = True
        finally:
            if not completed:
                self._runs.fail(run, who.agent, "interrupted")
        tell(total, total, "done")
        return report

    def _plan(self, run: str, who: Identity, mode: str, session: str, tell: Progress) -> Plan:
        scene = self._look(run, who, mode, session)
        for done, name in enumerate(MODES[mode]):
            tell(done, len(MODES[mode]) + 1, name)
            STEPS[name](scene)
        return scene.plan

    def _embed(self, plan: Plan) -> None:
        """Vectors for what the plan creates, before anything is locked; without a model, later."""
        embedder = self._embedder()
        for action in plan.actions:
            if embedder is not None and action.created is not None:
                action.parts, vectors = embed(embedder, action.created)
                action.vectors = vectors.astype(np.float16)
                action.fingerprint = embedder.fingerprint

    def _embedder(self) -> Embedder | None:
        embedder = self._gate.embedder
        fits = embedder is not None and embedder.fingerprint == self._store.fingerprint
        return embedder if fits else None

    # What there is

    def _look(self, run: str, who: Identity, mode: str, session: str) -> Scene:
        self._store.catch_up()
        embedder = self._embedder()
        with self._store.reading():
            columns = self._store.columns
            readable = self._store.readable(who)
            if session:
                readable &= columns.session == columns.code(session, "session")
                readable &= columns.session >= 0
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
        return Scene(
            plan=Plan(run, who, own, now, owner_of),
            settings=self._settings,
            profile=embedder.profile if embedder is not None else None,
            vectors=vectors,
            others=[memory for memory in found if memory.agent != who.agent],
            related=related,
            demoted=lambda id: self._runs.decided(id, "importance"),
            silence_s=sleep.SESSION_ENDED_S if mode == "sleep" else 0.0,
        )

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
            if kind in duplicates.RELATIONS
        }


def _silent(_done: int, _total: int, _message: str) -> None:
    """Nobody asked for progress."""
