"""How much of a memory is retained, by its tier and its accesses."""

from __future__ import annotations

import numpy as np

from memory_core.config import DecaySettings
from memory_core.records import TIERS
from memory_core.scoring import decay
from memory_core.scoring.arrays import Rows, Scores
from memory_core.storage.store import MemoryStore

_LONG_TERM = TIERS.index("long_term")


def retention(store: MemoryStore, rows: Rows, settings: DecaySettings, now: float) -> Scores:
    """How much of each of *rows* is retained at *now*, in (0, 1]; see scoring.decay."""
    columns = store.columns
    last = columns.last_accessed[rows]
    last = np.where(np.isnan(last), columns.recorded_at[rows], last)
    recent = columns.tier[rows] != _LONG_TERM
    days = np.where(recent, settings.recent_half_life_days, settings.long_term_half_life_days)
    return decay.retention(
        now - last, days * decay.DAY, columns.access_count[rows], settings.rehearsal_weight
    )
