"""Retention and priming: how much of a memory is left without access.

Retention decides the life cycle (sweep, prune, ties); ranking follows it within 5 % of the
spread of the scores.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import InvalidInput

DAY = 86_400.0
Floats = NDArray[np.float64]


def retention(
    age_s: NDArray[np.floating] | float,
    half_life_s: NDArray[np.floating] | float,
    accesses: NDArray[np.integer] | int,
    rehearsal_weight: float,
) -> Floats:
    """Retention after *age_s* seconds since the last access, in (0, 1]; 1 at age 0.

    Exponential with a true half-life; each earlier access slows it logarithmically: the rate is
    divided by 1 + w ln(1 + accesses). A negative age, as after a clock that was
    set back, counts as 0. Raises InvalidInput for a half-life that is not positive.
    """
    if np.any(np.asarray(half_life_s) <= 0):
        raise InvalidInput("half_life_s must be positive", "correct the [decay] settings")
    age = np.maximum(np.asarray(age_s, dtype=np.float64), 0.0)
    return np.asarray(
        np.exp2(-age / slowed(half_life_s, accesses, rehearsal_weight)), dtype=np.float64
    )


def slowed(
    half_life_s: NDArray[np.floating] | float,
    accesses: NDArray[np.integer] | int,
    rehearsal_weight: float,
) -> Floats:
    """The half-life in seconds that *accesses* lengthen, as `retention` counts it."""
    return np.asarray(half_life_s) * (1.0 + rehearsal_weight * np.log1p(accesses))


STRENGTH = 0.3
"""The boost at activation is 1.3."""


def share(turns: int, rate: float) -> float:
    """e^(-rate x turns): what is left of priming *turns* after activation, from 1 towards 0.

    Ranking uses it within 5 % of the spread of the scores.
    """
    return math.exp(-rate * turns)


def boost(share: float) -> float:
    """1 + 0.3 x *share*: 1.3 at activation, falling to 1, as an explanation shows it."""
    return 1.0 + STRENGTH * share
