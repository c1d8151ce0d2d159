"""Variety, when it is asked for: five tellings of one fact do not fill the answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

ME = Identity("me")

TELLINGS = (
    "We water our garden from the rain barrel that stands behind the shed.",
    "The plants in the garden get rainwater out of a barrel next to the shed.",
    "The water for our beds in the garden is rain, collected in the shed's barrel.",
    "Thanks to the barrel at the shed, rain is all that our garden needs.",
    "Our garden is watered from a barrel that the rain fills.",
)
OTHERS = (
    "The hose in the garden leaks, and half of the water is lost.",
    "Water from the well next to the garden is too salty for tomatoes.",
    "In August the garden needs water twice a day.",
    "The town forbids taking garden water from the tap in dry summers.",
    "The pond in the garden lost its water in a week.",
    "The garden of the neighbours is under water after each storm.",
)
ELSEWHERE = tuple(f"Platform {number} of the station is closed on Sundays." for number in range(12))


@pytest.mark.parametrize("lambda_", [0.7, 1.0])
def test_paraphrases_take_at_most_two_of_five_places(
    tmp_path: Path, minilm: Embedder, lambda_: float
) -> None:
    vectors = minilm.documents(TELLINGS)
    cosines = (vectors @ vectors.T)[~np.eye(len(TELLINGS), dtype=bool)]
    assert 0.70 < cosines.min() < cosines.max() < 0.85
    assert cosines.max() < minilm.profile.near_duplicate  # folding has nothing to do with it
    tuning = Tuning(mmr_lambda=lambda_)
    with Memory(Settings(data_dir=tmp_path), embedder=minilm, tuning=tuning) as memory:
        assert memory.wait_ready(60)
        for text in (*TELLINGS, *OTHERS, *ELSEWHERE):
            memory.remember(ME, RememberRequest(text))
        found = memory.recall(
            ME, RecallRequest("Where does the water for the garden come from?", k=5)
        )
    texts = [hit.memory.text for hit in (*found.hits, *found.partial)]
    tellings = sum(text in TELLINGS for text in texts)
    if lambda_ == 1.0:
        assert tellings > 2
    else:
        assert 1 <= tellings <= 2
        assert sum(text in OTHERS for text in texts) == 5 - tellings


def test_behind_the_tenth_place_more_conversations_are_heard(memory: Memory) -> None:
    for number in range(18):
        memory.remember(
            ME, RememberRequest(f"The harbour crane lifted crate {number} today.", session="long")
        )
    others = [f"s{number}" for number in range(5)]
    for place, session in enumerate(others):
        memory.remember(
            ME, RememberRequest(f"One harbour day we saw {place + 2} seals.", session=session)
        )
        memory.remember(
            ME, RememberRequest(f"Lunch number {place} was soup with bread.", session=session)
        )
    ten = memory.recall(ME, RecallRequest("What did the harbour crane lift today?", k=10))
    twenty = memory.recall(ME, RecallRequest("What did the harbour crane lift today?", k=20))
    assert [h.memory.id for h in twenty.hits[:10]] == [h.memory.id for h in ten.hits]
    assert {hit.memory.session for hit in ten.hits} == {"long"}
    behind = twenty.hits[10:]
    assert {hit.memory.session for hit in behind} >= set(others)
    scores = [hit.score for hit in behind]
    assert scores != sorted(scores, reverse=True)  # by the score alone "long" would fill it


def test_without_sessions_there_is_nothing_to_broaden(memory: Memory) -> None:
    for number in range(30):
        memory.remember(ME, RememberRequest(f"The harbour crane lifted crate {number} today."))
    found = memory.recall(ME, RecallRequest("What did the harbour crane lift today?", k=20))
    scores = [hit.score for hit in found.hits]
    assert len(scores) == 20
    assert scores == sorted(scores, reverse=True)


def told(memory: Memory, *texts: str) -> None:
    for number, text in enumerate(texts):
        memory.remember(ME, RememberRequest(text, when=f"2024-05-{number + 1:02d}"))
    for text in ELSEWHERE:
        memory.remember(ME, RememberRequest(text))


def test_of_repetitions_the_newest_is_shown(tmp_path: Path, minilm: Embedder) -> None:
    texts = (
        "The spare key of the boathouse hangs in the pantry.",
        "The spare key for the boathouse hangs in the pantry.",
    )
    assert float(np.dot(*minilm.documents(texts))) >= minilm.profile.near_duplicate
    with Memory(Settings(data_dir=tmp_path), embedder=minilm) as memory:
        assert memory.wait_ready(60)
        told(memory, *texts)
        asked = RecallRequest("The spare key of the boathouse hangs where?", k=3)
        shown = [
            hit.memory.text for hit in memory.recall(ME, asked).hits if "key" in hit.memory.text
        ]
    assert shown == [texts[1]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The ferry to Amrum sails at dawn.", "The ferry to Amrum now sails at dusk."),
        ("Ida borrowed the tent from Olaf.", "Olaf borrowed the tent from Ida."),
        ("Ticket OPS 311 waits for review.", "Ticket OPS 312 waits for review."),
        ("The valve in pump 7 is open.", "The valve in pump 7 is no longer open."),
        ("Lea prefers rye over spelt.", "Lea prefers spelt over rye."),
        ("Der Kurs ist im linken Flügel.", "Der Kurs ist im rechten Flügel."),
        ("Der Zug ICE 521 hält in Fulda.", "Der Zug ICE 523 hält in Fulda."),
    ],
)
def test_a_change_a_reversal_or_another_identifier_is_neither_folded_nor_merged(
    tmp_path: Path, minilm: Embedder, one: str, other: str
) -> None:
    with Memory(Settings(data_dir=tmp_path), embedder=minilm) as memory:
        assert memory.wait_ready(60)
        told(memory, one, other)
        memory.consolidate(ME, mode="deduplicate")
        found = memory.recall(ME, RecallRequest(one, k=5))
    assert {one, other} <= {hit.memory.text for hit in found.hits}
