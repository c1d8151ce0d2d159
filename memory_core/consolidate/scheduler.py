"""Consolidation by schedule: one thread a process, one working process a store.

Every half minute it checks whether a run is due for an agent: enough turns since the last run, too
many memories that no summary covers, a pause in the conversation, the hour of the night, or a
conversation that was ended. No call waits for it, and it starts only when nobody has written for a
while. A run that was killed is resumed first.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from memory_core.config import ConsolidationSettings
from memory_core.consolidate.run import Consolidator
from memory_core.consolidate.run_log import IMPORT
from memory_core.errors import Busy, MemoryCoreError, NotFound
from memory_core.records import DERIVED, KINDS, Identity, RunReport
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.columns import Columns
from memory_core.storage.index.graph import Graph
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore
from memory_core.text.time.timestamps import at_time, day_of

log = logging.getLogger(__name__)

POLL_SECONDS = 30.0
"""Seconds between two checks for due runs."""

QUIET_SECONDS = 60.0
"""Seconds without a write before a scheduled run starts."""

STOP_SECONDS = 5.0
"""Seconds for which stop() waits for the thread."""

FRESH_SHARE = 0.1
"""Share of `unconsolidated` that has to be new before their number starts another run: perhaps no
summary fits the others."""

DAY = 86_400.0
NEVER = -1.0
"""A time before every record: the last run of an agent without one, an hour that is not set."""

_EPISODE = KINDS.index("episode")
_DERIVED = [KINDS.index(kind) for kind in DERIVED]


class _Closing(Exception):
    """The process ends; the run at work reverts what it has written."""


@dataclass(frozen=True, slots=True)
class Due:
    """A run that is due, and the reason."""

    who: Identity
    mode: str
    session: str
    why: str


class Scheduler:
    """Starts due runs in the process that maintains the store."""

    def __init__(
        self,
        store: MemoryStore,
        consolidator: Consolidator,
        settings: ConsolidationSettings,
        clock: Callable[[], float],
        is_holder: Callable[[], bool],
    ) -> None:
        """Start runs of *consolidator* as *settings* say, while *is_holder*() is True."""
        self._store = store
        self._consolidator = consolidator
        self._settings = settings
        self._tuning = consolidator.tuning
        self._clock = clock
        self._is_holder = is_holder
        self._ended: list[Due] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def start(self) -> None:
        """Start the thread, unless the store is read-only."""
        if not self._store.journal.read_only:
            self._thread.start()

    def stop(self) -> None:
        """End the thread; a run at work reverts what it has written."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    @property
    def alive(self) -> bool:
        """True while the thread is at work, also after stop() has given up waiting for it."""
        return self._thread.is_alive()

    def end_session(self, who: Identity, session: str, *, wait: bool = False) -> None:
        """Summarise the conversation *session* of *who* soon, in the thread of this process.

        With *wait*, before this returns.
        """
        due = Due(who, "session", session, "the session ended")
        if wait:
            self._start_run(due)
            return
        with self._lock:
            if due not in self._ended:
                self._ended.append(due)
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()
            if not self._stopping.is_set():
                self.round()

    def round(self) -> list[RunReport]:
        """Run what is due now; the reports of those runs. Never raises."""
        done = []
        try:
            with self._lock:
                ended, self._ended = self._ended, []
            for due in ended:
                done += self._start_run(due)
            if self._settings.automatic and self._is_holder():
                for due in [*self._interrupted(), *self.due()]:
                    done += self._start_run(due)
        except Exception as problem:  # a job ends here
            log.warning("consolidation: %s", problem)
        return done

    def _start_run(self, due: Due) -> list[RunReport]:
        if self._stopping.is_set():
            return []
        log.info("consolidation for %s: %s", due.who.agent, due.why)
        try:
            report = self._consolidator.run(
                due.who,
                mode=due.mode,
                session=due.session,
                dry_run=False,
                progress=self._check,
                age_s=self._tuning.min_age_s,
                by_itself=True,
            )
        except Busy:
            if due.session:  # another run is at work; this one follows it
                self.end_session(due.who, due.session)
                self._wake.clear()
            return []
        except (_Closing, NotFound):
            return []
        except MemoryCoreError as problem:
            log.warning("consolidation for %s failed: %s", due.who.agent, problem)
            return []
        return [report]

    def _check(self, _done: int, _total: int, _message: str) -> None:
        if self._stopping.is_set():
            raise _Closing

    # What is due

    def _interrupted(self) -> Iterator[Due]:
        """Runs that were killed; not of one conversation, whose name is stored as a hash only."""
        for mark in self._store.journal.runs():
            body = dict(mark.body or {})
            if body.get("state") == "started" and body.get("mode") and not body.get("of"):
                for who in self._agents():
                    if who.agent == mark.actor:
                        yield Due(who, body["mode"], "", "a kill cut it short")

    def due(self) -> list[Due]:
        """The runs that are due now, at most one an agent."""
        self._store.catch_up()
        now = self._clock()
        latest = self._latest(now)
        found = []
        with self._store.reading() as view:
            columns = view.columns
            original = columns.live & ~np.isin(columns.kind, _DERIVED)
            written = _recorded(columns, now)[original]
            quiet = now - float(written.max()) if len(written) else 0.0
            if quiet < QUIET_SECONDS:
                return []
        for who in self._agents():
            why = self._why(who, now, quiet, latest.get(who.agent, NEVER))
            if why:
                found.append(Due(who, "sleep", "", why))
        return found

    def _latest(self, now: float) -> dict[str, float]:
        """When a run of each agent last started, ended or was undone; not times ahead of *now*."""
        found: dict[str, float] = {}
        for mark in self._store.journal.runs():
            mode = (mark.body or {}).get("mode")
            if mode not in ("session", IMPORT) and mark.at <= now:
                found[mark.actor] = max(mark.at, found.get(mark.actor, NEVER))
        return found

    def _agents(self) -> list[Identity]:
        """The owners of memories, each with the team of its newest one."""
        with self._store.reading() as view:
            columns = view.columns
            rows = np.flatnonzero(columns.live)
            pairs = {int(columns.agent[row]): int(columns.team[row]) for row in rows}
            return [
                Identity(columns.name(agent, "agent"), columns.name(team, "team"))
                for agent, team in pairs.items()
                if agent > 0
            ]

    def _why(self, who: Identity, now: float, quiet: float, latest: float) -> str:
        """Why a run of *who* is due; "" when it is not. Without new memories none is due."""
        tuning = self._tuning
        with self._store.reading() as view:
            columns, mine = view.columns, _own(view.columns, who)
            fresh = int((mine & (_recorded(columns, now) > latest)).sum())
            waiting = _unconsolidated(view.graph, mine & (columns.kind == _EPISODE))
        if not fresh:
            return ""
        if tuning.every_turns and fresh >= tuning.every_turns:
            return f"{fresh} memories since the last run"
        many = tuning.unconsolidated and waiting > tuning.unconsolidated
        if many and fresh >= FRESH_SHARE * tuning.unconsolidated:
            return f"{waiting} memories that no summary covers"
        if tuning.idle_s and quiet >= tuning.idle_s and fresh >= tuning.min_cluster:
            return "a pause"
        return "the hour" if _last_nightly(self._settings.nightly, now) > latest else ""


def _own(columns: Columns, who: Identity) -> Mask:
    """The mask of what *who* owns and a run reads: neither derived nor retired."""
    mine = columns.live & (columns.agent == columns.code(who.agent, "agent"))
    derived = np.isin(columns.kind, _DERIVED)
    return np.asarray(mine & ~derived & np.isinf(columns.retired_at), dtype=np.bool_)


def _unconsolidated(graph: Graph, rows: Mask) -> int:
    return sum(1 for row in np.flatnonzero(rows) if not graph.origins(int(row), DERIVED_FROM))


def _recorded(columns: Columns, now: float) -> NDArray[np.float64]:
    """When each row was recorded; 0 for times ahead of *now*, from before the clock was set back.

    Such a memory counts as new for the first run only: else it would start a run at every check
    until the clock has caught up.
    """
    return np.where(columns.recorded_at > now, 0.0, columns.recorded_at)


def _last_nightly(nightly: str, now: float) -> float:
    """The last moment at which it was *nightly* ("HH:MM"); NEVER for ""."""
    if not nightly:
        return NEVER
    hour, minute = map(int, nightly.split(":"))
    day = day_of(now)
    today = at_time(day, hour, minute)
    return today if today <= now else at_time(day - timedelta(days=1), hour, minute)
