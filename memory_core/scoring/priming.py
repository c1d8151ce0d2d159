"""Priming: what was just activated is found more easily for a few turns (seed row B3.6)."""

from __future__ import annotations

import math

STRENGTH = 0.3
"""The boost at activation is 1.3 (seed row B3.6)."""


def share(turns: int, rate: float) -> float:
    """e^(-rate x turns): what is left of priming *turns* after activation, from 1 towards 0.

    This is what ranking takes of it, inside the bound of design rule 4.
    """
    return math.exp(-rate * turns)


def boost(share: float) -> float:
    """1 + 0.3 x *share*: 1.3 at activation, falling to 1, as an explanation shows it."""
    return 1.0 + STRENGTH * share
