"""Notes where backups and exports were written, so that forget can name those that hold a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from memory_core.records import Change, Identity
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.journal.queries import Queries
from memory_core.storage.store import MemoryStore
from memory_core.text.time.timestamps import day_of

_KEY = "copy "
"""Begins the keys of the meta values. The place follows, for a later copy replaces the one that was
there; without a place who exported, for there each copy stays somewhere."""

REST = "REST"
"""In the place of an export that a program asked for over REST."""

_WAYS = ("", REST)
"""Where an export went whose place nobody knows."""

NAMED = 5
"""Copies that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A backup, or an export by an agent of what it may read."""

    kind: str
    """backup or export."""
    place: str
    """The absolute path, or REST, or "" for standard output."""
    at: float
    """Epoch seconds."""
    sequence: int
    """It holds no change of the journal after this one."""
    agent: str = ""
    team: str = ""
    since: float = 0.0
    """Epoch seconds of the first of several without a place; 0 where it is the only one."""


def noted(copy: Copy) -> Change:
    """The change of the journal that notes *copy*."""
    return Change("meta", _key(copy), {"value": asdict(copy)}, source=copy.kind)


def _key(copy: Copy) -> str:
    way = f" {copy.place}" if copy.place else ""
    return _KEY + (f"of {copy.agent} in {copy.team}{way}" if copy.place in _WAYS else copy.place)


def note_export(store: MemoryStore, who: Identity, place: str, at: float) -> None:
    """Note in the journal what *who* exported to *place* until now. Raises a StorageError."""

    def note(tx: Transaction) -> None:
        copy = Copy("export", place, at, tx.last(), who.agent, who.team)
        earlier = tx.meta(_key(copy)) if place in _WAYS else None
        if earlier:
            copy = replace(copy, since=earlier["since"] or earlier["at"])
        tx.append(noted(copy))

    store.commit(note)


def known(journal: Queries) -> list[Copy]:
    """Every copy that was noted, the newest first."""
    found = [Copy(**value) for value in journal.metas(_KEY).values()]
    return sorted(found, key=lambda copy: -copy.at)


def in_words(copies: Sequence[Copy], *, places: bool) -> str:
    """Which *copies* still hold what was in them, with *places* or without; "" for none."""
    if not copies:
        return ""
    every: list[str] = []
    for copy in copies:
        if (name := _named(copy, places)) not in every:  # those of several agents are called alike
            every.append(name)
    named = every[:NAMED]
    if len(every) > NAMED:
        named.append(f"{len(every) - NAMED} older ones")
    return f"still in copies that were made before, delete them too: {', '.join(named)}"


def _named(copy: Copy, places: bool) -> str:
    first, day = (day_of(at).isoformat() for at in (copy.since or copy.at, copy.at))
    what = f"the {copy.kind} of {day}"
    if first < day:
        what = f"the {copy.kind}s of {first} to {day}"
    if not places:
        return what
    if copy.place in _WAYS:
        return f"{what} over REST" if copy.place else f"{what} to standard output"
    gone = "" if Path(copy.place).exists() else ", which is no longer there"
    return f"{what} in {copy.place}{gone}"
