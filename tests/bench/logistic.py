"""The logistic regression by which the weights of the program are fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def fit(
    signs: Floats, true: Floats, ridge: float, counted: Floats | None = None, *, alike: bool = False
) -> Floats:
    """The weight of each column of *signs* (n, k), and the bias as the last, (k + 1,).

    Of least loss by Newton's method, where *true* (n,) is 1 or 0 and each row counts as often as
    *counted* says. *ridge* holds back weights in units of the spread of their sign, or with *alike*
    all of them alike; it holds back no bias.
    """
    counted = np.ones(len(signs)) if counted is None else counted
    rows = np.c_[signs, np.ones(len(signs))]
    held = np.append(ridge * (np.ones(signs.shape[1]) if alike else signs.var(axis=0)), 0.0)
    found = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = chances(signs, found)
        slope = rows.T @ (counted * (true - chance)) - held * found
        curve = (rows.T * (counted * chance * (1 - chance))) @ rows + np.diag(held + 1e-9)
        found += np.linalg.solve(curve, slope)
    return found


def chances(signs: Floats, found: Floats) -> Floats:
    """The likelihood (n,) of each row of *signs* by the weights and the bias of `fit`."""
    likely: Floats = 1 / (1 + np.exp(-np.c_[signs, np.ones(len(signs))] @ found))
    return likely
