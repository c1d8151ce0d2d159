"""The queue of model work: the due memories of a store, and which of them a model may see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from memory_core.config import GistSettings
from memory_core.enrichment import extraction
from memory_core.lifecycle import model_work
from memory_core.records import (
    FAILED,
    JOBS,
    TRUSTS,
    VISIBILITIES,
    Change,
    Identity,
    MemoryRecord,
    elapsed,
    owner_of,
)
from memory_core.storage.index.columns import Columns
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore

CONTEXT_TURNS, CONTEXT_WORDS = 4, 500
"""Turns before a batch that are sent as context, which resolve pronouns, and their words."""

BATCH_WORDS = 4_000
"""Most words of the turns of one call, unless a single turn is longer."""

REQUEUED = 256
"""Memories made due in one commit."""

Group = tuple[int, ...]
"""What is processed in order: one conversation, or all turns of one owner outside of any."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One due memory: its group, when it was recorded, its length in words, its trust.

    *trust* is its place in records.TRUSTS.
    """

    id: str
    group: Group
    recorded_at: float
    words: int
    trust: int


@dataclass(frozen=True, slots=True)
class EnrichmentTuning:
    """Sizes and times of the model work."""

    workers: int = 4
    """Calls to the model at a time."""
    queue: int = 256
    """Due memories that a process looks ahead."""
    batch_turns: int = 8
    """Turns of one conversation in one call."""
    gather_seconds: float = 20.0
    """That a turn waits for others of its conversation."""
    drain_seconds: float = 2.0
    """That calls under way get at the end; what is not done stays due."""


class Queue:
    """The due memories of one store, oldest first. Stateless: the columns hold what is due."""

    def __init__(
        self,
        store: MemoryStore,
        settings: GistSettings,
        clock: Callable[[], float],
        tuning: EnrichmentTuning,
    ) -> None:
        """Read the due memories of *store*; *clock* measures how long they have waited."""
        self._store = store
        self._settings = settings
        self._tuning = tuning
        self._clock = clock

    def waiting(self) -> list[Waiting]:
        """The next due memories, oldest first, at most `queue`."""
        with self._store.reading() as view:
            columns = view.columns
            rows = np.flatnonzero(self._due(columns))[: self._tuning.queue]
            return [
                Waiting(
                    columns.id(row),
                    _group(columns, row),
                    float(columns.recorded_at[row]),
                    int(columns.words[row]),
                    int(columns.trust[row]),
                )
                for row in rows.tolist()
            ]

    def batch(
        self,
        busy: Collection[str],
        groups: Collection[Group],
        tried: Mapping[str, int],
        *,
        hurry: bool,
    ) -> list[Waiting]:
        """Due memories of one group for one call; [] when no group is ready.

        A group is ready when it fills a batch, when its oldest memory has waited `gather_seconds`,
        or in a *hurry*. Skipped are *busy* memories and *groups*, which other threads work on. A
        memory that was *tried* before is sent alone.
        """
        found: dict[Group, list[Waiting]] = {}
        for each in self.waiting():
            if each.id not in busy and each.group not in groups:
                found.setdefault(each.group, []).append(each)
        now = self._clock()
        for members in found.values():
            full = len(members) >= self._tuning.batch_turns
            waited = elapsed(members[0].recorded_at, now)
            if hurry or full or waited >= self._tuning.gather_seconds:
                return self._cut(members, tried)
        return []

    def _cut(self, members: list[Waiting], tried: Mapping[str, int]) -> list[Waiting]:
        chosen: list[Waiting] = []
        for each in members[: self._tuning.batch_turns]:
            words = each.words + sum(other.words for other in chosen)
            other = chosen and _trust_level(each.trust) != _trust_level(chosen[0].trust)
            if other or (chosen and (words > BATCH_WORDS or tried.get(each.id))):
                break
            chosen.append(each)
            if tried.get(each.id):
                break
        return chosen

    def context(self, first: MemoryRecord) -> list[MemoryRecord]:
        """The turns before *first* in its conversation that a model may see, oldest first.

        Turns of less trust are left out: text of a web page would influence the turns after it.
        """
        ids: list[str] = []
        with self._store.reading() as view:
            columns = view.columns
            row, words = columns.row(first.id), 0
            while row is not None and len(ids) < CONTEXT_TURNS:
                row = columns.neighbours(row, -1)
                words += 0 if row is None else int(columns.words[row])
                if row is None or words > CONTEXT_WORDS:
                    break
                ids.append(columns.id(row))
        found = self._store.indexed(reversed(ids)).values()
        most = _trust_level(TRUSTS.index(first.trust))
        fit = (memory for memory in found if _trust_level(TRUSTS.index(memory.trust)) <= most)
        return [memory for memory in fit if self.may_see(memory)]

    def counts(self, who: Identity | None = None) -> dict[str, tuple[int, int]]:
        """By job of JOBS, how many memories wait for it, and for how many it was given up.

        Of memories that *who* may read; an admin, and None, is told those of all.
        """
        with self._store.reading() as view:
            columns = view.columns
            told = columns.live if who is None or who.admin else view.readable(who)
            due, still, gone = columns.due, self._due(columns) & told, columns.failed & told
            return {
                job: (
                    int(np.count_nonzero(still & (due >> place & 1 == 1))),
                    int(np.count_nonzero(gone & (due >> place & 1 == 1))),
                )
                for place, job in enumerate(JOBS)
            }

    def requeue(self, who: Identity, since: float, version: str) -> int:
        """Make due what *who* said since then and *version* has not encoded; how many memories.

        In commits of REQUEUED memories, so that an interruption keeps what was made due before it.
        The importance is not judged again.
        """
        with self._store.reading() as view:
            columns = view.columns
            own = view.readable(who) & (columns.agent == columns.code(who.agent, "agent"))
            rows = np.flatnonzero(own & ~columns.extracted & (columns.occurred_at >= since))
            ids = [columns.id(row) for row in rows.tolist()]
        asked = 0
        for start in range(0, len(ids), REQUEUED):
            found = self._store.indexed(ids[start : start + REQUEUED]).values()
            wanted = [m for m in found if _wants(m, version) and self.may_see(m)]
            self._store.commit(partial(_make_due, memories=wanted))
            asked += len(wanted)
        return asked

    def may_see(self, memory: MemoryRecord) -> bool:
        """True when the settings and the writer of *memory* allow a model to see it."""
        return model_work.allowed(memory, self._settings)

    def _due(self, columns: Columns) -> NDArray[np.bool_]:
        """The mask of rows that are due and that the settings allow a model to see."""
        scopes = [VISIBILITIES.index(scope) for scope in self._settings.forbid_scopes]
        agents = [columns.code(agent, "agent") for agent in self._settings.forbid_agents]
        still = (columns.due > 0) & columns.live & ~columns.failed
        if scopes or agents:
            still &= ~np.isin(columns.visibility, scopes) & ~np.isin(columns.agent, agents)
        return np.asarray(still, dtype=np.bool_)


def _trust_level(trust: int) -> int:
    """*trust* (a place in TRUSTS), where user and agent, who talk to each other, are one level."""
    return max(trust, TRUSTS.index("agent"))


def _wants(memory: MemoryRecord, version: str) -> bool:
    done = memory.encoded == version or memory.due
    fresh = memory.encoded == FAILED or not done
    return fresh and bool(model_work.due(memory, judged=True))


def _make_due(tx: Transaction, memories: Sequence[MemoryRecord]) -> None:
    for memory in memories:
        if tx.accesses([memory.id]):  # not forgotten meanwhile
            body: dict[str, object] = {"due": list(model_work.due(memory, judged=True))}
            if memory.encoded == FAILED:
                body["encoded"] = ""
            scope = owner_of(memory)
            source = extraction.SOURCE
            tx.append(
                Change("put", memory.id, body, actor=memory.agent, source=source, scope=scope)
            )


def _group(columns: Columns, row: int) -> Group:
    thread = int(columns.thread[row])
    if thread >= 0:
        return (thread,)
    owner = (columns.visibility[row], columns.agent[row], columns.team[row])
    return tuple(int(part) for part in owner)
