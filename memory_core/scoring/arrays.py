"""The arrays that ranking works with."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
"""Row numbers of memories in the columns, shape (n,)."""

Scores = NDArray[np.float64]
"""One score a row, shape (n,); higher is better."""

Mask = NDArray[np.bool_]
"""One flag a row."""

ONE_THREAD = 2**18
"""Multiplications in one matrix product up to which OpenBLAS uses the calling thread alone."""


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of each of *left* (n, d) with each of *right* (m, d), unit vectors: shape (n, m).

    On one thread, for the few hundred vectors that a recall compares: in tiles of at most
    ONE_THREAD multiplications. A larger product wakes the other threads of OpenBLAS, which spin
    for 20 ms and more behind it, longer than a recall takes (tests/bench/one_thread.py).
    """
    side = max(1, isqrt(ONE_THREAD // max(1, left.shape[1])))
    result = np.empty((len(left), len(right)), np.float32)
    for row in range(0, len(left), side):
        for column in range(0, len(right), side):
            tile = left[row : row + side] @ right[column : column + side].T
            result[row : row + side, column : column + side] = tile
    return result
