"""How sure a recall may be of what it found: the evidence that the confidence is calibrated on.

Call inside store.reading().
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory_core import attachment
from memory_core.evidence import Candidates, Question
from memory_core.scoring import metamemory
from memory_core.storage.columns import Columns
from memory_core.text import periods


def judge(columns: Columns, asked: Question, found: Candidates) -> float:
    """The calibrated confidence in the evidence for the best candidates.

    Coverage is the share of the question's words, by rarity, that the lexically best one holds.
    """
    filters = attachment.narrowing(columns, asked.cues)
    if asked.cues.period or (filters and periods.asks_anything(asked.cues.query)):
        return metamemory.FILTERED
    ideal = asked.words.ideal
    coverage = min(1.0, float(found.lexical.max()) / ideal) if ideal > 0 else 0.0
    best = metamemory.Evidence(_best(found.passage), _best(found.whole), coverage)
    return metamemory.confidence(best)


def _best(signal: NDArray[np.float64]) -> float:
    known = signal[~np.isnan(signal)]
    return float(known.max()) if len(known) else float("nan")
