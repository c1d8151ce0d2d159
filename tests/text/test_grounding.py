from __future__ import annotations

import json
from pathlib import Path

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
        "Nora has a Kestrel-based port and an Ottilie-style room.",
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
        ("Nora has a Sparrow-based port.", "Sparrow-based"),
        ("Nora has a Kestrel-Sparrow port.", "Kestrel-Sparrow"),
        ("The port is 5432.", "5432"),
        ("Ottilie is nineteen.", "nineteen"),
        ("Ottilie is ninety.", "ninety"),
        ("They paid 200 pounds.", "200 pounds"),
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


GISTS = json.loads((Path(__file__).parent / "data" / "gists.json").read_text())
"""Sets of what Nora says, with gists that hold it and gists that change it."""


@pytest.mark.parametrize("part", GISTS)
def test_nine_of_ten_honest_gists_pass_and_as_many_others_are_refused(part: str) -> None:
    def refused(kind: str) -> list[bool]:
        return [
            bool(ungrounded(gist, [("Nora", case["said"], MONDAY)]))
            for case in GISTS[part]
            for gist in case[kind]
        ]

    honest, dishonest = refused("honest"), refused("dishonest")
    assert sum(honest) <= 0.1 * len(honest)
    assert sum(dishonest) >= 0.9 * len(dishonest)


@pytest.mark.parametrize(
    ("said", "gist", "foreign"),
    [
        ("The file has 3 GB.", "The file has 3000 MB.", ""),
        ("The file has 3 GB.", "The file has 3 MB.", "3 MB"),
        ("It took ten days.", "It took over a week.", ""),
        ("It took ten days.", "It took over two weeks.", "two weeks"),
        ("It runs every 12 hours.", "It runs every hour.", "1 hour"),
        ("Ines does not like cheese.", "Ines likes cheese.", "cheese"),
        ("Ines likes cheese.", "Ines does not like cheese.", "not"),
        ("Paula hired Marek.", "Marek hired Paula.", "marek hired paula"),
        ("Paula hired Marek.", "Marek was hired by Paula.", ""),
        ("Yesterday I sold the car.", "The car was sold on 4 March 2024.", "2024-03-04"),
        ("Am dritten April um 17 Uhr.", "On 3 April at 5 pm.", ""),
        ("Am dritten April.", "Am vierten April.", "2024-04-04"),
        ("I hear within a week.", "Nora hears within a week.", ""),
        ("I hear within a week.", "Nora hears after more than a week.", "a week"),
        ("It costs at most 30 euros.", "It costs no more than 30 euros.", ""),
        ("It costs at most 30 euros.", "It costs at least 30 euros.", "30 euros"),
        ("It costs at most 30 euros.", "It costs less than 30 euros.", "30 euros"),
        ("It needs 8 GB or more.", "It needs at least 8 GB.", ""),
        ("It took between three and five days.", "It took three to five days.", ""),
        ("I sold it two weeks ago.", "It was sold two weeks before 4 March 2024.", ""),
        ("I sold it two weeks ago.", "It was sold two weeks after 4 March 2024.", "2024-03-04"),
        ("I sold it two weeks ago.", "It was sold on 4 March 2024.", "2024-03-04"),
        ("I sold it a month ago.", "It was sold one month before 4 March 2024.", ""),
    ],
)
def test_amounts_denials_and_roles_are_compared(said: str, gist: str, foreign: str) -> None:
    assert ungrounded(gist, [("Nora", said, MONDAY)]) == foreign
