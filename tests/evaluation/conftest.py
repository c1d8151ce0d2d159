"""A small honest memory, a hashing embedder, and a conversation to try them on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import numpy as np
import pytest

from memory_core.evaluation.conversation import Conversation, Question, Turn
from memory_core.recall.request import RecallRequest
from memory_core.records import Hit, Identity, MemoryRecord, Receipt, Recollection, normalised
from memory_core.remember.request import RememberRequest


def _words(text: str) -> set[str]:
    return {word.strip(".,?!").casefold() for word in text.split()}


@dataclass
class WordMemory:
    """Ranks by the number of shared words; repeats reinforce; finds nothing below one word."""

    folder: Path
    ready: bool = True
    refuses: str = "\0"
    calls: list[RememberRequest] = field(default_factory=list)
    asked: list[RecallRequest] = field(default_factory=list)
    stored: dict[str, MemoryRecord] = field(default_factory=dict)
    keys: dict[tuple[str, str, str], str] = field(default_factory=dict)
    closed: bool = False
    k_most: int = 50

    def __enter__(self) -> WordMemory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closed = True

    def wait_ready(self, timeout: float) -> bool:
        return self.ready

    def remember(self, who: Identity, request: RememberRequest) -> Receipt:
        text = request.text
        self.calls.append(request)
        if self.refuses in text:
            return Receipt("", "refused", "episode", 0.0)
        key = (request.speaker, request.session, normalised(text))
        if key in self.keys:
            return Receipt(self.keys[key], "reinforced", "episode", 0.5)
        identifier = f"m{len(self.stored)}"
        self.keys[key] = identifier
        self.stored[identifier] = MemoryRecord(identifier, text)
        return Receipt(identifier, "stored", "episode", 0.5)

    def recall(self, who: Identity, request: RecallRequest) -> Recollection:
        self.asked.append(request)
        wanted = _words(request.query)
        scores = {i: len(wanted & _words(m.text)) for i, m in self.stored.items()}
        best = sorted((i for i in scores if scores[i]), key=lambda i: (-scores[i], i))[
            : min(request.k, self.k_most)
        ]
        top = max(scores.values(), default=0)
        hits = tuple(Hit(self.stored[i], float(scores[i])) for i in best)
        return Recollection(bool(hits), min(1.0, top / len(wanted)), "moderate", hits)


class HashEmbedder:
    """Sums one random direction a word; unit length. Not semantic, but a real vector space."""

    name = "hashing"
    fingerprint = "hashing"
    dimension = 64

    def documents(self, texts: Sequence[str]) -> np.ndarray:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> np.ndarray:
        total = np.zeros(self.dimension)
        for word in sorted(_words(text)):
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            total += np.random.default_rng(seed).standard_normal(self.dimension)
        return (total / np.linalg.norm(total)).astype(np.float32)


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def opened() -> list[WordMemory]:
    """The memories that `open_memory` has opened, in order."""
    return []


@pytest.fixture
def open_memory(opened: list[WordMemory]) -> Callable[[Path], WordMemory]:
    def open_one(folder: Path) -> WordMemory:
        assert list(folder.iterdir()) == []
        opened.append(WordMemory(folder))
        return opened[-1]

    return open_one


@pytest.fixture
def conversation() -> Conversation:
    """Two sessions; `b2` repeats `b1` exactly, so a memory keeps one of them."""
    day = 86_400.0
    return Conversation(
        "garden",
        (
            Turn("a1", "The gate key hangs behind the shed.", "Ida", "user", 10 * day, "one"),
            Turn("a2", "Water the tomatoes twice a week.", "Ole", "user", 10 * day, "one"),
            Turn("b1", "Snails ate the lettuce.", "Ida", "user", 12 * day, "two"),
            Turn("b2", "snails ate the lettuce!", "Ida", "user", 12 * day, "two"),
            Turn("b3", "Coffee grounds keep snails away.", "Ole", "user", None, "two"),
        ),
        (
            Question("Where is the gate key?", ("a1",), "place"),
            Question("Which animal ate lettuce?", ("b2",), "animal"),
            Question("What about snails?", ("b1", "b2", "b3"), "animal"),
            Question("Où est mon vélo?", (), "nothing"),
        ),
        skipped=3,
    )
