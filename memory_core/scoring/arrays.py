"""The arrays that ranking works with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
"""Row numbers of memories in the columns, shape (n,)."""

Scores = NDArray[np.float64]
"""One score a row, shape (n,); higher is better."""

Mask = NDArray[np.bool_]
"""One flag a row."""
