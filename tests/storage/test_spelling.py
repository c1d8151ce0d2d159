"""Misspelt words: what is forgiven, what is not, against a plain distance."""

from __future__ import annotations

import contextvars
import functools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import Busy, abandoned
from memory_core.storage.index import vocabulary
from memory_core.storage.index.bm25 import CORRECTED_MOST, MISSPELT, LexicalIndex
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


@given(st.text("abc", max_size=7), st.text("abc", max_size=7), st.integers(0, 3))
def test_the_distance_up_to_a_bound_is_the_distance(a: str, b: str, most: int) -> None:
    assert edits(a, b, most) == min(edits(a, b), most + 1)


@pytest.mark.parametrize("query", ["a" * 500, "acgt" * 125, "\u0e2a\u0e27\u0e31" * 160])
def test_what_is_no_word_is_compared_with_none(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence or a text without spaces beside others, each of thousands of letters."""
    compared: list[int] = []

    def counted(a: str, b: str, most: int) -> int:
        compared.append(max(len(a), len(b)))
        return edits(a, b, most)

    monkeypatch.setattr(vocabulary, "edits", counted)
    index = LexicalIndex()
    for row, text in enumerate([query * 40, query[:-1] + "b", query[:39] + "c", "orchestra"]):
        index.put(row, text)
    assert not index.match(query).scores.any()
    assert index.match("orchesta").scores[3] > 0
    assert index.match(query[:38]).ideal > 0
    assert max(compared) <= vocabulary.LONGEST


def test_a_query_of_many_unknown_words_has_only_the_first_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def nearest(self: Spelling, word: str, *_: object) -> str:
        asked.append(word)
        return ""

    monkeypatch.setattr(Spelling, "nearest", nearest)
    index = LexicalIndex()
    index.put(0, "The orchestra plays.")
    words = [f"{a}{b}xx{a}{b}" for a in "bcdfghjkl" for b in "bcdfghjkl"]
    assert index.match(" ".join([*words, "orchestra"])).scores[0] > 0
    assert asked == words[:CORRECTED_MOST]


def test_an_abandoned_call_stops_in_the_middle_of_a_query() -> None:
    index = LexicalIndex()
    index.put(0, "The orchestra plays.")
    flag = threading.Event()
    context = contextvars.copy_context()
    context.run(abandoned.set, flag)
    assert context.run(index.match, "orchestra").scores[0] > 0
    flag.set()
    with pytest.raises(Busy, match="nobody waits"):
        context.run(index.match, "orchestra")
    assert index.match("orchestra").scores[0] > 0, "only that call"
