"""A local entailment model judges: its thresholds, what it is asked about, what that changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memory_core.enrichment import candidates, judges
from memory_core.enrichment.judges import LocalJudge
from memory_core.enrichment.judging import Judging
from memory_core.errors import EncoderUnavailable
from memory_core.memory import Memory
from memory_core.records import Identity, MemoryRecord
from memory_core.remember.request import RememberRequest

ME = Identity("me")
OLD = "The standup of the harbour team is at nine."
NEW = "The standup of the harbour team moved to ten."
NEAR = "Mara keeps the spare key of the boat in the blue drawer."
OTHER = "Mara keeps the spare key of the boat under the mat."
FAR = "The heron waits by the weir in the morning."
DAY = 86_400.0
NAME = "entailment:nli-tiny"

Opened = Callable[..., Memory]


class Stub:
    """Gives the probabilities of contradiction and entailment that it was told; counts."""

    def __init__(self, contradiction: float, entailment: float) -> None:
        self.chances = {
            "contradiction": contradiction,
            "entailment": entailment,
            "neutral": 1 - contradiction - entailment,
        }
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, premise: str, hypothesis: str) -> Mapping[str, float]:
        self.asked.append((premise, hypothesis))
        return self.chances


@pytest.fixture
def judged(
    open_memory: Opened, minilm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Opened:
    """Opens a memory, by default "store", whose judge is a stub."""
    place = tmp_path / "nli-tiny"
    place.mkdir()

    def opened(stub: Any, name: str = "store", **settings: Any) -> Memory:
        monkeypatch.setattr(judges, "_cross_encoder", lambda _place: stub)
        return open_memory(name, minilm, judge=place, **settings)

    return opened


def told(memory: Memory, clock: Any, *texts: str) -> list[str]:
    ids = []
    for text in texts:
        clock.pass_by(DAY)
        ids.append(memory.remember(ME, RememberRequest(text)).id)
    return ids


def listed(memory: Memory) -> list[tuple[str, str]]:
    return [(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)]


def memory_of(text: str) -> MemoryRecord:
    return MemoryRecord(id=text, text=text, content_hash="", agent="me", occurred_at=0.0)


@pytest.mark.parametrize(
    ("forth", "back", "relation"),
    [
        ((0.66, 0.0), (0.66, 0.0), "contradicts"),
        ((0.90, 0.0), (0.42, 0.0), "contradicts"),
        ((0.90, 0.0), (0.40, 0.0), ""),
        ((0.0, 0.81), (0.0, 0.0), "duplicate"),
        ((0.0, 0.80), (0.0, 0.0), ""),
        ((0.0, 0.0), (0.0, 0.81), "extends"),
        ((0.0, 0.5), (0.0, 0.0), "extends"),
        ((0.45, 0.25), (0.0, 0.0), ""),
    ],
)
def test_the_thresholds_decide(
    forth: tuple[float, float], back: tuple[float, float], relation: str
) -> None:
    ways = {("older", "newer"): Stub(*forth).chances, ("newer", "older"): Stub(*back).chances}

    class Both:
        def probabilities(self, premise: str, hypothesis: str) -> Mapping[str, float]:
            return ways[premise, hypothesis]

    judge = LocalJudge(Path("/models/nli-tiny/onnx/model.onnx"), lambda _place: Both())
    assert judge.name == NAME
    found = judge.ask(memory_of("older"), memory_of("newer"))
    assert (found.relation if found else "") == relation


def test_a_contradiction_stays_in_doubt_with_the_name_and_is_not_asked_about_again(
    judged: Opened, clock: Any
) -> None:
    stub = Stub(0.9, 0.05)
    memory = judged(stub)
    old, new = told(memory, clock, OLD, NEW)
    assert listed(memory) == [(old, new)]
    memory.encode(ME)
    memory.consolidate(ME, mode="contradictions")
    memory.encode(ME)
    (pair,) = memory.doubts(ME)
    assert (pair.older.id, pair.newer.id) == (old, new)
    reason = f'the later text says "moved"; {NAME} doubts it (contradiction 0.90)'
    assert pair.reason == reason
    assert memory.history(ME, new)[-1].source == f"judge: {NAME}: contradicts"
    assert stub.asked == [(OLD, NEW), (NEW, OLD)]
    memory.close()
    again = judged(stub)
    again.encode(ME)
    assert stub.asked == [(OLD, NEW), (NEW, OLD)]
    assert [each.reason for each in again.doubts(ME)] == [reason]


def test_what_it_finds_neutral_stays_in_doubt(judged: Opened, clock: Any) -> None:
    stub = Stub(0.1, 0.05)
    memory = judged(stub)
    pair = tuple(told(memory, clock, OLD, NEW))
    memory.encode(ME)
    told(memory, clock, FAR)
    memory.encode(ME)
    assert listed(memory) == [pair]
    assert stub.asked == [(OLD, NEW), (NEW, OLD)]


def test_what_says_the_same_is_in_doubt_no_more(judged: Opened, clock: Any) -> None:
    memory = judged(Stub(0.0, 0.9))
    told(memory, clock, OLD, NEW)
    memory.encode(ME)
    assert listed(memory) == []


def test_what_lies_near_a_new_memory_is_compared_once_and_doubted(
    judged: Opened, clock: Any
) -> None:
    stub = Stub(0.9, 0.05)
    memory = judged(stub)
    far, near, other = told(memory, clock, FAR, NEAR, OTHER)
    assert listed(memory) == []
    memory.encode(ME)
    assert listed(memory) == [(near, other)]
    assert stub.asked == [(NEAR, OTHER), (OTHER, NEAR)]
    (pair,) = memory.doubts(ME)
    assert pair.reason == f"{NAME} doubts it (contradiction 0.90)"
    assert memory.get(ME, near).superseded_by == ""
    assert memory.get(ME, far).superseded_by == ""
    undone = [each for each in memory.history(ME, other) if each.kind == "link"]
    for change in undone:
        memory.undo_change(ME, other, change.seq)
    assert listed(memory) == []
    memory.close()
    again = judged(stub)
    again.encode(ME)
    assert listed(again) == []
    assert stub.asked == [(NEAR, OTHER), (OTHER, NEAR)]


def test_what_is_not_near_is_not_compared(
    judged: Opened, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "NEAR", 0.99)
    stub = Stub(0.9, 0.05)
    memory = judged(stub)
    told(memory, clock, NEAR, OTHER)
    memory.encode(ME)
    assert stub.asked == []


def test_only_the_newest_of_many_are_looked_at(
    judged: Opened, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "LATEST", 1)
    stub = Stub(0.9, 0.05)
    memory = judged(stub)
    with monkeypatch.context() as before:
        before.setattr(Judging, "step", lambda _self: False)  # the worker waits for all three
        told(memory, clock, NEAR, OTHER, FAR)
    memory.encode(ME)
    assert stub.asked == []


def test_another_speaker_is_not_contradicted(judged: Opened, clock: Any) -> None:
    stub = Stub(0.9, 0.05)
    memory = judged(stub)
    for speaker, text in (("Mara", NEAR), ("Tomas", OTHER)):
        clock.pass_by(DAY)
        memory.remember(ME, RememberRequest(text, speaker=speaker))
    memory.encode(ME)
    assert (listed(memory), stub.asked) == ([], [])


def test_a_write_does_not_wait_and_gets_no_jobs(
    open_memory: Opened, clock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Path] = []
    monkeypatch.setattr(judges, "_cross_encoder", loaded.append)
    memory = open_memory(judge=tmp_path)
    (id,) = told(memory, clock, OLD)
    assert memory.get(ME, id).due == ()
    assert loaded == []


def test_a_model_that_cannot_be_loaded_is_told_and_doubts_stay(
    judged: Opened, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = judged(Stub(0.9, 0.05))
    (check,) = (each for each in memory.health(ME).checks if each.name == "judge")
    assert (check.status, check.fix) == ("ok", "")

    def load(_place: Path) -> Any:
        raise EncoderUnavailable("the model is broken", "fetch it again")

    monkeypatch.setattr(memory._runtime.parts().worker.local, "_load", load)
    pair = tuple(told(memory, clock, OLD, NEW))
    memory.encode(ME)
    assert listed(memory) == [pair]
    (check,) = (each for each in memory.health(ME).checks if each.name == "judge")
    assert (check.status, check.detail) == ("degraded", "the model is broken")


def test_a_folder_that_is_not_there_is_told_at_once(open_memory: Opened, tmp_path: Path) -> None:
    memory = open_memory(judge=tmp_path / "gone")
    (check,) = (each for each in memory.health(ME).checks if each.name == "judge")
    assert check.status == "degraded"
    assert check.detail.endswith("gone is no entailment model (it is not there)")
    assert "ANAMNESIS_JUDGE" in check.fix
