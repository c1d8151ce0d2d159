"""Entries: which memory, and which part of it, each vector of the index belongs to.

Entries count from 0 in order of arrival and are never moved; a removed one stays as a tombstone
until the vector index is rebuilt. Each row (memory) chains its entries, newest first, so that its
vectors are found without a search and without a Python object for each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import InvalidInput

Part = Literal["whole", "passage", "gist"]

_BITS: dict[Part, int] = {"whole": 1, "passage": 2, "gist": 4}


class Entries:
    """Rows, parts and chains of the entries, as arrays grown by doubling."""

    def __init__(self) -> None:
        """Start empty."""
        self.total = 0
        self.live = 0
        self.rows_used = 0
        self._row_count = 0
        self._row = np.empty(0, np.int32)
        self._part = np.empty(0, np.int16)
        self._use = np.empty(0, np.uint8)
        self._next = np.empty(0, np.int32)
        self._head = np.empty(0, np.int32)

    @property
    def dead(self) -> int:
        """Number of tombstones."""
        return self.total - self.live

    @property
    def parts(self) -> NDArray[np.int16]:
        """Part of every entry, dead ones included: 0 whole, from 1 passages, -1 gist."""
        return self._part[: self.total]

    @property
    def rows(self) -> NDArray[np.int32]:
        """Row of every entry, dead ones included."""
        return self._row[: self.total]

    def append(self, rows: NDArray[np.int64], parts: NDArray[np.int64]) -> None:
        """Add one entry for each pair; none of *rows* may have live entries, -1 adds a tombstone.

        A row without a passage (no part from 1) is one passage itself: its part 0 serves as both.
        """
        start, self.total = self.total, self.total + rows.size
        self._row_count = max(self._row_count, int(rows.max(initial=-1)) + 1)
        self._reserve(self.total, self._row_count)
        self._row[start : self.total] = rows
        self._part[start : self.total] = parts
        self._use[start : self.total] = _uses(rows, parts)
        known = np.flatnonzero(rows >= 0)
        self._chain(start + known, rows[known])
        self.live += known.size

    def drop(self, rows: NDArray[np.int64]) -> int:
        """Turn the entries of *rows* into tombstones; returns how many there were."""
        dropped = 0
        for _, entries in self.walk(np.unique(rows)):
            self._use[entries] = 0
            dropped += entries.size
        known = rows[rows < self._head.size]
        self.rows_used -= int(np.count_nonzero(self._head[np.unique(known)] >= 0))
        self._head[known] = -1
        self.live -= dropped
        return dropped

    def has(self, row: int) -> bool:
        """True when *row* has at least one live entry."""
        return 0 <= row < self._head.size and bool(self._head[row] >= 0)

    def held(self, rows: int) -> NDArray[np.bool_]:
        """For each of the first *rows* rows whether it has an entry."""
        known = np.zeros(rows, np.bool_)
        head = self._head[:rows]
        known[: head.size] = head >= 0
        return known

    def walk(self, rows: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int32]]]:
        """The live entries of *rows*, one chain link at a time.

        Yields (places in *rows*, their entries); a place occurs at most once in each yield.
        """
        places = np.flatnonzero((rows >= 0) & (rows < self._head.size))
        current = self._head[rows[places]]
        while True:
            keep = current >= 0
            places, current = places[keep], current[keep]
            if not places.size:
                return
            yield places, current
            current = self._next[current]

    def find(
        self, rows: NDArray[np.int64], part: Part
    ) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """(places in *rows*, entries) of every live entry of *rows* that serves as *part*."""
        found = [
            (places[chosen], entries[chosen])
            for places, entries in self.walk(rows)
            for chosen in (self._use[entries] & _BITS[part] != 0,)
        ]
        if not found:
            return np.empty(0, np.intp), np.empty(0, np.int32)
        return np.concatenate([p for p, _ in found]), np.concatenate([e for _, e in found])

    def alive(self) -> NDArray[np.bool_]:
        """True for every entry that is not a tombstone."""
        alive: NDArray[np.bool_] = self._use[: self.total] != 0
        return alive

    def wanted(self, part: Part, allowed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """True for every live entry that serves as *part* and whose row is *allowed*.

        Raises InvalidInput when *allowed* does not cover every row.
        """
        wanted: NDArray[np.bool_] = (self._use[: self.total] & _BITS[part]) != 0
        if allowed is not None:
            if allowed.size < self._row_count:
                raise InvalidInput(
                    f"allowed covers {allowed.size} rows of {self._row_count}",
                    "pass one value for each row",
                )
            if allowed.size:  # without any row, the rows of tombstones (-1) point nowhere
                wanted &= allowed[self.rows]
        return wanted

    def _reserve(self, entries: int, rows: int) -> None:
        if entries > self._row.size:
            size = max(entries, 2 * self._row.size, 64)
            for name in ("_row", "_part", "_use", "_next"):
                setattr(self, name, _grown(getattr(self, name), size, 0))
        if rows > self._head.size:
            self._head = _grown(self._head, max(rows, 2 * self._head.size, 64), -1)

    def _chain(self, entries: NDArray[np.intp], rows: NDArray[np.int64]) -> None:
        if not rows.size:
            return
        order = np.argsort(rows, kind="stable")
        row, entry = rows[order], entries[order].astype(np.int32)
        same = row[1:] == row[:-1]
        self._next[entry[0]] = -1
        self._next[entry[1:]] = np.where(same, entry[:-1], -1)
        last = np.append(~same, True)
        self._head[row[last]] = entry[last]
        self.rows_used += int(np.count_nonzero(last))


def _uses(rows: NDArray[np.int64], parts: NDArray[np.int64]) -> NDArray[np.uint8]:
    passages = np.zeros(int(rows.max(initial=-1)) + 2, np.bool_)
    passages[rows[parts >= 1]] = True
    whole = np.where(passages[rows], _BITS["whole"], _BITS["whole"] | _BITS["passage"])
    uses = np.where(parts == 0, whole, np.where(parts < 0, _BITS["gist"], _BITS["passage"]))
    return np.where(rows < 0, 0, uses).astype(np.uint8)


def _grown(old: NDArray[Any], size: int, fill: int) -> NDArray[Any]:
    new = np.full(size, fill, old.dtype)
    new[: old.size] = old
    return new
