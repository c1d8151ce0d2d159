"""The words of the index are read under the lock of the readers: a writer changes them in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.storage.index.bm25 import LexicalIndex

ME = Identity("me")
DAY = 86_400.0
READ = ("holders", "match", "state")


@pytest.fixture
def looked(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that were called; each fails where the lock is not held."""
    calls: list[str] = []

    def watched(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: LexicalIndex, *args: Any, **named: Any) -> Any:
            lock = memory._store._lock
            assert lock._readers or lock._writing, f"{name} without the lock"
            calls.append(name)
            return method(self, *args, **named)

        return read

    for name in READ:
        monkeypatch.setattr(LexicalIndex, name, watched(name, getattr(LexicalIndex, name)))
    return calls


def test_the_index_of_words_is_read_under_the_lock(
    memory: Memory, clock: Any, looked: list[str]
) -> None:
    for text in (
        "Mara lives in a flat in Graz and works at Siemens.",
        "The standup with the Lisbon team is on Tuesday at nine.",
        "The standup with the Lisbon team moved to Thursday.",
        "I sold the Volvo that I had in Graz.",
    ):
        memory.remember(ME, RememberRequest(text))
        clock.now += DAY
    early = RememberRequest("The standup with the Lisbon team was on Monday.", when="2001-01-01")
    memory.remember(ME, early)
    memory.recall(ME, RecallRequest("when is the standup with the Lisbon team?"))
    memory.consolidate(ME)
    assert "match" in looked
