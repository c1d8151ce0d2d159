"""Importance: the rules behind the seam, and another scorer in their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_core.beliefs.importance import NOVEL, Rules, salience
from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.records import Identity, MemoryRecord
from memory_core.remember.request import RememberRequest

ME = Identity("me")


@pytest.mark.parametrize(
    ("text", "role", "nearest", "importance"),
    [
        ("Actually, it's port 5433.", "user", 0.9, 1.0),
        ("Always answer in German.", "user", 0.1, 1.0),
        ("We decided to move to Kafka.", "user", 0.9, 0.85),
        ("The pump hums.", "user", 0.44, NOVEL),
        ("The pump hums.", "user", -1.0, NOVEL),
        ("The pump hums.", "user", 0.45, 0.5),
        ("The pump hums.", "user", None, 0.5),
        ("Good morning, how are you?", "user", -1.0, 0.15),
        ("Always answer in German.", "assistant", 0.9, 0.5),
    ],
)
def test_the_rules(text: str, role: str, nearest: float | None, importance: float) -> None:
    wording, _ = salience(text, role)
    memory = MemoryRecord(id="", text=text, role=role, importance=wording)
    assert Rules().importance(memory, nearest, 0.45) == importance


class Asked:
    """Says 0.62 to everything, and keeps what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, float, float | None, float]] = []

    def importance(self, memory: MemoryRecord, nearest: float | None, related: float) -> float:
        self.calls.append((memory.text, memory.role, memory.importance, nearest, related))
        return 0.62


def test_another_scorer_judges_what_the_caller_does_not(tmp_path: Path, toy: Any) -> None:
    scorer = Asked()
    with Memory(Settings(data_dir=tmp_path), embedder=toy, scorer=scorer) as memory:
        assert memory.wait_ready(120.0)
        plain = memory.remember(ME, RememberRequest("Always answer in German.", role="user"))
        given = memory.remember(ME, RememberRequest("The pump hums.", importance=0.3))
        memory.remember(ME, RememberRequest("Always answer in German!", session="other"))
        found = [memory.get(ME, receipt.id).importance for receipt in (plain, given)]
    assert found == [0.62, 0.3]
    first, second = scorer.calls
    assert first == ("Always answer in German.", "user", 1.0, -1.0, toy.profile.related)
    assert second[3] == pytest.approx(1.0, abs=1e-2)
    assert second[4] == toy.profile.related
