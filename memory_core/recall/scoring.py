"""The score of each candidate: vectors and words are fused, then every signal adds its column.

The recipe was measured on LoCoMo and BEAM (docs/internals/recall.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory_core.recall.candidates import OFFSETS, Candidates, Signal
from memory_core.recall.query import Cues
from memory_core.records import ROLES
from memory_core.scoring import activation, fusion
from memory_core.scoring.arrays import Mask, Rows, Scores
from memory_core.storage.index.columns import Columns
from memory_core.storage.view import View

PASSAGE_WEIGHT, WHOLE_WEIGHT, LEXICAL_WEIGHT = 0.6, 0.4, 0.5
"""Weights of the z-scores of vectors and words, searched on LoCoMo (docs/internals/recall.md)."""

ALIKE = 0.04
"""Cosines that spread by less are as good as equal, so that in a small memory the words decide.

Of four notes that differ in an identifier the question's own was not first in 19 of 160 questions,
with this in none. On LoCoMo, BEAM and the project's dialogue no question's spread is below 0.05.
"""

DOCUMENT_WORDS = 60
"""Turns of a thread without speakers that are longer than this on average are parts of a text."""


def score(view: View, cues: Cues, rows: Rows, signals: Sequence[Signal]) -> Candidates:
    """The evidence for each of *rows*, ascending and at least one, and its score."""
    found = _fused(view, cues, rows)
    for signal in signals:
        column = signal.score(view, cues, found)
        if column is not None:
            found = found.plus(signal.name, column)
    return found


def _fused(view: View, cues: Cues, rows: Rows) -> Candidates:
    columns = view.columns
    talks = _in_dialogue(columns, rows)
    neighbours = {
        offset: np.where(talks, _places(rows, columns.neighbours_many(rows, offset)), -1)
        for offset in OFFSETS
    }
    passage = view.similarities(cues.vector, rows, part="passage")
    whole = view.similarities(cues.vector, rows, part="whole")
    lexical = cues.words.scores[rows].astype(np.float64)
    exact = activation.nearby_words(cues.words.terms(rows), neighbours)
    nearby = activation.nearby_words(cues.words.expanded_terms(rows), neighbours)
    trust = _trust(cues, exact)
    fused = fusion.fuse(
        [
            (PASSAGE_WEIGHT, passage, ALIKE),
            (WHOLE_WEIGHT, whole, ALIKE),
            (LEXICAL_WEIGHT * trust, nearby, 0.0),
        ]
    )
    return Candidates(rows, passage, whole, lexical, nearby, trust, fused, fused, neighbours)


def _in_dialogue(columns: Columns, rows: Rows) -> Mask:
    """True for rows whose thread is a dialogue, not a document in parts or a list of notes.

    A dialogue has two voices (speaker and role) among the candidates. A thread without speakers
    counts as one when its turns are short and some ask a question.
    """
    thread, group = np.unique(columns.thread[rows], return_inverse=True)
    voice = columns.speaker[rows].astype(np.int64) * len(ROLES) + columns.role[rows]
    low = np.full(len(thread), np.iinfo(np.int64).max)
    high = np.full(len(thread), -1)
    np.minimum.at(low, group, voice)
    np.maximum.at(high, group, voice)
    words = np.bincount(group, weights=columns.words[rows]) / np.bincount(group)
    asks = np.bincount(group, weights=columns.question[rows]) > 0
    unnamed = (high == 0) & asks & (words < DOCUMENT_WORDS)
    talks: Mask = ((high > low) | unnamed)[group]
    return talks


def _trust(cues: Cues, exact: Scores) -> float:
    """The share of their weight that words have; 1 while there are no vectors.

    Judged by the query's own words (*exact*): words near them are no proof of themselves.
    """
    if cues.vector is None or cues.words.ideal <= 0:
        return 1.0
    return fusion.trust_in_words(float(exact.max()) / cues.words.ideal)


def _places(rows: Rows, wanted: Rows) -> Rows:
    """The place of each of *wanted* in the ascending *rows*; -1 where it is missing."""
    places = np.clip(np.searchsorted(rows, wanted), 0, len(rows) - 1)
    return np.where((wanted >= 0) & (rows[places] == wanted), places, -1)
