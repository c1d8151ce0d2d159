"""Columns: the values that ranking, filtering and counting read of every memory, as arrays.

One row a memory, dense from 0 in order of arrival, never used twice; a forgotten memory leaves an
empty row until the store renumbers the rows. Arrays grow by doubling. Strings that are compared are
stored as numbers (`code`). An array that a property returned has the length of that moment and
follows later changes only until the arrays grow: read the property anew in each call.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from sys import intern
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_core.records import (
    FAILED,
    JOBS,
    KINDS,
    ROLES,
    TIERS,
    TRUSTS,
    VISIBILITIES,
    MemoryRecord,
)
from memory_core.text.words import count_words

_NAMED = ("agent", "team", "session", "speaker", "topic")
_UNKNOWN, _EMPTY = -1, -2
_CHOICES = {
    "visibility": VISIBILITIES,
    "role": ROLES,
    "kind": KINDS,
    "trust": TRUSTS,
    "tier": TIERS,
}
_QUESTION_MARKS = frozenset("?\uff1f\u061f")
_LISTS = ("tags", "dates", "entities", "derived_from")
_NO_LISTS: tuple[tuple[str, ...], ...] = ((),) * len(_LISTS)
_FIRST = 64

T = TypeVar("T", bound=np.generic)


class _Column(Generic[T]):
    """One column: its type, and the value of an empty row."""

    def __init__(self, kind: type[T], empty: float) -> None:
        self.kind = kind
        self.empty = empty

    def __set_name__(self, owner: type[Columns], name: str) -> None:
        self.name = name

    def __get__(self, columns: Columns, owner: type[Columns]) -> NDArray[T]:
        view: NDArray[T] = columns._data[self.name][: len(columns)]
        return view


class Columns:
    """The ranking columns; each is a property that returns an array of `len(columns)` values.

    visibility, role, kind, trust and tier are places in the tuples of `records`; agent, team,
    session and speaker are codes (`code`), 0 where the memory has none; thread is -1 without a
    session. Times are seconds; unset ones are NaN (last_accessed), -inf (valid_from) or +inf
    (valid_until, superseded_at, retired_at). In a forgotten row live is False and codes are -2.
    """

    live = _Column(np.bool_, False)
    visibility = _Column(np.int8, _EMPTY)
    agent = _Column(np.int32, _EMPTY)
    team = _Column(np.int32, _EMPTY)
    session = _Column(np.int32, _EMPTY)
    thread = _Column(np.int32, _EMPTY)
    speaker = _Column(np.int32, _EMPTY)
    position = _Column(np.int32, _EMPTY)
    role = _Column(np.int8, _EMPTY)
    kind = _Column(np.int8, _EMPTY)
    trust = _Column(np.int8, _EMPTY)
    tier = _Column(np.int8, _EMPTY)
    occurred_at = _Column(np.float64, math.nan)
    recorded_at = _Column(np.float64, math.nan)
    importance = _Column(np.float32, 0)
    access_count = _Column(np.int32, 0)
    last_accessed = _Column(np.float64, math.nan)
    valid_from = _Column(np.float64, -math.inf)
    valid_until = _Column(np.float64, math.inf)
    superseded = _Column(np.bool_, False)
    replaced = _Column(np.bool_, False)
    superseded_at = _Column(np.float64, math.inf)
    retired_at = _Column(np.float64, math.inf)
    words = _Column(np.int32, 0)
    question = _Column(np.bool_, False)
    due = _Column(np.int8, 0)
    extracted = _Column(np.bool_, False)
    failed = _Column(np.bool_, False)
    _topic = _Column(np.int32, _EMPTY)

    def __init__(self) -> None:
        """Start empty."""
        self._data = {name: np.empty(0, column.kind) for name, column in _COLUMNS.items()}
        self._ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._codes: dict[str, dict[str, int]] = {name: {"": 0} for name in _NAMED}
        self._names: dict[str, list[str]] = {name: [""] for name in _NAMED}
        self._thread_codes: dict[str, int] = {}
        self._threads = Threads()
        self._lists: list[tuple[tuple[str, ...], ...]] = []
        self._postings: dict[str, dict[str, set[int]]] = {}
        """Rows by value, of tags and of dates; built when first read: many processes never do."""

    def __len__(self) -> int:
        """Number of rows, those of forgotten memories included."""
        return len(self._ids)

    @property
    def empty(self) -> int:
        """Number of rows of forgotten memories."""
        return len(self._ids) - len(self._rows)

    def put(self, memory: MemoryRecord) -> int:
        """Insert *memory*, or update the row of its id; returns the row."""
        row = self._rows.get(memory.id)
        if row is None:
            row = self._new_row(memory.id)
        values = self._values(memory)
        for name, value in values.items():
            self._data[name][row] = value
        self._threads.put(row, values["thread"], memory.position)
        self._set_lists(row, tuple(tuple(getattr(memory, name)) for name in _LISTS))
        return row

    def remove(self, id: str) -> int | None:
        """Empty the row of *id* (forgotten) and return it; None when the id is unknown."""
        row = self._rows.pop(id, None)
        if row is None:
            return None
        for name, column in _COLUMNS.items():
            self._data[name][row] = column.empty
        self._threads.remove(row)
        self._set_lists(row, _NO_LISTS)
        self._ids[row] = ""
        return row

    def row(self, id: str) -> int | None:
        """The row of *id*; None when it is unknown or forgotten."""
        return self._rows.get(id)

    def id(self, row: int) -> str:
        """The id of the memory in *row*; "" when it was forgotten."""
        return self._ids[row]

    def ids(self) -> list[str]:
        """The id of every row, "" for a forgotten memory."""
        return self._ids.copy()

    def code(self, name: str, column: str) -> int:
        """The code of *name* in *column*; -1 when there is none.

        For agent, team, session, speaker: "" is 0, a name that no memory ever had is -1. For
        visibility, role, kind, trust, tier: the place in the tuple of `records`.
        """
        if column in _CHOICES:
            return _CHOICES[column].index(name) if name in _CHOICES[column] else _UNKNOWN
        return self._codes[column].get(name, _UNKNOWN)

    def name(self, code: int, column: str) -> str:
        """The inverse of `code`; "" for negative codes."""
        if code < 0:
            return ""
        return _CHOICES[column][code] if column in _CHOICES else self._names[column][code]

    def set_access(self, id: str, count: int, last: float | None) -> None:
        """Set access count and last access of a memory; does nothing for an unknown id."""
        row = self._rows.get(id)
        if row is not None:
            self._data["access_count"][row] = count
            self._data["last_accessed"][row] = math.nan if last is None else last

    def thread_rows(self, thread: str) -> NDArray[np.int64]:
        """The live rows of *thread* (records.thread_key), by position."""
        return self._threads.rows(self._thread_codes.get(thread, _UNKNOWN))

    def neighbours(self, row: int, offset: int) -> int | None:
        """The live row *offset* places after (before, when negative) in the thread of *row*."""
        found = int(self.neighbours_many(np.array([row]), offset)[0])
        return None if found < 0 else found

    def neighbours_many(self, rows: NDArray[np.int64], offset: int) -> NDArray[np.int64]:
        """`neighbours` of each of *rows*, -1 where there is none; a few array lookups."""
        return self._threads.neighbours(rows, offset)

    def tags(self, row: int) -> frozenset[str]:
        """The tags of the memory in *row*."""
        return frozenset(self._lists[row][0])

    def dates(self, row: int) -> tuple[str, ...]:
        """The dates that its text names, ISO 8601."""
        return self._lists[row][1]

    def entities(self, row: int) -> tuple[str, ...]:
        """The entities that its text names."""
        return self._lists[row][2]

    def derived_from(self, row: int) -> tuple[str, ...]:
        """The ids that the memory is derived from."""
        return self._lists[row][3]

    def topic(self, row: int) -> str:
        """Its topic; "" when it has none."""
        return self.name(int(self._topic[row]), "topic")

    def topic_sizes(self, mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], int]:
        """How many rows of *mask* each topic has, in any order, and how many rows carry none."""
        codes, counts = np.unique(self._topic[mask], return_counts=True)
        return counts[codes > 0], int(counts[codes <= 0].sum())

    def derived(self) -> list[int]:
        """The rows that are derived from others, in rising order."""
        place = _LISTS.index("derived_from")
        return [row for row, lists in enumerate(self._lists) if lists[place]]

    def about(self, topic: str) -> NDArray[np.bool_]:
        """True for every row of this *topic*."""
        same: NDArray[np.bool_] = self._topic == self.code(topic, "topic")
        return same

    def called(self, name: str, column: str) -> NDArray[np.bool_]:
        """True for every row with this *name* in *column*, as in `code`; case does not matter."""
        folded = name.casefold()
        codes = [code for each, code in self._codes[column].items() if each.casefold() == folded]
        return np.isin(self._topic if column == "topic" else getattr(self, column), codes)

    def tagged(self, tag: str) -> NDArray[np.bool_]:
        """True for every row that has this *tag*."""
        mask = np.zeros(len(self), np.bool_)
        mask[list(self._rows_by("tags").get(tag, ()))] = True
        return mask

    def tagged_as(self, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
        """True for every row that has a tag that is *wanted*, asked once a tag."""
        return self._holding("tags", wanted)

    def dated(self, inside: Callable[[str], bool]) -> NDArray[np.bool_]:
        """True for every row whose text names a date that is *inside*, asked once a date."""
        return self._holding("dates", inside)

    def counts(self, mask: NDArray[np.bool_]) -> dict[str, Any]:
        """Figures of the live rows of *mask* (one value a row).

        memories, by_kind, by_tier, by_scope, by_agent (name -> number, those that occur), topics,
        sessions (numbers of different ones), mean_importance and mean_access (0 without memories).
        """
        rows = np.flatnonzero(mask & self.live)
        agents = Counter(self.agent[rows].tolist())
        threads = np.unique(self.thread[rows])
        return {
            "memories": int(rows.size),
            "by_kind": self._by_choice("kind", rows),
            "by_tier": self._by_choice("tier", rows),
            "by_scope": self._by_choice("visibility", rows),
            "by_agent": {self.name(code, "agent"): n for code, n in sorted(agents.items())},
            "topics": int(np.count_nonzero(np.unique(self._topic[rows]))),
            "sessions": int(np.count_nonzero(threads >= 0)),
            "mean_importance": _mean(self.importance[rows]),
            "mean_access": _mean(self.access_count[rows]),
        }

    def names(self, column: str, mask: NDArray[np.bool_]) -> list[str]:
        """The different names in *column* of the live rows of *mask*, sorted, without "".

        *column*: agent, team, session, speaker, topic, tags or entities.
        """
        rows = np.flatnonzero(mask & self.live).tolist()
        if column in _LISTS:
            place = _LISTS.index(column)
            return sorted({name for row in rows for name in self._lists[row][place]})
        codes = np.unique(self._data["_topic" if column == "topic" else column][rows])
        return sorted(self.name(code, column) for code in codes.tolist() if code > 0)

    def state(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """The state from which `restore` makes *rows* (all live and rising) the first ones.

        Arrays, and lists that JSON can hold. Names that only other rows have are left out.
        """
        state: dict[str, Any] = {name: self._data[name][rows] for name in _COLUMNS}
        names = {name: self._names[name] for name in _NAMED}
        names["thread"] = list(self._thread_codes)
        for name, known in names.items():
            column = "_topic" if name == "topic" else name
            used, state[column] = np.unique(state[column], return_inverse=True)
            state[f"names of {name}"] = [known[code] if code >= 0 else None for code in used]
        state["ids"] = [self._ids[row] for row in rows.tolist()]
        state["lists"] = [self._lists[row] for row in rows.tolist()]
        return state

    def frozen_state(self) -> Callable[[NDArray[np.int64]], dict[str, Any]]:
        """`state` as of now: it may be called while others change these columns."""
        copy = Columns()
        copy._data = {name: values[: len(self)].copy() for name, values in self._data.items()}
        copy._ids, copy._lists = self.ids(), self._lists.copy()
        copy._names = {name: known.copy() for name, known in self._names.items()}
        copy._thread_codes = self._thread_codes.copy()
        return copy.state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore *state*; only into empty columns."""
        self._ids = list(state["ids"])
        self._rows = {id: row for row, id in enumerate(self._ids)}
        self._reserve(len(self))
        for name in (*_NAMED, "thread"):
            column = "_topic" if name == "topic" else name
            codes = [self._code(name, each) for each in state[f"names of {name}"]]
            self._data[column][: len(self)] = np.array(codes, np.int32)[state[column]]
        for name in set(_COLUMNS) - set(_NAMED) - {"_topic", "thread"}:
            self._data[name][: len(self)] = state[name]
        self._lists = [_NO_LISTS] * len(self)
        for row, lists in enumerate(state["lists"]):
            self._set_lists(row, lists)
        for row, place in enumerate(zip(self.thread.tolist(), self.position.tolist(), strict=True)):
            self._threads.put(row, *place)

    def _code(self, column: str, name: str | None) -> int:
        if column == "thread":
            return self._thread_code(name or "")
        return self._intern(name or "", column)

    def _thread_code(self, thread: str) -> int:
        codes = self._thread_codes
        return codes.setdefault(thread, len(codes)) if thread else _UNKNOWN

    def _by_choice(self, column: str, rows: NDArray[np.intp]) -> dict[str, int]:
        numbers = np.bincount(self._data[column][rows], minlength=len(_CHOICES[column]))
        names = zip(_CHOICES[column], numbers.tolist(), strict=True)
        return {name: number for name, number in names if number}

    def _new_row(self, id: str) -> int:
        row = self._rows[id] = len(self._ids)
        self._ids.append(id)
        self._lists.append(_NO_LISTS)
        if row >= self._data["live"].size:
            self._reserve(2 * row)
        return row

    def _reserve(self, size: int) -> None:
        for name, column in _COLUMNS.items():
            old = self._data[name]
            self._data[name] = np.full(max(_FIRST, size), column.empty, column.kind)
            self._data[name][: old.size] = old

    def _set_lists(self, row: int, lists: Sequence[Sequence[str]]) -> None:
        kept = tuple(tuple(map(intern, values)) for values in lists)
        for name, rows in self._postings.items():
            place = _LISTS.index(name)
            for value in self._lists[row][place]:
                rows[value].discard(row)
            for value in kept[place]:
                rows.setdefault(value, set()).add(row)
        self._lists[row] = _NO_LISTS if kept == _NO_LISTS else kept

    def _holding(self, name: str, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
        """True for every row of which a value of the list *name* is *wanted*."""
        mask = np.zeros(len(self), np.bool_)
        for value, rows in self._rows_by(name).items():
            if rows and wanted(value):
                mask[list(rows)] = True
        return mask

    def _rows_by(self, name: str) -> dict[str, set[int]]:
        """The rows that hold each value of the list *name*."""
        rows = self._postings.get(name)
        if rows is None:  # assigned when complete: readers run concurrently
            rows, place = {}, _LISTS.index(name)
            for row, lists in enumerate(self._lists):
                for value in lists[place]:
                    rows.setdefault(value, set()).add(row)
            self._postings[name] = rows
        return rows

    def _values(self, memory: MemoryRecord) -> dict[str, Any]:
        values = {
            "live": True,
            "position": memory.position,
            "occurred_at": memory.occurred_at,
            "recorded_at": memory.recorded_at,
            "importance": memory.importance,
            "access_count": memory.access_count,
            "last_accessed": _or(memory.last_accessed, math.nan),
            "valid_from": _or(memory.valid_from, -math.inf),
            "valid_until": _or(memory.valid_until, math.inf),
            "superseded": bool(memory.superseded_by),
            "replaced": memory.replaced,
            "superseded_at": _or(memory.superseded_at, math.inf),
            "retired_at": _or(memory.retired_at, math.inf),
            "words": count_words(memory.text),
            "question": not _QUESTION_MARKS.isdisjoint(memory.text),
            "due": sum(1 << JOBS.index(job) for job in memory.due if job in JOBS),
            "extracted": memory.extracted,
            "failed": memory.encoded == FAILED,
        }
        values |= {name: known.index(getattr(memory, name)) for name, known in _CHOICES.items()}
        values |= {name: self._intern(getattr(memory, name), name) for name in _NAMED}
        values["_topic"] = values.pop("topic")
        values["thread"] = self._thread_code(memory.thread)
        return values

    def _intern(self, name: str, column: str) -> int:
        codes = self._codes[column]
        code = codes.get(name)
        if code is None:
            code = codes[name] = len(codes)
            self._names[column].append(name)
        return code


_COLUMNS = {name: part for name, part in vars(Columns).items() if isinstance(part, _Column)}


def _or(value: float | None, unset: float) -> float:
    return unset if value is None else value


def _mean(values: NDArray[Any]) -> float:
    return round(float(values.mean()), 4) if values.size else 0.0


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
        """Insert *row* in *thread*; thread -1 removes it from any."""
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
        """Remove *row* and join its neighbours."""
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
