"""Cognition: retention, importance, priming and the hot buffer, within a fixed bound.

Ranking is by evidence: together these move a score by at most BOUND (5 %) of the spread
of all scores. Ranking by them alone costs most of the recall (docs/internals/design.md).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from memory_core.lifecycle import retention
from memory_core.recall.candidates import Allowed, Candidates, Signal, with_neighbours
from memory_core.recall.query import Cues
from memory_core.scoring.arrays import Rows, Scores
from memory_core.storage.view import View

BOUND = 0.05
"""Share of the spread of all scores."""

RETENTION_SHARE, IMPORTANCE_SHARE = 0.5, 0.5
PRIMING_SHARE = 0.4
"""Of the bound, while something is primed; the other two then share the rest."""

NORMAL = 0.5
"""Importance of a normal memory. A lower one says what may fade, not what answers.

Sleep halves the importance of what it sums up: measured over half a year on the dialogue, ranked by
that, recall@10 is 83.6, so 84.5."""


class Cognition(Signal):
    """A prior from the life cycle and from the conversation that asks."""

    name = "cognition"

    def candidates(self, view: View, cues: Cues, allowed: Allowed) -> Rows | None:
        """What this conversation recalled before and is like the query, with the turns around."""
        if cues.vector is None or not cues.mind.hot:
            return None
        found = hot(view, cues.mind.hot, cues.vector, cues.profile.related)
        return with_neighbours(view, found, allowed)

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores:
        """The prior of each candidate, times the bound and the spread of the scores."""
        spread = float(found.score.max() - found.score.min())
        return BOUND * spread * prior(view, cues, found.rows)


def prior(view: View, cues: Cues, rows: Rows) -> Scores:
    """The share of the bound that each of *rows* gets, 0 to 1."""
    retained = retention.of_rows(view.columns, rows, cues.decay, cues.now)
    importance = np.maximum(view.columns.importance[rows], NORMAL)
    lasting = RETENTION_SHARE * retained + IMPORTANCE_SHARE * importance
    primed = cues.mind.primed
    if not primed:
        return np.asarray(lasting, dtype=np.float64)
    share = np.array([primed.get(view.columns.id(int(row)), 0.0) for row in rows])
    return np.asarray((1.0 - PRIMING_SHARE) * lasting + PRIMING_SHARE * share, dtype=np.float64)


def hot(view: View, ids: Iterable[str], vector: NDArray[np.float32], related: float) -> Rows:
    """The rows of those of *ids* whose cosine to *vector* is at least *related*.

    By the whole text or the gist: a memory that came back from a lower tier is found by its gist or
    by its pair of turns, and both are vectors of part "gist".
    """
    rows = view.rows(ids)
    whole = view.similarities(vector, rows, part="whole")
    gist = view.similarities(vector, rows, part="gist")
    found: Rows = rows[np.nan_to_num(np.fmax(whole, gist), nan=-1.0) >= related]
    return found
