"""Opens, wires and closes the parts of one memory, in order."""

from __future__ import annotations

import atexit
import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from dataclasses import dataclass, field

from memory_core.beliefs.importance import ImportanceScorer, Rules
from memory_core.config import PACKAGED, Settings
from memory_core.consolidate.run import Consolidator
from memory_core.consolidate.scheduler import Scheduler
from memory_core.consolidate.steps import ConsolidationTuning
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import EmbedderGate, choose
from memory_core.enrichment.queue import EnrichmentTuning
from memory_core.enrichment.worker import Worker
from memory_core.errors import Busy, EncoderUnavailable, StorageError
from memory_core.forget import Forgetter
from memory_core.gist import encoder as gist_encoder
from memory_core.gist.base import GistEncoder
from memory_core.importing.sync import Syncer
from memory_core.importing.walk import Importer
from memory_core.lifecycle import turn_pairs
from memory_core.lifecycle.tiers import Tiers, TierTuning
from memory_core.lifecycle.working_memory import Sessions
from memory_core.maintenance.loop import Maintenance, MaintenanceTuning
from memory_core.maintenance.reembedding import Reembedding
from memory_core.recall.reader import MMR_LAMBDA, Reader
from memory_core.remember.capture import Capture
from memory_core.remember.writer import Writer
from memory_core.representation import embed, index_text
from memory_core.storage.store import EMBEDDING, LOCK_SECONDS, RESTORED_MODEL, MemoryStore

log = logging.getLogger(__name__)

RUN_SECONDS = 30.0
"""How long close() waits for a consolidation that it cancels: it ends at its next step."""

ENDING_SECONDS = 0.1
"""Between two looks at whether a thread that close() did not wait for has stopped."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Constants of the rooms that tests and benches replace; each room gives its own defaults.

    *opening_seconds* bounds the wait of a call for the store to open, and of close() for it.
    """

    opening_seconds: float = 20.0
    lock_seconds: float = LOCK_SECONDS
    maintenance: MaintenanceTuning = field(default_factory=MaintenanceTuning)
    tiers: TierTuning = field(default_factory=TierTuning)
    consolidation: ConsolidationTuning = field(default_factory=ConsolidationTuning)
    enrichment: EnrichmentTuning = field(default_factory=EnrichmentTuning)
    mmr_lambda: float = MMR_LAMBDA


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that the façade calls, complete once the store is open."""

    store: MemoryStore
    writer: Writer
    capture: Capture
    sessions: Sessions
    tiers: Tiers
    reader: Reader
    consolidator: Consolidator
    forgetter: Forgetter
    importer: Importer
    syncer: Syncer
    maintenance: Maintenance
    reembedding: Reembedding
    worker: Worker
    scheduler: Scheduler


@contextmanager
def _no_collection() -> Iterator[None]:
    """Switch the garbage collector off for the block.

    Replay creates no cycles, and the collector takes a sixth of its time (measured).
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class Runtime:
    """Opens the store and loads the model in background threads. No call waits for the model.

    A store that could not be opened (a full disk, missing rights) is opened again by the next call.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float],
        embedder: Embedder | None,
        encoder: GistEncoder | None = None,
        scorer: ImportanceScorer | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        """Begin to open the store of *settings*.

        *embedder* and *encoder* override those of the settings; *scorer* replaces the rules for
        importance.
        """
        self.gate = EmbedderGate(self._load_embedder)
        self._settings = settings
        self._clock = clock
        self._given = embedder
        self._encoder = encoder
        self._scorer = scorer or Rules()
        self._tuning = tuning or Tuning()
        self._loaded: dict[str, Embedder] = {}
        self._checked_fingerprint = ""
        self._lock = threading.Lock()
        self._closed = False
        self._store: MemoryStore | None = None
        self._ending: threading.Thread | None = None
        self._opening = self._begin()
        atexit.register(_close, weakref.ref(self))

    def _begin(self) -> Future[Parts]:
        opening: Future[Parts] = Future()
        threading.Thread(target=self._open, args=(opening,), name="open-store", daemon=True).start()
        return opening

    def _open(self, opening: Future[Parts]) -> None:
        store: MemoryStore | None = None
        try:
            store = self._store = self._open_store()
            parts = self._assemble(store)
        except BaseException as problem:  # a thread ends here; the callers raise what stopped it
            if store is not None:
                store.close()
            opening.set_exception(problem)
            return
        with self._lock:
            if not self._closed:
                parts.maintenance.start()
                parts.worker.start()
                parts.scheduler.start()
                opening.set_result(parts)
                return
        store.close()
        opening.set_exception(_closed())

    def _open_store(self) -> MemoryStore:
        settings, clock = self._settings, self._clock
        return MemoryStore(
            settings.data_dir,
            clock=clock,
            index_text=index_text,
            lock_seconds=self._tuning.lock_seconds,
        )

    def _assemble(self, store: MemoryStore) -> Parts:
        """Wire the parts; the model loads while the journal is replayed."""
        settings, clock, gate, tuning = self._settings, self._clock, self.gate, self._tuning
        gate.start()
        with _no_collection():
            store.catch_up()
        embed_all = turn_pairs.with_pair(store, embed)
        reembedding = Reembedding(store, gate, self._load, clock, embed_all, lambda: self._closed)
        encoder = self._encoder or gist_encoder.choose(settings)
        worker = Worker(store, gate, encoder, settings, clock, tuning=tuning.enrichment)
        writer = Writer(store, gate, settings, clock, self._scorer)
        sessions = Sessions()
        consolidator = Consolidator(
            store,
            gate,
            worker.summarise,
            settings.decay,
            clock,
            worker.judged,
            tuning.consolidation,
            tuning.tiers,
        )
        tiers = Tiers(store, gate, settings, clock, tuning.tiers)
        maintenance = Maintenance(
            store,
            gate,
            clock,
            embed_all,
            reembedding,
            self._follow_model,
            tiers.sweep_if_due,
            tuning.maintenance,
            writer.embedded_late,
        )
        scheduler = Scheduler(
            store, consolidator, settings.consolidation, clock, lambda: maintenance.holder
        )
        reader = Reader(
            store,
            gate,
            settings.decay,
            clock,
            sessions,
            maintenance.accesses,
            maintenance.embed_now,
            tuning.mmr_lambda,
        )
        forgetter, importer = Forgetter(store, clock), Importer(store, writer, settings, clock)
        return Parts(
            store,
            writer,
            Capture(store, writer, sessions, tiers),
            sessions,
            tiers,
            reader,
            consolidator,
            forgetter,
            importer,
            Syncer(store, importer, forgetter.forget_elsewhere, clock),
            maintenance,
            reembedding,
            worker,
            scheduler,
        )

    def _load_embedder(self) -> Embedder:
        """Load the model of the store; a new store takes the model of the settings."""
        assert self._store is not None  # the gate starts after the store
        meta = self._store.journal.meta(EMBEDDING)
        wanted = self._settings
        self._checked_fingerprint = "" if meta is None else meta["fingerprint"]
        if self._given is None and meta is not None and meta["name"] != wanted.embedder:
            self._require_chosen(meta["name"])
            log.warning(
                "the store works with %s, not %s, until `anamnesis reembed` is run",
                meta["name"],
                wanted.embedder,
            )
            wanted = wanted.model_copy(update={"embedder": meta["name"]})
        embedder = self._load(wanted.embedder)
        self._store.adopt(wanted.embedder, embedder.fingerprint, embedder.dimension)
        return embedder

    def _require_chosen(self, name: str) -> None:
        """Raise EncoderUnavailable for a model that only a restored backup names.

        It may lie elsewhere, and who made the backup does not decide where texts go.
        """
        assert self._store is not None
        if name != PACKAGED and name == self._store.journal.meta(RESTORED_MODEL):
            raise EncoderUnavailable(
                f"the memory was restored from a backup that works with {name}",
                f"set ANAMNESIS_EMBEDDER to {name}, or run `anamnesis reembed`",
            )

    def _load(self, name: str) -> Embedder:
        """The embedder of the setting *name*, loaded once even when the store is reopened."""
        if self._given is not None and name == self._settings.embedder:
            return self._given
        if name not in self._loaded:
            self._loaded = {name: choose(self._settings.model_copy(update={"embedder": name}))}
        return self._loaded[name]

    def _follow_model(self) -> None:
        """Load the store's model after another process changed it, once for each change."""
        assert self._store is not None
        wanted, embedder = self._store.fingerprint, self.gate.embedder
        if self._given is not None or wanted == self._checked_fingerprint:
            return
        if (embedder is not None and embedder.fingerprint == wanted) or self.gate.reload():
            self._checked_fingerprint = wanted

    def parts(self) -> Parts:
        """The parts; waits until the store is open.

        Raises Busy when that takes longer than the deadline or after close(), and StorageError or
        IncompatibleStore when the store cannot be opened.
        """
        with self._lock:
            if self._closed:
                raise _closed()
            if self._opening.done() and self._opening.exception() is not None:
                self._opening = self._begin()
            opening = self._opening
        if isinstance(self.gate.problem, StorageError | Busy):
            self.gate.retry()  # the model has loaded; recording it in the store failed
        try:
            return opening.result(timeout=self._tuning.opening_seconds)
        except NotYet:
            raise Busy("the store is still opening", "try again in a few seconds") from None

    def wait_ready(self, timeout: float) -> bool:
        """True when store and model are ready within *timeout* seconds; False when one failed."""
        end = time.monotonic() + timeout
        try:
            failed = self._opening.exception(timeout=timeout) is not None
        except NotYet:
            return False
        return not failed and self.gate.wait(max(0.0, end - time.monotonic())) is not None

    def close(self) -> None:
        """Journal the last accesses, stop the threads, close the files. A second call does nothing.

        A store that is still opening is closed as soon as it is open. Work that does not stop in
        time (RUN_SECONDS) goes on until its next step; then the files are closed, and until then
        the process does not end.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
        try:
            parts = self._opening.result(timeout=self._tuning.opening_seconds)
        except Exception:  # the process ends here; nothing is open
            return
        parts.scheduler.stop()
        parts.consolidator.stop(RUN_SECONDS)
        parts.worker.stop()
        parts.capture.drain()
        parts.maintenance.stop()
        if _at_work(parts):
            log.warning("background work goes on; the files are closed when it has stopped")
            self._ending = threading.Thread(target=_end, args=(parts,), name="end", daemon=False)
            self._ending.start()
        else:
            parts.store.close()

    def wait_ended(self) -> None:
        """After close(), wait until no thread of this memory is at work."""
        if self._ending is not None:
            self._ending.join()


def _at_work(parts: Parts) -> bool:
    """True while a thread uses the store after it was told to stop."""
    alive = parts.scheduler.alive or parts.maintenance.alive
    return alive or not parts.consolidator.stop(0.0)


def _end(parts: Parts) -> None:
    """Close the files when the last thread has stopped.

    The process waits for this thread: one that came back from native code after the interpreter had
    ended would abort it, and a run reverts what it has written.
    """
    while _at_work(parts):
        time.sleep(ENDING_SECONDS)
    parts.store.close()


def _close(left_open: weakref.ref[Runtime]) -> None:
    """Close at interpreter exit: a thread still in native code would abort the process."""
    runtime = left_open()
    if runtime is not None:
        runtime.close()
        runtime.wait_ended()


def _closed() -> Busy:
    return Busy("the memory is closed", "start it again")
