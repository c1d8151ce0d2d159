"""Which sentences are standing wishes of an assistant's user, as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.beliefs import wishes
from memory_core.beliefs.importance import salience
from memory_core.beliefs.relevance import gate
from memory_core.memory import Memory
from memory_core.records import Identity
from server.hooks.briefing import briefing
from server.hooks.hooks import Hooks

WISHES = [
    "I always want answers in short sentences.",
    "Immer auf Deutsch antworten.",
    "I want you to answer in English, always.",
    "I'd like all replies without emojis from you, every time.",
    "Answers in bullet points, always please.",
    "I never want to see the full file when you change one line.",
    "Always British spelling.",
    "Every commit message should be in the imperative.",
    "No emojis, ever.",
    "I don't ever want you to push without asking me.",
    "You always explain too much, keep it to three sentences from now on.",
    "Units in metric only, by default.",
    "Bitte immer mit Quellenangabe antworten.",
    "Nie ohne Rückfrage committen.",
    "Ich will immer kurze Antworten.",
    "Ich möchte grundsätzlich gesiezt werden.",
    "Code-Kommentare immer auf Englisch.",
    "Du sollst immer erst die Tests laufen lassen.",
    "Antworten künftig ohne Emojis, bitte.",
    "Ich möchte nie wieder Aufzählungen in Antworten sehen.",
    "Generell gilt: keine langen Einleitungen.",
    "I want every answer to end with the next step.",
    "I never want apologies in your answers.",
    "Explanations with an example, always.",
    "I prefer that you never rename my variables.",
    "Dates in ISO format, always.",
    "We want you to ask before each deletion, every time.",
    "Please, no tables ever.",
    "Ich will niemals Emojis in deinen Antworten.",
    "Quellen immer mit Link angeben.",
    "Du sollst nie von dir aus etwas löschen.",
    "Immer zuerst eine Zusammenfassung geben.",
    "Ich hätte gern immer nur eine Lösung statt drei.",
    "I always want to see the command before you run it.",
    "Never any small talk in replies.",
    "I'd prefer your code without comments, always.",
    "In future I want the short version of every answer.",
    "Immer die Quelle nennen.",
    "Ich mag in Antworten nie Anglizismen lesen.",
    "Du musst mich immer fragen, bevor du etwas installierst.",
    "Whenever I paste a log, name the first error before anything else.",
    "No tables please.",
    "Keine Floskeln, ja?",
    "Use Oxford commas in everything you write for me.",
    "When I ask for a recipe, give me grams.",
    "Talk to me like a colleague.",
    "Bitte duz mich, alles andere ist mir zu steif.",
    "I'd rather you asked once too often.",
    "You keep repeating my question.",
    "Your summaries are way too long.",
    "Deine Antworten sind mir viel zu lang.",
    "Could you in general put the result first",
    "Wenn ich nach Rezepten frage, immer die Backzeit dazuschreiben.",
    "If you aren't sure about a date, say so.",
    "Unprompted advice drives me mad, don't give any unless I ask for it.",
    "I like it when you end with a question.",
]
NONE = [
    "I always wanted to live by the sea.",
    "I never want to go back to that dentist.",
    "She always wants the window seat.",
    "The trains are always late on Mondays.",
    "I always answer the phone in English at work.",
    "We always have pasta on Fridays.",
    "Never seen such a storm before.",
    "My boss always wants answers within an hour.",
    "I'd like the report by Friday.",
    "Every time I open the window the cat runs off.",
    "Ich wollte immer schon nach Island.",
    "Immer auf der A9 ist Stau.",
    "Ich antworte immer auf Deutsch, wenn mich jemand fragt.",
    "Er will immer recht haben.",
    "Die Kinder wollen nie ins Bett.",
    "Ich will nie wieder umziehen.",
    "Immer dieser Regen.",
    "Nie war es so warm wie heute.",
    "Grundsätzlich mag ich den Winter.",
    "Ich möchte immer noch nach Rom fahren.",
    "I always want coffee after lunch.",
    "I never want sushi again.",
    "The answers in the quiz were always wrong.",
    "Tom always writes his comments in French.",
    "Tests always fail on Mondays.",
    "I want to always be there for my kids.",
    "Ich will immer nur schlafen.",
    "Mein Chef will immer kurze Antworten.",
    "Die Antworten kamen immer zu spät.",
    "Ich möchte niemals im Ausland arbeiten.",
    "Immer zuerst kommt der Bus aus Graz.",
    "Du bist immer so nett.",
    "We always need milk and bread on lists.",
    "My dentist never answers.",
    "You never know with trains.",
    "I'd always prefer the mountains.",
    "Ich will immer am Fenster sitzen.",
    "Du hast immer recht.",
    "Alle Antworten von der Bank kamen per Post.",
    "Ich brauche immer lange für Erklärungen.",
    "Nie wieder Fisch vom Kiosk.",
    "Let me know if you write to her.",
    "When I ask my boss he gets angry.",
    "If you need anything, call me tomorrow.",
    "No dogs on the lawn.",
    "Keine Milch mehr da.",
    "Your answers in the quiz were right this time.",
    "Never mind the blue one, take the other.",
    "Make this shorter.",
    "No bullet points in this one.",
    "Give me the second version again.",
]


@pytest.mark.parametrize("text", WISHES)
def test_a_wish_for_all_time_is_kept_as_an_instruction(text: str) -> None:
    assert salience(text, "user") == (1.0, "instruction")
    assert gate(text, "user") == ""


@pytest.mark.parametrize("text", NONE)
def test_what_somebody_always_does_or_wants_is_no_instruction(text: str) -> None:
    assert salience(text, "user")[1] != "instruction"


@pytest.mark.parametrize("text", WISHES[:2])
def test_a_wish_of_one_conversation_opens_the_next_one(memory: Memory, text: str) -> None:
    who, now = Identity("me"), 1_780_000_000.0
    told = {"hook_event_name": "UserPromptSubmit", "session_id": "one", "prompt": text}
    Hooks(memory, lambda: now).answer(who, told)
    assert f"> {text}" in briefing(memory, who, "", "two", now)[0]


@pytest.mark.parametrize(
    ("text", "errand"),
    [
        ("remember to buy milk", True),
        ("remind me at four to call Uma", True),
        ("don't let me forget the parcel", True),
        ("Denk bitte daran, die Tür zu schließen", True),
        ("remember that I'm allergic to nuts", False),
        ("don't forget that I'm allergic to nuts", False),
        ("erinner mich nie an mein Gewicht", False),
    ],
)
def test_an_errand_is_known_by_its_words(text: str, *, errand: bool) -> None:
    assert wishes.is_errand(text) == errand


def test_several_signs_tell_a_wish_that_no_rule_tells() -> None:
    wish = "skip the intro when you write to me, I read these on the bus"
    assert not any(map(wishes.is_wish, [wish]))
    assert wishes.likelihood(wish) >= wishes.LIKELY > wishes.likelihood("the berth has a tap")
    assert set(wishes.signs(wish)) == set(wishes.WEIGHTS)


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("User prefers early returns over nested ifs.", True),
        ("The user dislikes default exports; use named exports.", True),
        ("User wants diffs only, not whole files.", True),
        ("User asked not to run the formatter on other files.", True),
        ("User has told the assistant to always show units.", True),
        ("Der Nutzer bevorzugt kurze Antworten.", True),
        ("Preference: table-driven tests.", True),
        ("Commit messages: imperative, ticket id in the footer.", True),
        ("User wants to learn Spanish by summer.", False),
        ("User wants a new laptop.", False),
        ("User asked to fix the login page.", False),
        ("Tests: 12 failing.", False),
        ("Ruth prefers the window seat.", False),
    ],
)
def test_what_an_assistant_notes_as_preferred_is_sure_in_a_note(text: str, *, sure: bool) -> None:
    assert (wishes.likelihood(text, note=True) == wishes.SURE) == sure
    assert wishes.likelihood(text) < wishes.SURE


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ask me before adding dependencies", True),
        ("i want you to run the linter before you say you're done", True),
        ("show the failing test before you fix it", True),
        ("frag mich, bevor du etwas löschst", True),
        ("i'd like you to be more formal", True),
        ("leave the changelog alone", True),
        ("give me five names for a cafe", False),
        ("show me the diff", False),
        ("make me a table of the planets", False),
        ("can you check that before you go on?", False),
        ("explain this before you go on", False),
    ],
)
def test_what_is_likely_standing_passes_the_gate(text: str, *, kept: bool) -> None:
    assert (gate(text, "user") == "") == kept


def test_it_grows_with_the_length_of_a_text(grows_linearly: Any) -> None:
    for unit in ("I always want you ", "immer die ", "every answer "):
        assert grows_linearly(lambda text: salience(text, "user"), unit)
