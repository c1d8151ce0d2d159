"""The sweep: ring -> recent -> long_term, pairs of turn and answer, topics, caps.

One read of the columns, one commit, no language model. It runs every few minutes in the process
that maintains the store, when a conversation ends, and by hand. `moves` decides which memory
changes its tier, for the sweep and for the first step of a consolidation run; the rules are in
scoring.tiers.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.config import DecaySettings, Settings
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
from memory_core.scoring.arrays import Mask, Rows
from memory_core.storage.index.graph import Graph
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View

SOURCE = "sweep"
"""The source of a sweep's changes, with the reason, in the history of a memory."""

MOST = 500
"""Memories moved in one sweep, so that the write lock is held for some 20 ms."""

_FIELDS: Mapping[int, Mapping[str, Any]] = {
    tiers.KEPT: {"tier": "recent"},
    tiers.UNKEPT: {"tier": "recent", "retired_at": None},
    tiers.COLD: {"tier": "long_term"},
    tiers.CROWDED: {"tier": "long_term"},
    tiers.OVER: {"retired_at": None},
}
"""The fields that each move sets; retired_at gets the time of the sweep."""

_NAMES = ("", "kept", "unkept", "cold", "crowded", "over")
"""The names of the moves, as Swept has them."""


@dataclass(frozen=True, slots=True)
class TierTuning:
    """Sizes and times of the tiers; those of an earlier system unless said otherwise."""

    ring: int = 20
    """The last turns of a conversation, which are active."""
    silence_s: float = 3600.0
    """After so long without a turn a conversation is over and its ring is emptied."""
    sweep_s: float = 300.0
    """Between two sweeps."""
    check_turns: int = 20
    """Captured turns after which a sweep is due at once."""
    pair_s: float = 600.0
    """A turn and its answer are a pair when no more lies between them; a design choice."""
    bounds: tiers.Bounds = field(default_factory=tiers.Bounds)


@dataclass(frozen=True, slots=True)
class Swept:
    """How many memories a sweep moved, by reason; *pairs* are turns linked with their answers."""

    kept: int = 0
    unkept: int = 0
    cold: int = 0
    crowded: int = 0
    over: int = 0
    pairs: int = 0
    topics: int = 0

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))


# Which memory changes its tier


def open_rows(view: View) -> Mask:
    """The mask of rows that are in a tier: live, not retired, not replaced."""
    columns = view.columns
    return columns.live & np.isinf(columns.retired_at) & ~columns.replaced


def moves(
    view: View,
    rows: Rows,
    decay: DecaySettings,
    tuning: TierTuning,
    now: float,
    ended: Collection[str] = (),
) -> dict[str, int]:
    """The memories of *rows* that change their tier at *now*: id -> move (scoring.tiers).

    *rows* are `open_rows`. The rings of the conversations *ended* (keys) are empty.
    """
    columns, bounds = view.columns, tuning.bounds
    owners = np.stack([columns.visibility[rows], columns.agent[rows], columns.team[rows]])
    tier = columns.tier[rows]
    lasting = tier == tiers.LONG_TERM
    full = np.count_nonzero(lasting) > bounds.long_term_most
    held = tiers.Held(
        tier=tier,
        importance=columns.importance[rows],
        retention=retention.of_rows(columns, rows, decay, now),
        age_s=now - columns.recorded_at[rows],
        recorded_at=columns.recorded_at[rows],
        ringed=_ringed(view, rows, ended, tuning, now),
        covered=_covered(view.graph, rows, (tier == tiers.ACTIVE) | (lasting & full)),
        owner=np.unique(owners, axis=1, return_inverse=True)[1].reshape(-1),
    )
    found = tiers.next_moves(held, bounds)
    moving = np.flatnonzero(found != tiers.STAY)
    return {
        columns.id(row): move
        for row, move in zip(rows[moving].tolist(), found[moving].tolist(), strict=True)
    }


def still_applies(memory: MemoryRecord, move: int) -> bool:
    """True when *memory* is still in the tier that *move* was decided for."""
    tier = {tiers.KEPT: "active", tiers.UNKEPT: "active", tiers.OVER: "long_term"}
    fits = memory.tier == tier.get(move, memory.tier) and memory.retired_at is None
    return fits and not memory.replaced


def _ringed(
    view: View, rows: Rows, ended: Collection[str], tuning: TierTuning, now: float
) -> NDArray[np.bool_]:
    """True for active rows among the last turns of a conversation that still goes on."""
    columns = view.columns
    active = columns.tier[rows] == tiers.ACTIVE
    turns = rows[active]
    thread = columns.thread[turns]
    inside = tiers.ringed(thread, columns.position[turns], tuning.ring)
    over = {int(columns.thread[row]) for each in ended for row in columns.thread_rows(each)[:1]}
    last = _last(thread, columns.recorded_at[turns])
    inside &= now - last < tuning.silence_s
    inside &= ~np.isin(thread, list(over))
    result = np.zeros(len(rows), dtype=np.bool_)
    result[active] = inside
    return result


def _last(thread: NDArray[np.integer], times: NDArray[np.floating]) -> NDArray[np.float64]:
    """For each turn the time of the last one of its thread."""
    _, group = np.unique(thread, return_inverse=True)
    newest = np.full(group.max(initial=-1) + 1, -np.inf)
    np.maximum.at(newest, group, times)
    return np.asarray(newest[group], dtype=np.float64)


def _covered(graph: Graph, rows: Rows, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True for rows of *among* from which a summary is derived; *among* are those it can matter to.

    Only active rows, and long-term ones while that tier is full, can be retired.
    """
    covered = np.zeros(len(rows), dtype=np.bool_)
    for place in np.flatnonzero(among).tolist():
        covered[place] = bool(graph.origins(int(rows[place]), "derived_from"))
    return covered


# The sweep


@dataclass(slots=True)
class _Plan:
    """What a sweep is going to write: move and topic by id, pairs of ids."""

    moves: dict[str, int] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)


class Tiers:
    """Sweeps the memories of one store; thread-safe."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        settings: Settings,
        clock: Callable[[], float],
        tuning: TierTuning | None = None,
    ) -> None:
        """Sweep *store*; pairs are embedded, and topics found, with the embedder of *gate*."""
        self._store = store
        self._gate = gate
        self._settings = settings
        self._tuning = tuning or TierTuning()
        self._clock = clock
        self._swept = clock()
        self._turns = 0
        self._sweeping = threading.Lock()

    def leaving(self, memory: MemoryRecord) -> list[str]:
        """The ids that leave the ring of its conversation when *memory* enters, oldest first.

        Only those important enough to be kept; the next sweep retires the others, unless their
        importance is raised before.
        """
        tuning = self._tuning
        with self._store.reading() as view:
            columns = view.columns
            rows = columns.thread_rows(memory.thread)
            rows = rows[(columns.tier[rows] == tiers.ACTIVE) & np.isinf(columns.retired_at[rows])]
            gone = rows[: max(0, len(rows) + 1 - tuning.ring)]
            gone = gone[columns.importance[gone] >= tuning.bounds.keep_importance]
            return [columns.id(row) for row in gone.tolist()]

    def heard(self) -> None:
        """Count one more captured turn."""
        self._turns += 1

    def sweep_if_due(self) -> None:
        """Sweep when it is time, or when enough turns were captured since. Raises as sweep."""
        tuning, waited = self._tuning, elapsed(self._swept, self._clock())
        if waited >= tuning.sweep_s or self._turns >= tuning.check_turns:
            self.sweep()

    def settle(self, who: Identity) -> Swept:
        """Move all that is open of *who* to long_term, whatever its age, by several commits.

        Every conversation is over; of its last turns those are retired that are not worth keeping.
        Raises as sweep; what was moved by then stays.
        """
        bounds = replace(self._tuning.bounds, cold_retention=math.inf, cold_s=-math.inf)
        tuning = replace(self._tuning, silence_s=-math.inf, bounds=bounds)
        total: Counter[str] = Counter()
        while done := self.sweep(who, tuning=tuning):
            total.update({each.name: getattr(done, each.name) for each in fields(done)})
        return Swept(**total)

    def sweep(
        self,
        who: Identity | None = None,
        ended: Collection[tuple[str, str, str, str]] = (),
        tuning: TierTuning | None = None,
    ) -> Swept:
        """Move what has to move, in one commit; with *who*, only what that agent owns.

        *ended* are conversations (visibility, agent, team, session) whose ring is emptied; *tuning*
        is another one than usual. Raises Busy or a StorageError; nothing is moved then.
        """
        with self._sweeping:
            self._swept, self._turns = self._clock(), 0
            self._store.catch_up()
            embedder = self._gate.matching(self._store.fingerprint)
            with self._store.reading() as view:
                over = {thread_key(*each) for each in ended}
                plan = self._plan(view, who, over, tuning or self._tuning)
            if not (plan.moves or plan.pairs):
                return Swept()
            vectors = turn_pairs.vectors(self._store, embedder, plan.pairs)
            return self._store.commit(lambda tx: self._write(tx, plan, vectors))

    def _plan(
        self, view: View, who: Identity | None, ended: Collection[str], tuning: TierTuning
    ) -> _Plan:
        columns, held = view.columns, open_rows(view)
        if who is not None:
            held &= columns.agent == columns.code(who.agent, "agent")
        rows = np.flatnonzero(held).astype(np.int64)
        found = moves(view, rows, self._settings.decay, tuning, self._clock(), ended)
        found = dict(list(found.items())[:MOST])
        to_lasting = [id for id, move in found.items() if move in (tiers.COLD, tiers.CROWDED)]
        lasting = np.array([columns.row(id) for id in to_lasting], dtype=np.int64)
        pairs = turn_pairs.found(view, lasting, self._tuning.pair_s)
        return _Plan(found, self._topics(view, lasting), pairs)

    def _topics(self, view: View, rows: Rows) -> dict[str, str]:
        """Topics, by id, for those of *rows* that have none: the nearest one of their scope.

        A memory near no topic waits for the next consolidation run, which founds, splits and
        merges topics.
        """
        columns, index = view.columns, view.vectors
        embedder = self._gate.matching(view.fingerprint)
        if index is None or embedder is None:
            return {}
        known: dict[tuple[int, ...], list[topics.Topic]] = {}
        labels: dict[str, str] = {}
        for row in rows.tolist():
            scope = tuple(int(of[row]) for of in (columns.visibility, columns.agent, columns.team))
            if scope not in known:
                same = columns.live & (columns.visibility == scope[0])
                same &= (columns.agent == scope[1]) & (columns.team == scope[2])
                known[scope] = topics.nodes(view, np.flatnonzero(same))
            if not columns.topic(row):
                vector = index.wholes(np.array([row]))[0]
                names = topics.subjects(columns.entities(row))
                labels[columns.id(row)] = topics.nearest(
                    known[scope], vector, names, embedder.profile.topic
                )
        return {id: label for id, label in labels.items() if label}

    def _write(self, tx: Transaction, plan: _Plan, vectors: turn_pairs.Vectors) -> Swept:
        """Write *plan*; a memory that changed since it was made is left out."""
        done: Counter[str] = Counter()
        for id, move in plan.moves.items():
            now = tx.fields(id)
            if now is None or not still_applies(from_fields(now), move):
                continue
            body = dict(_FIELDS[move])
            if move == tiers.KEPT and (
                due := model_work.due_late(from_fields(now), self._settings)
            ):
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
