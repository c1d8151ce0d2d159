"""The order of memories in their conversations: which row comes before and after which.

Each thread keeps its rows by position, and every row its two neighbours in an array, so that the
neighbours of many rows are looked up at once. Positions mostly arrive in rising order.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np
from numpy.typing import NDArray

_NONE = -1


class Threads:
    """Rows by thread (a number, -1 for none) and position; two rows may share a position."""

    def __init__(self) -> None:
        """Start empty."""
        self._places: dict[int, tuple[int, int]] = {}
        self._threads: dict[int, list[tuple[int, int]]] = {}
        self._before = np.empty(0, np.int64)
        self._after = np.empty(0, np.int64)

    def put(self, row: int, thread: int, position: int) -> None:
        """Place *row* in *thread*; thread -1 takes it out of any."""
        self._reserve(row)
        if self._places.get(row) == (thread, position):
            return
        self.remove(row)
        if thread == _NONE:
            return
        self._places[row] = (thread, position)
        order = self._threads.setdefault(thread, [])
        insort(order, (position, row))
        place = bisect_left(order, (position, row))
        self._join(order[place - 1][1] if place else _NONE, row)
        self._join(row, order[place + 1][1] if place + 1 < len(order) else _NONE)

    def remove(self, row: int) -> None:
        """Take *row* out; its neighbours become each other's."""
        if row not in self._places:
            return
        thread, position = self._places.pop(row)
        order = self._threads[thread]
        order.pop(bisect_left(order, (position, row)))
        if not order:
            del self._threads[thread]
        self._join(int(self._before[row]), int(self._after[row]))
        self._before[row] = self._after[row] = _NONE

    def rows(self, thread: int) -> NDArray[np.int64]:
        """The rows of *thread* by position."""
        return np.array([row for _, row in self._threads.get(thread, ())], np.int64)

    def neighbours(self, rows: NDArray[np.int64], offset: int) -> NDArray[np.int64]:
        """The row *offset* places after each of *rows* (before, when negative); -1 for none."""
        step = self._after if offset > 0 else self._before
        found = rows.astype(np.int64)
        for _ in range(abs(offset)):
            here = found >= 0
            found[here] = step[found[here]]
        return found

    def _join(self, first: int, second: int) -> None:
        if first != _NONE:
            self._after[first] = second
        if second != _NONE:
            self._before[second] = first

    def _reserve(self, row: int) -> None:
        size = self._before.size
        if row < size:
            return
        for name in ("_before", "_after"):
            grown = np.full(max(64, row + 1, 2 * size), _NONE, np.int64)
            grown[:size] = getattr(self, name)
            setattr(self, name, grown)
