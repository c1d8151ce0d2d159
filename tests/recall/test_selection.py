"""Fewer than k memories answer where the rest is far behind the best."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Recollection
from memory_core.remember.request import RememberRequest

ME = Identity("me")
ANSWER = "The spare key of the flat is under the blue flowerpot."
NEARBY = tuple(f"Flat {number} of the house got a new door in spring." for number in range(30))
QUESTION = "Where is the spare key under the flowerpot?"


def recalled(folder: Path, minilm: Embedder, others: int, request: RecallRequest) -> Recollection:
    with Memory(Settings(data_dir=folder), embedder=minilm) as memory:
        assert memory.wait_ready(60)
        for text in (ANSWER, *NEARBY[:others]):
            memory.remember(ME, RememberRequest(text))
        return memory.recall(ME, request)


def test_what_is_far_behind_the_best_is_left_out_with_a_reason(
    tmp_path: Path, minilm: Embedder
) -> None:
    found = recalled(tmp_path, minilm, 30, RecallRequest(QUESTION, k=10, cut=True, explain=True))
    assert found.hits[0].memory.text == ANSWER
    assert len(found.hits) < 10
    best = found.hits[0].score
    assert all(hit.score >= 0.45 * best for hit in found.hits)
    reasons = {hit.why["rejected"]: hit.score for hit in found.rejected}
    assert reasons["below_share"] < 0.45 * best


@pytest.mark.parametrize(
    ("others", "request_"),
    [
        (15, RecallRequest(QUESTION, k=10, cut=True)),
        (30, RecallRequest(QUESTION, k=10, cut=True, kinds=("episode",))),
        (30, RecallRequest(QUESTION, k=10)),
    ],
    ids=["few candidates", "chosen by a filter", "no cut asked for"],
)
def test_where_scores_cannot_tell_nothing_is_cut(
    tmp_path: Path, minilm: Embedder, others: int, request_: RecallRequest
) -> None:
    assert len(recalled(tmp_path, minilm, others, request_).hits) == 10
