"""The state of one agent: its tiers, what its conversation has in mind, its pairs of turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_core import validation
from memory_core.lifecycle import turn_pairs
from memory_core.lifecycle.turn_pairs import PAIR, TurnPair
from memory_core.overview.tallies import current
from memory_core.records import TIERS, Identity, MemoryRecord
from memory_core.storage.index.columns import Columns
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View

NEWEST = 20
"""Memories of each tier that a state names."""


@dataclass(frozen=True, slots=True)
class AgentState:
    """Counts of an agent, the newest memories of each tier and its newest pairs.

    Only of what the caller may read of that agent.
    """

    agent: str
    counts: dict[str, Any]
    tiers: dict[str, tuple[MemoryRecord, ...]]
    pairs: tuple[TurnPair, ...]


def agent_state(store: MemoryStore, who: Identity, agent: str) -> AgentState:
    """The state of *agent* as far as *who* may read it; empty for an unknown one."""
    agent = validation.label(agent, "agent")
    store.catch_up()
    with store.reading() as view:
        columns = view.columns
        own = current(view, who) & (columns.agent == columns.code(agent, "agent"))
        counts = columns.counts(own)
        ids = {
            tier: _newest(columns, np.flatnonzero(own & (columns.tier == place)))
            for place, tier in enumerate(TIERS)
        }
    held = store.memories([id for some in ids.values() for id in some])
    tiers = {tier: tuple(held[id] for id in some if id in held) for tier, some in ids.items()}
    return AgentState(agent, counts, tiers, tuple(pairs(store, who, agent, NEWEST)))


def pairs(store: MemoryStore, who: Identity, agent: str, limit: int) -> list[TurnPair]:
    """The newest *limit* pairs of a turn and its answer, newest first; "" is every agent.

    *who* may read both turns.
    """
    agent = validation.label(agent, "agent")
    store.catch_up()
    with store.reading() as view:
        columns, allowed = view.columns, view.readable(who)
        if agent:
            allowed &= columns.agent == columns.code(agent, "agent")
        turns = _paired(view, allowed)
        ids = _newest(columns, np.array(turns, np.int64), limit)
    found = turn_pairs.of(store, ids)
    return [found[id] for id in ids if id in found]


def _paired(view: View, allowed: Any) -> list[int]:
    """The turns with an answer, of which both are *allowed*."""
    links = view.graph.of_kind(PAIR)
    return list(dict.fromkeys(turn for answer, turn in links if allowed[turn] and allowed[answer]))


def _newest(columns: Columns, rows: Any, limit: int = NEWEST) -> list[str]:
    order = np.argsort(-columns.occurred_at[rows], kind="stable")[:limit]
    return [columns.id(int(row)) for row in rows[order]]
