"""Misspelt words: what is forgiven, what is not, against a plain distance."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.storage.index.bm25 import MISSPELT, LexicalIndex
from memory_core.storage.index.vocabulary import Spelling, edits

WORDS = [
    "photograph", "restaur", "kitchen", "biscuit", "edith", "marathon", "freiburg", "orchestra",
    "tidewat", "half",
]  # fmt: skip


def nearest(word: str, known: list[str] | None = None) -> str:
    return Spelling().nearest(word, known or WORDS, lambda _: 1)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("kichen", "kitchen"),
        ("bisciut", "biscuit"),
        ("edtih", "edith"),
        ("frieburg", "freiburg"),
        ("marahton", "marathon"),
        ("orchesta", "orchestra"),
        ("fotograph", ""),  # another first letter and two edits
        ("orkestar", ""),
        ("halves", ""),
        ("hal", ""),
        ("5433", ""),
        ("edit", ""),
        ("", ""),
    ],
)
def test_slips_are_forgiven_and_other_words_are_not(word: str, meant: str) -> None:
    assert nearest(word) == meant


def test_two_edits_only_in_long_words() -> None:
    assert nearest("photgraphh") == "photograph"
    assert nearest("restaur") == "restaur"
    assert nearest("bisciitt") == ""


def test_a_number_is_never_a_misspelt_one() -> None:
    index = LexicalIndex()
    index.put(0, "The database listens on port 5432, build v1234567a.")
    assert not index.match("5433").scores.any()
    assert not index.match("v1234567b").scores.any()


def test_words_that_came_later_are_known_and_those_that_left_are_not() -> None:
    index = LexicalIndex()
    index.put(0, "The orchestra plays.")
    assert index.match("orchesta").scores[0] > 0
    index.put(1, "A marathon in April.")
    assert index.match("marahton").scores.tolist()[1] > 0
    index.remove(1)
    assert not index.match("marahton").scores.any()


def test_a_misspelt_word_weighs_less_and_a_known_one_as_ever() -> None:
    index = LexicalIndex()
    for row, text in enumerate(["The marathon was long.", "Rain again.", "The marathan club met."]):
        index.put(row, text)
    right, slip = index.match("marathon"), index.match("maratohn")
    assert slip.scores[0] == pytest.approx(MISSPELT * right.scores[0])
    assert slip.ideal == right.ideal
    assert right.scores[2] == 0
    assert index.match("xylophone").held == ()


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_the_distance_is_the_restricted_one(a: str, b: str) -> None:
    @functools.cache
    def plain(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        options = [plain(i - 1, j) + 1, plain(i, j - 1) + 1]
        options.append(plain(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            options.append(plain(i - 2, j - 2) + 1)
        return min(options)

    assert edits(a, b) == plain(len(a), len(b))
