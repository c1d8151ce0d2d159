"""Of a few notes that are all alike, the one with the question's identifier comes first."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")
ROUNDS = 4


@pytest.mark.parametrize(
    ("note", "question"),
    [
        ("The tea is in the tin{}.", "What is in the tin{}?"),
        ("Order {} was sent back to the shop.", "What happened to order {}?"),
        ("Ticket CORE-{} waits for a review.", "What does CORE-{} wait for?"),
    ],
)
def test_the_note_with_the_identifier_comes_first(
    note: str, question: str, tmp_path: Path, minilm: Embedder
) -> None:
    for seed in range(ROUNDS):
        numbers = sorted(random.Random(seed).sample(range(30_000, 30_200), 4))
        with Memory(Settings(data_dir=tmp_path / str(seed)), embedder=minilm) as memory:
            assert memory.wait_ready(60)
            for number in numbers:
                memory.remember(ME, RememberRequest(note.format(number)))
                found = memory.recall(ME, RecallRequest(question.format(number)))
                assert found.hits[0].memory.text == note.format(number)
