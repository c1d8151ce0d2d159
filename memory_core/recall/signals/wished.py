"""Wished: the weights of recency and importance that a caller gave for one recall."""

from __future__ import annotations

import numpy as np

from memory_core.recall.candidates import Candidates, Signal
from memory_core.recall.query import Cues
from memory_core.scoring.arrays import Scores
from memory_core.scoring.decay import DAY
from memory_core.storage.view import View


class Wished(Signal):
    """Recency and importance times their weights; no column where the caller gave none."""

    name = "wished"

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores | None:
        """What takes from the evidence its share, and gives that to recency and importance."""
        weights = cues.query.weights
        share = weights.recency + weights.importance
        if not share:
            return None
        least = float(found.score.min())
        spread = float(found.score.max()) - least or 1.0
        age = np.maximum(cues.now - view.columns.occurred_at[found.rows], 0.0)
        recent = np.exp2(-age / (weights.half_life_days * DAY))
        important = view.columns.importance[found.rows].astype(np.float64)
        wished: Scores = weights.recency * recent + weights.importance * important
        return spread * wished - share * (found.score - least)
