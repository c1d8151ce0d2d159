"""Questions for help, and for what the assistant said."""

from __future__ import annotations

import pytest

from memory_core.beliefs.question import (
    asks_for_help,
    asks_what_was_answered,
    gives,
    kind_asked,
    noun_asked,
)


@pytest.mark.parametrize(
    ("query", "help_", "answered"),
    [
        ("How do I sharpen a chisel?", True, False),
        ("Could you show me how to bake rye bread?", True, False),
        ("Hi, can you please help me plan a garden?", True, False),
        ("I'm planning to build a shed. Which wood would you suggest?", True, False),
        ("What steps should I take to insulate the roof?", True, False),
        ("What are some ways to remove rust?", True, False),
        ("Wie kann ich Rost entfernen?", True, False),
        ("How did I sharpen the chisel?", False, False),
        ("Can you summarize what we did so far?", False, False),
        ("How can I find what I mentioned about rust?", False, False),
        ("Which wood did you recommend?", False, True),
        ("What had you suggested for the roof?", False, True),
        ("Was hast du mir für das Dach empfohlen?", False, True),
        ("What did Ana recommend?", False, False),
        ("What did Ana paint?", False, False),
        ("", False, False),
    ],
)
def test_what_a_question_wants(query: str, help_: bool, answered: bool) -> None:
    assert asks_for_help(query) is help_
    assert asks_what_was_answered(query) is answered


@pytest.mark.parametrize(
    ("query", "kind", "noun"),
    [
        ("When does the ferry leave?", "time", ""),
        ("Um wie viel Uhr kommt die Post?", "time", ""),
        ("How much is the ferry?", "number", ""),
        ("wie alt ist Mia?", "number", ""),
        ("Where's the ladder?", "place", ""),
        ("Wo steht die Leiter?", "place", ""),
        ("Which ferry do we take?", "", "ferry"),
        ("What kind of paint did we use?", "", "paint"),
        ("In welcher Straße wohnt Mia?", "", "Straße"),
        ("What is the code of the gate?", "", ""),
        ("Does Mia swim?", "", ""),
        ("", "", ""),
    ],
)
def test_the_kind_of_answer(query: str, kind: str, noun: str) -> None:
    assert kind_asked(query) == kind
    assert noun_asked(query) == noun


@pytest.mark.parametrize(
    ("kind", "yes", "no"),
    [
        ("time", "The shop closes at 8.", "The shop costs 210 euros a month."),
        ("time", "on the 14th, if it is dry", "a shop for 14 people"),
        ("time", "immer mittwochs", "immer mit Milch"),
        ("time", "choir is on Thursdays", "choir is in the town hall"),
        ("time", "Mittwoch bis Samstag", "Lore bis Lena"),
        ("time", "18:30, Eingang hinten", "18 Stühle"),
        ("number", "seven chairs", "many chairs"),
        ("number", "v2", "a few"),
        ("number", "14 nodes", "it is served from S3"),
        ("place", "behind the shed", "it squeaks"),
        ("place", "summer holiday = Tromsø", "summer holiday, sorted"),
        ("place", "hinterm Haus, im Schuppen", "es quietscht"),
    ],
)
def test_a_text_that_holds_an_answer_of_that_form(kind: str, yes: str, no: str) -> None:
    assert gives(kind, yes)
    assert not gives(kind, no)
