"""What only asks the question once more stands behind what may answer it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.beliefs.asking import only_asks
from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    with Memory(Settings(data_dir=tmp_path), embedder=minilm) as memory:
        assert memory.wait_ready(60)
        for text in ("My sister plays the cello.", "The tomatoes need water twice a week."):
            memory.remember(ME, RememberRequest(text))
        yield memory


@pytest.mark.parametrize(
    ("asking", "answer", "query"),
    [
        (
            "The ladder is heavy. Where did I leave the ladder?",
            "The ladder leans on the shed behind the house.",
            "where is the ladder?",
        ),
        (
            "My back hurts. Is aspirin ok with my tablets?",
            "Aspirin does not go with my tablets, said the pharmacist.",
            "Is aspirin ok with my tablets?",
        ),
        (  # the newer one of two that answer as well
            "I need a suit for Pia's wedding. When is Pia's wedding again?",
            "The wedding of Pia is on 12 September in Kiel.",
            "When is Pia's wedding?",
        ),
        (
            "Der Schlüssel klemmt. Wo liegt der Schlüssel der Garage?",
            "Den Schlüssel der Garage haben wir in die Schublade im Flur gelegt.",
            "Wo liegt der Schlüssel der Garage?",
        ),
    ],
)
def test_the_answer_comes_first(memory: Memory, asking: str, answer: str, query: str) -> None:
    for text, when in ((asking, "2026-05-20"), (answer, "2026-05-01")):
        memory.remember(ME, RememberRequest(text, when=when))
    found = memory.recall(ME, RecallRequest(query, k=3, context=0))
    assert [hit.memory.text for hit in found.hits][:2] == [answer, asking]


def test_without_an_answer_it_stays_first_and_one_is_asked_for_by_words(memory: Memory) -> None:
    asking = "The ladder is heavy. Where did I leave the ladder?"
    memory.remember(ME, RememberRequest(asking))
    found = memory.recall(ME, RecallRequest("where is the ladder?", k=3))
    assert found.hits[0].memory.text == asking
    memory.remember(ME, RememberRequest("The ladder leans on the shed."))
    words = memory.recall(ME, RecallRequest("heavy ladder", k=3))
    assert words.hits[0].memory.text == asking


def test_what_asks_nothing_finds_what_asks(memory: Memory) -> None:
    asking = "Which suit for Pia's wedding?"
    for text in (asking, "My suit hangs in the wardrobe in Kiel, where Pia's wedding is."):
        memory.remember(ME, RememberRequest(text))
    found = memory.recall(ME, RecallRequest("suit for Pia's wedding", k=3))
    assert found.hits[0].memory.text == asking


def test_what_has_little_of_the_question_answers_nothing(memory: Memory) -> None:
    asking = "The ladder is heavy. Where did I leave the ladder of the mill?"
    for text in (asking, "The ladder stands in the yard."):
        memory.remember(ME, RememberRequest(text))
    found = memory.recall(ME, RecallRequest("where is the ladder of the mill?", k=3))
    assert found.hits[0].memory.text == asking


@pytest.mark.parametrize(
    ("query", "text", "only"),
    [
        ("where is the ladder?", "Where did I leave the ladder?", True),
        ("where is the ladder?", "The ladder is in the shed, isn't it? Where is the ladder?", True),
        ("where is the ladder?", "The ladder is in the shed. Where is the ladder of Ola?", False),
        ("where is the ladder?", "How heavy is the ladder?", False),
        ("where is the ladder of Ola?", "Where is the ladder?", False),
        ("where is the ladder?", "The ladder is heavy.", False),
        ("when is the exam?", "The exam is on 4 May. When is the exam of Ola?", False),
        ("when is the exam?", "The exam scares me. When is the exam?", True),
    ],
)
def test_what_only_asks(query: str, text: str, only: bool) -> None:
    assert only_asks(query, text) is only
