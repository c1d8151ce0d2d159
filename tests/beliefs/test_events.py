from __future__ import annotations

import pytest

from memory_core.beliefs.events import happened
from memory_core.beliefs.sentence import read


@pytest.mark.parametrize(
    "text",
    [
        "Watered the ferns and swept the porch.",
        "The soufflé collapsed but tasted fine.",
        "We drove to the quarry and back.",
        "The stitches came out this morning.",
        "Habe mit Jonas das Gartentor geölt.",
        "Tante Ilse hat uns Pflaumenkuchen vorbeigebracht.",
        "Wir sind bis zur Mühle gelaufen.",
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
    ("text", "done"),
    [
        ("We refinanced the house in May.", {"refinanced"}),
        ("Mr. Voss bequeathed the mill to his niece.", {"bequeathed"}),
        ("The ceiling was raised to three metres.", {"raised"}),
        ("I sold the Volvo.", {"sold"}),
        ("Die Miete wurde auf 845 Euro erhöht.", {"erhöht"}),
        ("Die Probe musste auf den 10. März verlegt werden.", {"verlegt"}),
        ("Ich habe mit dem Rauchen aufgehört, endlich.", {"aufgehört"}),
        ("The rehearsal was moved to the 9th, still at ten.", {"moved"}),
        # it says how something is
        ("The orders get checked by Ida.", set()),
        ("The salted cheese is in the cellar.", set()),
        ("We still keep the counted coins.", set()),
        ("They serve it with roasted onions.", set()),
        ("We are further than planned.", set()),
        ("This is the only supported way.", set()),
        ("The van still holds nine, we counted.", set()),
        ("Nadja wants the drawings checked by Mr Okoro.", set()),
        ("We repainted the hull, it needs the mast varnished.", {"repainted"}),
        ("Swantje ist krank, Levin übernimmt die Kunden.", set()),
        ("Das Haus wird von Ida verwaltet.", set()),
    ],
)
def test_the_form_of_a_verb_tells_what_was_done(text: str, done: set[str]) -> None:
    assert read(text).done == done
