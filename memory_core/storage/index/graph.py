"""Links between memories, and the entities that they share.

Nodes are rows. Links are what was detected or recorded (an update, a contradiction, a duplicate, a
source, recalled together). Links over shared entities are computed on demand and not stored,
because most of them would never be followed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable

import numpy as np
from numpy.typing import NDArray

SYMMETRIC = frozenset({"co_recall", "duplicate_of", "contradicts"})
"""Kinds without a direction; all others point from the newer memory to the older one or source."""

COMMON_SHARE = 0.05
COMMON_FLOOR = 12
"""An entity in more than this share of all rows with entities (and in more than the floor) does not
link two memories: the user's own name occurs everywhere."""

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
_Key = tuple[int, int, str]


class Graph:
    """Typed, weighted links and an index of entities."""

    def __init__(self) -> None:
        """Start empty."""
        self._weights: dict[_Key, float] = {}
        self._links: dict[int, dict[_Key, None]] = {}
        self._names: dict[str, str] = {}
        self._spelt: dict[tuple[int, str], str] = {}
        """An entity as a row spells it, where that is not as in _names."""
        self._holders: dict[str, dict[int, None]] = {}
        self._entities: dict[int, tuple[str, ...]] = {}
        self._naming = np.zeros(0, np.bool_)
        """True for the rows with entities; it may be shorter than there are rows."""

    def put(self, row: int, entities: Iterable[str]) -> None:
        """Set the *entities* of *row*; names that differ only in case or spacing are one."""
        self._drop_entities(row)
        keys = {_key(name): name for name in entities if name.strip()}
        for key, name in keys.items():
            if self._names.setdefault(key, name) != name:
                self._spelt[row, key] = name
            self._holders.setdefault(key, {})[row] = None
        if keys:
            self._entities[row] = tuple(keys)
            if row >= len(self._naming):
                more = np.zeros(row + 1, np.bool_)
                self._naming = np.concatenate([self._naming, more])
            self._naming[row] = True

    def remove(self, row: int) -> None:
        """Remove *row*, its entities and its links."""
        self._drop_entities(row)
        for key in list(self._links.get(row, ())):
            self._unlink(key)

    def link(self, a: int, b: int, kind: str, weight: float) -> None:
        """Set the *weight* of the link from *a* to *b*; 0 removes it. No row links to itself."""
        if a == b:
            return
        kind = sys.intern(kind)  # read from the journal, each would be a string of its own
        key = (min(a, b), max(a, b), kind) if kind in SYMMETRIC else (a, b, kind)
        if weight == 0:
            self._unlink(key)
            return
        self._weights[key] = weight
        for row in (a, b):
            self._links.setdefault(row, {})[key] = None

    def links(self) -> list[tuple[int, int, str, float]]:
        """Every link as (a, b, kind, weight), oldest first: arguments of `link`."""
        return self.frozen_links()()

    def of_kind(self, kind: str) -> list[tuple[int, int]]:
        """(a, b) of every link of *kind*, oldest first."""
        return [(a, b) for a, b, of in self._weights if of == kind]

    def frozen_links(self) -> Callable[[], list[tuple[int, int, str, float]]]:
        """`links` as of now: it may be called while others change this graph."""
        weights = self._weights.copy()
        return lambda: [(*key, weight) for key, weight in weights.items()]

    def weight(self, a: int, b: int, kind: str) -> float:
        """The weight of one link, 0 when there is none; in either order for symmetric kinds."""
        key = (min(a, b), max(a, b), kind) if kind in SYMMETRIC else (a, b, kind)
        return self._weights.get(key, 0.0)

    def neighbours(self, row: int) -> list[tuple[int, str, float]]:
        """(other row, kind, weight) of every link at *row*, in either direction, oldest first."""
        return [
            (b if a == row else a, kind, self._weights[a, b, kind])
            for a, b, kind in self._links.get(row, ())
        ]

    def targets(self, row: int, kind: str) -> list[int]:
        """The rows that links of *kind* from *row* point to, such as the sources of a summary."""
        return [b for a, b, of in self._links.get(row, ()) if of == kind and a == row]

    def origins(self, row: int, kind: str) -> list[int]:
        """The rows whose links of *kind* point to *row*, such as the summaries of an episode."""
        return [a for a, b, of in self._links.get(row, ()) if of == kind and b == row]

    def incoming(self, row: int) -> list[tuple[int, str]]:
        """The links that point to *row*: (from which row, kind), in the order of their creation."""
        return [(a, kind) for a, b, kind in self._links.get(row, ()) if b == row]

    def edges(self, among: NDArray[np.bool_] | None = None) -> int:
        """Number of links; with *among*, one value for each row, of those between such rows."""
        if among is None:
            return len(self._weights)
        return sum(1 for a, b, _ in self._weights if among[a] and among[b])

    def entity_rows(self, entity: str) -> NDArray[np.int64]:
        """The rows that name *entity*, in rising order; case does not matter."""
        return np.array(sorted(self._holders.get(_key(entity), ())), dtype=np.int64)

    def entities(self) -> dict[str, int]:
        """Each entity, as first spelt, and in how many rows it occurs; most frequent first."""
        counts = [(self._names[key], len(rows)) for key, rows in self._holders.items()]
        return dict(sorted(counts, key=lambda item: (-item[1], item[0])))

    def rows_of(self, entity: str) -> Collection[int]:
        """The rows that name *entity*, in order of arrival, not copied; case does not matter."""
        return self._holders.get(_key(entity), {})

    def namings(self, among: Mask) -> Namings:
        """Which of the rows of the mask *among* name what, for the time of one call."""
        return Namings(self._names, self._spelt, self._holders, self._entities, self._naming, among)

    def _drop_entities(self, row: int) -> None:
        if row < len(self._naming):
            self._naming[row] = False
        for key in self._entities.pop(row, ()):
            holders = self._holders[key]
            del holders[row]
            self._spelt.pop((row, key), None)
            if not holders:
                del self._holders[key], self._names[key]

    def _unlink(self, key: _Key) -> None:
        if self._weights.pop(key, None) is None:
            return
        for row in key[:2]:
            self._links[row].pop(key)
            if not self._links[row]:
                del self._links[row]


class Namings:
    """Who names what among some rows: nothing tells of a name that only others hold.

    It is read while nothing is written, and keeps what it has counted.
    """

    def __init__(
        self,
        names: dict[str, str],
        spelt: dict[tuple[int, str], str],
        holders: dict[str, dict[int, None]],
        entities: dict[int, tuple[str, ...]],
        naming: Mask,
        among: Mask,
    ) -> None:
        """The parts of a Graph, and the mask of the rows that count."""
        self._names, self._spelt, self._holders = names, spelt, holders
        self._entities, self._among = entities, among
        self._found: dict[str, Rows] = {}
        both = min(len(naming), len(among))
        with_some = int(np.count_nonzero(naming[:both] & among[:both]))
        self._limit = max(COMMON_FLOOR, int(COMMON_SHARE * with_some))

    def rows(self, entity: str) -> Rows:
        """The rows that name *entity*, in rising order; case does not matter."""
        key = _key(entity)
        if key not in self._found:
            holders = self._holders.get(key, {})
            rows = np.fromiter(holders, np.int64, len(holders))
            self._found[key] = np.sort(rows[self._among[rows]])
        return self._found[key]

    def spelling(self, entity: str) -> str:
        """*entity* as the first of the rows spells it; as given when none names it."""
        key = _key(entity)
        first = next((row for row in self._holders.get(key, ()) if self._among[row]), None)
        return entity if first is None else self._spelt.get((first, key), self._names[key])

    def neighbours(self, row: int, most: int) -> list[tuple[int, str]]:
        """At most *most* (other row, shared entity): rarest entity first, then newest row first.

        A row occurs once, by the rarest entity shared with it. Entities in more than 5 % of the
        rows that have any (and in more than 12 rows) do not link.
        """
        held = {key: self.rows(key) for key in self._entities.get(row, ())}
        shared = [key for key, rows in held.items() if len(rows) <= self._limit]
        found: dict[int, str] = {}
        for key in sorted(shared, key=lambda key: (len(held[key]), key)):
            enough = most + len(found) + 1  # a name may have 5 % of all rows
            for other in held[key][::-1][:enough].tolist():
                if other != row:
                    found.setdefault(other, self.spelling(key))
            if len(found) >= most:
                break
        return list(found.items())[: max(0, most)]


def _key(name: str) -> str:
    return " ".join(name.casefold().split())
