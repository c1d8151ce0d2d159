"""Preferences: what the user always wants joins the answer to a request for help.

"Always show units when I ask about physics" shares no word with "How can I tell how fast a stone
falls?", and little meaning. So when a query asks for help, the standing preferences nearest to it
in meaning join the candidates and rank before other memories.
"""

from __future__ import annotations

import numpy as np

from memory_core.beliefs import quoted
from memory_core.beliefs.importance import INSTRUCTION
from memory_core.beliefs.question import asks_for_help
from memory_core.recall.candidates import Allowed, Candidates, Signal, with_neighbours
from memory_core.recall.query import Cues
from memory_core.records import ROLES, TRUSTS
from memory_core.scoring.arrays import Mask, Rows, Scores
from memory_core.storage.view import View
from memory_core.text.words import words

STANDING = 2.0
"""What a standing preference ("always show units", "I prefer short answers") gains when help is
asked for, as much as what a user says has before an answer of 600 words. Measured on BEAM: recall@1
/ @5 / @10 +4.3 / +3.8 / +2.5; LoCoMo does not change."""

MOST = 10
"""Preferences that join the candidates."""

PREFERS = ("prefer", "bevorzug")
"""Terms, as the index has them, that mark a preference."""

_HEARD = [place for place, role in enumerate(ROLES) if role not in quoted.SPEAKING]
_CONTENT = [TRUSTS.index(trust) for trust in quoted.UNTRUSTED]


class Preferences(Signal):
    """A gain for standing preferences, where the query asks for help."""

    name = "standing"
    is_about = False

    def candidates(self, view: View, cues: Cues, allowed: Allowed) -> Rows | None:
        """The preferences nearest in meaning, with the turns around them."""
        if cues.vector is None or not asks_for_help(cues.query.text):
            return None
        mask = _preferences(view, cues) & allowed.searched
        nearest = view.nearest(cues.vector, MOST, part="whole", allowed=mask)
        return with_neighbours(view, nearest, allowed)

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores | None:
        """The gain of each candidate; None where no help is asked for."""
        if not asks_for_help(cues.query.text):
            return None
        standing = _preferences(view, cues)[found.rows]
        standing &= ~_quoting(view, found.rows, standing)
        return STANDING * standing.astype(np.float64)


def _preferences(view: View, cues: Cues) -> Mask:
    """The valid rows that instruct, by their importance, or prefer, by their words.

    What an assistant or a tool says, or a user pastes, is neither.
    """
    columns = view.columns
    wanted = columns.importance >= INSTRUCTION
    for term in PREFERS:
        wanted[view.lexical.holders(term)] = True
    foreign = np.isin(columns.role, _HEARD) | np.isin(columns.trust, _CONTENT)
    found: Mask = cues.valid & wanted & ~foreign
    return found


def _quoting(view: View, rows: Rows, standing: Mask) -> Mask:
    """True for those of *rows* that are *standing* by a word that they only quote."""
    by_word = np.flatnonzero(standing & (view.columns.importance[rows] < INSTRUCTION))
    memories = view.memories(rows[by_word])
    quoting = np.zeros(len(rows), dtype=np.bool_)
    for place in by_word.tolist():
        memory = memories.get(int(rows[place]))
        quoting[place] = memory is None or not any(
            word.startswith(PREFERS) for word in words(quoted.claimed(memory))
        )
    return quoting
