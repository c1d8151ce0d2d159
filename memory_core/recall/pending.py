"""What a recall finds by words only, because its vectors are still to come, and the wait for it."""

from __future__ import annotations

import numpy as np

from memory_core.records import Identity
from memory_core.scoring.arrays import Mask
from memory_core.storage.view import View

WAIT_SECONDS = 1.0
"""How long a recall waits for vectors: a hundred texts take half a second."""

AWAITED_MOST = 256
"""More are not there in time, as after a large import; the answer says so without a wait."""

AWAITED_SECONDS = 60.0
"""Memories that are older and have no vectors are not a burst: the model refused them."""


def pending(view: View, rows: Mask) -> Mask:
    """Those of *rows* that have no vectors of the store's model yet; none without a model."""
    if view.vectors is None:
        return np.zeros_like(rows)
    missing: Mask = rows & ~view.vectors.held(rows.size)
    return missing


def awaited(view: View, who: Identity, now: float) -> bool:
    """True when what *who* may read lacks only vectors that are likely to come within the wait."""
    waiting = pending(view, view.readable(who))
    late = view.columns.recorded_at[: waiting.size] < now - AWAITED_SECONDS
    return bool((waiting & ~late).any()) and int(waiting.sum()) <= AWAITED_MOST


def note(number: int) -> str:
    """What an answer says for *number* memories that were searched by words only; "" for none."""
    if not number:
        return ""
    return f"partial: {number} memories were searched by words only, their vectors are being made"
