"""Labelled texts against the user's own store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_core.config import Settings
from memory_core.errors import InvalidInput
from memory_core.evaluation.readers import Pair
from memory_core.evaluation.runner import evaluate_store
from memory_core.memory import Memory as Real
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from tests.views import asked_for

ME = Identity("me")


@pytest.fixture
def memory(tmp_path: Path, open_memory: Any) -> Any:
    store = open_memory(tmp_path)
    for text in (
        "The boiler code is 27.",
        "Plumber said: the boiler code is 27. Call him.",
        "Rye bread at noon.",
    ):
        store.remember(ME, RememberRequest(text, speaker="", session=""))
    return store


def test_memories_count_by_the_labelled_text_they_hold(memory: Any) -> None:
    items = [
        Pair("the boiler code", ("the boiler code is 27",)),
        Pair("rye bread and code", ("Rye bread at noon", "a text that was never stored")),
        Pair("submarine", ()),
    ]
    before = dict(memory.stored)
    report = evaluate_store(memory, ME, items, k=10)
    first, second, third = report.answers["recall"]
    assert first.scores["recall@1"] == 1
    assert first.ranking == ("the boiler code is 27", "m1")
    assert second.scores["recall@10"] == 0.5
    assert (third.answerable, third.found) == (False, False)
    assert memory.stored == before
    assert report.rows()[-1].questions == 2
    assert report.abstention() is not None


def test_progress_counts_queries(memory: Any) -> None:
    seen: list[tuple[int, int, str]] = []
    items = [Pair("bread", ("Rye bread at noon.",))] * 2
    evaluate_store(memory, ME, items, progress=lambda *step: seen.append(step))
    assert seen == [(1, 2, "recall"), (2, 2, "recall")]


def test_nothing_to_ask_is_refused(memory: Any) -> None:
    with pytest.raises(InvalidInput):
        evaluate_store(memory, ME, [])


def test_the_own_store_is_read_and_nothing_else(tmp_path: Path, toy: Any) -> None:
    with Real(Settings(data_dir=tmp_path / "own"), embedder=toy) as memory:
        assert memory.wait_ready(120.0)
        id = memory.remember(ME, RememberRequest("The boiler code is 27.")).id
        before = (asked_for(memory), memory.get(ME, id))
        report = evaluate_store(memory, ME, [Pair("boiler code", ("the boiler code is 27",))] * 3)
        memory._runtime.parts().maintenance.accesses.flush()
        assert (asked_for(memory), memory.get(ME, id)) == before
        assert report.answers["recall"][0].scores["recall@1"] == 1
        memory.recall(ME, RecallRequest("boiler code"))
        memory._runtime.parts().maintenance.accesses.flush()
        assert memory.get(ME, id).access_count == 1
