from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.relations.change import (
    ORDER,
    VALUE,
    change,
    passes,
    rare_in,
    repeats,
    signals_change,
)


def any_word(_: str) -> bool:
    return True


CHANGED = [
    # a word of change, and what it is about
    ("I drive a Volvo.", "I sold the Volvo.", "sold"),
    ("Our bank is Ostbank.", "We moved our accounts from Ostbank to Nordbank.", "moved"),
    ("I learn the flute.", "I gave up the flute.", "gave up"),
    ("The wiki is on the old server.", "We shut down the old server.", "shut down"),
    ("Nele is my tax adviser.", "Nele retired, I'm with Mr. Okafor.", "retired"),
    ("I have an account at Kahoot.", "I've deleted my Kahoot account.", "deleted"),
    ("The shed has a red door.", "Since May the shed has a green door.", "since may"),
    ("Answer in long paragraphs.", "No long paragraphs from now on, please.", "from now on"),
    ("Wir heizen mit Gas.", "Wir heizen jetzt mit Holz.", "jetzt"),
    ("Die Miete beträgt 700 Euro.", "Die Miete wurde auf 750 Euro erhöht.", "erhöht"),
    # what is denied or called past
    ("Report sizes in inches.", "Report sizes in centimetres, not inches.", "not inches"),
    ("The key is in the shed.", "The key hangs inside, the shed was too damp.", "not shed"),
    # one matter of the speaker, in other words
    ("I live in Cork.", "We relocated to Kerry.", "relocated"),
    ("I work as a cook at the Ritz.", "I handed in my notice.", "handed in"),
    ("I'm seeing a man called Bo.", "Bo and I broke up.", "broke up"),
    # another value of one attribute
    ("The choir meets in the crypt.", "The choir will be in the town hall.", VALUE),
    ("The ferry leaves at 9:30.", "The ferry leaves at 10:15.", VALUE),
    ("The parrot is called Kim.", "The parrot is called Pip.", VALUE),
    ("The queue holds 40 jobs.", "We let the queue hold 60 jobs.", VALUE),
    # verbs that no list holds all of
    ("The tool is licensed under the GPL.", "The tool got relicensed under the MIT terms.", "got"),
    ("The lamp in the hall flickers.", "The lamp in the hall has been fixed.", "has been fixed"),
    # the same words, turned round
    ("Lena mentors Max.", "Max mentors Lena.", ORDER),
    ("User prefers mail over phone calls.", "User prefers phone calls over mail.", ORDER),
]


@pytest.mark.parametrize(("older", "newer", "reason"), CHANGED)
def test_a_change_is_found_and_named(older: str, newer: str, reason: str) -> None:
    found = change(older, newer, any_word)
    assert found is not None
    assert reason in found.reason.split(", ")
    assert found.worded == (reason != VALUE and not reason.startswith("not "))
    assert signals_change(newer) or reason == ORDER


BOTH_TRUE = [
    # another thing
    ("Invoice 17 is open.", "Invoice 18 was cancelled."),
    ("Meter reading in May: 40 kWh.", "Meter reading in June: 60 kWh."),
    ("The upper hinge is loose.", "The lower hinge was replaced."),
    ("My sister Eva lives in Kiel.", "My cousin Eva moved to Bonn."),
    # a part of the thing, or what belongs to it
    ("I play the guitar.", "I changed the strings of my guitar."),
    ("The release is on Monday.", "The release notes are finished."),
    ("My wife is called Ada.", "My wife's mother moved in with us."),
    ("Our office is in Lyon.", "Our office got new chairs."),
    ("The report is due on 5 March.", "The first draft of the report is done."),
    # another attribute
    ("The API uses OAuth.", "The API returns JSON now."),
    ("Wir haben eine Katze.", "Die Katze frisst jetzt anderes Futter."),
    # one more
    ("I have a dog named Rex.", "I have a second dog now."),
    ("Shipping is free above 50 euros.", "Shipping is free for members too, as of May."),
    # what happened stays so
    ("I ran to the lighthouse.", "I no longer run to the lighthouse."),
    ("Ada won the chess match against Bo.", "Bo won the chess match against Ada."),
    # for a while
    ("The canteen opens at noon.", "The canteen opens at one today."),
    ("Ich arbeite im Büro.", "Ich arbeite diese Woche nicht im Büro."),
    # asked, thought of, denied
    ("I drive a Volvo.", "Should I have sold the Volvo?"),
    ("I drive a Volvo.", "Perhaps I'm moving on from the Volvo."),
    ("I learn the flute.", "I won't give up the flute."),
    # nothing in common
    ("I drive a Volvo.", "I sold the piano."),
    ("", "I sold the piano."),
    ("I drive a Volvo.", ""),
]


@pytest.mark.parametrize(("older", "newer"), BOTH_TRUE)
def test_what_is_true_together_is_left_alone(older: str, newer: str) -> None:
    assert change(older, newer, any_word) is None


@pytest.mark.parametrize(
    ("older", "newer", "partial"),
    [
        ("I live in Cork and teach physics.", "I moved to Kerry.", True),
        ("My desk is by the door, and Ada sits next to me.", "Ada left the company.", True),
        ("The workshop takes place in Lyon on 9 April.", "The workshop will be in Nice.", True),
        ("I live in Cork, in a flat near the river.", "I moved to Kerry.", False),
        ("My dentist is Dr. Sato.", "Dr. Sato retired.", False),
    ],
)
def test_what_the_newer_text_does_not_touch_still_holds(
    older: str, newer: str, partial: bool
) -> None:
    found = change(older, newer, any_word)
    assert found is not None
    assert found.partial == partial


@pytest.mark.parametrize(
    ("text", "brief"),
    [
        ("This week the choir meets on Monday.", True),
        ("Nur heute treffen wir uns um acht.", True),
        ("The choir meets on Monday.", False),
        ("As of today the choir meets on Monday.", False),
        ("The choir was moved to Monday today.", False),
        ("The lease was extended until December.", False),
    ],
)
def test_what_holds_for_a_while_is_known(text: str, brief: bool) -> None:
    assert passes(text) == brief


def test_only_a_rare_word_says_what_a_text_is_about() -> None:
    older, newer = "I drive a Volvo.", "I sold the Volvo."
    assert change(older, newer, rare_in(lambda _: 3, 100, str.split)) is not None
    assert change(older, newer, rare_in(lambda _: 4, 100, str.split)) is None
    assert change(older, newer, rare_in(lambda _: 4, 200, str.split)) is not None


def test_in_long_texts_a_weak_word_is_not_enough() -> None:
    talk = "We had soup. It rained all day. The cat slept. My uncle called."
    older, newer = "I play the tuba.", "I stopped the tuba."
    assert change(older, newer, any_word) is not None
    assert change(f"{talk} {older}", f"{talk} {newer}", any_word) is None


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("I take tea with milk.", "I take my tea with milk.", True),
        ("I take tea with milk.", "I no longer take tea with milk.", False),
        ("The lamp was fixed.", "The lamp has been fixed.", True),
        ("The key is in the top drawer.", "The key is in the bottom drawer.", False),
        ("Lena mentors Max.", "Max mentors Lena.", False),
    ],
)
def test_repetitions_differ_in_nothing_that_counts(a: str, b: str, same: bool) -> None:
    assert repeats(a, b) == same


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_can_be_compared(older: str, newer: str) -> None:
    found = change(older, newer, any_word)
    assert found is None or found.reason
    assert change(older, older, any_word) is None
    assert isinstance(repeats(older, newer), bool)


def seconds(run: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        begun = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begun)
    return best


@pytest.mark.parametrize(
    "piece",
    [
        "now ", "I moved from A to B. ", "not ", "was too ", "a", "is is is by ", "let the ",
        "\n", ". ", "from the since ", "nach ",
    ],
)  # fmt: skip
def test_long_texts_take_no_longer_than_what_is_compared_of_them(piece: str) -> None:
    short, long = ((piece * size)[:size] for size in (2_000, 20_000))
    older = "I live in Cork and teach physics."

    def compared(text: str, number: int) -> object:
        return change(older, f"{number} {text}", any_word), change(
            f"{number} {text}", older, any_word
        )

    numbers = iter(range(100))
    once = seconds(lambda: compared(short, next(numbers)))
    assert seconds(lambda: compared(long, next(numbers))) < 5 * once + 0.005
