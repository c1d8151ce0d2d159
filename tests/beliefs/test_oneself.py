"""What somebody says of themselves that lasts, and what passes."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.beliefs.oneself import must_not, says_what_lasts

LASTS = [
    "My name is Ines.",
    "I'm a midwife, mostly home births, in the hills",
    "i have coeliac disease",
    "I'm deaf in my right ear",
    "we have three kids, Ada, Olaf and Uma",
    "I play second trombone in the town band",
    "been vegetarian for about six years",
    "born and raised in Graz, German is my first language",
    "i'm left handed",
    "my husband is called Olaf and works nights",
    "ich bin die Uma, 34, aus Husum",
    "Hab eine Hausstauballergie",
    "wir wohnen auf einem alten Hof",
]
PASSES = [
    "I'm tired",
    "I'm on my way home",
    "I went to the quay",
    "I have to call the bank",
    "I need a new bike",
    "I'm reading a book on harbours",
    "I've finished the report",
    "I think the door is green",
    "I bought a Brompton",
    "my knee hurts",
    "my wife was ill",
    "we meet on Friday",
    "I have a cold this week",
    "Am I allergic to nuts?",
    "the harbour has a crane",
    "ich war im Kino",
    "I love it there. It was loud. We should go again. You too.",
]


@pytest.mark.parametrize("text", LASTS)
def test_who_somebody_is_lasts(text: str) -> None:
    assert says_what_lasts(text)


@pytest.mark.parametrize(
    ("text", "lasts"),
    [
        ("User works at a shipyard as a welder.", True),
        ("The user has two kids", True),
        ("User's name is Ruth.", True),
        ("User likes tabs in Makefiles", True),
        ("User is working on the importer", False),
        ("User fixed the tests", False),
        ("User wants to learn Spanish by summer", False),
        ("User needs a new bike", False),
    ],
)
def test_what_an_assistant_notes_of_its_user_is_read_in_their_voice(
    text: str, *, lasts: bool
) -> None:
    assert says_what_lasts(text) == lasts


@pytest.mark.parametrize("text", PASSES)
def test_what_happens_is_wanted_or_felt_passes(text: str) -> None:
    assert not says_what_lasts(text)


@pytest.mark.parametrize(
    ("text", "must"),
    [
        ("Ada can't have peanuts", True),
        ("Olaf is allergic to cashews", True),
        ("Uma darf keine Kuhmilch", True),
        ("my wife carries an epipen", True),
        ("she has a nut allergy", True),
        ("I can't have dinner before nine", False),
        ("we can't have it all", False),
        ("is Olaf allergic to cashews?", False),
        ("Olaf eats cashews", False),
    ],
)
def test_what_somebody_must_not_have_is_known(text: str, *, must: bool) -> None:
    assert must_not(text) == must


def test_it_grows_with_the_length_of_a_text(grows_linearly: Any) -> None:
    for unit in ("my very ", "been so ", "I am "):
        assert grows_linearly(says_what_lasts, unit)
        assert grows_linearly(must_not, unit)
