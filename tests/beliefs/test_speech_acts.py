"""What a sentence does: it states, asks, requests, greets, offers or reports a failure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.beliefs.speech_acts import act, acts, is_standing

USER = [
    ("The bakery sells rye bread.", "statement"),
    ("We moved to Hetzner, which port do I need?", "statement"),
    ("Zebras have stripes, don't they?", "statement"),
    ("If I move to Hetzner, which port do I need?", "question"),
    ("how do I exit vim", "question"),
    ("I wonder why it is slow", "question"),
    ("When I was young, we lived in Ghent.", "statement"),
    ("Wie heißt die Hauptstadt von Peru", "question"),
    ("Run the linter.", "request"),
    ("Can you rename this variable?", "request"),
    ("bump the version and tag it", "request"),
    ("Bitte den Server neu starten.", "request"),
    ("Zeig mir die Datei.", "request"),
    ("Fix the header, the logo has to be 40 px high.", "statement"),
    # directives that go on say how things are to be
    ("Always run the linter before a commit.", "statement"),
    ("Can you remember that I hate coriander?", "statement"),
    ("Write commit messages in English.", "statement"),
    ("Use British spelling in the docs.", "statement"),
    ("use the second one", "request"),
    ("Now the German version please", "request"),
    ("Let's use pnpm for the monorepo.", "statement"),
    ("probier's nochmal", "request"),
    ("Don't touch that yet", "request"),
    ("Don't use tabs in this repo", "statement"),
    ("Ab jetzt bitte metrische Einheiten.", "statement"),
    # nouns and elided subjects are no imperatives
    ("Book club meets on Tuesdays.", "statement"),
    ("Got a puppy yesterday", "statement"),
    ("Love the new office", "statement"),
    ("You can reach me on Signal.", "statement"),
    ("Thanks, that did it!", "courtesy"),
    ("Good morning Jonas", "courtesy"),
    ("no, the other one", "courtesy"),
    ("Thanks, the proxy on the NAS was it.", "statement"),
    ("danke, passt", "courtesy"),
    ("502 Bad Gateway", "error message"),
    ("API Error: Connection error.", "error message"),
    ("Request timed out.", "error message"),
    ("The request of my landlord was denied because I was late.", "statement"),
]
ASSISTANT = [
    ("Let me know if you need anything else.", "offer"),
    ("I'll take a look at the file now.", "offer"),
    ("Kann ich noch etwas für dich tun?", "offer"),
    ("I renamed the module and updated its importers.", "statement"),
    ("You're welcome!", "courtesy"),
]


@pytest.mark.parametrize(
    ("role", "sentence", "expected"),
    [("user", *each) for each in USER] + [("assistant", *each) for each in ASSISTANT],
)
def test_the_act_of_a_sentence(role: str, sentence: str, expected: str) -> None:
    assert act(sentence, role) == expected


def test_each_sentence_has_its_act() -> None:
    said = "Thanks! My new number is 0151. Can you save the file?"
    assert acts(said, "user") == ["courtesy", "statement", "request"]


def test_standing_directives_are_known_by_their_words() -> None:
    assert is_standing("Please never call before noon")
    assert not is_standing("Please call my mother")


@given(st.text(max_size=300), st.sampled_from(["", "user", "assistant"]))
def test_any_text_has_acts(text: str, role: str) -> None:
    known = {"statement", "question", "request", "courtesy", "offer", "error message"}
    assert set(acts(text, role)) <= known


@pytest.mark.parametrize(
    "unit",
    ["a", "a ", "? ", ", ", "run the ", "i need ", "error: ", "is it ", "thanks ", "- ", "\n"],
)
def test_time_grows_no_faster_than_the_text(grows_linearly, unit: str) -> None:  # type: ignore[no-untyped-def]
    assert grows_linearly(acts, unit)
