"""What every memory system is compared with: dense search alone, BM25 alone, and their rank fusion.

Computed apart from the store, exhaustively, over the same turns: each turn is scored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import Conversation, dated_text, labelled_text
from memory_core.storage.lexical_index import LexicalIndex

if TYPE_CHECKING:
    from memory_core.embedding.embedder import Embedder

Scores = NDArray[np.float64]

BASELINES = {"dense": True, "bm25": False, "rrf": True}
"""Name -> whether it needs an embedder."""

RRF_K = 60
"""Cormack, Clarke and Büttcher 2009."""


def rank(conversation: Conversation, name: str, embedder: Embedder | None) -> list[list[str]]:
    """Turn ids, best first, one list a question, by the baseline *name* (one of BASELINES).

    `dense` ranks every turn by the cosine of `speaker: text` with the question, `bm25` the turns
    that share a word with it (date, speaker and text), `rrf` fuses those two by reciprocal ranks.
    Equal scores keep the order of the conversation. Raises InvalidInput for an unknown name, or
    when vectors are needed and *embedder* is None.
    """
    if name not in BASELINES:
        raise InvalidInput(f"unknown baseline {name!r}", f"use {', '.join(BASELINES)}")
    if BASELINES[name] and embedder is None:
        raise InvalidInput(f"the baseline {name} needs vectors", "pass the embedder")
    if not conversation.questions:
        return []
    if embedder is None or name == "bm25":
        return _ids(conversation, lexical_scores(conversation))
    dense = dense_scores(conversation, embedder)
    if name == "rrf":
        dense = reciprocal_ranks(dense) + reciprocal_ranks(lexical_scores(conversation))
    return _ids(conversation, dense)


def dense_scores(conversation: Conversation, embedder: Embedder) -> Scores:
    """Cosine of every question with every turn as `speaker: text`: (questions, turns), -1 to 1."""
    documents = embedder.documents([labelled_text(turn) for turn in conversation.turns])
    queries = [embedder.query(question.text) for question in conversation.questions]
    return np.asarray(queries, dtype=np.float64) @ np.asarray(documents, dtype=np.float64).T


def lexical_scores(conversation: Conversation) -> Scores:
    """BM25 of every question with every turn as date, speaker, text: (questions, turns), from 0.

    -inf where no word is shared, which is no match at all.
    """
    index = LexicalIndex()
    rows = np.arange(len(conversation.turns), dtype=np.int64)
    index.put_many(rows, [dated_text(turn) for turn in conversation.turns])
    scores = np.asarray(
        [index.scores(question.text, rows) for question in conversation.questions],
        dtype=np.float64,
    )
    return np.where(scores > 0, scores, -np.inf)


def reciprocal_ranks(scores: Scores) -> Scores:
    """1 / (60 + rank) of every turn, rank 1 the best of its row; 0 where the score is -inf."""
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(scores.shape[1])[None, :], axis=1)
    return np.where(np.isneginf(scores), 0.0, 1 / (RRF_K + 1 + places))


def _ids(conversation: Conversation, scores: Scores) -> list[list[str]]:
    names = [turn.id for turn in conversation.turns]
    return [
        [names[turn] for turn in np.argsort(-row, kind="stable") if row[turn] > -np.inf]
        for row in scores
    ]
