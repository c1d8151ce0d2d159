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
    ("nee, nimm doch die erste Variante", "request"),
    ("lass die Einleitung diesmal weg", "request"),
    ("continue where we left off", "request"),
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
    ("Release 7.3 went out with the dark theme.", "statement"),
    ("Run 8 with the small lens reached 61 percent.", "statement"),
    ("run 3 tests", "request"),
    ("Olga the donkey weighs 140 kilos", "statement"),
    ("mop the floor with soap", "request"),
    ("Shelf B holds a spare key and has a lock", "statement"),
    ("Next month the fee rises to 40 francs.", "statement"),
    ("name six trees with red leaves", "request"),
    ("Please use metric units in recipes.", "statement"),
    ("please use the metric one", "request"),
    ("write this down: nora is on call", "statement"),
    ("npm token rotated", "statement"),
    ("docker image pushed and tagged.", "statement"),
    ("npm run build", "request"),
    ("docker compose up", "request"),
    # what is told behind a question or a request without a mark
    ("any idea for a snack my son is diabetic", "statement"),
    ("how do I tell my choir i'm moving away", "statement"),
    ("wie putze ich den am besten wir haben einen alten Boden", "statement"),
    ("can you check if my plan is ok", "request"),
    ("explain the error i'm getting", "request"),
    ("how do I know my code is right", "question"),
    ("kannst du mir eine Route planen ich will im Mai durch Norwegen", "statement"),
    ("could you write a card for my aunt olga she is nearly blind", "statement"),
    ("is there a bread without milk because i was found allergic", "statement"),
    ("can you suggest a soup my mother in law has no teeth", "statement"),
    ("explain the book i read", "request"),
    ("wann wurde die Brücke im Hafen gebaut", "question"),
    # what an answer was like, and more of what was asked
    ("you forgot the last column again", "courtesy"),
    ("your second example doesnt compile", "courtesy"),
    ("that joke was terrible", "courtesy"),
    ("that house was terrible", "statement"),
    ("try again but as a table", "request"),
    ("suggest a cake without nuts because Jonas is allergic", "statement"),
    ("fix the build, it needs Java 21", "statement"),
    ("set the timeout to 10 s, the gateway cuts it after 12", "statement"),
    ("fix it because it is broken", "request"),
    ("make a table, 3 columns wide", "request"),
    ("write a story, it should be 200 words", "request"),
    ("nochmal bitte, aber auf Englisch", "request"),
    ("sudo systemctl restart nginx", "request"),
    ("git is on the second NAS", "statement"),
    # marks that are not typed
    ("can dogs eat carrots", "question"),
    ("sind Tomaten Obst oder Gemüse", "question"),
    ("sind letzten Montag umgezogen", "statement"),
    ("you told me the pump holds 40 litres", "statement"),
    ("asking for a raise on Monday", "statement"),
    ("asking bc my son wants a hamster", "statement"),
    ("can eat carrots again", "statement"),
    ("whats the plot of Hamlet", "question"),
    ("is garlic bad for dogs", "question"),
    ("does vinegar remove rust", "question"),
    ("is in Oslo until May", "statement"),
    ("thats how we do it here", "statement"),
    ("When a bus leaves at 8:15, when does it arrive", "question"),
    ("When I take the bus at 8:15, when do I arrive", "statement"),
    ("asking bc of a quiz", "courtesy"),
    ("das stimmt doch nicht", "courtesy"),
    ("npm ERR! code EINTEGRITY", "error message"),
    ("The proxy lets 40 requests a minute through", "statement"),
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
