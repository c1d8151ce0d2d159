"""Notes where backups and exports were written, so that forget can name those that hold a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from memory_core.records import Change, Identity
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.journal.queries import Queries
from memory_core.storage.store import MemoryStore

_KEY = "copy "
"""Begins the keys of the meta values; the place follows, so a later copy replaces the note."""

NAMED = 5
"""Copies that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A backup, or an export by an agent of what it may read."""

    kind: str
    """backup or export."""
    place: str
    """The absolute path, or "" for standard output."""
    at: float
    """Epoch seconds."""
    sequence: int
    """It holds no change of the journal after this one."""
    agent: str = ""
    team: str = ""


def noted(copy: Copy) -> Change:
    """The change of the journal that notes *copy*."""
    return Change("meta", f"{_KEY}{copy.place}", {"value": asdict(copy)}, source=copy.kind)


def note_export(store: MemoryStore, who: Identity, place: str, at: float) -> None:
    """Note in the journal what *who* exported to *place* until now. Raises a StorageError."""

    def note(tx: Transaction) -> None:
        tx.append(noted(Copy("export", place, at, tx.last(), who.agent, who.team)))

    store.commit(note)


def known(journal: Queries) -> list[Copy]:
    """Every copy that was noted, the newest first."""
    found = [Copy(**value) for value in journal.metas(_KEY).values()]
    return sorted(found, key=lambda copy: -copy.at)


def in_words(copies: Sequence[Copy], *, places: bool) -> str:
    """Which *copies* still hold what was in them, with *places* or without; "" for none."""
    if not copies:
        return ""
    named = [_named(copy, places) for copy in copies[:NAMED]]
    if len(copies) > NAMED:
        named.append(f"{len(copies) - NAMED} older ones")
    return f"still in copies that were made before, delete them too: {', '.join(named)}"


def _named(copy: Copy, places: bool) -> str:
    day = datetime.fromtimestamp(copy.at, UTC).date().isoformat()
    what = f"the {copy.kind} of {day}"
    if not places:
        return what
    if not copy.place:
        return f"{what} to standard output"
    gone = "" if Path(copy.place).exists() else ", which is no longer there"
    return f"{what} in {copy.place}{gone}"
