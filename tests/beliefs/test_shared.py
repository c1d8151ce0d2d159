"""What two sentences share, and what tells apart the things that both speak of."""

from __future__ import annotations

import pytest

from memory_core.beliefs.sentence import spelled_out
from memory_core.beliefs.shared import about_one, crossed, differ_twice, other_complement


@pytest.mark.parametrize(
    ("older", "newer", "one"),
    [
        ("Ida's birthday is 3 May.", "My passport is old, Ida's is fine.", False),
        ("Ida's birthday is 3 May.", "Ida's tooth is loose.", False),
        ("Ida's birthday is 3 May.", "Ida's party and birthday are on 4 May.", True),
        ("Ida's at the dentist.", "Ida sings in the choir.", True),
        ("Ida's home.", "Ida's moved out of the flat.", True),
        ("Table 3 seats four.", "Table 4 seats six.", False),
        ("We run Node 18.", "We run Node 20.", True),
    ],
)
def test_two_things_of_one_owner_or_of_two_numbers_are_two(
    older: str, newer: str, one: bool
) -> None:
    assert about_one("", older, newer) is one
    assert about_one("", newer, older) is one


def test_who_owns_something_is_not_what_they_own_where_the_question_names_them() -> None:
    question = "where is Ida?"
    assert not about_one(question, "Ida's tooth is loose.", "Ida sings in the choir.")
    assert about_one(question, "Ida's at the dentist.", "Ida sings in the choir.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Joe's at left back", "Joe is at left back"),
        ("Callum’s enrolled at the college", "Callum is enrolled at the college"),
        ("the trimmer's the old one", "the trimmer is the old one"),
        ("Ida's home.", "Ida is home."),
        ("Mia's retired from work", "Mia is retired from work"),
        ("Mia's retired colleague, Ida's home address, Jo's late shift", ""),
        ("mum's knee op, Wen's sister, Ida's swimming lesson", ""),
        ("let's at least try, he's at work, that's the one, what's in it", ""),
    ],
)
def test_what_owns_nothing_by_its_s_is_told_from_what_does(text: str, expected: str) -> None:
    assert spelled_out(text) == (expected or text)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The left hearing aid takes size 312.", "The right hearing aid takes size 13."),
        ("Im Sommer öffnet das Bad um acht.", "Im Winter öffnet das Bad um elf."),
        ("Invoice 77 amounts to 1,240 euros.", "invoice 78 amounts to 1,420 euros"),
    ],
)
def test_of_two_places_that_differ_one_tells_two_things_apart(older: str, newer: str) -> None:
    assert differ_twice(older, newer)
    assert differ_twice(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The hearing aid takes size 312.", "The hearing aid takes size 13."),
        ("The hearing aid takes size 312.", "got a new one from Dr. Ost, it needs size 13"),
        ("The hearing aid takes size 312.", "The hearing aid takes size 312."),
        ("", "The hearing aid takes size 13."),
    ],
)
def test_one_place_is_a_value_and_other_words_are_no_form(older: str, newer: str) -> None:
    assert not differ_twice(older, newer)


@pytest.mark.parametrize(
    ("older", "newer", "others"),
    [
        ("Kenji lent Salma his drone.", "In May Salma lent Kenji her tripod.", True),
        ("Jess is taller than Bram.", "Bram is older than Jess", True),
        ("Nikolai is engaged to Saoirse.", "Saoirse left, Nikolai is on his own.", False),
        ("Kenji lent Salma his drone.", "Kenji has the drone back from Salma.", False),
        ("Der Wart gibt uns Holz vom Förster.", "Der Förster gibt dem Wart kein Holz.", False),
    ],
)
def test_two_people_in_other_roles_of_one_clause(older: str, newer: str, others: bool) -> None:
    assert crossed(older, newer) is others
    assert crossed(newer, older) is others


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Imke plays cello.", "Imke plays in the Tuesday group"),
        ("The boiler is a Viessmann.", "The boiler is in the cellar, behind the door."),
        ("Mein Onkel ist Schreiner.", "Mein Onkel ist seit Mai verheiratet."),
        ("Our broker runs on two nodes.", "Our broker runs three jobs a night."),
        ("We sing Bach.", "we sing at weddings"),
        ("The soil probe reports over radio.", "The soil probe reports every five minutes."),
    ],
)
def test_a_thing_and_a_place_behind_one_verb_are_two_matters(older: str, newer: str) -> None:
    assert other_complement(older, newer)
    assert other_complement(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Imke plays cello.", "Imke plays the viola."),
        ("The boiler is in the cellar.", "The boiler is now in the attic."),
        ("The boiler is in the cellar.", "The boiler is upstairs."),
        ("Der Schlüssel liegt im Flur.", "Der Schlüssel liegt jetzt im Bad."),
        ("The group meets on Monday.", "The group meets Tuesdays."),
        ("The pulse is about 68.", "The pulse is 59."),
        ("The office in Bremen closed.", "The office moved."),
        ("The glass in the door broke.", "The glass broke again."),
        ("The boiler is in the cellar.", "The boiler is"),
        ("The boiler leaks.", "My uncle is a joiner."),
        ("", "The boiler is in the cellar."),
    ],
)
def test_two_things_two_places_and_two_times_are_one(older: str, newer: str) -> None:
    assert not other_complement(older, newer)
    assert not other_complement(newer, older)
