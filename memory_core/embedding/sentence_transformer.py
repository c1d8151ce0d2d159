"""Any model of the sentence-transformers library, by name or folder. Needs an extra."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memory_core.embedding.base import Profile, fingerprint_of, prefixed, unit_rows
from memory_core.embedding.minilm import BASE_FINGERPRINT, MAX_PIECES, PROBE, is_minilm
from memory_core.errors import EncoderUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memory_core.config import Settings

EXTRA = "pip install 'anamnesis-mcp[sentence-transformers]'"
_BATCH = 16
_SAMPLED = 64


class SentenceTransformerEmbedder:
    """A model run by sentence-transformers on torch. Thread-safe: one call at a time.

    If it is all-MiniLM-L6-v2 (256 pieces, PROBE at cosine >= 0.9999), it has the fingerprint of the
    built-in embedder, and a store can be used with either.
    """

    def __init__(self, name: str, settings: Settings, profile: Profile) -> None:
        """Load the model *name* (of the Hugging Face hub, or a folder).

        Downloads it when it is not cached, never with `settings.offline`. Raises
        EncoderUnavailable with the command to run when the library or the model is missing.
        """
        self.name = name
        self.profile = profile
        self._lock = threading.Lock()
        self._model = _load(name, settings.offline)
        self._threads = _threads()
        # the dimension that the model reports may be missing or wrong; measure it
        probe = self._embed([PROBE], self.profile.dimension)
        self.dimension = probe.shape[1]
        length = self._model.max_seq_length
        if length == MAX_PIECES and is_minilm(probe[0]):
            base = BASE_FINGERPRINT
        else:
            base = f"{name.rstrip('/').rsplit('/', 1)[-1]}:{_digest(self._model)}:{length}"
        self.fingerprint = fingerprint_of(base, self.profile)

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors to store: (len(texts), dimension) float32, unit length, in the order given."""
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return self._embed(prefixed(self.profile.document_prefix, texts), self.dimension)

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector to search with: (dimension,) float32, unit length. One thread."""
        whole = prefixed(self.profile.query_prefix, [text])
        vector: NDArray[np.float32] = self._embed(whole, self.dimension)[0]
        return vector

    def _embed(self, texts: list[str], dimension: int | None) -> NDArray[np.float32]:
        import torch

        # the tokenizers change their settings while they run, and the number of threads is global
        with self._lock:
            torch.set_num_threads(1 if len(texts) == 1 else self._threads)
            rows = self._model.encode(
                texts,
                prompt="",  # the profile has the prefixes; the model would add its own
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return unit_rows(rows, len(texts), dimension, self.name)


def _load(name: str, offline: bool) -> Any:
    try:
        import httpx2
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar
    except ImportError as problem:
        raise EncoderUnavailable(
            f"sentence-transformers cannot be imported ({problem})",
            f"install it with {EXTRA}, or unset ANAMNESIS_EMBEDDER to use the built-in model",
        ) from None
    disable_progress_bar()
    try:
        return SentenceTransformer(name, local_files_only=offline)
    except (OSError, ValueError, RuntimeError, SafetensorError, httpx2.HTTPError) as problem:
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
        raise EncoderUnavailable(
            f"the model {name} cannot be loaded ({reason})",
            "name a folder that holds it, or unset ANAMNESIS_OFFLINE so that it can be fetched"
            if offline
            else "correct the name, connect to the network, or name a folder that holds it",
        ) from None


def _threads() -> int:
    import torch

    return int(torch.get_num_threads())


def _digest(model: Any) -> str:
    """Eight hex digits of a hash over the weights: names, shapes and 64 values of every tensor.

    Independent of the file format; hashing all of a large model would take seconds.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        flat = tensor.detach().cpu().flatten()
        sample = flat[:: max(1, len(flat) // _SAMPLED)][:_SAMPLED]
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(sample.double().numpy().tobytes())
    return digest.hexdigest()[:8]
