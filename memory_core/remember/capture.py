"""The walk of a passive capture: strip -> relevance gate -> echo -> remember.

No turn is dropped in silence: the observation names each one that was not kept, and why. What
states nothing, such as a question, is kept with the next turn that does, as what leads up to it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory_core.beliefs import quoted, relevance
from memory_core.errors import MemoryCoreError
from memory_core.lifecycle.doubts import Doubts
from memory_core.lifecycle.tiers import Tiers
from memory_core.lifecycle.working_memory import Sessions
from memory_core.records import SPEAKING, Identity, MemoryRecord, Receipt, projects_of
from memory_core.remember.draft import Draft
from memory_core.remember.relate import OCCASION_S
from memory_core.remember.writer import Writer
from memory_core.storage.store import MemoryStore
from memory_core.text import normalise, secrets

log = logging.getLogger(__name__)

ECHO = "echo of recalled text"
NEAR_DUPLICATE = "near-duplicate"

LEAD_MOST = 2
"""The turns before one, which state nothing, that are kept with it."""

LEAD_CHARS = 300
"""Kept of such a turn."""

LEADS_MOST = 1_000
"""Conversations of which such turns wait for the next one."""

Thread = tuple[str, str, str, str]
"""A conversation: scope, agent, team and session."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A turn that was not stored; `of` is the id of the memory that it echoes or repeats."""

    text: str
    reason: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """The answer of observe: the receipt of what was stored, and what was skipped and why.

    A near-duplicate is skipped; its receipt, status reinforced, is that of the first one.
    """

    receipt: Receipt | None
    skipped: tuple[Skipped, ...] = ()


class Capture:
    """Stores the turns of conversations that pass the gate; one instance serves all callers."""

    def __init__(
        self, store: MemoryStore, writer: Writer, sessions: Sessions, tiers: Tiers
    ) -> None:
        """Compare with what *sessions* recalled from *store*; write with *writer*.

        *tiers* says which memories leave the ring when a turn enters.
        """
        self._store = store
        self._writer = writer
        self._sessions = sessions
        self._tiers = tiers
        self._heard: dict[Thread, None] = {}
        self._leads: dict[Thread, tuple[str, ...]] = {}

    def observe(self, who: Identity, draft: Draft) -> Observation:
        """Store the turn of *draft*, or return why not; see Memory.observe."""
        said = draft.memory.text
        if draft.memory.role in ("", "user"):
            self._sessions.heard(who, draft.memory.session)
        text = relevance.without_recalled(said, lambda id: self._store.may_read(who, id))
        if normalise.is_blank(text) or relevance.announces(text):
            return _skipped(said, ECHO)
        whole, (text, reason) = text, relevance.kept(text, draft.memory.role)
        if reason:
            if reason in relevance.SAID:
                self._lead_up(draft.memory, text)
            return _skipped(said, reason)
        if source := self._echoed(who, replace(draft.memory, text=text)):
            return _skipped(said, ECHO, source)
        session = draft.memory.session
        thread = _thread(draft.memory)
        lead = self._leads.get(thread, ())
        tier = "active" if session else "recent"
        memory = replace(draft.memory, text=text, tier=tier, lead=lead)
        if text != whole and memory.trust == "quoted" and not quoted.is_content(text):
            memory = replace(memory, trust="user")  # it was, by what stood beside
        leaving = tuple(self._tiers.leaving(memory)) if session else ()
        kept = replace(draft, memory=memory, passive=True, leaving=leaving)
        receipt = self._writer.remember(who, kept)
        self._leads.pop(thread, None)
        self._tiers.heard()
        if session:
            self._heard[thread] = None
        if receipt.status == "reinforced" and receipt.similar:
            return Observation(receipt, (Skipped(said, NEAR_DUPLICATE, receipt.id),))
        return Observation(receipt)

    def drain(self) -> None:
        """Empty the rings of the conversations captured here; called when the process ends.

        What cannot be moved, as on a full disk, is moved by the next sweep.
        """
        heard, self._heard = list(self._heard), {}
        if not heard:
            return
        try:
            self._tiers.sweep(ended=heard)
        except MemoryCoreError as problem:
            log.warning("the ring is not emptied: %s", problem)

    def _lead_up(self, memory: MemoryRecord, text: str) -> None:
        """Keep *text*, a turn of the conversation of *memory*, for the next turn that is stored."""
        if not memory.session:
            return
        thread, masked = _thread(memory), secrets.mask(text)[0]  # whole: a cut hides a secret
        said = f"{memory.speaker or memory.role or 'user'}: {' '.join(masked.split())[:LEAD_CHARS]}"
        self._leads[thread] = (*self._leads.pop(thread, ()), said)[-LEAD_MOST:]
        if len(self._leads) > LEADS_MOST:
            self._leads.pop(next(iter(self._leads)), None)

    def _echoed(self, who: Identity, turn: MemoryRecord) -> str:
        """The id of the recalled memory that *turn* repeats; "" when it says anything else."""
        self._store.catch_up()
        lately = [id for id in self._sessions.shown(who) if self._store.may_read(who, id)]
        sources = list(self._store.indexed(lately).values())
        if turn.role in SPEAKING:
            sources = self._told_here(who, turn, sources)
        place = relevance.echoed(turn.text, [source.text for source in sources])
        return "" if place is None else sources[place].id

    def _told_here(
        self, who: Identity, turn: MemoryRecord, sources: Sequence[MemoryRecord]
    ) -> list[MemoryRecord]:
        """Those of *sources* of which a user's *turn* may be an echo.

        Of what was said on another day, or in another project, or is out of date, it is news that
        it holds.
        """
        mine = projects_of(turn.tags)
        with self._store.reading() as view:
            doubts, readable = Doubts(view, self._store.journal), view.readable(who)
            return [
                source
                for source in sources
                if abs(turn.occurred_at - source.occurred_at) <= OCCASION_S
                and projects_of(source.tags) in (frozenset(), mine)
                and (row := view.columns.row(source.id)) is not None
                and not source.superseded_by
                and doubts.newest(row, readable, parts=True) is None
            ]


def _thread(memory: MemoryRecord) -> Thread:
    return memory.visibility, memory.agent, memory.team, memory.session


def _skipped(text: str, reason: str, of: str = "") -> Observation:
    return Observation(None, (Skipped(text, reason, of),))
