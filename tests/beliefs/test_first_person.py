"""Questions as those whom they name would put them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.beliefs.question import in_first_person

SPEAKERS = {"Ana", "Ana Maria Ruiz", "Jean-Luc", "Will", "May", "ben", "王芳"}


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("What did Ana paint?", "What did I paint?"),
        ("What is Ana's dog called?", "What is my dog called?"),
        ("Where did Ana’s sister and ben meet?", "Where did my sister and I meet?"),
        ("when did ana move?", "when did I move?"),
        ("WHEN DID ANA MOVE?", "WHEN DID I MOVE?"),
        ("Which songs does Ana Maria Ruiz sing?", "Which songs does I sing?"),
        ("Is Jean-Luc's boat afloat?", "Is my boat afloat?"),
        ("Will May come?", "Will May come?"),  # words that say nothing are no names
        ("What about Anabel?", "What about Anabel?"),
        ("王芳 said?", "I said?"),
        ("", ""),
    ],
)
def test_those_who_speak_are_i(query: str, told: str) -> None:
    assert in_first_person(query, SPEAKERS.__contains__) == told


@given(st.text(max_size=80))
def test_without_a_speaker_nothing_changes(query: str) -> None:
    assert in_first_person(query, lambda name: False) == query


@given(st.lists(st.sampled_from(["Ana", "Ana's", "went", "home", ",", "7"]), max_size=12))
def test_every_speaker_is_replaced_and_nothing_else(words: list[str]) -> None:
    wanted = [{"Ana": "I", "Ana's": "my"}.get(word, word) for word in words]
    assert in_first_person(" ".join(words), {"Ana"}.__contains__) == " ".join(wanted)
