"""What a pin is: an importance that keeps a memory for good; and the importance before it."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature

from memory_core.records import Change, MemoryRecord

PINNED = 1.0
"""The importance of a pinned memory: nothing prunes or lets fade what is so important."""
NORMAL: float = signature(MemoryRecord).parameters["importance"].default
"""The importance of a new memory whose first put holds none."""


def before_pin(changes: Sequence[Change], importance: float) -> float:
    """The importance of a memory before it was pinned last; *importance*, if it is not pinned.

    *changes* is its history, oldest first. NORMAL when it was stored as one that is pinned.
    """
    if importance != PINNED:
        return importance
    puts = [change.body for change in changes if change.kind == "put" and change.body]
    whole = [{"importance": NORMAL, **body} if "text" in body else body for body in puts]
    given = [float(body["importance"]) for body in whole if "importance" in body]
    return next((value for value in reversed(given) if value != PINNED), NORMAL)
