"""The candidates of a recall and what speaks for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from memory_core.recall.query import Question
from memory_core.scoring.arrays import Rows, Scores
from memory_core.storage.index.vector_entries import Part
from memory_core.storage.store import MemoryStore


@dataclass(frozen=True, slots=True)
class Reached:
    """How a row was reached: with which *activation* (0-1), *how*, and from which row."""

    activation: float
    how: str
    source: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows that may answer and every signal about them, one value a row; NaN is no evidence.

    *lexical* is BM25 of the text alone, *nearby* with the turns around it and with words near those
    of the question, and *trust* (0-1) the share of their weight that words have for this question.
    *score* is *fused* and what was *added* to it, by name. *neighbours* says at which place of the
    rows the turn at an offset of the thread stands, -1 where it is no candidate; *links* how rows
    were reached from the best of them.
    """

    rows: Rows
    passage: Scores
    whole: Scores
    lexical: Scores
    nearby: Scores
    trust: float
    fused: Scores
    added: dict[str, Scores]
    score: Scores
    neighbours: dict[int, Rows]
    links: Mapping[int, Reached] = field(default_factory=dict)


def similarities(store: MemoryStore, asked: Question, rows: Rows, part: Part) -> Scores:
    """The cosine of the question and the best *part* of each of *rows*; NaN without a vector."""
    if asked.vector is None or store.vectors is None:
        return np.full(len(rows), np.nan)
    return store.vectors.similarities(asked.vector, rows, part=part).astype(np.float64)
