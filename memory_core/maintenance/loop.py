"""Background maintenance: one thread a process, one working process a store.

Each round applies what other processes wrote. The process that holds maintenance.lock also fills
the LanceDB table, writes snapshots, embeds what has no vectors and erases what was forgotten.
Another process takes the lock when its holder dies. No call waits for a round, and a step that
fails does not stop the others. A round without changes costs two small queries.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import Busy, StorageError
from memory_core.maintenance.backfill import Backfill, Embed, Stored
from memory_core.maintenance.inspection import Inspection
from memory_core.maintenance.reembedding import Reembedding
from memory_core.maintenance.snapshots import EVERY, Snapshots
from memory_core.maintenance.table_sync import BATCH, COMPACT_COMMITS, TableSync
from memory_core.records import Change, elapsed
from memory_core.storage import process_memory
from memory_core.storage.accesses import Accesses
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.locks import FileLock
from memory_core.storage.store import MemoryStore

log = logging.getLogger(__name__)

WAL_BYTES = 16 * 2**20
"""The write-ahead log is checkpointed from this size on; SQLite's automatic checkpoint is off."""

MOST_SKIPPED = 120
"""Most rounds (a minute) that a failing step skips: 2, 4, 8 ... after each failure."""

HEAD_START = 2.0
"""Seconds between the model being ready and the first round, unless nudge() is called."""

SCRUB_SECONDS = 86400.0
"""Seconds after which the holder compares every checksum of the journal again."""

FIRST_SCRUB_SECONDS = 600.0
"""Seconds after the start until the first comparison; many programs end earlier."""

STOP_SECONDS = 10.0
"""Seconds for which stop() waits for the step at work."""

FILES_SECONDS = 5.0
"""Least seconds between two updates of table and snapshot by the thread: changes come in bursts,
each commit of the table is four files, and each erasure rebuilds both. LanceDB also leaks about
1 KiB with each table that is opened (measured, 0.40.0)."""

WAIT_SECONDS = 0.05
"""Between two looks at whether an erasure is done."""

ERASED = "erased"
"""The meta key of the last complete erasure: {"sequence": of the newest forget that it covers}."""


@dataclass(frozen=True, slots=True)
class MaintenanceTuning:
    """Intervals and sizes of maintenance."""

    round_seconds: float = 0.5
    """Between two rounds."""
    access_seconds: float = 30.0
    """Between two commits of accesses; a kill may lose those since the last one."""
    table_batch: int = BATCH
    compact_commits: int = COMPACT_COMMITS
    snapshot_changes: int = EVERY


class Maintenance:
    """The maintenance of one store; tests and health --repair also call its rounds directly."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        clock: Callable[[], float],
        embed: Embed,
        reembedding: Reembedding | None = None,
        follow_model: Callable[[], None] = lambda: None,
        sweep: Callable[[], object] = lambda: None,
        tuning: MaintenanceTuning | None = None,
        stored: Stored | None = None,
    ) -> None:
        """Maintain *store*; *embed* returns the vectors of a memory that has none.

        *stored* stores them with the relations that they show; None stores them alone.
        *reembedding* is the change to another model; *follow_model* loads the store's model after
        another process changed it. *sweep* is called each round and decides itself whether it is
        time to sweep the tiers.
        """
        tuning = tuning or MaintenanceTuning()
        self._store = store
        self._gate = gate
        self._clock = clock
        self._reembedding = reembedding
        self._follow_model = follow_model
        self._sweep = sweep
        self._seconds = tuning.round_seconds
        self._stopping = threading.Event()
        self._embed_until = math.inf
        self._missing = Backfill(store, clock, embed, self._stop_embedding, stored)
        self.accesses = Accesses(store, clock, tuning.access_seconds)
        self.table_sync = TableSync(
            store,
            self._stopping.is_set,
            batch=tuning.table_batch,
            compact_commits=tuning.compact_commits,
        )
        self.snapshots = Snapshots(store, tuning.snapshot_changes)
        self.inspection = Inspection(store, clock)
        self._lock_path = store.directory / "maintenance.lock"
        self._lock = FileLock(self._lock_path)
        self._working = threading.Lock()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)
        self._level: tuple[object, ...] = ()
        self._next_scrub = time.monotonic() + FIRST_SCRUB_SECONDS
        self._next_files = 0.0
        self.scrubbed_at: float | None = None
        """When this process last compared every checksum, by the clock; None if never."""
        self.damage: list[str] = []
        """The damage that the last comparison found."""
        self._skipped: dict[str, int] = {}
        self._failures: dict[str, int] = {}
        self.problems: dict[str, str] = {}
        """Steps that failed when last tried, and why."""

    @property
    def refused(self) -> dict[str, tuple[float, str]]:
        """Memories that the model refused; see Backfill.refused."""
        return self._missing.refused

    @property
    def holder(self) -> bool:
        """True while this process holds maintenance.lock."""
        return self._lock.held

    @property
    def keeper(self) -> int:
        """The id of the process that holds, or last held, maintenance.lock; 0 when none did."""
        return self._lock.owner()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its batch, journal the last accesses, release the lock.

        An erasure that is pending, and that no other process is at, is finished first.
        """
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        if not self._store.journal.read_only:
            self._step("accesses", self.accesses.flush)
            self._skipped.pop("erasure", None)
            self._step("erasure", self._erase_at_once)
        if self._reembedding is not None:
            self._reembedding.close()
        if self._working.acquire(blocking=False):
            self._lock.release()
            self._working.release()
        else:  # no other process may begin meanwhile
            log.warning("maintenance is still at work; its lock is released with the process")

    @property
    def alive(self) -> bool:
        """True while the thread is at work, also after stop() has given up waiting for it."""
        return self._thread.is_alive()

    def nudge(self) -> None:
        """Start the next round now, without skipping a step."""
        self._skipped.clear()
        self._next_files = 0.0
        self._wake.set()

    def _run(self) -> None:
        self._wait_for_model()
        while not self._stopping.is_set():
            self.round(hurry=False)
            self._wake.wait(self._seconds)
            self._wake.clear()

    def _wait_for_model(self) -> None:
        """Wait until the model is loaded: importing lancedb takes more than a second of CPU.

        A process that ends within the head start never imports it.
        """
        for _ in range(100):
            if self._gate.ready or self._gate.problem or self._stopping.wait(0.05):
                break
        self._wake.wait(HEAD_START)

    def round(self, *, hurry: bool = True) -> None:
        """One round: catch up, journal accesses, then all steps that are due. Never raises.

        Without *hurry* table and snapshot are updated at most every FILES_SECONDS.
        """
        with self._working:
            if not self._stopping.is_set():
                self._round(hurry)

    def _round(self, hurry: bool) -> None:
        self._step("files", self._store.journal.require_present)
        if "files" in self.problems:
            return  # nothing is made at the old path of a folder that went away
        self._step("journal", self._store.catch_up)
        self._step("rows", self._renumber)
        if not self._store.journal.read_only:
            self._step("accesses", self.accesses.flush_if_due)
            self._step("lock", self._acquire)
            if self.holder:
                self._step("tiers", self._sweep)
        self._step("model", self._follow_model)
        if self.holder and time.monotonic() >= self._next_scrub:
            self._step("scrub", self.scrub)
        if self.holder:
            self._step("inspection", self.inspection.run_if_due)
        before = self._state()
        if before == self._level and not self.problems:
            return
        if self.holder:
            self._step(
                "vectors", self._backfill
            )  # before lancedb is imported: recall needs them first
            self._step("reembedding", self._reembed)
            self._step("log", self._empty_log)
            if not hurry and self._updated_just_now():
                return
            self._step("table", self.table_sync.update)
            self._step("snapshot", self.snapshots.write_if_due)
            self._step("erasure", self._erase)
            self._step("reserve", self._store.reserve.ensure)
            self._next_files = time.monotonic() + FILES_SECONDS
        else:
            self._step("table", self.table_sync.follow)
        settled = not self._store.unsynced and not self.refused and not self._store.reembedding
        self._level = before if settled and before == self._state() else ()

    def _updated_just_now(self) -> bool:
        well = self._store.table is not None and not self.problems
        return well and time.monotonic() < self._next_files

    def _state(self) -> tuple[object, ...]:
        """The values of which one has to change for a round to have work."""
        store = self._store
        embedder = self._gate.matching(store.fingerprint)
        there = self.table_sync.in_place, self.snapshots.in_place
        return (
            store.applied,
            store.table_problem,
            store.unusable.count,
            self.holder,
            embedder,
            there,
        )

    def _step(self, name: str, work: Callable[[], object]) -> None:
        """Do *work*; health reports an error, and a later round tries again."""
        skipped = self._skipped.get(name, 0)
        if skipped:
            self._skipped[name] = skipped - 1
            return
        try:
            work()
            self.problems.pop(name, None)
            self._failures.pop(name, None)
        except Exception as problem:  # the thread has to go on
            if self.problems.get(name) != str(problem):
                log.warning("maintenance, %s: %s", name, problem)
            self.problems[name] = str(problem)
            failures = self._failures[name] = self._failures.get(name, 0) + 1
            self._skipped[name] = min(MOST_SKIPPED, 2 ** min(failures, 16))

    def _renumber(self) -> None:
        if self._store.compact_rows():
            process_memory.trim()

    def _acquire(self) -> None:
        if not self._lock.held and self._lock.acquire(0.0):
            self._lock.record_owner()
            self.table_sync.tidy()
            self.snapshots.tidy()

    def repair(self) -> None:
        """Rebuild table and snapshot from the journal, and try refused memories again.

        Raises Busy when another process holds maintenance.lock, or a StorageError.
        """
        self._store.journal.require_present()
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
            self.table_sync.tidy(quarantined=True)
            self.snapshots.tidy(quarantined=True)
            self.inspection.run()
            for past in (self.refused, self.problems, self._failures):
                past.clear()
        finally:
            self._working.release()
        self.nudge()

    def scrub(self) -> None:
        """Compare every checksum of the journal, on a separate connection; no call waits."""
        self._next_scrub = time.monotonic() + SCRUB_SECONDS
        self.damage = self._store.journal.check()
        self.scrubbed_at = self._clock()

    # Vectors

    def _backfill(self) -> None:
        """Embed a batch of memories without vectors; with more left, nudge the next round."""
        embedder = self._gate.matching(self._store.fingerprint)
        if embedder is not None and self._missing.batch(embedder, self._store.unusable.vectors):
            self._wake.set()

    def embed_now(self, seconds: float) -> None:
        """Embed what has no vectors yet, or wait for another process that does, for *seconds*.

        For a recall that comes right after a burst of writes.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self._lacks_vectors():
            if not self._store.journal.read_only and self._working.acquire(timeout=left):
                try:
                    self._embed_until = end
                    self._step("lock", self._acquire)
                    if self.holder:
                        self._step("vectors", self._backfill)
                finally:
                    self._embed_until = math.inf
                    self._working.release()
            if "vectors" in self.problems or self._stopping.is_set():
                return
            if self._lacks_vectors():
                self._stopping.wait(WAIT_SECONDS)
                self._store.catch_up()

    def _stop_embedding(self) -> bool:
        return self._stopping.is_set() or time.monotonic() >= self._embed_until

    def _lacks_vectors(self) -> bool:
        """True while a memory has no vectors, but for those that the model refused."""
        with self._store.reading() as view:
            live = int(view.columns.live.sum())
            held = live if view.vectors is None else view.vectors.rows_with_vectors
        return live - held > len(self.refused)

    def _reembed(self) -> None:
        """Embed a batch for the change to another model, if one is under way."""
        if self._reembedding is not None and self._reembedding.step():
            self._wake.set()

    # Erasing

    @property
    def erasing(self) -> bool:
        """True while a file may hold forgotten text; known to every process."""
        done = self._store.journal.meta(ERASED)
        return (done["sequence"] if done else 0) < self._store.forgotten_at

    @property
    def pending_seconds(self) -> float:
        """For how long a file may have held forgotten text; 0 when none does."""
        if not self.erasing:
            return 0.0
        changes = self._store.journal.changes(self._store.forgotten_at - 1, 1)
        return elapsed(changes[0].at, self._clock()) if changes else 0.0

    @property
    def kept(self) -> bool:
        """True while a process holds maintenance.lock."""
        probe = FileLock(self._lock_path)
        if self.holder or not probe.acquire():
            return True
        probe.release()
        return False

    def finish_erasing(self, seconds: float) -> bool:
        """Remove what may hold forgotten text; True when no file does any more.

        Table and snapshot are deleted, and built anew by a later round. While another process
        holds maintenance.lock it is waited for. Gives up after *seconds*; then, and when the disk
        fails, a later round tries again.
        """
        end = time.monotonic() + seconds
        while self.erasing and time.monotonic() < end:
            try:
                self._erase_at_once()
            except Busy as problem:
                log.info("not erased from every file yet: %s", problem)
            except StorageError as problem:
                log.warning("not erased from every file yet: %s", problem)
                return False
            if self.erasing:
                self._stopping.wait(WAIT_SECONDS)
                self._store.catch_up()
        return not self.erasing

    def _erase_at_once(self) -> None:
        """Erase without building anew, unless another process or thread is at work."""
        if not self.erasing or not self._working.acquire(blocking=False):
            return
        try:
            self._acquire()
            if self.holder:
                self._erase(at_once=True)
        finally:
            self._working.release()

    def _erase(self, *, at_once: bool = False) -> None:
        """Remove forgotten text from every file, then journal that it is done.

        *at_once*: older generations are deleted although no new one was built.
        """
        forgotten = self._store.forgotten_at
        if not self.erasing:
            return
        if not at_once and ((self.table_sync.since or 0) < forgotten or self.snapshots.stale):
            return  # a new generation is still to be built
        self.table_sync.tidy(quarantined=True)
        self.snapshots.tidy(quarantined=True)
        if not self._store.journal.checkpoint(truncate=True):
            raise Busy("a reader prevents emptying the write-ahead log", "it is tried again")
        value = {"sequence": forgotten}

        def done(tx: Transaction) -> None:
            tx.append(Change("meta", ERASED, {"value": value}, source="maintenance"))

        self._store.reserve.with_room(lambda: self._store.commit(done))

    def _empty_log(self) -> None:
        if self._store.journal.stats()["wal_bytes"] > WAL_BYTES:
            self._store.journal.checkpoint(truncate=True)
