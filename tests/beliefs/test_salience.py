from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.beliefs.importance import salience
from memory_core.beliefs.relevance import gate
from memory_core.text.keywords import keywords

JUDGED = [
    ("Actually, it's Thursday, the vet moved the appointment", "correction"),
    ("No, I meant the blue folder", "correction"),
    ("That's wrong, the key is under the pot", "correction"),
    ("Correction: the train leaves at 9:40", "correction"),
    ("Sorry, I meant Porto", "correction"),
    ("You're mistaken about the price", "correction"),
    ("Scratch that, use the second draft", "correction"),
    ("It's Tuesday, not Wednesday", "correction"),
    ("I was wrong about the bus", "correction"),
    ("Actually we moved to Postgres in March", "correction"),
    ("Nein, ich meinte den roten Ordner", "correction"),
    ("Remember that I am left-handed", "instruction"),
    ("Please remember my daughter's shoe size is 31", "instruction"),
    ("Always answer in British English", "instruction"),
    ("Never deploy on a Friday", "instruction"),
    ("From now on call the cat Momo", "instruction"),
    ("From now on run the tests when a file is changed", "instruction"),
    ("from now on your answers are short", "instruction"),
    ("From now on: metric units", "instruction"),
    ("Ab sofort nennst du mich Tom", "instruction"),
    ("from now on tests go into tests/unit", "instruction"),
    ("from now on the vet is Dr Lind, Kern retired", "normal"),
    ("From now on my mother pays the phone bill", "normal"),
    ("The gym is closed on Sundays from now on", "normal"),
    ("Ab jetzt ist die Probe donnerstags.", "normal"),
    ("Don't forget that the gate code changed", "instruction"),
    ("don’t use tabs in this repo", "instruction"),
    ("Do not share the draft with the press", "instruction"),
    ("Keep in mind that the shop closes early", "instruction"),
    ("Can you remember that I hate coriander?", "instruction"),
    ("You should always run the linter first", "instruction"),
    ("Make sure the lamp is off", "instruction"),
    ("Ab jetzt bitte auf Deutsch", "instruction"),
    ("Merk dir, dass ich Vegetarier bin", "instruction"),
    ("Bitte benutze nie wieder Tabs.", "instruction"),
    ("Antworte mir grundsätzlich auf Deutsch.", "instruction"),
    ("Schreib Commits immer auf Englisch", "instruction"),
    ("Gib Preise künftig in Euro an.", "instruction"),
    ("Nenn mich Alex.", "instruction"),
    ("Oma kommt immer sonntags", "normal"),
    ("Frag ich ihn, sagt er immer ja", "normal"),
    ("Zeig mir den Plan", "normal"),
    ("We decided to paint the hall white", "decision"),
    ("Let's go with the second offer", "decision"),
    ("I've settled on the oak table", "decision"),
    ("The plan is to leave at dawn", "decision"),
    ("Wir haben uns für das Rad entschieden und beschlossen zu sparen", "decision"),
    ("Every invoice must be signed by two people", "rule"),
    ("Smoking is not allowed in the studio", "rule"),
    ("My son is allergic to peanuts", "rule"),
    ("The policy is two days of notice", "rule"),
    ("The essay is due on Friday", "deadline"),
    ("I need the slides by tomorrow", "deadline"),
    ("My passport expires soon", "deadline"),
    ("The deadline moved again", "deadline"),
    ("Our backend uses PostgreSQL on port 5433", "technical"),
    ("We switched the queue to Kafka", "technical"),
    ("I baked bread with rye flour", "normal"),
    ("My sister plays the cello", "normal"),
    ("Actually, I just walked along the river", "normal"),
    ("No, I have not been there", "normal"),
    ("The ferry is on 30 September, not booked yet", "normal"),
    ("I always run before breakfast", "normal"),
    ("I will always remember that day at the lake", "normal"),
    ("Never been better, the garden blooms", "normal"),
    ("That must have been a long day for her", "normal"),
    ("Do you use a database?", "normal"),
    ("The number is 4", "normal"),
    ("Hi!", "filler"),
    ("Hey Mara! How are you?", "filler"),
    ("Thanks, Jonas!", "filler"),
    ("ok", "filler"),
    ("lol", "filler"),
    ("Good morning!", "filler"),
    ("Sounds good, see you later", "filler"),
    ("haha yes", "filler"),
    ("You're welcome!", "filler"),
    ("Danke!", "filler"),
    ("👍", "filler"),
]
SCORES = {
    "correction": 1.0,
    "instruction": 1.0,
    "decision": 0.85,
    "rule": 0.85,
    "deadline": 0.85,
    "technical": 0.85,
    "normal": 0.5,
    "filler": 0.15,
}


@pytest.mark.parametrize(("text", "rule"), JUDGED)
def test_importance_by_wording(text: str, rule: str) -> None:
    assert salience(text) == (SCORES[rule], rule)


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_only_people_correct_and_instruct(role: str) -> None:
    assert salience("Remember that lists are mutable", role) == (0.5, "normal")
    assert salience("Actually, it's a tuple", role) == (0.5, "normal")
    assert salience("Remember that lists are mutable", "user") == (1.0, "instruction")


KEYWORDS = [
    ("The bakery on Linden Street sells rye bread", ("linden street sells", "bakery", "rye bread")),
    ("I am not sure what to do", ()),
    ("Postgres, Postgres and again Postgres", ("postgres",)),
    ("See https://example.org/a/b for the tax form", ("tax form",)),
    ("Thanks! Mara's violin lesson is at 5", ("mara violin lesson",)),
    ("Ich habe das Fahrrad in der Garage", ("fahrrad", "garage")),
    ("", ()),
]


@pytest.mark.parametrize(("text", "expected"), KEYWORDS)
def test_keywords_are_content_words_and_phrases(text: str, expected: tuple[str, ...]) -> None:
    assert set(keywords(text)) == set(expected)


def test_keywords_put_what_is_repeated_and_connected_first() -> None:
    text = "The sourdough starter needs flour. Feed the sourdough starter. The lamp is off."
    assert keywords(text)[0] == "sourdough starter needs"
    assert keywords(text, most=1) == ("sourdough starter needs",)


@settings(deadline=None)
@given(st.text(max_size=400), st.integers(0, 12))
def test_keywords_are_bounded_lower_case_and_distinct(text: str, most: int) -> None:
    found = keywords(text, most)
    assert len(found) == len(set(found)) <= most
    assert all(word == word.casefold() and word.strip() for word in found)


GATED = [
    ("My violin lesson moved to Tuesday", ""),
    ("My PIN is 4321", ""),
    ("I like it in Porto", ""),
    ("我喜欢在早上喝绿茶", ""),
    (
        "Why does this fail?\nTraceback (most recent call last):\nI wrote it today\nplease help",
        "",
    ),
    ("", "too short"),
    ("ok", "too short"),
    ("y", "too short"),
    ("👍👍", "too short"),
    ("what is it with you", "only stopwords"),
    ("ok thanks, yes", "only stopwords"),
    ("[Request interrupted by user]", "interruption"),
    ("[Request interrupted by user for tool use]", "interruption"),
    ("<system-reminder>\nThe file was changed.\n</system-reminder>", "system reminder"),
    ("<command-name>/clear</command-name>", "system reminder"),
    ("<system-reminder>x</system-reminder> My cat is called Momo", ""),
    ("Error: the disk is full\nThe pump in the cellar leaks", ""),
    ("npm ERR! code EINTEGRITY while unpacking left-pad", "error message"),
    ('grammar check: "Dear Sir, I am a welder and lives in Bath."', "request"),
    ("tldr of the call: the pump failed because the filter was full", ""),
    ("shorten: the council has decided on Thursday to extend the tram to the harbour", "request"),
    (
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    go()\nValueError: x',
        "stack trace",
    ),
    (
        "java.lang.StateException: x\n  at com.acme.Main.run(M.java:3)\n  at acme.Main.main(M:9)",
        "stack trace",
    ),
    ("2024-05-07 10:00:00 INFO started\n2024-05-07 10:00:01 INFO ready\n", "log lines"),
    ("INFO: a\nWARNING: b\nERROR: c", "log lines"),
    ("aGVsbG8gd29ybGQ" * 20, "encoded data"),
    ('{"status": "ok", "items": [{"id": 1, "name": "x"}], "next": null}', "structured data"),
]


@pytest.mark.parametrize(("text", "reason"), GATED)
def test_gate_names_why_a_turn_is_not_captured(text: str, reason: str) -> None:
    assert gate(text) == reason


@settings(deadline=None)
@given(st.text(max_size=500))
def test_salience_and_gate_take_any_text(text: str) -> None:
    score, rule = salience(text)
    assert SCORES[rule] == score
    assert isinstance(gate(text), str)


@pytest.mark.parametrize("function", [salience, gate, keywords])
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a ",
        "no ",
        "is ",
        "is a, not",
        "<bash-input>",
        "A",
        "[",
        "1 ",
        "at a.",
        "==",
        "please ",
        "\n",
        "\n  ",
        "you ",
    ],
)
def test_time_grows_no_faster_than_the_text(grows_linearly, function, unit: str) -> None:  # type: ignore[no-untyped-def]
    assert grows_linearly(function, unit)
