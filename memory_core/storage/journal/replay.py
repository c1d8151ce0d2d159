"""What a slice of the journal comes to: read before any lock is taken, applied in one go after.

Only the outcome counts. A memory that was put, changed and forgotten within the slice is gone; one
that was forgotten and came back (an import after a clear) is there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import MemoryCoreError, StorageError
from memory_core.records import Change, MemoryRecord, from_fields
from memory_core.storage.journal.journal import DamagedChange, DamagedVectors, Journal
from memory_core.storage.table.rows import FIELDS, Sort

log = logging.getLogger(__name__)

WRONG_VALUE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryCoreError)
"""What a value that is not as this program writes it may raise, far from where it came in."""

Vectors = dict[str, tuple[list[int], NDArray[np.float16]]]


@dataclass
class Unusable:
    """What the journal holds and cannot be used, by memory id or change, with the reason.

    One bad entry must not take all others with it; it is left out and health names it.
    """

    entries: dict[str, str] = field(default_factory=dict)
    vectors: set[str] = field(default_factory=set)
    """Memories whose stored vectors cannot be used; embedding them again mends it."""

    @property
    def count(self) -> int:
        """How many entries and vectors cannot be used."""
        return len(self.entries) + len(self.vectors)

    def add(self, what: str, why: object) -> None:
        """Remember that *what* cannot be used; logged once."""
        if what not in self.entries:
            log.warning("%s cannot be used: %s", what, why)
        self.entries[what] = str(why)


@dataclass(frozen=True, slots=True)
class Batch:
    """The outcome of consecutive changes."""

    changes: Sequence[Change]
    gone: tuple[str, ...]
    """Memories that were forgotten somewhere in the slice; their old rows go first."""
    memories: tuple[MemoryRecord, ...]
    """Memories that were put and are still there, in the order of their first put."""
    vectors: Vectors


class Replayer:
    """Reads slices of one journal."""

    def __init__(self, journal: Journal, unusable: Unusable) -> None:
        """Read *journal*; what cannot be used goes to *unusable*."""
        self._journal = journal
        self._unusable = unusable

    def next(self, after: int, limit: int) -> tuple[Sequence[Change], int]:
        """At most *limit* changes after sequence *after* and the sequence that they lead to.

        A damaged change is passed over. No changes and *after* itself: there is nothing new.
        """
        while True:
            try:
                changes = self._journal.changes(after, limit)
                return changes, changes[-1].seq if changes else after
            except DamagedChange as problem:
                self._unusable.add(f"change {problem.seq}", problem.problem)
                after = problem.seq

    def batch(
        self, changes: Sequence[Change], known: Callable[[str], bool], fingerprint: str
    ) -> Batch:
        """What *changes* come to; vectors of the model *fingerprint*, none when that is "".

        *known* tells whether an id was there before the slice.
        """
        folded: dict[str, dict[str, Any] | None] = {}  # None: only the journal has all of it
        gone: dict[str, None] = {}
        for change in changes:
            if change.kind == "forget":  # what it had was scrubbed with it, and has no body now
                gone[change.target] = None
            elif change.kind == "put" and change.body is not None:
                before = folded.get(change.target, {})
                new = change.target in gone or not known(change.target)
                if before:
                    folded[change.target] = {**before, **change.body}
                elif before is not None and new and "text" in change.body:
                    folded[change.target] = dict(change.body)
                else:
                    folded[change.target] = None
        partial = [id for id, fields in folded.items() if fields is None]
        complete = self.fold(partial) if partial else {}
        memories = (
            self.memory(id, fields or complete.get(id, {})) for id, fields in folded.items()
        )
        wanted = [c.target for c in changes if fingerprint and _embeds(c, fingerprint)]
        vectors = self.vectors(wanted, fingerprint) if wanted else {}
        return Batch(changes, tuple(gone), tuple(m for m in memories if m is not None), vectors)

    def memory(self, id: str, fields: dict[str, Any]) -> MemoryRecord | None:
        """The memory of *fields*; None when there are none (it is forgotten by now) or bad ones."""
        try:
            _require_types(fields)
            return from_fields({"id": id} | fields) if fields else None
        except WRONG_VALUE as problem:
            self._unusable.add(id, problem)
            return None

    def fold(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Journal.fold without those of *ids* that rest on a damaged change."""
        try:
            return self._journal.fold(ids)
        except DamagedChange:
            if len(ids) > 1:
                half = len(ids) // 2
                return self.fold(ids[:half]) | self.fold(ids[half:])
            self._unusable.add(ids[0], "one of its changes is damaged")
            return {}

    def memories(self, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """The memories of *ids* as the journal has them, by id, without what it cannot tell."""
        found = ((id, self.memory(id, fields)) for id, fields in self.fold(ids).items())
        return {id: memory for id, memory in found if memory is not None}

    def vectors(self, ids: Iterable[str], fingerprint: str) -> Vectors:
        """Journal.vectors without those of *ids* whose vectors are damaged."""
        wanted = dict.fromkeys(ids)
        while True:
            try:
                return self._journal.vectors(list(wanted), fingerprint)
            except DamagedVectors as problem:
                self._leave_out(problem, wanted)
                del wanted[problem.memory]

    def _leave_out(self, problem: DamagedVectors, wanted: Collection[str]) -> None:
        if problem.memory not in wanted:  # even its name is damaged
            raise StorageError(problem.problem, problem.next_step)
        log.warning("%s", problem)
        self._unusable.vectors.add(problem.memory)


_TYPES: Mapping[Sort, frozenset[type]] = {
    "text": frozenset({str}),
    "texts": frozenset({list, tuple}),
    "real": frozenset({float, int}),
    "moment": frozenset({float, int, type(None)}),
    "whole": frozenset({int}),
    "flag": frozenset({bool}),
}
_ALLOWED = {name: _TYPES[sort] for name, sort in FIELDS.items()}
_TEXT = _TYPES["text"]


def _require_types(fields: Mapping[str, Any]) -> None:
    """Raise TypeError where a field holds what no index and no column can take."""
    for name, value in fields.items():
        kind = type(value)
        if kind not in _ALLOWED.get(name, (kind,)):
            raise TypeError(f"{name} is {value!r:.60}")
        if kind is list and name in _ALLOWED and not _TEXT.issuperset(map(type, value)):
            raise TypeError(f"{name} is {value!r:.60}")


def _embeds(change: Change, fingerprint: str) -> bool:
    body = change.body
    return change.kind == "vectors" and body is not None and body["fingerprint"] == fingerprint
