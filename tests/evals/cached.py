"""An embedder that embeds each text once, for evaluations that store it many times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory_core.embedding.base import Embedder


class Cached:
    """As *embedder*, with everything kept in memory."""

    def __init__(self, embedder: Embedder) -> None:
        """Ask *embedder* for what was not asked before."""
        self.name = embedder.name
        self.fingerprint = embedder.fingerprint
        self.dimension = embedder.dimension
        self.profile = embedder.profile
        self._embedder = embedder
        self._documents: dict[str, NDArray[np.float32]] = {}
        self._queries: dict[str, NDArray[np.float32]] = {}

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See Embedder.documents."""
        new = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if new:
            made = self._embedder.documents(new)
            self._documents.update(zip(new, made, strict=True))
        rows = [self._documents[text] for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32)

    def query(self, text: str) -> NDArray[np.float32]:
        """See Embedder.query."""
        if text not in self._queries:
            self._queries[text] = self._embedder.query(text)
        return self._queries[text]
