"""Pairs related by an entailment classifier: its thresholds, and what background and sleep do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from memory_core.gist.classifier import ClassifierEncoder
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")
OLD = "The standup of the harbour team is at nine."
NEW = "The standup of the harbour team moved to ten."
NEAR = "Mara keeps the spare key of the boat in the blue drawer."
OTHER = "Mara keeps the spare key of the boat under the mat."
DAY = 86_400.0


class Stub:
    """Gives the probabilities of contradiction and entailment that it was told; counts."""

    def __init__(self, contradiction: float, entailment: float) -> None:
        neutral = 1 - contradiction - entailment
        self.chances = {
            "contradiction": contradiction, "entailment": entailment, "neutral": neutral,
        }  # fmt: skip
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, premise: str, hypothesis: str) -> Mapping[str, float]:
        self.asked.append((premise, hypothesis))
        return self.chances


def opened(open_memory: Any, stub: Stub, name: str = "store") -> Memory:
    return open_memory(name, asks=ClassifierEncoder("stub", lambda _: stub), encoder="classifier")


def told(memory: Memory, clock: Any, *texts: str) -> list[str]:
    ids = []
    for text in texts:
        clock.pass_by(DAY)
        ids.append(memory.remember(ME, RememberRequest(text)).id)
    return ids


def listed(memory: Memory) -> list[tuple[str, str]]:
    return [(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)]


@pytest.mark.parametrize(
    ("contradiction", "entailment", "relation"),
    [
        (0.66, 0.0, "contradicts"),
        (0.65, 0.0, "new"),
        (0.0, 0.81, "duplicate"),
        (0.0, 0.80, "new"),
        (0.0, 0.5, "extends"),
        (0.45, 0.25, "new"),
    ],
)
def test_the_thresholds_decide(contradiction: float, entailment: float, relation: str) -> None:
    stub = Stub(contradiction, entailment)
    found = ClassifierEncoder("stub", lambda _: stub).relate("older", "newer")
    assert found.relation == relation
    assert stub.asked == [("older", "newer")]  # the older one is the premise


def test_a_contradiction_leaves_the_pair_in_doubt_and_is_kept_with_its_name(
    open_memory: Any, clock: Any
) -> None:
    stub = Stub(0.9, 0.05)
    memory = opened(open_memory, stub)
    old, new = told(memory, clock, OLD, NEW)
    memory.encode(ME)
    memory.consolidate(ME, mode="contradictions")
    assert memory.get(ME, old).superseded_by == ""
    (pair,) = memory.doubts(ME)
    assert (pair.older.id, pair.newer.id) == (old, new)
    assert pair.reason.endswith("; classifier:stub calls it a contradiction (contradiction 0.90)")
    assert memory.history(ME, new)[-1].source == "judge: classifier:stub: contradicts"
    assert stub.asked == [(OLD, NEW)]


def test_what_a_classifier_finds_to_be_neutral_is_in_doubt_no_more(
    open_memory: Any, clock: Any
) -> None:
    memory = opened(open_memory, Stub(0.1, 0.05))
    told(memory, clock, OLD, NEW)
    memory.encode(ME)
    assert listed(memory) == []


def test_a_write_does_not_wait_and_gets_no_jobs(open_memory: Any, clock: Any) -> None:
    loaded: list[str] = []

    def load(name: str) -> Stub:
        loaded.append(name)
        return Stub(0.9, 0.05)

    memory = open_memory(asks=ClassifierEncoder("stub", load), encoder="classifier")
    (id,) = told(memory, clock, OLD)
    assert memory.get(ME, id).due == ()
    assert loaded == []


def test_sleep_puts_near_memories_in_doubt_and_supersedes_none(
    open_memory: Any, clock: Any
) -> None:
    stub = Stub(0.9, 0.05)
    memory = opened(open_memory, stub)
    near, other = told(memory, clock, NEAR, OTHER)
    assert listed(memory) == []
    report = memory.consolidate(ME, mode="contradictions")
    assert listed(memory) == [(near, other)]
    assert [each.relation for each in report.contradictions] == ["contradicts"]
    (pair,) = memory.doubts(ME)
    assert pair.reason == "classifier:stub calls it a contradiction (contradiction 0.90)"
    memory.encode(ME)
    memory.consolidate(ME, mode="contradictions")
    assert memory.get(ME, near).superseded_by == ""
    assert listed(memory) == [(near, other)]
    assert stub.asked == [(NEAR, OTHER)]
    memory.consolidate(ME, undo=report.run)
    assert listed(memory) == []


def test_a_preview_asks_nothing(open_memory: Any, clock: Any) -> None:
    stub = Stub(0.9, 0.05)
    memory = opened(open_memory, stub)
    told(memory, clock, NEAR, OTHER)
    memory.consolidate(ME, mode="contradictions", dry_run=True)
    assert stub.asked == []


def test_sleep_compares_only_what_is_near(open_memory: Any, clock: Any) -> None:
    stub = Stub(0.9, 0.05)
    memory = opened(open_memory, stub)
    told(memory, clock, NEAR, "Tomas bakes dark rye bread on Fridays.")
    memory.consolidate(ME, mode="contradictions")
    assert (stub.asked, listed(memory)) == ([], [])


def test_without_a_model_health_says_what_to_do(open_memory: Any, clock: Any) -> None:
    memory = open_memory(encoder="classifier")
    pair = tuple(told(memory, clock, OLD, NEW))
    memory.encode(ME)
    assert listed(memory) == [pair]
    check = next(each for each in memory.health(ME).checks if each.name == "encoder")
    assert check.status == "degraded"
    assert "ANAMNESIS_ENCODER_MODEL" in check.fix
