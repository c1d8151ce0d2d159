"""Role: what a user said goes before what an assistant said, and both before what was derived."""

from __future__ import annotations

import numpy as np

from memory_core.beliefs.question import asks_what_was_answered
from memory_core.recall.candidates import Candidates, Signal
from memory_core.recall.query import Cues
from memory_core.records import KINDS, ROLES
from memory_core.scoring.arrays import Scores
from memory_core.storage.view import View

USER_PRIOR = 2.0
"""What a text that no assistant said gains. Measured on BEAM: +5.7 points of recall@10."""

DERIVED_PRIOR = 0.5
"""Share of the prior that summaries and concepts get: nobody said them, and ranked before their
sources they only take places. Measured on the dialogue after one sleep: recall@10 is 82.7; 1.0
gives 81.4, and 0.0 gives 83.0, but then a broad question no longer finds the summary."""

_ASSISTANT = ROLES.index("assistant")
_DERIVED = [KINDS.index("summary"), KINDS.index("concept")]


class Role(Signal):
    """A prior for what no assistant said, unless the assistant's answer is asked for."""

    name = "role"

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores:
        """The prior of each candidate."""
        columns, rows = view.columns, found.rows
        answers = asks_what_was_answered(cues.query.text)
        prior = 0.0 if answers else USER_PRIOR
        said = np.where(columns.role[rows] == _ASSISTANT, 0.0, prior)
        return said * np.where(np.isin(columns.kind[rows], _DERIVED), DERIVED_PRIOR, 1.0)
