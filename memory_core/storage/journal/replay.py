"""Replay: the net effect of a batch of changes, read before any lock is taken.

A memory that was put, changed and forgotten within the batch is forgotten; one that was forgotten
and put again (an import after a clear) lives.
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
"""What a value of an unexpected form may raise, far from where it was read."""

Vectors = dict[str, tuple[list[int], NDArray[np.float16]]]


@dataclass
class Unusable:
    """Entries of the journal that cannot be used, by memory id or change, with the reason.

    One bad entry must not affect the others: it is skipped, and health names it.
    """

    entries: dict[str, str] = field(default_factory=dict)
    vectors: set[str] = field(default_factory=set)
    """Memories whose stored vectors cannot be used; embedding them again repairs that."""

    @property
    def count(self) -> int:
        """Number of entries and vectors that cannot be used."""
        return len(self.entries) + len(self.vectors)

    def add(self, what: str, why: object) -> None:
        """Add *what* with the reason; logged once."""
        if what not in self.entries:
            log.warning("%s cannot be used: %s", what, why)
        self.entries[what] = str(why)


@dataclass(frozen=True, slots=True)
class Batch:
    """The net effect of consecutive changes."""

    changes: Sequence[Change]
    gone: tuple[str, ...]
    """Memories that were forgotten somewhere in the batch; their old rows are removed first."""
    memories: tuple[MemoryRecord, ...]
    """Memories that were put and still live, in the order of their first put."""
    vectors: Vectors


class Replayer:
    """Reads batches of one journal and skips what is damaged."""

    def __init__(self, journal: Journal, unusable: Unusable) -> None:
        """Read *journal*; add what cannot be used to *unusable*."""
        self._journal = journal
        self._unusable = unusable

    def next(self, after: int, limit: int) -> tuple[Sequence[Change], int]:
        """At most *limit* changes after sequence *after* and the sequence that they reach.

        A damaged change is skipped. Returns no changes and *after* itself when there is nothing
        new.
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
        """The net effect of *changes*; vectors of the model *fingerprint*, none when that is "".

        *known* returns whether an id existed before the batch.
        """
        folded: dict[str, dict[str, Any] | None] = {}  # None: the journal has the rest
        gone: dict[str, None] = {}
        for change in changes:
            if change.kind == "forget":  # its own changes are scrubbed and have no body
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
        """The memory of *fields*; None when they are empty (it was forgotten since) or unusable."""
        try:
            _require_types(fields)
            return from_fields({"id": id} | fields) if fields else None
        except WRONG_VALUE as problem:
            self._unusable.add(id, problem)
            return None

    def fold(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Journal.fold without those of *ids* that have a damaged change."""
        try:
            return self._journal.fold(ids)
        except DamagedChange:
            if len(ids) > 1:
                half = len(ids) // 2
                return self.fold(ids[:half]) | self.fold(ids[half:])
            self._unusable.add(ids[0], "one of its changes is damaged")
            return {}

    def memories(self, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """The memories of *ids* in the journal, by id, without unusable ones."""
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
    """Raise TypeError when a field holds a value that no index and no column can hold."""
    for name, value in fields.items():
        kind = type(value)
        if kind not in _ALLOWED.get(name, (kind,)):
            raise TypeError(f"{name} is {value!r:.60}")
        if kind is list and name in _ALLOWED and not _TEXT.issuperset(map(type, value)):
            raise TypeError(f"{name} is {value!r:.60}")


def _embeds(change: Change, fingerprint: str) -> bool:
    body = change.body
    return change.kind == "vectors" and body is not None and body["fingerprint"] == fingerprint
