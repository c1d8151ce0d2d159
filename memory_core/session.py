"""What one conversation has in mind: no I/O, no clock, lost with the process.

Conversations are told apart by who asks and by the session's name; without a name there is none.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from memory_core.records import Identity

RECALLED = 40
"""Memories an agent recalled last; a turn that repeats them is an echo."""

AGENTS = 256
"""Agents whose recalls are kept in mind at once."""


class Sessions:
    """What the conversations of one process have in mind; thread-safe."""

    def __init__(self) -> None:
        """Start with nothing in mind."""
        self._lock = threading.Lock()
        self._recalled: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def recalled(self, who: Identity, ids: Iterable[str]) -> None:
        """*ids* were recalled for *who*, in whatever conversation."""
        with self._lock:
            mine = self._recalled.setdefault(who.agent, OrderedDict())
            self._recalled.move_to_end(who.agent)
            for id in ids:
                mine[id] = None
                mine.move_to_end(id)
            while len(mine) > RECALLED:
                mine.popitem(last=False)
            while len(self._recalled) > AGENTS:
                self._recalled.popitem(last=False)

    def lately(self, who: Identity) -> list[str]:
        """The ids that were recalled last for *who*, oldest first."""
        with self._lock:
            return list(self._recalled.get(who.agent, ()))
