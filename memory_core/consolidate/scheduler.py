"""Sleep that begins by itself: one thread a process, one working process a store.

It looks every half minute whether a run is due for an agent: enough turns since the last one, too
many memories that no summary rests on, a pause in the conversation, the hour of the night, or a
conversation that was said to be over. No call waits for it, and it begins only when nobody has
written for a while. A run that a kill cut short is taken up first.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_core.config import ConsolidationSettings
from memory_core.consolidate.run import Consolidator
from memory_core.errors import Busy, MemoryCoreError, NotFound
from memory_core.records import DERIVED, KINDS, Identity, RunReport
from memory_core.storage.index.columns import Columns
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore

log = logging.getLogger(__name__)

LOOK_SECONDS = 30.0
"""How often it is looked for what is due."""

QUIET_SECONDS = 60.0
"""Nobody has written for so long before a run begins by itself."""

ANEW = 0.1
"""As large a share of `unconsolidated` is new before another run for their number: it may be that
no summary fits those that wait."""

DAY = 86_400.0
NEVER = -1.0
"""Before everything that was recorded: the last run of who had none, the hour that is not set."""

_EPISODE = KINDS.index("episode")
_DERIVED = [KINDS.index(kind) for kind in DERIVED]


class _Closing(Exception):
    """The process ends; the run that is at work takes back what it has written."""


@dataclass(frozen=True, slots=True)
class Due:
    """A run that is due, and why."""

    who: Identity
    mode: str
    session: str
    why: str


class Scheduler:
    """Begins runs by itself where it is the process that keeps the store."""

    def __init__(
        self,
        store: MemoryStore,
        consolidator: Consolidator,
        settings: ConsolidationSettings,
        clock: Callable[[], float],
        keeps: Callable[[], bool],
    ) -> None:
        """Begin runs of *consolidator* as *settings* say, while *keeps* is True."""
        self._store = store
        self._consolidator = consolidator
        self._settings = settings
        self._clock = clock
        self._keeps = keeps
        self._ended: list[Due] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sleeper", daemon=True)

    def start(self) -> None:
        """Start the thread, unless the store can only be read."""
        if not self._store.journal.read_only:
            self._thread.start()

    def stop(self) -> None:
        """End the thread; a run at work takes back what it has written."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def end_session(self, who: Identity, session: str, *, wait: bool = False) -> None:
        """Sum up the conversation *session* of *who* soon, in this process; returns at once.

        With *wait* it is done before this returns.
        """
        due = Due(who, "session", session, "the session ended")
        if wait:
            self._do(due)
            return
        with self._lock:
            if due not in self._ended:
                self._ended.append(due)
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(LOOK_SECONDS)
            self._wake.clear()
            if not self._stopping.is_set():
                self.round()

    def round(self) -> list[RunReport]:
        """Do what is due now; the reports of the runs that were made. Never raises."""
        done = []
        try:
            with self._lock:
                ended, self._ended = self._ended, []
            for due in ended:
                done += self._do(due)
            if self._settings.automatic and self._keeps():
                for due in [*self._left_behind(), *self.due()]:
                    done += self._do(due)
        except Exception as problem:  # a job ends here
            log.warning("sleep: %s", problem)
        return done

    def _do(self, due: Due) -> list[RunReport]:
        if self._stopping.is_set():
            return []
        log.info("sleep of %s: %s", due.who.agent, due.why)
        try:
            report = self._consolidator.run(
                due.who,
                mode=due.mode,
                session=due.session,
                dry_run=False,
                progress=self._go_on,
                age_s=self._settings.min_age_days * DAY,
                by_itself=True,
            )
        except Busy:
            if due.session:  # a run by hand is at work; this one is not forgotten
                self.end_session(due.who, due.session)
                self._wake.clear()
            return []
        except (_Closing, NotFound):
            return []
        except MemoryCoreError as problem:
            log.warning("sleep of %s failed: %s", due.who.agent, problem)
            return []
        return [report]

    def _go_on(self, _done: int, _total: int, _message: str) -> None:
        if self._stopping.is_set():
            raise _Closing

    # What is due

    def _left_behind(self) -> Iterator[Due]:
        """Runs that a kill cut short; of one conversation only its name would tell."""
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
        with self._store.reading():
            columns = self._store.columns
            told = columns.live & ~np.isin(columns.kind, _DERIVED)
            written = _recorded(columns, now)[told]
            quiet = now - float(written.max()) if len(written) else 0.0
            if quiet < QUIET_SECONDS:
                return []
        for who in self._agents():
            why = self._why(who, now, quiet, latest.get(who.agent, NEVER))
            if why:
                found.append(Due(who, "sleep", "", why))
        return found

    def _latest(self, now: float) -> dict[str, float]:
        """When a run of each agent began, ended or was undone last; one that lies ahead is none."""
        found: dict[str, float] = {}
        for mark in self._store.journal.runs():
            if (mark.body or {}).get("mode") != "session" and mark.at <= now:
                found[mark.actor] = max(mark.at, found.get(mark.actor, NEVER))
        return found

    def _agents(self) -> list[Identity]:
        """Who owns memories, each with the team that the newest of them names."""
        with self._store.reading():
            columns = self._store.columns
            rows = np.flatnonzero(columns.live)
            pairs = {int(columns.agent[row]): int(columns.team[row]) for row in rows}
            return [
                Identity(columns.name(agent, "agent"), columns.name(team, "team"))
                for agent, team in pairs.items()
                if agent > 0
            ]

    def _why(self, who: Identity, now: float, quiet: float, latest: float) -> str:
        """Why a run of *who* is due; "" when it is not. Nothing new is never a reason."""
        settings = self._settings
        with self._store.reading():
            mine = self._own(who)
            columns = self._store.columns
            fresh = int((mine & (_recorded(columns, now) > latest)).sum())
            waiting = self._unconsolidated(mine & (columns.kind == _EPISODE))
        if not fresh:
            return ""
        if settings.every_turns and fresh >= settings.every_turns:
            return f"{fresh} memories since the last run"
        many = settings.unconsolidated and waiting > settings.unconsolidated
        if many and fresh >= ANEW * settings.unconsolidated:
            return f"{waiting} memories that no summary rests on"
        idle = settings.idle_minutes * 60.0
        if idle and quiet >= idle and fresh >= settings.min_cluster:
            return "a pause"
        return "the hour" if _night(settings.nightly, now) > latest else ""

    def _own(self, who: Identity) -> NDArray[np.bool_]:
        """The mask of what *who* owns and a run looks at: not derived, not retired."""
        columns = self._store.columns
        mine = columns.live & (columns.agent == columns.code(who.agent, "agent"))
        derived = np.isin(columns.kind, _DERIVED)
        return np.asarray(mine & ~derived & np.isinf(columns.retired_at), dtype=np.bool_)

    def _unconsolidated(self, rows: NDArray[np.bool_]) -> int:
        graph = self._store.graph
        return sum(1 for row in np.flatnonzero(rows) if not graph.origins(int(row), DERIVED_FROM))


def _recorded(columns: Columns, now: float) -> NDArray[np.float64]:
    """When each row was recorded; 0 for what lies ahead, told before the clock was set back.

    Such a memory is new to the first run only: else it would start a run at every look for years.
    """
    return np.where(columns.recorded_at > now, 0.0, columns.recorded_at)


def _night(nightly: str, now: float) -> float:
    """The last moment at which it was *nightly* ("HH:MM", UTC); NEVER for ""."""
    if not nightly:
        return NEVER
    hours, minutes = nightly.split(":")
    at = int(hours) * 3600.0 + int(minutes) * 60.0
    today = now // DAY * DAY + at
    return today if today <= now else today - DAY
