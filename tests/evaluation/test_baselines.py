"""Baselines against computations that share no code with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memory_core.errors import InvalidInput
from memory_core.evaluation.baselines import BASELINES, Baselines
from memory_core.evaluation.conversation import Conversation, Question, Turn
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.index.bm25 import K1, B


def _dense(conversation: Conversation, embedder: Any) -> list[list[float]]:
    texts = [f"{turn.speaker}: {turn.text}" for turn in conversation.turns]
    vectors = [embedder.query(text) for text in texts]
    return [
        [
            sum(float(a) * float(b) for a, b in zip(embedder.query(q.text), v, strict=True))
            for v in vectors
        ]
        for q in conversation.questions
    ]


def _bm25(conversation: Conversation) -> list[list[float]]:
    days = ["11 January 1970", "11 January 1970", "13 January 1970", "13 January 1970", ""]
    documents = [
        index_terms(f"{day} {turn.speaker} {turn.text}")
        for day, turn in zip(days, conversation.turns, strict=True)
    ]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for question in conversation.questions:
        row = []
        for words in documents:
            score = 0.0
            for term in set(index_terms(question.text)):
                frequency = sum(term in other for other in documents)
                count = words.count(term)
                idf = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
                norm = K1 * (1 - B + B * len(words) / mean)
                score += idf * count * (K1 + 1) / (count + norm)
            row.append(score)
        scores.append(row)
    return scores


def test_dense_is_the_plain_dot_product(conversation: Conversation, embedder: Any) -> None:
    found = Baselines(conversation, embedder).dense
    np.testing.assert_allclose(found, _dense(conversation, embedder), atol=1e-5)
    for ranking, scores in zip(
        Baselines(conversation, embedder).rank("dense", 50),
        _dense(conversation, embedder),
        strict=True,
    ):
        places = sorted(range(5), key=lambda turn: -scores[turn])
        assert ranking == [conversation.turns[turn].id for turn in places]


def test_bm25_orders_by_the_formula_and_leaves_out_what_shares_no_word(
    conversation: Conversation,
) -> None:
    expected = np.array(_bm25(conversation))
    found = Baselines(conversation, None).lexical
    assert (np.isneginf(found) == (expected == 0)).all()
    known = expected > 0
    # The index may leave out the constant (k1 + 1); ratios are what a ranking sees.
    ratios = found[known] / expected[known]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-4)
    ranking = Baselines(conversation, None).rank("bm25", 50)[2]
    assert set(ranking) == {"b1", "b2", "b3"}
    assert Baselines(conversation, None).rank("bm25", 50)[3] == []


def test_rrf_adds_reciprocal_ranks_of_both(conversation: Conversation, embedder: Any) -> None:
    fused = Baselines(conversation, embedder).rank("rrf", 50)
    dense = Baselines(conversation, embedder).rank("dense", 50)
    lexical = Baselines(conversation, None).rank("bm25", 50)
    for merged, *single in zip(fused, dense, lexical, strict=True):
        totals = {
            turn.id: sum(1 / (60 + r.index(turn.id) + 1) for r in single if turn.id in r)
            for turn in conversation.turns
        }
        order = [turn.id for turn in conversation.turns]
        assert merged == sorted(order, key=lambda turn: -totals[turn])


def test_equal_turns_keep_the_order_of_the_conversation() -> None:
    turns = tuple(Turn(name, "The same words.") for name in "cab")
    conversation = Conversation("same", turns, (Question("same words", ("a",), "x"),))
    assert Baselines(conversation, None).rank("bm25", 50) == [["c", "a", "b"]]


@pytest.mark.parametrize("name", ["dense", "rrf"])
def test_vectors_need_an_embedder(conversation: Conversation, name: str) -> None:
    with pytest.raises(InvalidInput, match="needs vectors"):
        Baselines(conversation, None).rank(name, 50)


def test_unknown_baseline_is_refused(conversation: Conversation) -> None:
    with pytest.raises(InvalidInput, match="dense, bm25, rrf"):
        Baselines(conversation, None).rank("colbert", 50)


@pytest.mark.parametrize("name", list(BASELINES))
def test_no_turns_and_no_questions_give_no_rankings(
    name: str, embedder: Any, conversation: Conversation
) -> None:
    empty: Callable[..., Conversation] = Conversation
    silent = Baselines(empty("none", (), conversation.questions), embedder)
    assert silent.rank(name, 5) == [[]] * 4
    assert Baselines(empty("none", conversation.turns, ()), embedder).rank(name, 5) == []
