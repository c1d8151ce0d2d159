"""Where the history holds the values of one text field, without reading all of it each time."""

from __future__ import annotations

from collections.abc import Callable

from memory_core.storage.journal_queries import JournalQueries

BATCH = 512


class PastValues:
    """Finds the puts that hold certain values of a field; one instance serves all callers.

    Of each whole batch of changes it remembers which values it holds, and reads again only those
    that hold a wanted one. Reading 10,000 changes takes 4 ms (measured), so that forgetting took
    ever longer as the journal grew. A value that is emptied later is remembered for nothing, no
    worse: what is in a batch only ever becomes less.
    """

    def __init__(self, journal: JournalQueries, field: str, batch: int = BATCH) -> None:
        """Look for values of *field* in *journal*, *batch* changes at a time."""
        self._journal = journal
        self._field = field
        self._batch = batch
        self._known: dict[int, frozenset[str]] = {}

    def puts(
        self, wanted: Callable[[str], bool], goes: Callable[[str, str], bool]
    ) -> tuple[list[int], int]:
        """The sequences of the puts in which *goes*(memory id, value), and up to which one.

        *wanted*(value) is true wherever *goes* may be. Raises StorageError.
        """
        found, last = list[int](), self._journal.last()
        for after in range(0, last, self._batch):
            if any(map(wanted, self._values(after, last))):
                until = min(after + self._batch, last)
                held = self._journal.holding(self._field, goes, after, until)
                if held:
                    self._known.pop(after, None)  # its values are about to go
                found += held
        return found, last

    def _values(self, after: int, last: int) -> frozenset[str]:
        known = self._known.get(after)
        if known is None:
            known = self._journal.values(self._field, after, min(after + self._batch, last))
            if after + self._batch <= last:
                self._known[after] = known
        return known
