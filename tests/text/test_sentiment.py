"""The emotional colour of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.sentiment import Sentiment, sentiment


@pytest.mark.parametrize(
    ("text", "sign", "emotion"),
    [
        ("I am so happy that we celebrated together!", 1, "joy"),
        ("Thank you, I really appreciate your help.", 1, "gratitude"),
        ("I love this old house.", 1, "love"),
        ("My grandfather died and I cry every night; I am so sad.", -1, "sadness"),
        ("I am afraid of the operation and worried about the pain.", -1, "fear"),
        ("This printer makes me furious, I hate it.", -1, "anger"),
        ("She was proud of her success.", 1, "pride"),
    ],
)
def test_texts_have_the_colour_that_a_reader_sees(text: str, sign: int, emotion: str) -> None:
    found = sentiment(text)
    assert found.valence * sign > 0.3
    assert emotion in found.emotions
    assert found.arousal > 0


@pytest.mark.parametrize(
    "text",
    [
        "The staging database is on port 5433.",
        "",
        "Der Zug fährt um acht.",
        "東京に行く",
        # English has "die", "war" and "hell", too
        "Die Kita hat neue Öffnungszeiten.",
        "War gestern im Kino.",
        "Das Bad ist hell.",
    ],
)
def test_plain_texts_are_neutral(text: str) -> None:
    assert sentiment(text) == Sentiment()


def test_a_negation_turns_the_valence_and_takes_the_emotion() -> None:
    assert sentiment("I am happy.").valence > 0 > sentiment("I am not happy.").valence
    assert sentiment("I am not happy.").emotions == ()
    assert sentiment("I am not afraid any more.").valence > 0


def test_degree_and_shouting_count() -> None:
    assert sentiment("I am very happy.").valence > sentiment("I am happy.").valence
    assert sentiment("I am slightly happy.").valence < sentiment("I am happy.").valence
    assert sentiment("I am happy!!!").arousal > sentiment("I am happy.").arousal
    assert sentiment("I am SO HAPPY").arousal > sentiment("i am so happy").arousal
    assert sentiment("Everything is calm and quiet.").arousal < sentiment("I am thrilled.").arousal


@given(st.text(max_size=300))
def test_every_text_stays_within_the_ranges(text: str) -> None:
    found = sentiment(text)
    assert -1 < found.valence < 1
    assert 0 <= found.arousal < 1
    assert len(found.emotions) <= 3
