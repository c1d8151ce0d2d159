"""Which memories have faded enough to be retired."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PROTECTED_IMPORTANCE = 0.85
"""From here on a memory is a correction or an explicit instruction and is never pruned."""


def faded(
    retention: NDArray[np.floating],
    importance: NDArray[np.floating],
    *,
    least_retention: float,
    most_importance: float,
) -> NDArray[np.bool_]:
    """True where retention is below *least_retention* and importance at most *most_importance*.

    Corrections and instructions (importance from 0.85) stay whatever the settings say (seed row
    B5.7). One value a memory; all between 0 and 1.
    """
    little = (importance <= most_importance) & (importance < PROTECTED_IMPORTANCE)
    return np.asarray((retention < least_retention) & little, dtype=np.bool_)
