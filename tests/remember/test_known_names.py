"""Names that a store knows are found however they are written, and what that is worth."""

from __future__ import annotations

import re

import pytest

from memory_core.evaluation.readers import DIALOGUE, read
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.text.names.entities import entities

ME = Identity("me", "crew", frozenset({"read", "write"}))
OTHER = Identity("other", "crew", frozenset({"read", "write"}))

WHOLE = (
    "Tannery Row",
    "Tidewater Maps",
    "Corn Exchange",
    "Mrs Albrecht",
    "Brightwater Youth Orchestra",
    "Serenade for Strings",
    "Lake Bohinj",
)
SINGLE = """Nora Felix Priya Lotte Samir Freiburg Edith Tomasz Postgres Stockholm Ingrid Biscuit
Parcelwise Ottilie Riverside Sheffield MongoDB Redis RabbitMQ Kestrel Fairphone Easter Pickle
Slovenia Mittenwald Tidewater Dvořák"""
"""Every name in the dialogue, found by reading it."""


def written(text: str) -> set[str]:
    """The names that a reader finds in *text*, casefolded; a longer one hides what is inside it."""
    found = set()
    for name in (*WHOLE, *SINGLE.split()):
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        if pattern.search(text):
            found.add(name.casefold())
            text = pattern.sub(" ", text)
    return found


def measured(pairs: list[tuple[set[str], set[str]]]) -> tuple[float, float]:
    """Precision and recall of (found, wanted) over all texts."""
    right = sum(len(found & wanted) for found, wanted in pairs)
    found, wanted = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
    return right / found, right / wanted


def test_precision_and_recall_on_the_dialogue(memory: Memory) -> None:
    (conversation,) = read(DIALOGUE)
    rules, known = [], []
    for turn in conversation.turns:
        id = memory.remember(
            ME, RememberRequest(turn.text, speaker=turn.speaker, session=turn.session)
        ).id
        wanted = written(turn.text)
        rules.append(({name.casefold() for name in entities(turn.text)}, wanted))
        known.append(({name.casefold() for name in memory.get(ME, id).entities}, wanted))
    (precision, recall), (store_precision, store_recall) = measured(rules), measured(known)
    print(f"rules {precision:.3f} {recall:.3f}, store {store_precision:.3f} {store_recall:.3f}")
    assert precision > 0.9
    assert recall > 0.9
    assert store_recall > recall
    assert store_precision >= precision - 0.01


def test_a_known_name_is_found_in_lower_case(memory: Memory) -> None:
    memory.remember(ME, RememberRequest("We met at Quay Bridge."))
    memory.remember(ME, RememberRequest("I asked Edda about it."))
    assert memory.get(
        ME, memory.remember(ME, RememberRequest("saw edda at quay bridge")).id
    ).entities == ("Quay Bridge",)
    memory.remember(ME, RememberRequest("Later I called Edda again."))
    assert set(
        memory.get(ME, memory.remember(ME, RememberRequest("edda liked quay bridge")).id).entities
    ) == {
        "Quay Bridge",
        "Edda",
    }


def test_who_has_spoken_is_known(memory: Memory) -> None:
    memory.remember(ME, RememberRequest("The ferry is late again.", speaker="Ana"))
    assert memory.get(
        ME, memory.remember(ME, RememberRequest("ana is tired of it")).id
    ).entities == ("Ana",)


@pytest.mark.parametrize("scope", ["private", "team"])
def test_names_of_others_are_known_as_far_as_their_memories_may_be_read(
    memory: Memory, scope: str
) -> None:
    memory.remember(OTHER, RememberRequest("We met at Quay Bridge.", scope=scope))
    found = memory.get(
        ME, memory.remember(ME, RememberRequest("lanterns on quay bridge")).id
    ).entities
    assert found == (("Quay Bridge",) if scope == "team" else ())
