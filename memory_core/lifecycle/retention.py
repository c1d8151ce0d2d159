"""Retention of memories, by their tier and their accesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_core.config import DecaySettings
from memory_core.records import TIERS, MemoryRecord
from memory_core.scoring import decay
from memory_core.scoring.arrays import Rows, Scores
from memory_core.storage.index.columns import Columns

REHEARSAL_WEIGHT = 1.0
"""The rate of decay is divided by 1 + w ln(1 + accesses)."""


@dataclass(frozen=True, slots=True)
class Fading:
    """What is *left* of a memory now, in (0, 1], and the days after which half of that is left.

    As long as it is not used; each use begins anew at 1, with a longer half-life.
    """

    left: float
    half_life_days: float


_LONG_TERM = TIERS.index("long_term")


def of_rows(columns: Columns, rows: Rows, settings: DecaySettings, now: float) -> Scores:
    """The retention of each of *rows* at *now* (epoch seconds), in (0, 1]; see scoring.decay."""
    last = columns.last_accessed[rows]
    last = np.where(np.isnan(last), columns.recorded_at[rows], last)
    lasting = columns.tier[rows] == _LONG_TERM
    return _retained(now - last, lasting, columns.access_count[rows], settings)


def fading(memory: MemoryRecord, settings: DecaySettings, now: float) -> Fading:
    """How *memory* fades, by the values that the record holds; *now* is in epoch seconds."""
    lasting = memory.tier == "long_term"
    days = settings.long_term_half_life_days if lasting else settings.recent_half_life_days
    halves = decay.slowed(days, memory.access_count, REHEARSAL_WEIGHT)
    return Fading(float(of_memories([memory], settings, now)[0]), float(halves))


def of_memories(memories: Sequence[MemoryRecord], settings: DecaySettings, now: float) -> Scores:
    """The retention of each of *memories* at *now*, by the values that the records hold."""
    last = [m.recorded_at if m.last_accessed is None else m.last_accessed for m in memories]
    return _retained(
        now - np.array(last),
        np.array([memory.tier == "long_term" for memory in memories], dtype=np.bool_),
        np.array([memory.access_count for memory in memories]),
        settings,
    )


def _retained(
    age_s: NDArray[np.floating],
    lasting: NDArray[np.bool_],
    accesses: NDArray[np.integer],
    settings: DecaySettings,
) -> Scores:
    days = np.where(lasting, settings.long_term_half_life_days, settings.recent_half_life_days)
    return decay.retention(age_s, days * decay.DAY, accesses, REHEARSAL_WEIGHT)
