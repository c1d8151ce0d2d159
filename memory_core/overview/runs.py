"""The runs of consolidation, newest first, and what each changed."""

from __future__ import annotations

from dataclasses import dataclass

from memory_core import validation
from memory_core.overview import cursors
from memory_core.records import Identity
from memory_core.storage.store import MemoryStore


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run: its id, state, mode and owner, and when its state changed last (epoch seconds).

    *state* is started, stopping, completed, failed or undone. *steps* are names with the number of
    changes; *summaries* and *retired* are ids. *scheduled* is True for a run that began by itself.
    """

    run: str
    state: str
    mode: str
    agent: str
    at: float
    scheduled: bool
    steps: tuple[tuple[str, int], ...] = ()
    summaries: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunList:
    """Some runs, newest first, and the cursor of the next ones; "" after the last."""

    runs: tuple[RunEntry, ...]
    next: str = ""


def runs(store: MemoryStore, who: Identity, *, cursor: str = "", limit: int = 50) -> RunList:
    """The runs of *who*, newest first. Raises InvalidInput."""
    limit = validation.whole(limit, "limit", 1, cursors.MOST)
    after = cursors.decode(cursor, str)
    own = [mark for mark in store.journal.runs() if mark.actor == who.agent]
    own.sort(key=lambda mark: mark.target, reverse=True)  # ids rise with time
    if after is not None:
        own = [mark for mark in own if mark.target < after[0]]
    some = []
    for mark in own[:limit]:
        body = mark.body or {}
        some.append(
            RunEntry(
                mark.target,
                str(body.get("state", "")),
                str(body.get("mode", "")),
                mark.actor,
                mark.at,
                bool(body.get("by_itself")),
                tuple((str(name), int(count)) for name, count in body.get("steps", ())),
                tuple(body.get("summaries", ())),
                tuple(body.get("retired", ())),
                str(body.get("why", "")),
            )
        )
    return RunList(tuple(some), cursors.encode((some[-1].run,)) if len(own) > limit else "")
