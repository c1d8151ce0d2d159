"""Which memories change their tier: what leaves the ring, goes cold, exceeds a cap.

Tiers decide what is returned verbatim and what is swept, never the ranking. Nothing is deleted: a
retired memory is still searched in the second pass of a recall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STAY, KEPT, UNKEPT, COLD, CROWDED, OVER = range(6)
"""The moves of a memory: none; out of the ring to recent, or retired; recent to long_term because
it is cold, or because recent is full; long_term to retired because that is full."""

PROTECTED_IMPORTANCE = 0.85
"""From here on a memory is a decision, a correction or an instruction and no cap retires it."""

KEEP_IMPORTANCE = 0.5
"""From here on a turn that leaves the ring is kept, else the next sweep retires it."""

ACTIVE, RECENT, LONG_TERM = range(3)


@dataclass(frozen=True, slots=True)
class Held:
    """Memories of one store that are neither retired nor replaced, one value each.

    *tier* is ACTIVE, RECENT or LONG_TERM; *ringed* True while one is among the last turns of a
    conversation that goes on; *covered* True when a summary was made of it; *owner* is a number for
    whose it is: caps are for one owner. *retention* and *importance* are 0-1, *age_s* and
    *recorded_at* seconds.
    """

    tier: NDArray[np.integer]
    importance: NDArray[np.floating]
    retention: NDArray[np.floating]
    age_s: NDArray[np.floating]
    recorded_at: NDArray[np.floating]
    ringed: NDArray[np.bool_]
    covered: NDArray[np.bool_]
    owner: NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Thresholds of the sweep, those of an earlier system."""

    keep_importance: float = KEEP_IMPORTANCE
    cold_retention: float = 0.2
    """Below it a recent memory is cold."""
    cold_s: float = 300.0
    """A younger memory is never cold."""
    recent_most: int = 40
    """Memories of one owner in recent."""
    long_term_most: int = 100_000
    """Memories of one owner in long_term."""


def next_moves(held: Held, bounds: Bounds) -> NDArray[np.int8]:
    """The move that each memory makes now (STAY ... OVER).

    A turn that left the ring is kept from *keep_importance* on, and when a summary was made of it.
    A recent one is cold below *cold_retention* once it is older than *cold_s*. Beyond the caps of
    an owner the least important are moved first, the oldest first among equals.
    """
    moves = np.zeros(len(held.tier), dtype=np.int8)
    left = (held.tier == ACTIVE) & ~held.ringed
    kept = (held.importance >= bounds.keep_importance) | held.covered
    moves[left & kept] = KEPT
    moves[left & ~kept] = UNKEPT
    cold = (held.retention < bounds.cold_retention) & (held.age_s >= bounds.cold_s)
    moves[(held.tier == RECENT) & cold] = COLD
    recent = ((held.tier == RECENT) & (moves == STAY)) | (moves == KEPT)
    moves[_beyond(held, recent, bounds.recent_most)] = CROWDED
    lasting = (held.tier == LONG_TERM) & (held.importance < PROTECTED_IMPORTANCE) & ~held.covered
    moves[_beyond(held, lasting, bounds.long_term_most)] = OVER
    return moves


def _beyond(held: Held, among: NDArray[np.bool_], most: int) -> NDArray[np.intp]:
    """The places of those *among* that are beyond *most* of their owner."""
    places = np.flatnonzero(among)
    age, weight = held.recorded_at[places], held.importance[places]
    order = np.lexsort((-places, -age, -weight, held.owner[places]))
    ranked = held.owner[places][order]
    rank = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
    return places[order[rank >= most]]


def ringed(
    thread: NDArray[np.integer], position: NDArray[np.integer], most: int
) -> NDArray[np.bool_]:
    """True for the last *most* of each *thread*, by *position*; a thread below 0 has no ring."""
    order = np.lexsort((-position, thread))
    ranked = thread[order]
    rank = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
    inside = np.zeros(len(thread), dtype=np.bool_)
    inside[order] = (rank < most) & (ranked >= 0)
    return inside


def faded(
    retention: NDArray[np.floating],
    importance: NDArray[np.floating],
    *,
    least_retention: float,
    most_importance: float,
) -> NDArray[np.bool_]:
    """True where retention is below *least_retention* and importance at most *most_importance*.

    Corrections and instructions (importance from 0.85) stay whatever the settings say. One value a
    memory; all between 0 and 1.
    """
    little = (importance <= most_importance) & (importance < PROTECTED_IMPORTANCE)
    return np.asarray((retention < least_retention) & little, dtype=np.bool_)
