"""The walk of a passive capture: strip -> relevance gate -> echo -> remember.

A turn that is not kept is never dropped in silence: the observation says which and why (seed rows
A2.1 to A2.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory_core.records import Identity, Receipt
from memory_core.session import Sessions
from memory_core.storage.store import MemoryStore
from memory_core.text import echo, visible
from memory_core.text.gate import gate
from memory_core.writer import Draft, Writer

ECHO = "echo of recalled text"
NEAR_DUPLICATE = "near-duplicate"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A turn that was observed and not kept; *of* is the id of what it echoes or repeats."""

    text: str
    reason: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """The answer of observe: the *receipt* of what was kept, and what was *skipped* and why.

    A near-duplicate is skipped and its receipt, status reinforced, is that of the first one.
    """

    receipt: Receipt | None
    skipped: tuple[Skipped, ...] = ()


class Capture:
    """Keeps what is worth keeping of the turns of conversations; one instance serves all."""

    def __init__(self, store: MemoryStore, writer: Writer, sessions: Sessions) -> None:
        """Look for echoes in *store* and in what *sessions* recalled; keep through *writer*."""
        self._store = store
        self._writer = writer
        self._sessions = sessions

    def observe(self, who: Identity, draft: Draft) -> Observation:
        """Keep the turn of *draft*, or say why not; see Memory.observe."""
        said = draft.memory.text
        if draft.memory.role in ("", "user"):
            self._sessions.heard(who, draft.memory.session)
        text = echo.without_recalled(said)
        if visible.is_blank(text):
            return _skipped(said, ECHO)
        if reason := gate(text):
            return _skipped(said, reason)
        if source := self._echoed(who, text):
            return _skipped(said, ECHO, source)
        memory = replace(
            draft.memory, text=text, tier="active" if draft.memory.session else "recent"
        )
        receipt = self._writer.remember(who, replace(draft, memory=memory, passive=True))
        if receipt.status == "reinforced" and receipt.similar:
            return Observation(receipt, (Skipped(said, NEAR_DUPLICATE, receipt.id),))
        return Observation(receipt)

    def _echoed(self, who: Identity, text: str) -> str:
        """The id of the recalled memory that *text* gives back; "" when it says something."""
        self._store.catch_up()
        lately = [id for id in self._sessions.lately(who) if self._store.may_read(who, id)]
        sources = list(self._store.indexed(lately).values())
        place = echo.echoed(text, [source.text for source in sources])
        return "" if place is None else sources[place].id


def _skipped(text: str, reason: str, of: str = "") -> Observation:
    return Observation(None, (Skipped(text, reason, of),))
