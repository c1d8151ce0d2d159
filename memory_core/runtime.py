"""The engine behind the façade: the parts, put together, opened and closed in order."""

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
from dataclasses import dataclass

from memory_core.config import Settings
from memory_core.consolidate.run import Consolidator
from memory_core.consolidate.scheduler import Sleeper
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import EmbedderGate, choose
from memory_core.enrichment.worker import Jobs
from memory_core.errors import Busy, StorageError
from memory_core.forget import Forgetting
from memory_core.gist import encoder as gist_encoder
from memory_core.gist.base import GistEncoder
from memory_core.gist.passthrough import PassthroughEncoder
from memory_core.lifecycle import turn_pairs
from memory_core.lifecycle.tiers import Tiers
from memory_core.lifecycle.working_memory import Sessions
from memory_core.maintenance.loop import Maintenance
from memory_core.maintenance.reembedding import Reembedding
from memory_core.recall.reader import Reader
from memory_core.remember.capture import Capture
from memory_core.remember.writer import Writer
from memory_core.representation import embed, index_text
from memory_core.storage.store import EMBEDDING, MemoryStore
from memory_core.text.importance import ImportanceScorer, Rules

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that stands behind the façade once the store is open."""

    store: MemoryStore
    writer: Writer
    capture: Capture
    sessions: Sessions
    tiers: Tiers
    reader: Reader
    consolidator: Consolidator
    forgetting: Forgetting
    maintenance: Maintenance
    reembedding: Reembedding
    jobs: Jobs
    sleeper: Sleeper


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collector: the replay makes no cycles, and it costs a sixth (measured)."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class Engine:
    """Opens the store and loads the model in threads; nobody waits for the model.

    What kept the store from opening may be mended while the program runs (a full disk, a missing
    right), so each call after a failure tries again.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float],
        embedder: Embedder | None,
        encoder: GistEncoder | None = None,
        scorer: ImportanceScorer | None = None,
    ) -> None:
        """Begin to open the store of *settings*; *embedder* and *encoder* go before theirs.

        *scorer* judges importance in place of the rules.
        """
        self.gate = EmbedderGate(self._load_embedder)
        self._settings = settings
        self._clock = clock
        self._given = embedder
        self._encoder = encoder
        self._scorer = scorer or Rules()
        self._loaded: dict[str, Embedder] = {}
        self._followed = ""
        self._lock = threading.Lock()
        self._closed = False
        self._store: MemoryStore | None = None
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
                parts.jobs.start()
                parts.sleeper.start()
                opening.set_result(parts)
                return
        store.close()
        opening.set_exception(_closed())

    def _open_store(self) -> MemoryStore:
        settings, clock = self._settings, self._clock
        return MemoryStore(
            settings.data_dir, clock=clock, settings=settings.storage, index_text=index_text
        )

    def _assemble(self, store: MemoryStore) -> Parts:
        """Start the model, replay the journal: the order in which a call can be served."""
        settings, clock, gate = self._settings, self._clock, self.gate
        gate.start()
        with _no_collection():
            store.catch_up()
        late = turn_pairs.kept(store, embed)
        reembedding = Reembedding(store, gate, self._load, clock, late, lambda: self._closed)
        encoder = self._encoder or gist_encoder.choose(settings)
        jobs = Jobs(store, gate, encoder, settings, clock)
        writer = Writer(store, gate, PassthroughEncoder(), settings, clock, self._scorer)
        sessions = Sessions(settings.session)
        consolidator = Consolidator(store, gate, jobs.summarise, settings, clock, jobs.judged)
        tiers = Tiers(store, gate, settings, clock)
        upkeep = Maintenance(
            store, gate, settings, clock, late, reembedding, self._follow_model, tiers.keep
        )
        return Parts(
            store,
            writer,
            Capture(store, writer, sessions, tiers),
            sessions,
            tiers,
            Reader(store, gate, settings, clock, sessions, upkeep.accesses),
            consolidator,
            Forgetting(store, settings, clock),
            upkeep,
            reembedding,
            jobs,
            Sleeper(store, consolidator, settings.consolidation, clock, lambda: upkeep.holder),
        )

    def _load_embedder(self) -> Embedder:
        """Load the model that the store works with; a new store takes the one of the settings."""
        assert self._store is not None  # the gate starts when there is one
        meta = self._store.journal.meta(EMBEDDING)
        wanted = self._settings
        self._followed = "" if meta is None else meta["fingerprint"]
        if self._given is None and meta is not None and meta["name"] != wanted.embedder:
            log.warning(
                "the store works with %s, not %s, until `anamnesis reembed` is run",
                meta["name"],
                wanted.embedder,
            )
            wanted = wanted.model_copy(update={"embedder": meta["name"]})
        embedder = self._load(wanted.embedder)
        self._store.adopt(wanted.embedder, embedder.fingerprint, embedder.dimension)
        return embedder

    def _load(self, name: str) -> Embedder:
        """The embedder of the setting *name*, kept for when the store has to open again."""
        if self._given is not None and name == self._settings.embedder:
            return self._given
        if name not in self._loaded:
            self._loaded = {name: choose(self._settings.model_copy(update={"embedder": name}))}
        return self._loaded[name]

    def _follow_model(self) -> None:
        """Load the store's model when another process has changed it; once for each change."""
        assert self._store is not None
        wanted, embedder = self._store.fingerprint, self.gate.embedder
        if self._given is not None or wanted == self._followed:
            return
        if (embedder is not None and embedder.fingerprint == wanted) or self.gate.reload():
            self._followed = wanted

    def parts(self) -> Parts:
        """The parts, waiting for the store to open.

        Raises Busy when that takes too long or after close(), and what keeps the store from
        opening: StorageError or IncompatibleStore.
        """
        with self._lock:
            if self._closed:
                raise _closed()
            if self._opening.done() and self._opening.exception() is not None:
                self._opening = self._begin()
            opening = self._opening
        if isinstance(self.gate.problem, StorageError | Busy):
            self.gate.retry()  # the model is loaded; it was the store that could not take it on
        try:
            return opening.result(timeout=self._settings.limits.deadline_seconds)
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
        """Journal the last accesses, stop the threads, close the files. May be called twice.

        A store that is still opening is closed as soon as it is open.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
        try:
            parts = self._opening.result(timeout=self._settings.limits.deadline_seconds)
        except Exception:  # the process ends here: what is not open needs no closing
            return
        parts.sleeper.stop()
        parts.jobs.stop()
        parts.capture.drain()
        parts.maintenance.stop()
        parts.store.close()


def _close(left_open: weakref.ref[Engine]) -> None:
    """At the end of the program: threads that are in native code then would abort the process."""
    engine = left_open()
    if engine is not None:
        engine.close()


def _closed() -> Busy:
    return Busy("the memory is closed", "start it again")
