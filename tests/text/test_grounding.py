from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.enrichment.grounding import Said, ungrounded

MONDAY = 1_709_577_000.0  # 2024-03-04, half past six in the evening
SAID: Said = (
    "Nora",
    "Ottilie is ninety-one. We pay £1,200.50 until the twenty-first of April, or next Friday,"
    " and eight and a half thousand in 1890; port 5433, room Kestrel.",
    MONDAY,
)


@pytest.mark.parametrize(
    "fact",
    [
        "Ottilie is 91.",
        "Nora pays 1200.5 pounds until 21 April 2024.",
        "Nora pays until Friday 8 March 2024.",
        "Nora said on 4 March 2024 that it was 8,500 in 1890.",
        "The port is 5433 in the room Kestrel.",
        "Ottilie's room is Kestrel.",
        "Rooms are paid by Nora.",
        "Ninety-one is the age of Ottilie.",
    ],
)
def test_what_stands_in_the_source_in_other_words_is_grounded(fact: str) -> None:
    assert ungrounded(fact, [SAID]) == ""


@pytest.mark.parametrize(
    ("fact", "foreign"),
    [
        ("Ottilie is 92.", "92"),
        ("The port is 5432.", "5432"),
        ("Ottilie is nineteen.", "nineteen"),
        ("Ottilie is ninety.", "ninety"),
        ("They paid 200 pounds.", "200"),
        ("In 1890 they had 8 ports.", "8"),
        ("Four ports were open on 4 March 2024.", "Four"),
        ("Nora pays until 22 April 2024.", "2024-04-22"),
        ("Nora pays until Friday 15 March 2024.", "2024-03-15"),
        ("Tomasz pays.", "Tomasz"),
        ("Nora pays Tomasz.", "Tomasz"),
        ("Nora pays in Berlin.", "Berlin"),
    ],
)
def test_what_does_not_is_named(fact: str, foreign: str) -> None:
    assert ungrounded(fact, [SAID]) == foreign


@pytest.mark.parametrize(
    "fact",
    [
        "The page is https://mallory.example/c.",
        "The page is mallory.example.",
        "Mail goes to a@b.example.",
        "The handle is @mallory.",
        "The page is https://nora.example/other.",
    ],
)
def test_addresses_are_not_made_up(fact: str) -> None:
    said: Said = ("Nora", "The page is https://Nora.example/page, said the handle.", MONDAY)
    assert ungrounded(fact, [said]) != ""
    assert ungrounded("The page is https://nora.example/page.", [said]) == ""
    assert ungrounded("The page is nora.example.", [said]) == ""


def test_any_of_several_sources_will_do() -> None:
    other: Said = ("Felix", "Tomasz has port 5432.", MONDAY)
    assert ungrounded("Tomasz and Nora have ports 5432 and 5433, says Felix.", [SAID, other]) == ""


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_never_raises(fact: str, said: str) -> None:
    ungrounded(fact, [("", said, MONDAY)])


def test_more_dates_than_are_looked_at_are_not_believed() -> None:
    said = " ".join(f"{year}-01-01" for year in range(1990, 2030))
    assert ungrounded(said, [("", said, MONDAY)]) == "2021-01-01"
