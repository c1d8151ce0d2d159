"""Elsewhere: a conversation in which nobody speaks whom the query names ranks lower."""

from __future__ import annotations

import numpy as np

from memory_core.recall.candidates import Candidates, Signal
from memory_core.recall.query import Cues
from memory_core.scoring.arrays import Scores
from memory_core.storage.view import View

ELSEWHERE = 1.0
"""What a turn of such a conversation loses. Where everybody speaks everywhere it changes nothing.
Measured on LoCoMo with all conversations in one store: recall@10 83.4 to 84.4, with 0.5 84.0."""


class Elsewhere(Signal):
    """A penalty for the threads of others, where the query names somebody who speaks."""

    name = "elsewhere"

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores | None:
        """The penalty of each candidate; None where no speaker is named."""
        speakers = _speakers(view, cues)
        if not speakers:
            return None
        columns, rows = view.columns, found.rows
        theirs = np.isin(columns.speaker, speakers)
        threads = columns.thread[rows]
        without = (threads >= 0) & ~np.isin(threads, columns.thread[theirs])
        return -ELSEWHERE * without.astype(np.float64)


def _speakers(view: View, cues: Cues) -> list[int]:
    """The codes of the named people who speak in a valid row."""
    columns = view.columns
    codes = {columns.code(name, "speaker") for name in cues.named}
    return [code for code in codes if code > 0 and np.any(cues.valid & (columns.speaker == code))]
