"""Words near in meaning: the shipped table against the model, and what it does in the index."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from memory_core.embedding.base import Embedder
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.index.bm25 import MISSPELT, NEAR, LexicalIndex
from memory_core.storage.index.vocabulary import TABLE, near_terms

PAIRS = [("dog", "puppy"), ("hobby", "leisure"), ("car", "vehicle"), ("sister", "sibling")]


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "build_near_words.py"
    spec = importlib.util.spec_from_file_location("build_near_words", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def term(word: str) -> str:
    return index_terms(word)[0]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_words_of_one_thing_are_near_and_others_are_not(one: str, other: str) -> None:
    near = dict(near_terms(term(one)))
    assert near[term(other)] > 0.1
    assert term(one) not in near
    assert term("tax") not in near
    assert list(near.values()) == sorted(near.values(), reverse=True)
    assert len(near) <= 16
    assert all(0 < share <= 1 for share in near.values())


@pytest.mark.parametrize("word", ["june", "monday", "seven", "week", "the", "5432", "qwertz", ""])
def test_dates_numbers_and_unknown_words_mean_only_themselves(word: str) -> None:
    assert near_terms(word) == []


def test_the_table_is_what_the_model_says(builder: ModuleType, minilm: Embedder) -> None:
    words = ["dog", "dogs", "puppy", "kitten", "car", "vehicle", "choir", "song", "seven"]
    terms = builder.terms_of(words)
    assert list(terms) == sorted({term(word) for word in words[:-1]})
    points = builder.points(terms, minilm.documents)
    shares = (points @ points.T - builder.FLOOR) / (1 - builder.FLOOR)
    for place, one in enumerate(terms):
        shipped = dict(near_terms(one))
        for other, share in zip(terms, shares[place], strict=True):
            if other in shipped:  # forms of a word that are not given here move its vector a little
                assert shipped[other] == pytest.approx(share, abs=0.2)
    assert TABLE.stat().st_size < 600_000


def test_what_is_near_is_found_for_less() -> None:
    index = LexicalIndex()
    texts = ["the puppy slept", "the dog slept", "the oven was cold", "the roof was wet"]
    for row, text in enumerate(texts):
        index.put(row, text)
    rows = np.arange(len(texts))
    match = index.match("dog", literal=())
    puppy, dog, *others = match.expanded_terms(rows)[0].tolist()
    share = dict(near_terms("dog"))["puppi"]
    assert dog == pytest.approx(float(match.terms(rows)[0, 1]))
    assert puppy == pytest.approx(NEAR * share * dog, rel=1e-5)  # as long, so as dense
    assert others == [0.0, 0.0]
    np.testing.assert_array_equal(match.scores, match.terms(rows)[0])  # words alone stay exact
    assert not index.match("dog", literal={"dog"}).near
    assert not index.match("dog", literal={"puppi"}).near
    assert not index.match("dog").near


def test_a_word_that_no_text_holds_is_found_by_what_is_near_it() -> None:
    index = LexicalIndex()
    for row, text in enumerate(["the puppy slept", "the oven was cold", "the roof was wet"]):
        index.put(row, text)
    match = index.match("roof dog", literal=())
    table = match.expanded_terms(np.array([2, 0]))
    assert match.held == ("roof",)
    share, idf = dict(near_terms("dog"))["puppi"], np.log1p(3.5 / 0.5)
    assert table[0].tolist() == [match.scores[2], 0.0]
    assert table[1, 0] == 0.0
    assert table[1, 1] == pytest.approx(NEAR * MISSPELT * share * idf, rel=1e-5)  # mean length
    assert match.terms(np.array([2, 0])).shape == (1, 2)


def test_the_best_of_several_near_words_counts_once() -> None:
    index = LexicalIndex()
    for row, text in enumerate(["puppy hound", "puppy puppy", "roof tile"]):
        index.put(row, text)
    both, twice, none = index.match("dog", literal=()).expanded_terms(np.arange(3))[0].tolist()
    shares = dict(near_terms("dog"))
    best = max(shares["puppi"], shares["hound"])
    idf = NEAR * MISSPELT * np.log1p(3.5 / 0.5)
    assert both == pytest.approx(best * idf, rel=1e-5)
    assert twice == pytest.approx(shares["puppi"] * idf * 1.9 * 2 / 2.9, rel=1e-5)
    assert none == 0.0
