"""The indexes of one process; columns, BM25, graph and vectors have the same rows.

The journal's values may have been written by other versions of this program. A value that an index
cannot hold is replaced by the nearest that it can; a memory that cannot be indexed at all is left
out of all indexes and reported in `unusable`, without affecting the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from memory_core.records import KINDS, ROLES, TIERS, TRUSTS, VISIBILITIES, Change, MemoryRecord
from memory_core.storage.index import files
from memory_core.storage.index.bm25 import LexicalIndex
from memory_core.storage.index.columns import Columns
from memory_core.storage.index.graph import Graph
from memory_core.storage.index.vectors import VectorIndex
from memory_core.storage.journal.replay import WRONG_VALUE, Unusable

DERIVED_FROM = "derived_from"

FEW_EMPTY = 2000
"""Empty rows are tolerated up to so many, or as many as there are others; each takes 150 bytes."""

_COUNTED = frozenset({"access_count", "last_accessed"})
_MOST = 2**31 - 1
_CHOICES = {
    "visibility": (VISIBILITIES, "private"),
    "role": (ROLES, ""),
    "kind": (KINDS, "episode"),
    "trust": (TRUSTS, TRUSTS[-1]),
    "tier": (TIERS, "long_term"),
}
"""Known values, and the most cautious one, which replaces an unknown value of a newer version."""


class Indexes:
    """The indexes that are searched. They do not lock; the store separates readers and writers."""

    def __init__(self, index_text: Callable[[MemoryRecord], str], unusable: Unusable) -> None:
        """Start empty; *index_text* returns the text of a memory for the lexical index."""
        self.columns = Columns()
        self.lexical = LexicalIndex()
        self.graph = Graph()
        self.vectors: VectorIndex | None = None
        self._index_text = index_text
        self._unusable = unusable
        self._awaited: dict[str, set[str]] = {}
        """Missing ids, and the memories that are derived from them."""

    def put(self, memory: MemoryRecord) -> None:
        """Insert *memory*, or its new values."""
        try:
            row = self.columns.row(memory.id)
            sources = () if row is None else self.columns.derived_from(row)
            row = self._put_columns(memory)
            self.graph.put(row, memory.entities)
            self.lexical.put(row, self._text(memory))
            self._link_sources(row, memory, sources)
        except WRONG_VALUE as problem:
            self.remove(memory.id)
            self._unusable.add(memory.id, problem)

    def remove(self, id: str) -> None:
        """Remove the memory *id* from every index; does nothing when it is not there."""
        row = self.columns.row(id)
        if row is None:
            return
        derived = {self.columns.id(other) for other in self.graph.origins(row, DERIVED_FROM)}
        if derived:
            self._awaited[id] = derived
        for source in self.columns.derived_from(row):
            waiting = self._awaited.get(source, set())
            waiting.discard(id)
            if not waiting:
                self._awaited.pop(source, None)
        self.lexical.remove(row)
        self.graph.remove(row)
        if self.vectors is not None:
            self.vectors.remove(row)
        self.columns.remove(id)

    def state(self) -> dict[str, Any]:
        """The state for `restore`, without the vectors; rows are numbered anew."""
        return self.frozen_state()()

    def frozen_state(self) -> Callable[[], dict[str, Any]]:
        """`state` as of now: it may be called while others change these indexes."""
        live = self.columns.live.copy()
        columns, lexical = self.columns.frozen_state(), self.lexical.frozen_state()
        all_links = self.graph.frozen_links()

        def state() -> dict[str, Any]:
            rows = np.flatnonzero(live).astype(np.int64)
            place = np.full(live.size, -1, np.int64)
            place[rows] = np.arange(rows.size)
            links = all_links()
            ends = np.array([(a, b) for a, b, _, _ in links], np.int64).reshape(-1, 2)
            return {
                "layout": self.layout,
                **columns(rows),
                **lexical(rows),
                "link kinds": [kind for _, _, kind, _ in links],
                "link weights": [weight for _, _, _, weight in links],
                "link ends": place[ends],
            }

        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore *state*, which has the same layout; only into empty indexes."""
        self.columns.restore(state)
        self.lexical.restore(state)
        kinds, weights = state["link kinds"], state["link weights"]
        for (a, b), kind, weight in zip(state["link ends"].tolist(), kinds, weights, strict=True):
            self.graph.link(a, b, kind, weight)
        for row in range(len(self.columns)):
            self.graph.put(row, self.columns.entities(row))
            for source in self.columns.derived_from(row):
                if self.columns.row(source) is None:
                    self._awaited.setdefault(source, set()).add(self.columns.id(row))

    @property
    def sparse(self) -> bool:
        """True when so many rows are empty that they should be renumbered."""
        empty = self.columns.empty
        return empty > max(FEW_EMPTY, len(self.columns) - empty)

    def renumbered(self) -> Indexes:
        """A copy without empty rows and without vectors; `with_vectors_of` adds these."""
        fresh = Indexes(self._index_text, self._unusable)
        fresh.restore(self.state())
        return fresh

    def with_vectors_of(self, before: Indexes) -> Indexes:
        """Add the vectors of the indexes that these are a `renumbered` copy of."""
        self.vectors = before.vectors
        if self.vectors is not None:
            self.vectors.renumber(np.cumsum(before.columns.live, dtype=np.int64) - 1)
        return self

    @cached_property
    def layout(self) -> str:
        """The layout of `state`; a version of this program that indexes otherwise has another."""
        return files.layout(self._index_text)

    def change(self, change: Change) -> None:
        """Apply what a change holds beyond the fields of one memory: accesses and links."""
        if change.body is None:
            return
        try:
            if change.kind == "access":
                self._access(change.body)
            elif change.kind == "link":
                self._link(change.target, change.body)
            elif change.kind == "put" and not _COUNTED.isdisjoint(change.body):
                self._count(change.target, change.body)
        except WRONG_VALUE as problem:
            self._unusable.add(f"change {change.seq}", problem)

    def _put_columns(self, memory: MemoryRecord) -> int:
        try:
            return self.columns.put(memory)
        except (OverflowError, ValueError):
            return self.columns.put(_clamped(memory))

    def _text(self, memory: MemoryRecord) -> str:
        try:
            return self._index_text(memory)
        except WRONG_VALUE as problem:
            self._unusable.add(memory.id, f"indexed by its text alone ({problem})")
            return memory.text

    def _link_sources(self, row: int, memory: MemoryRecord, before: tuple[str, ...]) -> None:
        for source in (*before, *memory.derived_from):
            origin = self.columns.row(source)
            kept = source in memory.derived_from
            if origin is not None:
                self.graph.link(row, origin, DERIVED_FROM, float(kept))
            elif kept:
                self._awaited.setdefault(source, set()).add(memory.id)
        for id in self._awaited.pop(memory.id, ()):
            other = self.columns.row(id)
            if other is not None and memory.id in self.columns.derived_from(other):
                self.graph.link(other, row, DERIVED_FROM, 1.0)

    def _access(self, body: Mapping[str, Any]) -> None:
        for id, count, last in zip(body["ids"], body["counts"], body["last"], strict=True):
            self.columns.set_access(id, min(count, _MOST), last)

    def _count(self, id: str, body: Mapping[str, Any]) -> None:
        row = self.columns.row(id)
        if row is not None:
            count = body.get("access_count", int(self.columns.access_count[row]))
            last = body.get("last_accessed", float(self.columns.last_accessed[row]))
            self.columns.set_access(id, min(count, _MOST), last)

    def _link(self, target: str, body: Mapping[str, Any]) -> None:
        a, b = self.columns.row(target), self.columns.row(body["b"])
        if a is not None and b is not None:
            self.graph.link(a, b, body["kind"], body["weight"])


def _clamped(memory: MemoryRecord) -> MemoryRecord:
    """*memory* with values that the columns can hold."""
    changed: dict[str, Any] = {
        name: fallback
        for name, (known, fallback) in _CHOICES.items()
        if getattr(memory, name) not in known
    }
    for name in ("position", "access_count"):
        if getattr(memory, name) > _MOST:
            changed[name] = _MOST
    return replace(memory, **changed)
