from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.beliefs.claims import agree, claims, opposed

PAIRS = [
    # the same said twice
    ("The server listens on port 5432", "the server listens on port 5432.", ""),
    ("I have three cats", "I have 3 cats", ""),
    ("The rent is 1,200 euros", "The rent is 1200 euros", ""),
    ("The race costs 1,5 points", "The race costs 1.5 points", ""),
    ("Dinner is at 5 pm", "Dinner is at 5pm", ""),
    ("Dinner is at 5:00 p.m.", "Dinner is at 5 pm", ""),
    ("We met on the 3rd", "We met on the 3", ""),
    ("It was -3 degrees", "It was minus 3 degrees", ""),
    ("Mara likes tea", "Tea is what Mara likes", ""),
    ("Painting relaxes Mara", "Mara relaxes by painting", ""),
    ("I can't wait to see you", "I am eager to see you", ""),
    ("No problem, I will come", "I will come", ""),
    ("Don't forget the milk", "Remember the milk", ""),
    ("I don't eat meat", "I never eat meat", ""),
    ("He quit smoking", "He no longer smokes", ""),
    ("I used to smoke", "I don't smoke anymore", ""),
    ("It is not only cheap but fast", "It is cheap and fast", ""),
    ("Ich esse kein Fleisch", "Ich esse niemals Fleisch", ""),
    ("", "", ""),
    # numbers
    ("The server listens on port 5432", "The server listens on port 5433", "numbers"),
    ("It was -3 degrees", "It was 3 degrees", "numbers"),
    ("It was −3 degrees", "It was 3 degrees", "numbers"),
    ("The ratio is 1.5", "The ratio is 15", "numbers"),
    ("She was born in 1987", "She was born in 1988", "numbers"),
    ("Use Python 3.11", "Use Python 3.12", "numbers"),
    ("Use version 3.10", "Use version 3.1", "numbers"),
    ("Dinner is at 5 pm", "Dinner is at 5 am", "numbers"),
    ("Dinner is at 17:30", "Dinner is at 17:45", "numbers"),
    ("I have three cats", "I have four cats", "numbers"),
    ("The key is a3f9", "The key is a3f8", "numbers"),
    ("The host is 10.0.0.12", "The host is 10.0.0.13", "numbers"),
    ("Run 3 tests", "Run tests", "numbers"),
    ("the range is 3-4", "the range is 3-5", "numbers"),
    ("Heron 1.a.0 waits", "Heron 1.b.0 waits", "numbers"),
    ("See section 2.x of the contract", "See section 2.y of the contract", "numbers"),
    ("Track 7/L is closed", "Track 7/R is closed", "numbers"),
    # polarity
    ("He likes olives", "He does not like olives", "polarity"),
    ("He likes olives", "He doesn't like olives", "polarity"),
    ("He likes olives", "He doesn’t like olives", "polarity"),
    ("I eat meat", "I never eat meat", "polarity"),
    ("I work at the mill", "I no longer work at the mill", "polarity"),
    ("I smoke", "I used to smoke", "polarity"),
    ("Coffee with sugar", "Coffee without sugar", "polarity"),
    ("Ich mag Oliven", "Ich mag Oliven nicht", "polarity"),
    ("Ich habe ein Auto", "Ich habe kein Auto", "polarity"),
    ("J'aime le vin", "Je n'aime pas le vin", "polarity"),
    ("Me gusta el vino", "No me gusta el vino", "polarity"),
    ("Ella vive con su madre", "Ella vive sin su madre", "polarity"),
    ("我喜欢茶", "我不喜欢茶", "polarity"),
    ("お茶が好きです", "お茶が好きではない", "polarity"),
    ("Я люблю чай", "Я не люблю чай", "polarity"),
    # names
    ("Mara likes tea", "Jonas likes tea", "names"),
    ("I met Mara", "I met Tilda", "names"),
    ("The office is in Lisbon", "The office is in Porto", "names"),
    ("We store it in LanceDB", "We store it in SQLite", "names"),
    # values that exclude each other
    ("The meeting is on Tuesday", "The meeting is on Thursday", "values"),
    ("The door is green", "The door is red", "values"),
    ("The trip is in June", "The trip is in July", "values"),
    ("He loves olives", "He hates olives", "values"),
    ("The cache is enabled", "The cache is disabled", "values"),
    ("Indent with tabs", "Indent with spaces", "values"),
    ("She takes it before lunch", "She takes it after lunch", "values"),
    # who does what to whom
    ("Mara owes Jonas money", "Jonas owes Mara money", "order"),
    ("the dog bit the man", "the man bit the dog", "order"),
]


@pytest.mark.parametrize(("first", "second", "reason"), PAIRS)
def test_what_keeps_two_texts_from_saying_the_same(first: str, second: str, reason: str) -> None:
    a, b = claims(first), claims(second)
    assert opposed(a, b) == reason
    assert opposed(b, a) == reason
    assert agree(a, b) == (reason == "")


def test_numbers_keep_sign_decimals_and_half_of_the_day() -> None:
    text = "At -3 or 1.50, on 2024-05-07 at 5:30 pm, v2 of the 3rd, 1,234,567 and seven"
    assert claims(text).numbers == {"-3", "1.50", "2024-05-07", "5:30pm", "v2", "3", "1234567", "7"}


@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_opposition_is_symmetric_and_never_with_itself(first: str, second: str) -> None:
    a, b = claims(first), claims(second)
    assert opposed(a, a) == ""
    assert opposed(a, b) == opposed(b, a)


@settings(deadline=None)
@given(st.integers(-10_000, 10_000), st.integers(-10_000, 10_000))
def test_any_two_whole_numbers_are_told_apart(first: int, second: int) -> None:
    a, b = claims(f"the value is {first} today"), claims(f"the value is {second} today")
    assert agree(a, b) == (first == second)


@pytest.mark.parametrize("unit", ["1", "1.", "1a", "a1,", "-1 ", "not ", "n't ", "A used ", "1 p"])
def test_time_grows_no_faster_than_the_text(grows_linearly, unit: str) -> None:  # type: ignore[no-untyped-def]
    assert grows_linearly(claims, unit)
