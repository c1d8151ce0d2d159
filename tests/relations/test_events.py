from __future__ import annotations

import pytest

from memory_core.relations.change import change
from memory_core.relations.events import happened


@pytest.mark.parametrize(
    "text",
    [
        "Watered the ferns and swept the porch.",
        "The soufflé collapsed but tasted fine.",
        "We drove to the quarry and back.",
        "The stitches came out this morning.",
        "Piano: practised the left hand for an hour.",
        "First fitting of the suit with Mr. Bose.",
        "Habe mit Jonas das Gartentor geölt.",
        "Tante Ilse hat uns Pflaumenkuchen vorbeigebracht.",
        "Wir sind bis zur Mühle gelaufen.",
        "Die Fähre legte mit drei Stunden Verspätung ab.",
        "Am Abend kam der Klempner.",
    ],
)
def test_a_past_form_tells_what_happened(text: str) -> None:
    assert happened(text)


@pytest.mark.parametrize(
    "text",
    [
        # a result holds since
        "We moved to a bungalow near the dunes.",
        "Signed up for the choir on Thursdays.",
        "I chose the ceramic hob.",
        "She started at the observatory.",
        "Wir haben uns für Gas entschieden.",
        "Ich habe mich im Fitnessstudio angemeldet.",
        # so does what was said, or liked
        "The vet said the cat needs drops.",
        "My aunt wanted a rowing boat.",
        # a state
        "The used car is in the yard.",
        "The report prepared by Ana is in the folder.",
        "I've painted the shed green.",
        "The furnished flat costs 900 euros.",
        "Erst testen, dann mergen.",
        "Ich teste jeden Freitag.",
        "Die Tür ist geöffnet.",
        "Das rote Rad steht im Keller.",
        "",
    ],
)
def test_a_state_and_a_result_are_no_event(text: str) -> None:
    assert not happened(text)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Oiled the gate in the yard.", "The gate in the yard now squeaks."),
        ("Baked the lemon tart for Ida.", "Lemon tart with lime instead of lemon."),
        ("Habe die Kakteen umgestellt und gegossen.", "Die Kakteen stehen jetzt im Flur."),
        ("The hen opened the coop with her beak.", "The hen opened the coop again with her beak."),
        ("The city checks the dam before Easter.", "The choir moves to Mondays after Easter."),
        ("The pier is 42 metres long.", "A new mast of 9.2 metres was delivered."),
        ("My right eye needs drops.", "The left eye of Ida was operated on."),
        ("The tram number is 14.", "We rode the tram without stopping."),
        ("Ida plans the fair.", "Small change: Ida moved the rehearsal."),
    ],
)
def test_nothing_that_comes_later_ends_an_event(older: str, newer: str) -> None:
    assert change(older, newer, lambda _: True) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We bought a used van.", "We sold the van."),
        ("Ich habe eine Drohne gekauft.", "Ich habe die Drohne zurückgegeben."),
        ("I signed up for pottery on Mondays.", "The pottery course moved to Fridays."),
        ("The printer is broken.", "The printer works again."),
        ("Ida left the choir.", "Ida is back in the choir."),
    ],
)
def test_a_result_can_be_out_of_date(older: str, newer: str) -> None:
    assert change(older, newer, lambda _: True) is not None
