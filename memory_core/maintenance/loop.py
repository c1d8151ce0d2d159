"""Upkeep behind the calls: one thread a process, one working process a store.

Each round applies what others wrote; the process that holds maintenance.lock also fills the LanceDB
table, snapshots, adds missing vectors and erases what was forgotten. The lock passes on when its
holder dies. No call waits for a round, and a step that fails does not keep the others from their
work. A round in which nothing was new costs two small queries.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import Busy
from memory_core.maintenance.backfill import Backfill, Embed
from memory_core.maintenance.inspection import Inspection
from memory_core.maintenance.reembedding import Reembedding
from memory_core.maintenance.snapshots import Snapshots
from memory_core.maintenance.table_sync import TableSync
from memory_core.records import Change
from memory_core.storage import process_memory
from memory_core.storage.accesses import Accesses
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.locks import FileLock
from memory_core.storage.store import MemoryStore

log = logging.getLogger(__name__)

WAL_BYTES = 16 * 2**20
"""The write-ahead log is folded into the journal from this size on; SQLite's own way is off."""

MOST_SKIPPED = 120
"""A step that fails sits out 2, 4, 8 ... rounds, at most these (a minute), and then tries again."""

HEAD_START = 2.0
"""Seconds between the model being ready and the first round, unless something asks for one."""

SCRUB_SECONDS = 86400.0
"""How often the holder compares every checksum of the journal."""

FIRST_SCRUB_SECONDS = 600.0
"""The first time after the start: many programs end before, and the start has more to do."""

STOP_SECONDS = 10.0
"""How long closing waits for the step that is under way."""

FILES_SECONDS = 5.0
"""The thread touches table and snapshot so often at most: changes come in rows, each commit of the
table is four files, and each erasure makes everything anew. LanceDB also loses about 1 KiB of
memory with each table that is opened (measured, 0.40.0)."""

ERASED = "erased"
"""The meta key of the last complete erasure: {"sequence": of the newest forget that it covers}."""


class Maintenance:
    """The background thread of one store; also run by hand in tests and by health --repair."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        settings: Settings,
        clock: Callable[[], float],
        embed: Embed,
        reembedding: Reembedding | None = None,
        follow_model: Callable[[], None] = lambda: None,
        sweep: Callable[[], object] = lambda: None,
    ) -> None:
        """Keep *store*; *embed* gives the vectors of a memory that has none.

        *reembedding* is the change to another model; *follow_model* loads the store's model when
        another process has changed it. *sweep* keeps the tiers; it is called each round and knows
        itself when it is time.
        """
        self._store = store
        self._gate = gate
        self._clock = clock
        self._reembedding = reembedding
        self._follow_model = follow_model
        self._sweep = sweep
        self._seconds = settings.storage.apply_seconds
        self._stopping = threading.Event()
        self._missing = Backfill(store, clock, embed, self._stopping.is_set)
        self.accesses = Accesses(store, clock, settings.storage.access_seconds)
        self.table_sync = TableSync(store, settings.storage, self._stopping.is_set)
        self.snapshots = Snapshots(store, settings.storage)
        self.inspection = Inspection(store, clock)
        self._lock = FileLock(store.directory / "maintenance.lock")
        self._working = threading.Lock()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)
        self._level: tuple[object, ...] = ()
        self._next_scrub = time.monotonic() + FIRST_SCRUB_SECONDS
        self._next_files = 0.0
        self.scrubbed_at: float | None = None
        """When every checksum was last compared here, by the clock; None before the first time."""
        self.damage: list[str] = []
        """What the last comparison found."""
        self._skipped: dict[str, int] = {}
        self._failures: dict[str, int] = {}
        self.problems: dict[str, str] = {}
        """Steps that failed when they were last tried, and why."""

    @property
    def refused(self) -> dict[str, tuple[float, str]]:
        """Memories that the model refused, when, and why."""
        return self._missing.refused

    @property
    def holder(self) -> bool:
        """True while this process holds maintenance.lock."""
        return self._lock.held

    @property
    def keeper(self) -> int:
        """The process that holds, or last held, maintenance.lock; 0 when nobody did yet."""
        return self._lock.signature()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its batch, journal the last accesses, let go of the lock."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        if not self._store.journal.read_only:
            self._step("accesses", self.accesses.flush)
        if self._reembedding is not None:
            self._reembedding.close()
        if self._working.acquire(blocking=False):
            self._lock.release()
            self._working.release()
        else:  # nobody else may begin while it is at work
            log.warning("maintenance is still at work; its lock goes with the process")

    def nudge(self) -> None:
        """Begin the next round now, and let no step of it sit out."""
        self._skipped.clear()
        self._next_files = 0.0
        self._wake.set()

    def _run(self) -> None:
        self._let_the_model_load()
        while not self._stopping.is_set():
            self.round(hurry=False)
            self._wake.wait(self._seconds)
            self._wake.clear()

    def _let_the_model_load(self) -> None:
        """Importing lancedb costs more than a second of CPU: the first recall comes first.

        A process that ends within the head start leaves the table to one that stays.
        """
        for _ in range(100):
            if self._gate.ready or self._gate.problem or self._stopping.wait(0.05):
                break
        self._wake.wait(HEAD_START)

    def round(self, *, hurry: bool = True) -> None:
        """One round: catch up, journal accesses, then what is left to do. Never raises.

        Without *hurry* a table that serves gets its next changes a few seconds after the last ones.
        """
        with self._working:
            if not self._stopping.is_set():
                self._round(hurry)

    def _round(self, hurry: bool) -> None:
        self._step("journal", self._store.catch_up)
        self._step("rows", self._close_ranks)
        if not self._store.journal.read_only:
            self._step("accesses", self.accesses.keep)
            self._step("lock", self._take)
            if self.holder:
                self._step("tiers", self._sweep)
        self._step("model", self._follow_model)
        if self.holder and time.monotonic() >= self._next_scrub:
            self._step("scrub", self.scrub)
        if self.holder:
            self._step("inspection", self.inspection.keep)
        before = self._state()
        if before == self._level and not self.problems:
            return
        if self.holder:
            self._step("vectors", self._backfill)  # before lancedb is imported: recall needs them
            self._step("reembedding", self._reembed)
            self._step("log", self._empty_log)
            if not hurry and self._kept_just_now():
                return
            self._step("table", self.table_sync.keep)
            self._step("snapshot", self.snapshots.keep)
            self._step("erasure", self._erase)
            self._step("reserve", self._store.reserve.keep)
            self._next_files = time.monotonic() + FILES_SECONDS
        else:
            self._step("table", self.table_sync.follow)
        settled = not self._store.behind and not self.refused and not self._store.reembedding
        self._level = before if settled and before == self._state() else ()

    def _kept_just_now(self) -> bool:
        well = self._store.table is not None and not self.problems
        return well and time.monotonic() < self._next_files

    def _state(self) -> tuple[object, ...]:
        """What has to change for a round to have something to do."""
        store = self._store
        return store.applied, store.table_problem, store.troubles.count, self.holder, self._model()

    def _step(self, name: str, work: Callable[[], object]) -> None:
        """Do *work*; what goes wrong is for health to tell and for the next round to try again."""
        skipped = self._skipped.get(name, 0)
        if skipped:
            self._skipped[name] = skipped - 1
            return
        try:
            work()
            self.problems.pop(name, None)
            self._failures.pop(name, None)
        except Exception as problem:  # a job ends here
            if self.problems.get(name) != str(problem):
                log.warning("maintenance, %s: %s", name, problem)
            self.problems[name] = str(problem)
            failures = self._failures[name] = self._failures.get(name, 0) + 1
            self._skipped[name] = min(MOST_SKIPPED, 2 ** min(failures, 16))

    def _close_ranks(self) -> None:
        if self._store.close_ranks():
            process_memory.trim()

    def _take(self) -> None:
        if not self._lock.held and self._lock.acquire(0.0):
            self._lock.sign()
            self.table_sync.tidy()
            self.snapshots.tidy()

    def repair(self) -> None:
        """Rebuild table and snapshot from the journal, try refused memories again.

        Raises Busy when another process holds maintenance.lock, or a StorageError.
        """
        if not self._working.acquire(timeout=STOP_SECONDS):
            raise Busy("maintenance is at work", "repeat the call in a few seconds")
        try:
            if not self._lock.held and not self._lock.acquire(0.0):
                raise Busy(
                    "another process holds maintenance.lock", "run repair there, or close it"
                )
            self._store.catch_up()
            self.table_sync.rebuild()
            self.snapshots.write()
            self.table_sync.tidy(set_aside=True)
            self.snapshots.tidy(set_aside=True)
            self.inspection.run()
            for past in (self.refused, self.problems, self._failures):
                past.clear()
        finally:
            self._working.release()
        self.nudge()

    def scrub(self) -> None:
        """Compare every checksum of the journal, on a connection of its own; no call waits."""
        self._next_scrub = time.monotonic() + SCRUB_SECONDS
        self.damage = self._store.journal.check()
        self.scrubbed_at = self._clock()

    # Vectors

    def _model(self) -> Embedder | None:
        """The model, when it is ready and the one that the store works with."""
        embedder = self._gate.embedder
        same = embedder is not None and embedder.fingerprint == self._store.fingerprint
        return embedder if same else None

    def _backfill(self) -> None:
        """Embed a batch of memories that have no vectors; the next round comes at once if more."""
        embedder = self._model()
        if embedder is not None and self._missing.batch(embedder, self._store.troubles.vectors):
            self._wake.set()

    def _reembed(self) -> None:
        """A batch of the change to another model, if one is under way."""
        if self._reembedding is not None and self._reembedding.step():
            self._wake.set()

    # Erasing

    @property
    def erasing(self) -> bool:
        """True while a file may hold something that was forgotten; any process can tell."""
        done = self._store.journal.meta(ERASED)
        return (done["sequence"] if done else 0) < self._store.forgotten_at

    def _erase(self) -> None:
        """See to it that nothing forgotten is left in any file, then journal that it is so."""
        forgotten = self._store.forgotten_at
        if not self.erasing:
            return
        if (self.table_sync.since or 0) < forgotten or self.snapshots.stale:
            return  # a new generation could not be built yet
        self.table_sync.tidy(set_aside=True)
        self.snapshots.tidy(set_aside=True)
        if not self._store.journal.checkpoint(truncate=True):
            raise Busy("a reader keeps the write-ahead log from being emptied", "it is tried again")
        value = {"sequence": forgotten}

        def done(tx: Transaction) -> None:
            tx.append(Change("meta", ERASED, {"value": value}, source="maintenance"))

        self._store.reserve.with_room(lambda: self._store.commit(done))

    def _empty_log(self) -> None:
        if self._store.journal.stats()["wal_bytes"] > WAL_BYTES:
            self._store.journal.checkpoint(truncate=True)
