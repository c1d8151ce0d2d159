"""The indexes of a store at one moment, for reading: typed, frozen, without a way to commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory_core.records import VISIBILITIES, Identity, MemoryRecord
from memory_core.scoring.arrays import Mask, Rows, Scores

if TYPE_CHECKING:
    from memory_core.storage.index.bm25 import LexicalIndex
    from memory_core.storage.index.columns import Columns
    from memory_core.storage.index.graph import Graph
    from memory_core.storage.index.vector_entries import Part
    from memory_core.storage.index.vectors import VectorIndex

_PRIVATE, _TEAM, _SHARED = (VISIBILITIES.index(name) for name in ("private", "team", "shared"))
_NO_TEAM = -2
"""A code that no row carries."""


@dataclass(frozen=True, slots=True)
class View:
    """The indexes of one moment; only `MemoryStore.reading()` makes it, and holds the lock for it.

    A function that takes a View can rely on the lock. Rows are dense integers (columns.row(id))
    that are valid within one view; only ids are permanent. Do not use a view after its `with`
    block: the indexes change.
    """

    columns: Columns
    lexical: LexicalIndex
    graph: Graph
    vectors: VectorIndex | None
    """None while the store has no model."""
    fingerprint: str
    """Of the store's model, "" while it has none."""
    _fetch: Callable[[Iterable[str]], dict[str, MemoryRecord]] = field(repr=False)

    def readable(self, who: Identity) -> Mask:
        """The mask of live rows that *who* may read: the one place where scope is enforced.

        Own private memories, those of the own team, and shared ones.
        """
        columns = self.columns
        own = columns.agent == columns.code(who.agent, "agent")
        team = columns.team == (columns.code(who.team, "team") if who.team else _NO_TEAM)
        visibility = columns.visibility
        seen = (
            ((visibility == _PRIVATE) & own)
            | ((visibility == _TEAM) & team)
            | (visibility == _SHARED)
        )
        return np.asarray(seen & columns.live, dtype=np.bool_)

    def among(self, readable: Mask) -> Mask | None:
        """*readable* as the texts whose words count for a caller; None when it is all of them."""
        return None if np.count_nonzero(readable) == len(self.lexical) else readable

    def rows(self, ids: Iterable[str]) -> Rows:
        """The rows of those of *ids* that exist, in the order given."""
        rows = (self.columns.row(id) for id in ids)
        return np.array([row for row in rows if row is not None], dtype=np.int64)

    def memories(self, rows: Rows) -> dict[int, MemoryRecord]:
        """The memories of *rows*, by row, read from the journal.

        A memory that another process forgot a moment ago is missing.
        """
        ids = {int(row): self.columns.id(int(row)) for row in rows}
        found = self._fetch(ids.values())
        return {row: found[id] for row, id in ids.items() if id in found}

    def nearest(
        self, vector: NDArray[np.float32] | None, k: int, *, part: Part, allowed: Mask
    ) -> Rows:
        """The at most *k* *allowed* rows whose *part* is nearest to *vector*, nearest first.

        Empty without a vector or without a model.
        """
        if vector is None or self.vectors is None:
            return np.zeros(0, np.int64)
        return self.vectors.search(vector, k, part=part, allowed=allowed)[0]

    def similarities(self, vector: NDArray[np.float32] | None, rows: Rows, *, part: Part) -> Scores:
        """The cosine of *vector* and the best *part* of each of *rows*; NaN where there is none."""
        if vector is None or self.vectors is None:
            return np.full(len(rows), np.nan)
        return self.vectors.similarities(vector, rows, part=part).astype(np.float64)
