"""BM25 against a naive implementation of the formula."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_core.storage.index import bm25
from memory_core.storage.index.bm25 import LexicalIndex

WORDS = ["basil", "river", "stone", "cloud", "amber", "lemon", "tiger"]
"""Words that stemming leaves alone, so that the oracle can split at spaces."""


def naive_bm25(texts: dict[int, str], query: str, row: int) -> float:
    """The score of texts[row], straight from the formula, k1 0.9 and b 0.4."""
    words = {key: text.split() for key, text in texts.items()}
    mean_length = sum(map(len, words.values())) / len(words) or 1.0
    score = 0.0
    for term in set(query.split()):
        frequency = sum(term in held for held in words.values())
        idf = math.log(1 + (len(words) - frequency + 0.5) / (frequency + 0.5))
        count = words[row].count(term)
        length = 1 - 0.4 + 0.4 * len(words[row]) / mean_length
        score += idf * count * 1.9 / (count + 0.9 * length) if count else 0.0
    return score


def indexed(*texts: str) -> LexicalIndex:
    index = LexicalIndex()
    for row, text in enumerate(texts):
        index.put(row, text)
    return index


def search(
    index: LexicalIndex, query: str, k: int, allowed: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    return bm25.best(index.match(query).scores, k, allowed)


_TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
_CHANGE = st.tuples(st.integers(0, 9), st.none() | _TEXT)


@settings(deadline=None)
@given(
    changes=st.lists(_CHANGE, max_size=40),
    query=_TEXT,
    k=st.integers(0, 12),
    masked=st.sets(st.integers(0, 9)),
    few=st.sampled_from([0, 3, bm25.FEW_TERMS]),
)
def test_any_sequence_of_changes_scores_as_the_naive_formula(
    changes: list[tuple[int, str | None]], query: str, k: int, masked: set[int], few: int
) -> None:
    index, texts = LexicalIndex(), dict[int, str]()
    with mock.patch.object(bm25, "FEW_TERMS", few):
        for row, text in changes:
            if text is None:
                index.remove(row)
                texts.pop(row, None)
            else:
                index.put(row, text)
                texts[row] = text
    expected = {row: naive_bm25(texts, query, row) for row in texts}
    every = index.match(query).scores
    assert every.size == max((row for row, text in changes if text is not None), default=-1) + 1
    np.testing.assert_allclose(
        every, [expected.get(row, 0.0) for row in range(every.size)], rtol=1e-5
    )
    for word in WORDS:
        held = sum(word in text.split() for text in texts.values())
        assert len(index.holders(word)) == held
    assert len(index) == len(texts)
    match = index.match(query)
    table = match.terms(np.arange(every.size))
    np.testing.assert_allclose(table.sum(axis=0), every, rtol=1e-5)
    np.testing.assert_array_equal(match.terms(np.arange(every.size)[::2]), table[:, ::2])
    assert len(table) == sum(len(index.holders(word)) > 0 for word in set(query.split()))
    allowed = np.array([row not in masked for row in range(10)])
    found, scores = search(index, query, k, allowed)
    ranked = [row for row in texts if every[row] > 0 and row not in masked]
    assert found.tolist() == sorted(ranked, key=lambda row: (-every[row], row))[:k]
    assert scores.tolist() == every[found].tolist()


def test_ties_are_ordered_by_row_also_at_the_cut() -> None:
    index = indexed("stone", "river", "river", "stone", "river", "river")
    assert search(index, "river", 3)[0].tolist() == [1, 2, 4]


def test_repeated_query_terms_count_once() -> None:
    index = indexed("river stone", "cloud", "amber river")
    np.testing.assert_array_equal(
        index.match("river rivers RIVER").scores, index.match("river").scores
    )


def test_a_text_that_holds_each_term_once_scores_the_ideal() -> None:
    index = indexed("river stone", "cloud amber", "lemon tiger")
    match = index.match("river stone")
    assert match.scores[0] == pytest.approx(match.ideal, rel=1e-6)
    assert index.match("river unheard").ideal > match.ideal
    assert index.match("of the").ideal == 0.0


def test_empty_index_answers() -> None:
    index = LexicalIndex()
    assert search(index, "river", 5)[0].size == 0
    assert index.match("river").scores.size == 0
    index.remove(3)
    index.put(2, "")
    assert search(index, "river", 5)[0].size == 0
    assert len(index) == 1


def test_chinese_text_is_found_by_a_word_inside_it() -> None:
    index = indexed(
        "我们上周在北京大学见面了",
        "她的生日是五月七日",
        "他用Python写了一个数据库",
        "昨天我去了上海的图书馆",
    )
    assert search(index, "北京大学", 5)[0].tolist() == [0]
    assert search(index, "生日是哪天", 1)[0].tolist() == [1]
    assert search(index, "python 数据库", 1)[0].tolist() == [2]
    assert search(index, "图书馆在哪里", 1)[0].tolist() == [3]


def test_japanese_and_korean_texts_are_found() -> None:
    index = indexed("来週京都でお茶を飲む", "고양이 이름은 나비입니다", "駅前のカフェ")
    assert search(index, "京都", 1)[0].tolist() == [0]
    assert search(index, "고양이", 1)[0].tolist() == [1]
    assert search(index, "ｶﾌｪ", 1)[0].tolist() == [2]


def test_german_text_is_found_whatever_way_umlauts_and_sharp_s_are_typed() -> None:
    index = indexed(
        "Der Zahnarzt ist in der Königstraße 12",
        "Meine Schwester mag Äpfel und Grüße aus Köln",
        "Das Fahrrad steht im Keller",
    )
    assert search(index, "KÖNIGSTRASSE", 1)[0].tolist() == [0]
    assert search(index, "konigstraße", 1)[0].tolist() == [0]
    assert search(index, "APFEL", 1)[0].tolist() == [1]
    assert search(index, "Ko\u0308ln gru\u0308sse", 1)[0].tolist() == [1]


def test_words_without_content_find_nothing_in_german_and_stay_english_words() -> None:
    index = indexed(
        "Auto haben wir keins, wir fahren Rad.",
        "Unsere Parzelle hat die Nummer 27.",
        "The man in the red hat won the war.",
        "Außer Haus sind wir von eins bis zwei.",
    )
    assert search(index, "Welche Nummer haben wir?", 5)[0].tolist() == [1]
    assert search(index, "Wer hat außer mir die Nummer?", 5)[0].tolist() == [1]
    assert search(index, "who has a hat in the war?", 1)[0].tolist() == [2]


def test_numbers_and_identifiers_are_found_exactly() -> None:
    index = indexed(
        "the database listens on port 5432",
        "the cache listens on port 5433",
        "pi is about 3.14",
        "set max_tokens to 1,000",
        "upgrade to v2 of the e-mail client",
    )
    assert search(index, "5433", 5)[0].tolist() == [1]
    assert search(index, "3.14", 5)[0].tolist() == [2]
    assert search(index, "14", 5)[0].tolist() == []
    assert search(index, "maxTokens", 5)[0].tolist() == [3]
    assert search(index, "1000", 5)[0].tolist() == [3]
    assert search(index, "email v2", 5)[0].tolist() == [4]


def test_terms_that_only_old_texts_held_are_dropped() -> None:
    index = LexicalIndex()
    for number in range(5 * bm25.FEW_TERMS):
        index.put(number % 10, f"heron {number}")
    assert len(index._numbers) < 2 * bm25.FEW_TERMS
    assert len(index.holders("heron")) == 10
    assert index.match("hreon").scores.min() > 0  # misspelt words are still understood
    assert index.match(str(5 * bm25.FEW_TERMS - 1)).scores.argmax() == 9
