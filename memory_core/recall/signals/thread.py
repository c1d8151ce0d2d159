"""Thread: a turn gains from the turns around it, most from a question that it answers."""

from __future__ import annotations

from memory_core.recall.candidates import Candidates, Signal
from memory_core.recall.query import Cues
from memory_core.scoring import activation
from memory_core.scoring.arrays import Scores
from memory_core.storage.view import View


class Thread(Signal):
    """What spreads along the thread of a dialogue; see activation.thread_kernel."""

    name = "thread"

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores:  # noqa: ARG002
        """The gain of each candidate from its neighbours."""
        words, asks = view.columns.words[found.rows], view.columns.question[found.rows]
        return activation.thread_kernel(found.fused, found.neighbours, words, asks) - found.fused
