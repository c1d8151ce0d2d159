"""The sweep: ring -> recent -> long_term, pairs of turn and answer, topics, caps.

One look at the columns, one commit. It runs every few minutes in the process that keeps the store
(maintenance), when a conversation ends, and by hand; it asks no language model. The rules are in
scoring.tiers; a run of consolidation may call `Tiers.sweep` as its first step, since a sweep that
finds nothing to move writes nothing.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import EmbedderGate
from memory_core.lifecycle import model_work, retention, topics, turn_pairs
from memory_core.records import (
    Change,
    Identity,
    MemoryRecord,
    elapsed,
    from_fields,
    owner_of,
    thread_key,
)
from memory_core.scoring import tiers
from memory_core.scoring.arrays import Rows
from memory_core.storage.index.graph import Graph
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore

SOURCE = "sweep"
"""Where a sweep's changes come from, with why, as the history of a memory shows it."""

MOST = 500
"""Memories moved in one sweep: the write lock is held for some 20 ms."""

_FIELDS: Mapping[int, Mapping[str, Any]] = {
    tiers.KEPT: {"tier": "recent"},
    tiers.UNKEPT: {"tier": "recent", "retired_at": None},
    tiers.COLD: {"tier": "long_term"},
    tiers.CROWDED: {"tier": "long_term"},
    tiers.OVER: {"retired_at": None},
}
"""What each move sets; retired_at gets the time of the sweep."""


_NAMES = ("", "kept", "unkept", "cold", "crowded", "over")
"""Of the moves, as Swept has them."""


@dataclass(frozen=True, slots=True)
class Swept:
    """How many memories a sweep moved, by why; *pairs* are turns linked with their answers."""

    kept: int = 0
    unkept: int = 0
    cold: int = 0
    crowded: int = 0
    over: int = 0
    pairs: int = 0
    topics: int = 0

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))


@dataclass(slots=True)
class _Plan:
    """What a sweep is going to write: move and topic by id, pairs of ids."""

    moves: dict[str, int] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)


class Tiers:
    """Keeps the memories of one store in their tiers; thread-safe."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        """Sweep *store*; pairs are embedded, and topics found, with what *gate* has loaded."""
        self._store = store
        self._gate = gate
        self._decay = settings.decay
        self._settings = settings.tiers
        self._all = settings
        self._clock = clock
        self._swept = clock()
        self._turns = 0
        self._alone = threading.Lock()

    def leaving(self, memory: MemoryRecord) -> list[str]:
        """The ids that leave the ring of its conversation, first in first, when *memory* enters.

        Only those important enough to be kept; the others are retired by the next sweep, unless
        they are judged anew before.
        """
        with self._store.reading():
            columns = self._store.columns
            rows = columns.thread_rows(memory.thread)
            rows = rows[(columns.tier[rows] == tiers.ACTIVE) & np.isinf(columns.retired_at[rows])]
            gone = rows[: max(0, len(rows) + 1 - self._settings.ring)]
            gone = gone[columns.importance[gone] >= self._settings.keep_importance]
            return [columns.id(row) for row in gone.tolist()]

    def heard(self) -> None:
        """One more turn was captured."""
        self._turns += 1

    def keep(self) -> None:
        """Sweep when it is time to, or when enough turns were captured since. Raises as sweep."""
        waited = elapsed(self._swept, self._clock())
        if waited >= self._settings.sweep_seconds or self._turns >= self._settings.check_turns:
            self.sweep()

    def sweep(
        self, who: Identity | None = None, ended: Collection[tuple[str, str, str, str]] = ()
    ) -> Swept:
        """Move what has to move, in one commit; with *who*, only what that agent owns.

        *ended* are conversations (visibility, agent, team, session) whose ring is emptied. Raises
        Busy or a StorageError; nothing is moved then.
        """
        with self._alone:
            self._swept, self._turns = self._clock(), 0
            self._store.catch_up()
            embedder = self._embedder()
            with self._store.reading():
                plan = self._plan(who, {thread_key(*each) for each in ended})
            if not (plan.moves or plan.pairs):
                return Swept()
            vectors = turn_pairs.vectors(self._store, embedder, plan.pairs)
            return self._store.commit(lambda tx: self._write(tx, plan, vectors))

    def _embedder(self) -> Embedder | None:
        embedder = self._gate.embedder
        fits = embedder is not None and embedder.fingerprint == self._store.fingerprint
        return embedder if fits else None

    # What is to be done

    def _plan(self, who: Identity | None, ended: Collection[str]) -> _Plan:
        columns = self._store.columns
        held = columns.live & np.isinf(columns.retired_at) & ~columns.replaced
        if who is not None:
            held &= columns.agent == columns.code(who.agent, "agent")
        rows = np.flatnonzero(held).astype(np.int64)
        moves = tiers.settle(self._held(rows, ended), self._bounds())
        moving = np.flatnonzero(moves != tiers.STAY)[:MOST]
        rows, moves = rows[moving], moves[moving]
        lasting = rows[(moves == tiers.COLD) | (moves == tiers.CROWDED)]
        return _Plan(
            {
                columns.id(row): move
                for row, move in zip(rows.tolist(), moves.tolist(), strict=True)
            },
            self._topics(lasting),
            turn_pairs.found(self._store, lasting, 60.0 * self._settings.pair_minutes),
        )

    def _held(self, rows: Rows, ended: Collection[str]) -> tiers.Held:
        columns, now = self._store.columns, self._clock()
        owners = np.stack([columns.visibility[rows], columns.agent[rows], columns.team[rows]])
        return tiers.Held(
            tier=columns.tier[rows],
            importance=columns.importance[rows],
            retention=retention.retention(self._store, rows, self._decay, now),
            age_s=now - columns.recorded_at[rows],
            recorded_at=columns.recorded_at[rows],
            ringed=self._ringed(rows, ended, now),
            covered=_covered(self._store.graph, rows, self._in_question(columns.tier[rows])),
            owner=np.unique(owners, axis=1, return_inverse=True)[1].reshape(-1),
        )

    def _in_question(self, tier: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Those that may be retired: what is active, and what is long-term when that is full."""
        lasting = tier == tiers.LONG_TERM
        full = np.count_nonzero(lasting) > self._settings.long_term_most
        return np.asarray((tier == tiers.ACTIVE) | (lasting & full), dtype=np.bool_)

    def _ringed(self, rows: Rows, ended: Collection[str], now: float) -> NDArray[np.bool_]:
        """True for what is active and among the last turns of a conversation that goes on."""
        columns = self._store.columns
        active = columns.tier[rows] == tiers.ACTIVE
        turns = rows[active]
        thread = columns.thread[turns]
        inside = tiers.ringed(thread, columns.position[turns], self._settings.ring)
        over = {int(columns.thread[row]) for each in ended for row in columns.thread_rows(each)[:1]}
        last = _last(thread, columns.recorded_at[turns])
        inside &= now - last < 60.0 * self._settings.silence_minutes
        inside &= ~np.isin(thread, list(over))
        result = np.zeros(len(rows), dtype=np.bool_)
        result[active] = inside
        return result

    def _bounds(self) -> tiers.Bounds:
        settings = self._settings
        return tiers.Bounds(
            settings.keep_importance,
            settings.cold_retention,
            60.0 * settings.cold_minutes,
            settings.recent_most,
            settings.long_term_most,
        )

    def _topics(self, rows: Rows) -> dict[str, str]:
        """Topics, by id, for those of *rows* that have none: the nearest one of their scope.

        What is near none waits for the next consolidation, which begins, splits and merges topics.
        """
        columns, index, embedder = self._store.columns, self._store.vectors, self._embedder()
        if index is None or embedder is None:
            return {}
        known: dict[tuple[int, ...], list[topics.Topic]] = {}
        labels: dict[str, str] = {}
        for row in rows.tolist():
            scope = tuple(int(of[row]) for of in (columns.visibility, columns.agent, columns.team))
            if scope not in known:
                same = columns.live & (columns.visibility == scope[0])
                same &= (columns.agent == scope[1]) & (columns.team == scope[2])
                known[scope] = topics.nodes(self._store, np.flatnonzero(same))
            if not columns.topic(row):
                vector = index.wholes(np.array([row]))[0]
                labels[columns.id(row)] = topics.nearest(
                    known[scope], vector, embedder.profile.topic
                )
        return {id: label for id, label in labels.items() if label}

    # Writing it

    def _write(self, tx: Transaction, plan: _Plan, vectors: turn_pairs.Vectors) -> Swept:
        """Write *plan* as far as its memories are as they were when it was made."""
        done: Counter[str] = Counter()
        for id, move in plan.moves.items():
            now = tx.fields(id)
            if now is None or not _still(from_fields(now), move):
                continue
            body = dict(_FIELDS[move])
            if move == tiers.KEPT and (due := model_work.due_late(from_fields(now), self._all)):
                body["due"] = list(due)
            if "retired_at" in body:
                body["retired_at"] = tx.now
            if id in plan.topics and not now.get("topic"):
                body["topic"] = plan.topics[id]
                done["topics"] += 1
            memory = from_fields(now)
            source, scope = f"{SOURCE}: {_NAMES[move]}", owner_of(memory)
            tx.append(Change("put", id, body, actor=memory.agent, source=source, scope=scope))
            done[_NAMES[move]] += 1
        for turn, answer in plan.pairs:
            linked = turn_pairs.write(tx, turn, answer, vectors, self._store.fingerprint, SOURCE)
            done["pairs"] += linked
        return Swept(**done)


def _still(memory: MemoryRecord, move: int) -> bool:
    tier = {tiers.KEPT: "active", tiers.UNKEPT: "active", tiers.OVER: "long_term"}
    fits = memory.tier == tier.get(move, memory.tier) and memory.retired_at is None
    return fits and not memory.replaced


def _covered(graph: Graph, rows: Rows, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True for those of *rows*, as far as *among*, that a summary rests on."""
    covered = np.zeros(len(rows), dtype=np.bool_)
    for place in np.flatnonzero(among).tolist():
        covered[place] = bool(graph.origins(int(rows[place]), "derived_from"))
    return covered


def _last(thread: NDArray[np.integer], times: NDArray[np.floating]) -> NDArray[np.float64]:
    """For each turn the time of the last one of its thread."""
    _, group = np.unique(thread, return_inverse=True)
    newest = np.full(group.max(initial=-1) + 1, -np.inf)
    np.maximum.at(newest, group, times)
    return np.asarray(newest[group], dtype=np.float64)
