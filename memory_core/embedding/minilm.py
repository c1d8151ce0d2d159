"""all-MiniLM-L6-v2 through ONNX Runtime, on the official weights, without torch.

The graph beside it holds the computation; its weights are references into model.safetensors, which
is mapped into memory where it is stored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from memory_core.embedding import onnx_files
from memory_core.embedding.acquisition import PACKAGED, acquire
from memory_core.embedding.base import (
    PROFILES,
    Profile,
    fingerprint_of,
    prefixed,
    unit_rows,
)
from memory_core.embedding.weights import FILES, MODEL, TOKENIZER
from memory_core.errors import EncoderUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from memory_core.config import Settings

NAME = "all-MiniLM-L6-v2"
DIMENSION = 384
MAX_PIECES = 256
"""Most word pieces of a text, the two markers included; the rest is cut off. The limit of the
model's authors (sentence_bert_config.json)."""
BASE_FINGERPRINT = f"{NAME}:{FILES[MODEL].sha256[:8]}:{MAX_PIECES}"

PROBE = "Mara moved to Lisbon three weeks ago, and her train leaves at 7:45."
PARITY = 0.9999
"""Cosine with the reference vector from which a backend counts as this model."""

_BATCH_PIECES = 512
"""Pieces of a padded batch. Measured on two cores: 240 texts/s and 168 MiB at 512, 189 and 260 at
2,048, 169 and 371 at 4,096; smaller is no faster."""
_WINDOW = 512
_WORKERS = 2
_FIX = "run `anamnesis setup`, which checks the files and fetches damaged ones again"


def load(settings: Settings, profile: Profile | None, indexes: Sequence[str]) -> MiniLM:
    """The embedder; its weights are fetched first if this machine has none.

    Raises EncoderUnavailable with the fix when there are none or they give wrong vectors.
    """
    return MiniLM(acquire(settings, indexes), profile or PROFILES[NAME])


def is_minilm(vector: NDArray[np.float32]) -> bool:
    """True when *vector*, of unit length, is this model's vector of PROBE."""
    golden: NDArray[np.float32] = np.load(PACKAGED / "golden.npy")
    return vector.shape == golden.shape and float(vector @ golden) >= PARITY


class MiniLM:
    """The default embedder: 384 dimensions, the first 256 word pieces of a text. Thread-safe.

    Measured on two cores: 0.36 s from the first import to the first vector, 110 MiB resident,
    4.7 ms for one sentence, cosine >= 0.999999 with sentence-transformers.
    """

    name = NAME
    dimension = DIMENSION

    def __init__(self, folder: Path, profile: Profile = PROFILES[NAME]) -> None:
        """Load from *folder*, whose files `acquisition.locate` has checked.

        Raises EncoderUnavailable when the vectors are wrong.
        """
        self.profile = profile
        self.fingerprint = fingerprint_of(BASE_FINGERPRINT, self.profile)
        self._tokenizer, self._session = _loaded(folder)
        probe = unit_rows(self._embed([PROBE]), 1, self.profile.dimension, NAME)
        if not is_minilm(probe[0]):
            raise EncoderUnavailable(f"the embedding model in {folder} gives wrong vectors", _FIX)

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors to store: (len(texts), 384) float32, unit length, in the order given.

        Many texts are batched by length over two threads; memory does not grow with their number.
        """
        return self._embed(prefixed(self.profile.document_prefix, texts))

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector to search with: (384,) float32, unit length. One thread."""
        vector: NDArray[np.float32] = self._embed(prefixed(self.profile.query_prefix, [text]))[0]
        return vector

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), _WINDOW):
            self._embed_window(texts[start : start + _WINDOW], vectors[start : start + _WINDOW])
        return vectors

    def _embed_window(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        # one by one: encode_batch starts a thread pool that complains when the process forks
        pieces = [self._tokenizer.encode(text).ids for text in texts]
        batches = list(_batches([len(ids) for ids in pieces]))

        def run(rows: list[int]) -> None:
            vectors[rows] = self._run([pieces[row] for row in rows])

        workers = min(_WORKERS, len(batches), os.cpu_count() or 1)
        if workers < 2:
            for rows in batches:
                run(rows)
            return
        with ThreadPoolExecutor(workers, "embed") as pool:
            for _ in pool.map(run, batches):
                pass

    def _run(self, pieces: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        longest = max(len(ids) for ids in pieces)
        ids = np.zeros((len(pieces), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(pieces):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        vectors: NDArray[np.float32] = self._session.run(
            ["embedding"], {"input_ids": ids, "attention_mask": mask}
        )[0]
        return vectors


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows grouped by length, longest first, each group within _BATCH_PIECES when padded."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        size = max(1, _BATCH_PIECES // lengths[order[start]])
        yield order[start : start + size]
        start += size


def _loaded(folder: Path) -> tuple[Any, Any]:
    """The tokenizer and the session of the model in *folder*."""
    # the real folder: a link that leads out of the folder given here is refused
    weights = (folder / MODEL).resolve().parent
    graph = (PACKAGED / "graph.onnx").read_bytes()
    try:
        tokenizer = onnx_files.tokenizer(folder / TOKENIZER, MAX_PIECES)
        return tokenizer, onnx_files.session(graph, weights)
    except onnx_files.UnusableModel as problem:
        raise EncoderUnavailable(
            f"the embedding model in {folder} cannot be loaded ({problem})", _FIX
        ) from None
