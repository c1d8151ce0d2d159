"""A model that answers no more: what is told is kept, recall goes by words, vectors come later."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.embedding import embedder
from memory_core.maintenance.loop import Maintenance
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from tests.views import view_of

ME = Identity("me")


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Maintenance, "start", lambda self: None)


def model_check(memory: Any) -> Any:
    return next(c for c in memory.health(ME).checks if c.name == "model")


@pytest.mark.usefixtures("quiet")
def test_writes_are_kept_and_recall_is_lexical(
    memory: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember(ME, RememberRequest("The heron waits by the weir."))
    query = type(toy).query
    asked: list[str] = []

    def gone(self: Any, text: str) -> Any:
        asked.append(text)
        raise embedder.EncoderUnavailable("the server does not answer", "start it")

    monkeypatch.setattr(type(toy), "query", gone)
    receipt = memory.remember(ME, RememberRequest("The stork stands on the chimney."))
    assert receipt.status == "stored"
    found = memory.recall(ME, RecallRequest("stork chimney"))
    assert found.hits[0].memory.id == receipt.id
    assert "lexical" in found.note
    assert len(asked) == 1  # it is left alone for a while: each try may take until its time-out
    check = model_check(memory)
    assert check.status == "degraded"
    assert "does not answer" in check.detail
    monkeypatch.setattr(type(toy), "query", query)
    monkeypatch.setattr(embedder, "BACK_OFF_SECONDS", 0.0)
    memory._runtime.gate.back_off(embedder.EncoderUnavailable("once more", "start it"))
    memory._runtime.parts().maintenance.round()
    assert memory.recall(ME, RecallRequest("stork chimney")).note == ""
    assert model_check(memory).status == "ok"
    assert view_of(memory._runtime.parts().store).vectors.rows_with_vectors == 2


@pytest.mark.usefixtures("quiet")
def test_a_summary_made_without_the_model_gets_its_vectors_later(
    memory: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        text = f"Lena told how the boat of number {number} left the harbour at dawn."
        memory.remember(ME, RememberRequest(text, session="talk", speaker="Lena"))

    def gone(self: Any, texts: Any) -> Any:
        raise embedder.EncoderUnavailable("the server does not answer", "start it")

    with monkeypatch.context() as patch:
        patch.setattr(type(toy), "documents", gone)
        report = memory.consolidate(ME, mode="session", session="talk")
    assert report.status == "completed"
    store = memory._runtime.parts().store
    live = memory.stats(ME)["memories"]
    assert view_of(store).vectors.rows_with_vectors <= live
    memory._runtime.parts().maintenance.round()
    assert view_of(store).vectors.rows_with_vectors == live
