"""What the user always wants is there when help is asked for, and not in the way otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Recollection
from memory_core.remember.request import RememberRequest

ME, OTHER = Identity("me"), Identity("other")

ALWAYS = "Always add a drawing when I ask about carpentry."
PREFERS = "I prefer wooden joints to screws when I join boards."
NOTES = (
    "the two boards of the shelf are joined with glue.",
    "the saw was sharpened and hung up.",
    "the plane leaves a smooth face on pine.",
    "bought screws, a square and sandpaper.",
    "the drawer sticks when the weather is wet.",
    "swept the floor and stacked the offcuts.",
    "the varnish needs another night to dry.",
    "the radio in the workshop broke.",
    "a neighbour borrowed the ladder.",
    "the bench got a new vice.",
)
HELP = "How do I join two boards at a right angle?"
PAST = "How did I join the two boards at a right angle?"


@pytest.fixture
def workshop(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    with Memory(Settings(data_dir=tmp_path), embedder=minilm) as memory:
        assert memory.wait_ready(60)
        for text in (ALWAYS, PREFERS):
            memory.remember(ME, RememberRequest(text, role="user", session="wishes"))
        for number, what in enumerate(NOTES * 4):
            text = f"Day {number}: {what}"
            memory.remember(ME, RememberRequest(text, role="user", session=f"s{number % 7}"))
        memory.remember(
            ME, RememberRequest("I always prefer long answers.", role="assistant", session="wishes")
        )
        memory.remember(
            OTHER, RememberRequest("I prefer nails when I join two boards.", role="user")
        )
        yield memory


def test_help_comes_with_what_the_user_always_wants(workshop: Memory) -> None:
    found = workshop.recall(ME, RecallRequest(HELP, k=8, explain=True))
    why = {hit.memory.text: hit.why for hit in found.hits}
    assert {ALWAYS, PREFERS} <= set(why)
    assert why[ALWAYS]["standing"] == why[PREFERS]["standing"] == 2.0
    shown = {hit.memory.text: hit.why for hit in (*found.hits, *found.rejected)}
    assert not any(OTHER.agent in hit.memory.agent for hit in found.hits)
    others = [w.get("standing", 0.0) for text, w in shown.items() if text not in (ALWAYS, PREFERS)]
    assert not any(others)


def test_a_preference_that_is_only_quoted_is_none(workshop: Memory) -> None:
    text = 'The catalogue says "we prefer nails to glue when we join two boards", nonsense.'
    workshop.remember(ME, RememberRequest(text, role="user", session="wishes"))
    pasted = RememberRequest("I prefer staples for boards.", role="user", trust="quoted")
    workshop.remember(ME, pasted)
    found = workshop.recall(ME, RecallRequest(HELP, k=10, explain=True))
    why = {hit.memory.text: hit.why for hit in (*found.hits, *found.rejected)}
    assert {text, pasted.text} <= set(why)
    assert all("standing" not in why[each] for each in (text, pasted.text))
    assert why[PREFERS]["standing"] == 2.0


def test_what_was_done_is_not_answered_with_wishes(workshop: Memory) -> None:
    found = workshop.recall(ME, RecallRequest(PAST, k=8, explain=True))
    assert found.hits
    assert all("standing" not in hit.why for hit in found.hits)


def test_what_the_assistant_said_is_found_when_it_is_asked_for(workshop: Memory) -> None:
    said = "Oak is the wood that I would take for the sill."
    workshop.remember(ME, RememberRequest(said, role="assistant", session="sill"))
    workshop.remember(
        ME, RememberRequest("Which wood is good for the sill?", role="user", session="ask")
    )
    answered = workshop.recall(
        ME, RecallRequest("Which wood did you recommend for the sill?", k=8, explain=True)
    )
    plain = workshop.recall(
        ME, RecallRequest("Which wood is recommended for the sill?", k=8, explain=True)
    )
    assert {hit.why["role"] for hit in answered.hits} == {0.0}
    roles = {hit.memory.text: hit.why["role"] for hit in plain.hits}
    assert roles[said] == 0.0
    assert 2.0 in roles.values()

    def lead(found: Recollection) -> float:
        (mine,) = (hit.score for hit in found.hits if hit.memory.text == said)
        return mine - max(hit.score for hit in found.hits if hit.memory.role == "user")

    assert lead(answered) > lead(plain) + 1.0


def test_a_conversation_without_the_one_who_is_named_has_less(
    tmp_path: Path, minilm: Embedder
) -> None:
    with Memory(Settings(data_dir=tmp_path), embedder=minilm) as memory:
        assert memory.wait_ready(60)
        for first, second in (("Ana", "Ben"), ("Cleo", "Dov")):
            for speaker in (first, second):
                text = f"I went to the regatta with my cousin, says {speaker}."
                memory.remember(
                    ME, RememberRequest(text, speaker=speaker, role="user", session=first)
                )
        memory.remember(ME, RememberRequest("Ana was at the regatta."))
        asked = memory.recall(ME, RecallRequest("Who went to the regatta with Ana?", explain=True))
        less = {hit.memory.speaker: hit.why.get("elsewhere") for hit in asked.hits}
        assert less["Ana"] == less["Ben"] == 0.0  # the whole of her conversation
        assert less["Cleo"] == less["Dov"] == -1.0
        assert less[""] == 0.0  # in no conversation
        nobody = memory.recall(ME, RecallRequest("Who went to the regatta with Zoe?", explain=True))
        assert all("elsewhere" not in hit.why for hit in nobody.hits)
