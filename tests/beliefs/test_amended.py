"""A text that only sets right what its speaker said just before it: "no wait, 17:30"."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Clock, OpenMemory

from memory_core.beliefs.amended import amends
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest

ME = Identity("me")
BEFORE = "Uma's drums lesson is on wednesdays at 17:00"
AMENDING = [
    "no wait, 17:30",
    "sorry, 17:30 not 17:00",
    "ach nein, 17:30",
    "Correction: 17:30",
    "that was wrong, the lesson is at 17:30",
    "i misread, drums is at 17:30",
    "it's actually 17:30",
    "I meant thursdays",
    "nee, donnerstags",
]
NOT = [
    "no, I can't come at 17:30 because of the car",
    "sorry, the dentist is at 9:30",
    "wait",
    "actually I like drums",
    "17:30",
    "no 3",
    "the lesson is at 17:30",
]


@pytest.mark.parametrize("text", AMENDING)
def test_a_value_behind_words_of_correction_amends(text: str) -> None:
    found = amends(BEFORE, text)
    assert found is not None
    assert found.words[0] in text.casefold()
    assert not found.supersedes


@pytest.mark.parametrize("text", NOT)
def test_what_names_something_else_or_no_value_of_that_kind_does_not(text: str) -> None:
    assert amends(BEFORE, text) is None


def say(memory: Memory, clock: Clock, text: str, session: str, role: str = "user") -> str:
    clock.pass_by(60)
    told = memory.observe(ME, ConversationTurn(role, text, clock.now, session))
    assert told.receipt is not None
    return told.receipt.id


def test_it_is_found_by_what_it_sets_right_and_comes_first(
    open_memory: OpenMemory, clock: Clock
) -> None:
    memory = open_memory()
    for text in ("The choir meets in the chapel.", "The van is due for inspection."):
        memory.remember(ME, RememberRequest(text))
    wrong = say(memory, clock, BEFORE, "one")
    say(memory, clock, "Uma has drums on Wednesdays at 17:00 then.", "one", role="assistant")
    right = say(memory, clock, "no wait, 17:30", "one")
    found = memory.recall(ME, RecallRequest("when is Uma's drums lesson?"))
    assert [hit.memory.id for hit in found.hits][:2] == [right, wrong]
    assert found.hits[1].doubted_by == right


@pytest.mark.parametrize(("session", "minutes"), [("two", 0), ("one", 20)])
def test_what_was_said_elsewhere_or_long_before_is_not_set_right(
    open_memory: OpenMemory, clock: Clock, session: str, minutes: int
) -> None:
    memory = open_memory()
    say(memory, clock, BEFORE, "one")
    clock.pass_by(60 * minutes)
    say(memory, clock, "no wait, 17:30", session)
    assert memory.doubts(ME) == []


def test_it_is_found_among_many_others_and_keeps_no_word_of_what_it_sets_right(
    open_memory: OpenMemory, clock: Clock
) -> None:
    memory = open_memory()
    for number in range(150):
        memory.remember(
            ME, RememberRequest(f"Berth {number} is at 17:{number % 60:02}, no lesson.")
        )
    wrong = memory.remember(ME, RememberRequest(BEFORE)).id
    clock.pass_by(60)
    right = memory.remember(ME, RememberRequest("no wait, 17:30")).id
    found = memory.recall(ME, RecallRequest("when is Uma's drums lesson?", explain=True))
    assert [hit.memory.id for hit in found.hits][:2] == [right, wrong]
    assert found.hits[0].why["amends"] > 0
    memory.forget(ME, ids=[wrong], confirm=True)
    kept = memory.get(ME, right)
    assert not any("drums" in word for word in (kept.text, *kept.keywords, *kept.lead))


def test_a_note_is_set_right_by_the_next_one_of_its_speaker(
    open_memory: OpenMemory, clock: Clock
) -> None:
    memory = open_memory()
    old = memory.remember(ME, RememberRequest(BEFORE)).id
    memory.remember(Identity("other"), RememberRequest("The match is at 15:00"))
    clock.pass_by(30)
    new = memory.remember(ME, RememberRequest("sorry, i meant 17:30"))
    assert [(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)] == [(old, new.id)]
    assert any(old in warning for warning in new.warnings)


def test_it_grows_with_the_length_of_a_text(grows_linearly: Any) -> None:
    for unit in ("no, ", "sorry ", "17:30 "):
        assert grows_linearly(lambda text: amends(BEFORE, text), unit)
