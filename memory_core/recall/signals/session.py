"""Session: a turn gains with the conversation in which it was said."""

from __future__ import annotations

from memory_core.recall.candidates import Candidates, Signal
from memory_core.recall.query import Cues
from memory_core.scoring import activation
from memory_core.scoring.arrays import Scores
from memory_core.storage.view import View

WEIGHT = 0.4
"""Of the session term; measured on LoCoMo (docs/internals/recall.md)."""


class Session(Signal):
    """A share of the mean of the three best scores of the thread; see activation.session_term."""

    name = "session"

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores:  # noqa: ARG002
        """The session term of each candidate, weighted."""
        term = activation.session_term(found.fused, view.columns.thread[found.rows])
        return WEIGHT * term
