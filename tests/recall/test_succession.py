"""How likely a newer statement took the place of an older one: each sign, and all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.embedding.base import Embedder
from memory_core.recall.succession import (
    WEIGHTS,
    Rivals,
    about_one,
    answers,
    likely,
    signs,
    touches,
)

RELATED = 0.45


def rivals(minilm: Embedder, query: str, older: str, newer: str) -> Rivals:
    one, two = minilm.documents([older, newer])
    return Rivals(query, older, newer, 0.8, float(one @ two))


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        (
            "We buy our honey from the Kovacs farm.",
            "honey: two jars a month from Adaeze",
            "Who sells us honey?",
        ),
        (
            "The sauna is heated with gas.",
            "took out the gas burner, the sauna gets birch logs",
            "How is the sauna heated?",
        ),
        (
            "Tickets for the zoo cost 18 euros.",
            "zoo: 21 euros a head, we paid at the gate",
            "What does a ticket for the zoo cost?",
        ),
        (
            "Unser Probenraum ist im Keller der Schule.",
            "wir proben beim Schreiner in der Werkstatt, Probenraum wird zum Archiv",
            "Wo ist unser Probenraum?",
        ),
        ("My bike lock code is 4471.", "My bike lock code is 9026.", "What is my bike lock code?"),
        (
            "Our newsletter is written in Mailchimp.",
            "Our newsletter is written in Ghost.",
            "What is our newsletter written in?",
        ),
        ("Rosa reicht an Karl weiter.", "Karl reicht an Rosa weiter.", "Wer reicht an wen weiter?"),
    ],
)
def test_a_new_state_is_likely_without_a_word_of_change(
    minilm: Embedder, older: str, newer: str, query: str
) -> None:
    assert likely(rivals(minilm, query, older, newer), minilm.documents, RELATED)


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        (
            "The red canoe seats three.",
            "The green canoe seats two.",
            "How many does the red canoe seat?",
        ),
        (
            "Gate code of house 4: 1188",
            "Gate code of house 9: 2503",
            "What is the gate code of house 4?",
        ),
        ("Unser Kater heißt Mop.", "Unser Kater hasst Regen.", "Wie heißt unser Kater?"),
        (
            "My plumber is called Ottoline.",
            "My plumber charges 70 an hour.",
            "What is my plumber called?",
        ),
        ("The ladder is in the barn.", "The ladder is in need of repair.", "Where is the ladder?"),
        ("The van weighs 2,100 kilos.", "The van smells of wet dog.", "How heavy is the van?"),
        (
            "Ana teaches Latin and coaches the rowers.",
            "The rowers have Piet as their coach since May.",
            "What does Ana teach?",
        ),
        (
            "Our kiln runs on Thursdays.",
            "The choir from Lund sang at the wedding.",
            "When does our kiln run?",
        ),
        (
            "Hugo smokes a pipe.",
            "Hugo's twin quit cigars in spring.",
            "What does Hugo smoke?",
        ),
        (
            "Hansekarten: wir scannen mit 400 dpi und legen alles als TIFF ab.",
            "Die Laborwerte sind da, der Arzt hat die Tabletten auf 88 Mikrogramm hochgesetzt.",
            "In welchem Dateiformat legen wir die Scans der Hansekarten ab?",
        ),
        (
            "Ida's birthday 3 May, she wants a telescope but gets a cake",
            "my passport runs out 14 March 2031, Ida's is fine, she asked the embassy",
            "When's Ida's birthday?",
        ),
    ],
    ids=[
        "another thing of a kind",
        "another number of a kind",
        "another predicate",
        "no name",
        "a value of another sort",
        "no number",
        "the rest",
        "a stranger",
        "somebody's twin",
        "a stranger in German",
        "a name among much else",
    ],
)
def test_what_is_said_of_something_else_is_not_likely(
    minilm: Embedder, older: str, newer: str, query: str
) -> None:
    assert not likely(rivals(minilm, query, older, newer), minilm.documents, RELATED)


def test_a_subject_ends_at_the_verb_that_an_object_with_its_article_follows() -> None:
    older = "Ilka runs the bakery of the village hall in Thun."
    assert about_one("Who runs the bakery?", older, "Matteo runs the bakery from now on.")
    assert not about_one("Who runs the bakery?", older, "The station bakery closes on Mondays.")


def test_one_word_among_many_ties_two_texts_that_are_near_in_meaning(minilm: Embedder) -> None:
    older = "The bakery on the corner delivers our breakfast rolls at half past six."
    newer = "Rolls come from a baker in Au, who leaves bread by the gate before seven."
    pair = rivals(minilm, "Who brings our rolls?", older, newer)
    assert touches(pair, minilm.documents, RELATED)
    assert not touches(pair, minilm.documents, 0.99)
    assert touches(replace(pair, near=None), minilm.documents, 0.99)


def test_a_question_that_names_both_asks_for_neither_thing_of_a_kind() -> None:
    older, newer = "Sieve before the wash.", "Sieve after the wash."
    assert answers(Rivals("Do we sieve before or after the wash?", older, newer, 1.0, 1.0))


def never(_: Sequence[str]) -> None:
    raise AssertionError


def test_no_model_is_asked_where_the_older_text_says_one_thing() -> None:
    pair = Rivals("Is our barn dry?", "Our barn is dry.", "The barn leaks at the door.", 0.9, 0.7)
    assert likely(pair, never, RELATED)


def test_without_vectors_words_alone_decide() -> None:
    query, older, newer = "Who mends our boat?", "Joss mends our boat.", "The boat goes to Piran."
    assert likely(Rivals(query, older, newer, 0.9, None), never, RELATED)
    assert signs(Rivals(query, older, newer, 0.9, None), RELATED)["near"] == 0
    strangers = Rivals("Where is it?", "The axe is here.", "Rain fell.", 1.0, None)
    assert not likely(strangers, never, RELATED)


TEXTS = st.text(alphabet="ab ,.'0Ä", max_size=30)


@given(TEXTS, TEXTS, TEXTS, st.floats(0, 50), st.none() | st.floats(-1, 1))
def test_every_sign_is_within_its_range(
    query: str, older: str, newer: str, score: float, near: float | None
) -> None:
    found = signs(Rivals(query, older, newer, score, near), RELATED)
    assert found.keys() == WEIGHTS.keys()
    assert all(0 <= found[name] <= 1 for name in WEIGHTS if name != "near")
    assert found["near"] <= 1
    assert (found["near"] >= 0) is (near is None or near >= RELATED)


def test_another_complement_of_the_verb_is_no_other_value(minilm: Embedder) -> None:
    query, made = "What make is the boiler?", "The boiler is a Viessmann."
    for newer, value in (
        ("The boiler is a Vaillant.", True),
        ("The boiler is in the cellar.", False),
    ):
        pair = replace(rivals(minilm, query, made, newer), score=0.9)
        assert likely(pair, minilm.documents, 0.35) is value


def test_in_small_letters_no_name_is_missed(minilm: Embedder) -> None:
    older = "Our GP is Dr Hallam at the Mill Lane surgery."
    newer = "hallam's retired, they've assigned us dr osei as gp"
    assert answers(Rivals("who is our GP?", older, newer, 0.96, 0.64))
    assert not answers(Rivals("who is our GP?", older, "The GP is closed in May", 0.96, 0.64))


@pytest.mark.parametrize(
    ("newer", "answered"),
    [
        ("we could heat the sauna with birch one day. what would that cost?", False),
        ("maybe the sauna gets birch logs", False),
        ("the sauna gets birch logs. would you order some?", True),
        ("you heat the sauna with birch logs, nothing else", True),
    ],
)
def test_what_is_only_thought_of_answers_nothing(newer: str, *, answered: bool) -> None:
    pair = Rivals("How is the sauna heated?", "The sauna is heated with gas.", newer, 0.8, None)
    assert answers(pair) is answered


def test_of_two_thoughts_the_newer_one_answers() -> None:
    older, newer = "Maybe we heat the sauna with gas.", "perhaps the sauna gets birch logs"
    assert answers(Rivals("How could the sauna be heated?", older, newer, 0.8, None))
