"""How much a new memory matters: the seam of the judgement, and the rules behind it (row B5.3)."""

from __future__ import annotations

from typing import Protocol

from memory_core.text.salience import NORMAL, salience

NOVEL = 0.75
"""Importance of something plain that nothing in the store is like (design, section 4)."""

BANDS = (("high", 0.7), ("medium", 0.4), ("low", 0.0))
"""Names of importance, each from its value on (seed row A2.5)."""


def band(importance: float) -> str:
    """The band of an *importance* (0-1, float32 or finer): high, medium or low."""
    return next(name for name, least in BANDS if importance >= least - 1e-6)


class ImportanceScorer(Protocol):
    """Judges on the path of a write, so at once and without asking anybody.

    A judgement that takes longer comes later, in the background (extraction).
    """

    def importance(self, text: str, role: str, nearest: float | None, related: float) -> float:
        """The importance, 0-1, of *text* said by *role* ("", user, assistant, system or tool).

        *nearest* is the cosine of the nearest memory that the writer may read, -1 where there is
        none, None where no model tells; *related* is the calibrated cosine of two texts about the
        same thing. Not asked where the caller gives an importance.
        """
        ...


class Rules:
    """By wording (text.salience); plain and like nothing in the store is novel (row B5.2)."""

    def importance(self, text: str, role: str, nearest: float | None, related: float) -> float:
        """See ImportanceScorer."""
        by_wording = salience(text, role)[0]
        new = nearest is not None and nearest < related
        return NOVEL if new and by_wording == NORMAL else by_wording
