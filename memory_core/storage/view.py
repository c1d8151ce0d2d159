"""What somebody who reads may touch: every index, held still, and no way to commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memory_core.records import VISIBILITIES, Identity

if TYPE_CHECKING:
    from memory_core.scoring.arrays import Mask
    from memory_core.storage.index.bm25 import LexicalIndex
    from memory_core.storage.index.columns import Columns
    from memory_core.storage.index.graph import Graph
    from memory_core.storage.index.vectors import VectorIndex

_PRIVATE, _TEAM, _SHARED = (VISIBILITIES.index(name) for name in ("private", "team", "shared"))
_NO_TEAM = -2
"""A code that no row carries."""


@dataclass(frozen=True, slots=True)
class View:
    """The indexes of one moment; `MemoryStore.reading()` makes it and holds the lock for it.

    Rows are dense integers (columns.row(id)) that hold within one view; ids are what lasts. Keep
    no view beyond its `with` block: the indexes go on changing.
    """

    columns: Columns
    lexical: LexicalIndex
    graph: Graph
    vectors: VectorIndex | None
    """None while the store has no model."""
    fingerprint: str
    """Of the store's model, "" while it has none."""

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
