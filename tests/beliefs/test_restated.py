"""Whether a newer text is an older one with another value in a place that holds one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.beliefs.restated import restated, taken_back


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The kiln fires at 1180 degrees.", "The kiln fires at 1220 degrees."),
        ("User drinks two cups of coffee a day.", "User drinks four cups of coffee a day."),
        ("The archive keeps mails for 90 days.", "The archive keeps mails for 180 days."),
        ("Das Schwimmbad kostet 4,50 Euro.", "Das Schwimmbad kostet 5,20 Euro."),
        ("The choir meets at 19:30.", "The choir meets at 20:15."),
        ("wifi channel: 6", "wifi channel: 11"),
        ("tax return due: 31 May", "tax return due: 31 July"),
        ("Grant deadline: 2027-03-01", "Grant deadline: 2027-04-01"),
        ("My landlord is Okonkwo.", "My landlord is Petersen."),
        ("User's therapist is Dr. Amari.", "User's therapist is Dr. Feld."),
        ("I live in Tampere.", "I live in Oulu."),
        ("Aino Virta lives in Tampere.", "Aino Virta lives in Oulu."),
        ("Der Nutzer arbeitet bei Siemens.", "Der Nutzer arbeitet bei Zeiss."),
        ("The front gate is green.", "The front gate is blue."),
        ("The bin day is Tuesday.", "The bin day is Friday."),
        ("The mower stands in the shed.", "The mower now stands behind the garage."),
        ("Die Leiter hängt im Keller.", "Die Leiter hängt jetzt im Flur."),
        ("the request timeout is 10s now", "the request timeout is 30s again"),
        ("Default branch is main now.", "Default branch is trunk again."),
        ("The mower now stands in the shed.", "The mower stands in the garage again."),
        ("Die Miete beträgt jetzt 900.", "Die Miete beträgt wieder 850."),
    ],
)
def test_another_value_of_one_thing(older: str, newer: str) -> None:
    assert restated(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User plays the oboe.", "User plays the harp."),
        ("User speaks Finnish.", "User speaks Estonian."),
        ("User has friends in Tampere.", "User has friends in Oulu."),
        ("User's cousin is a welder.", "User's cousin is in hospital."),
        ("Locker 12 smells of paint.", "Locker 14 smells of paint."),
        ("Flat 3 is let to Kim.", "Flat 5 is let to Wen."),
        ("The blue binder holds the bills of 2024.", "The blue binder holds the bills of 2025."),
        ("Walked 8 km along the dyke.", "Walked 11 km along the dyke."),
        ("The audit took 3 hours.", "The audit took 5 hours."),
        ("stress test with 20 clients", "stress test with 40 clients"),
        ("meter reading on 3 March: 4410", "meter reading on 2 April: 4512"),
        ("The kiln is in the yard.", "The kiln is out of order."),
        ("The mower stands in the shed.", "The mower now needs a new blade."),
        ("The choir meets at 19:30.", "The choir meets at 19:30."),
        ("", "The choir meets at 19:30."),
    ],
)
def test_what_may_both_be_true(older: str, newer: str) -> None:
    assert not restated(older, newer)


@pytest.mark.parametrize(
    ("older", "newer", "relation"),
    [
        ("I have a dog.", "I no longer have a dog.", "updates"),
        ("User prefers tabs.", "User no longer prefers tabs; they use spaces.", "updates"),
        ("Tomas works at Siemens.", "Tomas doesn't work at Siemens any more.", "updates"),
        ("Ich habe einen Hund.", "Ich habe keinen Hund mehr.", "updates"),
        ("Mara likes rye bread.", "Actually Mara does not like rye bread.", "contradicts"),
        ("Ich mag Kaffee.", "Korrektur: Ich mag keinen Kaffee.", "contradicts"),
        ("Mara lives in Graz.", "Actually Mara lives in Linz now.", "updates"),
        ("Mara lives in Graz now.", "Mara now lives in Linz.", "updates"),
        ("The key expires in March.", "The key now expires in June.", "updates"),
        ("The server listens on port 5432.", "Correction: the server listens on 5434.", ""),
        ("The server listens on port 5432.", "Actually the server listens on port 54.", "updates"),
        ("The meeting is on Tuesday.", "Correction: the meeting is on Wednesday.", "updates"),
        ("Die Probe ist am Montag.", "Korrektur: Die Probe ist am Freitag.", "updates"),
        ("Our office is in Berlin.", "Correction: our office is in Hamburg.", "updates"),
        ("My dentist is Dr Brandt.", "Correction: my dentist is Dr Sand now.", "updates"),
        ("I'm allergic to nuts.", "I'm not allergic to nuts after all.", "contradicts"),
        ("Das Konzert ist im Park.", "Das Konzert ist doch nicht im Park.", "contradicts"),
        ("Ben kommt mit.", "Ben kommt doch nicht mit, er muss arbeiten.", "contradicts"),
        # both may be true, or nothing says that it changed
        ("Das ist schlimm.", "Das ist doch nicht schlimm.", ""),
        ("Ben kommt mit.", "Ben kommt nicht mit.", ""),
        ("My boss is Karen.", "Actually my boss is Canadian.", ""),
        ("The train leaves at 7:10.", "Now the train leaves at 7:40 on Sundays.", ""),
        ("The shop is open.", "The shop is not open again.", ""),
        ("The meeting is on Monday.", "Actually the meeting is great.", ""),
        ("User speaks French.", "User now speaks Italian.", ""),
        ("The bank opens at 9.", "The bank opens at 10.", ""),
        ("I like coffee.", "I do not like coffee.", ""),
        ("I like coffee.", "I no longer like the coffee at work.", ""),
        ("Flat 3 is let to Kim.", "Flat 5 is now let to Wen.", ""),
        ("Walked 8 km along the dyke.", "Actually walked 11 km along the dyke.", ""),
        ("Mara lives in Graz.", "Actually Tomas lives in Linz now.", ""),
        ("", "I no longer have a dog.", ""),
    ],
)
def test_what_is_said_once_more_and_taken_back(older: str, newer: str, relation: str) -> None:
    assert taken_back(older, newer) == relation


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_are_compared(older: str, newer: str) -> None:
    assert taken_back(older, newer) in ("", "updates", "contradicts")
    assert isinstance(restated(older, newer), bool)
