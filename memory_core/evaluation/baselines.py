"""Baselines of recall: dense search, BM25 and their rank fusion.

Computed apart from the store over the same turns, and exhaustive: each turn is scored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import Conversation, dated_text, labelled_text
from memory_core.storage.index.bm25 import LexicalIndex

if TYPE_CHECKING:
    from memory_core.embedding.base import Embedder

Scores = NDArray[np.float64]


BASELINES = {"dense": True, "bm25": False, "rrf": True}
"""Name -> whether it needs an embedder."""

RRF_K = 60
"""Cormack, Clarke and Büttcher 2009."""


def check(name: str, embedder: Embedder | None) -> None:
    """Raise InvalidInput for an unknown *name*, or when it needs vectors and there is no model."""
    if name not in BASELINES:
        raise InvalidInput(f"unknown baseline {name!r}", f"use {', '.join(BASELINES)}")
    if BASELINES[name] and embedder is None:
        raise InvalidInput(f"the baseline {name} needs vectors", "pass the embedder")


class Baselines:
    """The rankings of one conversation; turns and questions are embedded once for all of them."""

    def __init__(self, conversation: Conversation, embedder: Embedder | None) -> None:
        """Rank the turns of *conversation*; without *embedder* only by words."""
        self._conversation = conversation
        self._embedder = embedder

    def rank(self, name: str, k: int) -> list[list[str]]:
        """Turn ids, best first and at most *k*, one list a question, by one of BASELINES.

        `dense` ranks every turn by the cosine of `speaker: text` with the question, `bm25` the
        turns that share a word with it (date, speaker and text), `rrf` fuses those two by
        reciprocal ranks. Equal scores keep the order of the conversation. Raises InvalidInput like
        check.
        """
        check(name, self._embedder)
        names = [turn.id for turn in self._conversation.turns]
        if not names or not self._conversation.questions:
            return [[] for _ in self._conversation.questions]
        by_name: dict[str, Callable[[], Scores]] = {
            "dense": lambda: self.dense,
            "bm25": lambda: self.lexical,
            "rrf": lambda: reciprocal_ranks(self.dense) + reciprocal_ranks(self.lexical),
        }
        return [[names[turn] for turn in _order(row)[:k]] for row in by_name[name]()]

    @cached_property
    def dense(self) -> Scores:
        """Cosine of every question with every turn: (questions, turns), -1 to 1."""
        assert self._embedder is not None
        asked = [self._embedder.query(q.text) for q in self._conversation.questions]
        turns = self._embedder.documents([labelled_text(t) for t in self._conversation.turns])
        return np.asarray(asked, dtype=np.float64) @ np.asarray(turns, dtype=np.float64).T

    @cached_property
    def lexical(self) -> Scores:
        """BM25 of every question with every turn: (questions, turns), from 0.

        -inf where no word is shared, which is no match at all.
        """
        index = LexicalIndex()
        for row, turn in enumerate(self._conversation.turns):
            index.put(row, dated_text(turn))
        asked = self._conversation.questions
        scores = np.asarray([index.match(q.text).scores for q in asked], dtype=np.float64)
        return np.where(scores > 0, scores, -np.inf)


def reciprocal_ranks(scores: Scores) -> Scores:
    """1 / (60 + rank) of every turn, rank 1 the best of its row; 0 where the score is -inf."""
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(scores.shape[1])[None, :], axis=1)
    return np.where(np.isneginf(scores), 0.0, 1 / (RRF_K + 1 + places))


def _order(row: Scores) -> list[int]:
    return [turn for turn in np.argsort(-row, kind="stable").tolist() if row[turn] > -np.inf]
