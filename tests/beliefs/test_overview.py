"""Overviews of one thing, of which one value changes at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import Clock, OpenMemory

from memory_core.beliefs import overview
from memory_core.beliefs.compare import compare_texts
from memory_core.beliefs.competing import UNKNOWN
from memory_core.embedding.base import Embedder
from memory_core.recall.answering import asks_for_the_rest
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest

ME = Identity("me")
DAY = 86_400.0
NEAR = replace(UNKNOWN, cosine=0.5)
SHED = "kiln shed: rent 340, gas from Berger, shelves by Toni, firing on Fridays, cone 6"
PARTS = [
    ("how much is the rent?", "rent 340"),
    ("who delivers the gas?", "gas from Berger"),
    ("when is the next firing?", "firing on Fridays"),
    ("who owns the shed?", ""),
]


@pytest.mark.parametrize(("about", "part"), PARTS)
def test_the_item_that_is_asked_for(about: str, part: str) -> None:
    assert overview.part(SHED, about) == part
    assert overview.item(SHED, about) == (f"kiln shed: {part}" if part else SHED)


def test_what_all_items_are_of_tells_none_of_them() -> None:
    text = "shed: shed key with Toni, rent 340, gas from Berger"
    assert overview.part(text, "what is the rent of the shed?") == "rent 340"


@pytest.mark.parametrize(
    "text",
    [
        "The rent of the kiln shed is 4410.",
        "note: gas from Berger, firing on Fridays",
        "I found it: the valve was stuck, the flame went out, the kiln stayed cold",
        "Gas from Berger, shelves by Toni, firing on Fridays.",
        "kiln: " + ", ".join(["we fired the kiln on a long day in March with the old burner"] * 3),
    ],
)
def test_no_overview(text: str) -> None:
    assert overview.part(text, text) == ""
    assert overview.other_figure(text, "rent is 500 now") == ("", "", False)


@pytest.mark.parametrize(
    ("newer", "part"),
    [
        ("rent is 395 since the weekend", "rent 340"),
        ("we fire at cone 8 now, ask Toni", "cone 6"),
        ("the shed's cone went up to 8", "cone 6"),
        ("rent 395, write it on the list", "rent 340"),
    ],
)
def test_another_figure_puts_its_item_in_doubt(newer: str, part: str) -> None:
    found = compare_texts(SHED, newer, NEAR)

    assert found is not None
    assert (found.part, found.supersedes, found.worded) == (part, "", True)


@pytest.mark.parametrize(
    "newer",
    [
        "rent 340, as ever",
        "the studio fires at cone 10",
        "cone 10 is what the books say",
        "maybe we fire at cone 8 one day",
        "is the rent 395?",
        "the kiln shed's annex fires at cone 10",
        "in Lienz they fire at cone 10",
    ],
)
def test_a_figure_of_something_else_puts_nothing_in_doubt(newer: str) -> None:
    assert compare_texts(SHED, newer, NEAR) is None


def test_what_the_overview_is_of_may_stand_before_the_figure() -> None:
    found = overview.other_figure(SHED, "rent of the kiln shed is 395")
    assert found == ("rent 340", "rent 395", True)


def test_a_figure_of_the_other_side_is_none_of_this_one() -> None:
    older = "left kiln: cone 6, gas from Berger, firing on Fridays"
    assert compare_texts(older, "right kiln is at cone 8 since May", NEAR) is None
    assert compare_texts(older, "left kiln is at cone 8 since May", NEAR) is not None


def test_far_away_the_figure_alone_tells_nothing() -> None:
    far = replace(UNKNOWN, cosine=0.1)
    assert compare_texts(SHED, "we bake at cone 8 now", far) is None


@pytest.mark.parametrize(
    ("query", "rest"), [("how much is the rent?", False), ("who made the shelves?", True)]
)
def test_a_question_for_another_item_is_for_the_rest(query: str, *, rest: bool) -> None:
    newer = "rent is 395 since the weekend"
    assert asks_for_the_rest(query, SHED, newer, lambda _: None, 0.5) == rest


def test_a_question_for_another_item_is_for_the_rest_where_both_have_numbers() -> None:
    older = "Print shop: DPI 1.28, three presses, ground floor, ink via Brandl, keys with Vera."
    newer = "took the print shop up to five presses this morning, find out why they don't dry"

    def rest(query: str) -> bool:
        return asks_for_the_rest(query, older, newer, lambda _: None, 0.5)

    assert rest("who delivers ink to the print shop?")
    assert not rest("how many presses does the print shop have?")


def test_the_later_value_comes_first_and_the_rest_stays(
    open_memory: OpenMemory, minilm: Embedder, clock: Clock
) -> None:
    memory = open_memory(embedder=minilm)
    for text in ("the choir meets on Mondays", "Ada wants a kite", "rent is 900"):
        memory.remember(ME, RememberRequest(text))
    whole = memory.remember(ME, RememberRequest(SHED)).id
    clock.pass_by(40 * DAY)
    said = "rent of the kiln shed is 395 since saturday, ask Toni"
    newer = memory.observe(ME, ConversationTurn("user", said, session="a")).receipt
    assert newer is not None

    code = memory.recall(ME, RecallRequest("rent of the kiln shed")).hits
    gas = memory.recall(ME, RecallRequest("who delivers gas to the kiln shed?")).hits

    assert [code[0].memory.id, gas[0].memory.id] == [newer.id, whole]
    assert [(pair.older.id, pair.part) for pair in memory.doubts(ME)] == [(whole, "rent 340")]
