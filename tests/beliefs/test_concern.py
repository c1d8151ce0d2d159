"""Whom a prompt concerns: the one who writes it, or anybody."""

from __future__ import annotations

import pytest

from memory_core.beliefs.question import asks_in_general, is_anybodys


@pytest.mark.parametrize(
    "text",
    [
        "why do cats purr",
        "Who invented the pendulum clock?",
        "How long do peonies last in a vase?",
        "Wie viele Kalorien hat eine Schale Reis?",
    ],
)
def test_a_question_without_a_word_of_the_asker_is_general(text: str) -> None:
    assert asks_in_general(text)


@pytest.mark.parametrize(
    "text",
    [
        "why does my cat purr",
        "How long do our peonies last in a vase?",
        "can we ship on Friday?",
        "Wie alt ist unser Kater?",
        "Write the release notes.",
        "",
    ],
)
def test_what_is_ones_own_or_asks_nothing_is_not(text: str) -> None:
    assert not asks_in_general(text)


@pytest.mark.parametrize(
    ("text", "anybody"),
    [
        ("regex that matches a postcode", False),  # points at "a postcode" by "that"
        ("regex for a postcode with optional blanks", True),
        ("pros and cons of two bottles", True),
        ("Was bedeutet Wattzahl beim Radfahren?", True),
        ("order gloves for the whole team", False),
        ("make me a list of stems", False),
        ("Wie tief ist der See?", False),
        ("", True),
    ],
)
def test_what_points_at_nothing_that_both_know_is_anybodys(text: str, anybody: bool) -> None:
    assert is_anybodys(text) is anybody
