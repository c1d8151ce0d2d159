"""What only asks the question once more stands behind what may answer it.

"The ladder is heavy. Where did I leave the ladder?" is nearest of all to "where is the ladder?",
and tells nothing of it. What asks and answers as well stays where it is.
"""

from __future__ import annotations

import numpy as np

from memory_core.beliefs.asking import only_asks, share
from memory_core.beliefs.sentence import read
from memory_core.beliefs.speech_acts import QUESTION, acts
from memory_core.recall.candidates import Candidates
from memory_core.recall.query import Cues
from memory_core.storage.view import View

NAME = "asked"
"""Of the column."""

LOOKED_AT = 5
"""The best places."""

EQUAL = 0.45
"""Share of the best score from which a memory may be the answer."""

MOST_WORDS = 2 / 3
"""The share of the words of the question that an answer has: of three it may put one otherwise."""

BEHIND = 0.001
"""By how much its score is the lower one then."""


def behind(view: View, cues: Cues, found: Candidates) -> Candidates:
    """*found* with what only asks the query right behind the best that holds most of its words.

    Its column is "asked", which there is only then.
    """
    asked = read(cues.query.text).content
    if not asked or QUESTION not in acts(cues.query.text):
        return found
    best = np.argsort(-found.score, kind="stable")[:LOOKED_AT].tolist()
    least = EQUAL * float(found.score[best[0]])
    close = [place for place in best if found.score[place] >= least > 0]
    memories = view.memories(found.rows[close]) if len(close) > 1 else {}
    texts = {
        place: memories[row].text for place in close if (row := int(found.rows[place])) in memories
    }
    asking = {place for place, text in texts.items() if only_asks(cues.query.text, text)}
    others = (place for place in texts if place not in asking)
    answers = (place for place in others if share(texts[place], asked) >= MOST_WORDS)
    answer = next(answers, None) if asking else None
    if answer is None:
        return found
    column, limit = np.zeros_like(found.score), found.score[answer] - BEHIND
    for place in asking:
        column[place] = min(0.0, limit - found.score[place])
    return found.plus(NAME, column) if column.any() else found
