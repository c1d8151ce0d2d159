"""Statements: subject, attribute and value of plain sentences, and what a later one does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.relations.english import SELF, Statement, corrects, statements, verdict


def only(text: str, speaker: str = "") -> Statement:
    found, _ = statements(text, speaker)
    assert len(found) == 1, text
    return found[0]


@pytest.mark.parametrize(
    ("older", "newer", "what"),
    [
        ("I live in Graz.", "I moved to Linz last week.", "replaces"),
        ("Mara lives in Graz.", "Actually, Mara lives in Vienna now.", "replaces"),
        ("Mara lives in Vienna.", "Mara no longer lives in Vienna.", "ends"),
        ("Tomas works at Siemens.", "Tomas now works for Bosch in Linz.", "replaces"),
        ("Tomas works at Siemens.", "Tomas has left Siemens.", "ends"),
        ("The weekly meeting is on Monday.", "The weekly meeting was moved to Friday.", "replaces"),
        (
            "The staging database listens on port 5432.",
            "The port of the staging database is now 5433.",
            "replaces",
        ),
        ("My favourite colour is green.", "My favorite colour is actually blue.", "replaces"),
        ("My dentist is Dr. Novak.", "My dentist is now Dr. Weber.", "replaces"),
        ("Sam's birthday is 4 May.", "Correction: Sam's birthday is 5 May.", "replaces"),
        ("We use MySQL.", "We switched from MySQL to Postgres.", "replaces"),
        ("I like coffee.", "I can't stand coffee.", "flips"),
        ("I like coffee.", "I don't like coffee any more.", "ends"),
        ("Mara is vegetarian.", "Mara is not vegetarian.", "flips"),
        ("I have a car.", "I sold my car.", "ends"),
        ("I don't like olives.", "I love olives.", "flips"),
        ("I live in Graz.", "We live in Graz now.", ""),
    ],
)
def test_what_a_later_statement_does(older: str, newer: str, what: str) -> None:
    first, second = only(older), only(newer)
    assert first.key == second.key
    assert verdict(first, second) == what


@pytest.mark.parametrize(
    ("older", "newer", "what"),
    [
        ("Ich wohne in Graz.", "Ich bin letzte Woche nach Linz gezogen.", "replaces"),
        ("Mara wohnt in Graz.", "Mara wohnt jetzt in Wien.", "replaces"),
        ("Mara wohnt in Wien.", "Mara wohnt nicht mehr in Wien.", "ends"),
        ("Ich wohne in Graz.", "Seit Mai wohne ich in Linz.", "replaces"),
        ("Ich wohne in Graz.", "Inzwischen wohne ich in Linz.", "replaces"),
        ("Tomas arbeitet bei Siemens.", "Tomas arbeitet jetzt bei Bosch.", "replaces"),
        ("Tomas arbeitet bei Siemens.", "Tomas hat bei Siemens gekündigt.", "ends"),
        (
            "Die wöchentliche Besprechung ist am Montag.",
            "Die wöchentliche Besprechung wurde auf Freitag verschoben.",
            "replaces",
        ),
        ("Die Chorprobe findet am Montag statt.", "Die Chorprobe ist am Freitag.", "replaces"),
        ("Meine Lieblingsfarbe ist Grün.", "Meine Lieblingsfarbe ist eigentlich Blau.", "replaces"),
        ("Mein Zahnarzt heißt Dr. Novak.", "Mein Zahnarzt heißt jetzt Dr. Weber.", "replaces"),
        ("Die Miete kostet 900 Euro.", "Die Miete kostet jetzt 950 Euro.", "replaces"),
        ("Die Miete kostet 900 Euro.", "Die Miete wurde auf 950 Euro erhöht.", "replaces"),
        ("Wir benutzen MySQL.", "Wir sind von MySQL auf Postgres umgestiegen.", "replaces"),
        ("Ich mag Kaffee.", "Ich mag keinen Kaffee.", "flips"),
        ("Ich mag Kaffee.", "Ich hasse Kaffee.", "flips"),
        ("Ich mag Kaffee.", "Ich mag keinen Kaffee mehr.", "ends"),
        ("Ich trinke Kaffee.", "Ich trinke keinen Kaffee mehr.", "ends"),
        ("Mara ist Vegetarierin.", "Mara ist keine Vegetarierin.", "flips"),
        ("Ich habe ein Auto.", "Ich habe mein Auto verkauft.", "ends"),
        ("Ich habe einen Hund.", "Ich habe keinen Hund mehr.", "ends"),
        ("Ich bin mit Paul verheiratet.", "Ich bin von Paul geschieden.", "ends"),
        ("Das Büro ist in Berlin.", "Das Büro ist bis 30. Juni in Hamburg.", "replaces"),
        ("Ich wohne in Graz.", "Wir wohnen in Graz.", ""),
    ],
)
def test_what_a_later_german_statement_does(older: str, newer: str, what: str) -> None:
    first, second = only(older), only(newer)
    assert first.key == second.key
    assert verdict(first, second) == what


@pytest.mark.parametrize(
    "text",
    [
        "Ich habe den Film gesehen.",
        "Wohnst du in Graz?",
        "Vielleicht ziehe ich nach Linz.",
        "Wenn ich in Graz wohne, ist es billiger.",
        "Sie mag Tee.",
        "Das ist schön.",
        "Ich war am See.",
        "Ich lebe in Angst.",
        "Ich bin nach Hause gegangen.",
        "Ich habe gestern lange geschlafen.",
        "Danke!",
    ],
)
def test_german_that_states_nothing_certain_is_no_statement(text: str) -> None:
    assert statements(text)[0] == ()


def test_german_words_in_english_are_english() -> None:
    assert only("The bin is full.").attribute == "is"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Die wöchentliche Besprechung ist am Montag.", "Die Chorprobe ist am Freitag."),
        ("Ich mag Kaffee.", "Ich mag keinen Tee."),
        ("Ich wohne in Graz.", "Meine Schwester wohnt in Linz."),
        ("Mein Hund heißt Rex.", "Meine Katze heißt Mimi."),
    ],
)
def test_other_things_do_not_meet_in_german(first: str, second: str) -> None:
    assert only(first).key != only(second).key


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The staging database listens on port 5432.", "The production database is on port 5433."),
        ("I like coffee.", "I don't like tea."),
        ("The weekly meeting is on Monday.", "The monthly meeting is on Friday."),
        ("I live in Graz.", "My sister lives in Linz."),
        ("I have a dog called Rex.", "I have a car."),
    ],
)
def test_other_things_do_not_meet(first: str, second: str) -> None:
    assert only(first).key != only(second).key


@pytest.mark.parametrize(
    "text",
    [
        "Do you like coffee?",
        "She likes tea.",
        "I might move to Linz.",
        "If we live in Graz it will be cheaper.",
        "I went to the lake.",
        "Thanks!",
        "",
    ],
)
def test_what_states_nothing_certain_is_no_statement(text: str) -> None:
    assert statements(text)[0] == ()


def test_i_is_the_speaker_when_there_is_a_name() -> None:
    assert only("I live in Graz.").subject == SELF
    assert only("I live in Graz.", "Mara") == only("Mara lives in Graz.")


def test_clauses_are_counted_and_placed() -> None:
    found, clauses = statements("I live in Graz, and my favourite tea is Assam. We swam a lot.")
    assert [(one.value, one.place) for one in found] == [("graz", 0), ("assam", 1)]
    assert clauses == 3


def test_words_of_correction() -> None:
    assert corrects("Actually it is on Friday")
    assert corrects("We switched from MySQL to Postgres")
    assert not corrects("The meeting is on Friday")


@given(st.text(max_size=400), st.text(max_size=20))
def test_any_text_is_taken(text: str, speaker: str) -> None:
    found, clauses = statements(text, speaker)
    assert all(0 <= one.place < clauses and one.subject and one.value for one in found)
