"""What holds in one project says nothing of another, and is no echo of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.config import ConsolidationSettings, Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, MemoryRecord
from memory_core.remember.capture import Observation
from memory_core.remember.request import ConversationTurn, RememberRequest

ME = Identity("me")
DAY = 86_400.0
PAIRS = [
    ("the preview server listens on 4200", "the preview server listens on 5173 now"),
    ("staging db is on port 6432", "staging db is on port 5433 now"),
    ("coverage threshold is 80%", "coverage threshold is 90% from now on"),
    ("we deploy with helm", "we no longer deploy with helm, it's kustomize"),
    ("the main branch is called trunk", "the main branch is called main"),
    ("the standup is on Monday at ten", "the standup is on Tuesday at ten"),
    ("Der Dev-Server läuft auf Port 4200", "Der Dev-Server läuft jetzt auf Port 5173"),
]


@pytest.fixture
def memory(tmp_path: Path, clock: Any, minilm: Embedder) -> Iterator[Memory]:
    settings = Settings(data_dir=tmp_path, consolidation=ConsolidationSettings(automatic=False))
    with Memory(settings, embedder=minilm, clock=clock) as memory:
        assert memory.wait_ready(60)
        yield memory


def says(memory: Memory, project: str, text: str, session: str) -> Observation:
    tags = [f"project:{project}"] if project else []
    turn = ConversationTurn("user", text, session=session, tags=tags)
    return memory.observe(ME, turn)


def stored(memory: Memory, seen: Observation) -> MemoryRecord:
    assert seen.receipt is not None, seen
    return memory.get(ME, seen.receipt.id)


def doubtful(memory: Memory) -> list[tuple[str, str]]:
    return [(pair.older.text, pair.newer.text) for pair in memory.doubts(ME)]


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_another_project_has_its_own(memory: Memory, clock: Any, here: str, there: str) -> None:
    mine = stored(memory, says(memory, "alpha", here, "a"))
    clock.pass_by(30 * DAY)
    seen = says(memory, "beta", there, "b")
    assert stored(memory, seen).tags == ("project:beta",)
    clock.pass_by(DAY)
    memory.consolidate(ME)
    assert not memory.get(ME, mine.id).superseded_by
    assert memory.get(ME, mine.id).retired_at is None
    assert doubtful(memory) == []


@pytest.mark.parametrize(("before", "after"), PAIRS[:4])
def test_in_one_project_it_changes(memory: Memory, clock: Any, before: str, after: str) -> None:
    mine = stored(memory, says(memory, "alpha", before, "a"))
    clock.pass_by(30 * DAY)
    says(memory, "alpha", after, "b")
    superseded = bool(memory.get(ME, mine.id).superseded_by)
    assert superseded or doubtful(memory) == [(before, after)]


def test_between_a_project_and_none_a_change_is_in_doubt_at_most(
    memory: Memory, clock: Any
) -> None:
    before, after = PAIRS[0]
    note = memory.remember(ME, RememberRequest(before)).id
    clock.pass_by(30 * DAY)
    says(memory, "beta", after, "b")
    assert not memory.get(ME, note).superseded_by
    assert doubtful(memory) == [(before, after)]


def test_of_another_project_nothing_is_a_repeat(memory: Memory, clock: Any) -> None:
    said = "always squash the commits before merging"
    first = stored(memory, says(memory, "alpha", said, "a"))
    clock.pass_by(600)
    assert memory.recall(ME, RecallRequest(said)).hits
    second = stored(memory, says(memory, "beta", said, "b"))
    assert (first.tags, second.tags) == (("project:alpha",), ("project:beta",))
    clock.pass_by(DAY)
    memory.consolidate(ME)
    assert memory.get(ME, first.id).retired_at is None
    assert memory.get(ME, second.id).retired_at is None


def test_what_was_recalled_of_another_project_is_no_echo(memory: Memory, clock: Any) -> None:
    said = "always squash the commits before merging"
    says(memory, "alpha", said, "a")
    clock.pass_by(20 * DAY)
    assert memory.recall(ME, RecallRequest(said)).hits
    seen = says(memory, "beta", said, "b")
    assert stored(memory, seen).tags == ("project:beta",)
    assert memory.recall(ME, RecallRequest(said)).hits
    again = says(memory, "beta", said, "c")
    assert [left.reason for left in again.skipped] == ["echo of recalled text"]


def test_what_was_recalled_of_no_project_is_an_echo(memory: Memory) -> None:
    said = "always squash the commits before merging"
    memory.remember(ME, RememberRequest(said))
    assert memory.recall(ME, RecallRequest(said)).hits
    seen = says(memory, "beta", said, "b")
    assert [left.reason for left in seen.skipped] == ["echo of recalled text"]


@pytest.mark.parametrize(("before", "after"), [PAIRS[0], PAIRS[4]])
def test_a_value_that_comes_back_is_no_echo(
    memory: Memory, clock: Any, before: str, after: str
) -> None:
    for number, said in enumerate((before, after, before)):
        clock.pass_by(20 * DAY)
        memory.recall(ME, RecallRequest(said))  # as the hook does before it captures
        seen = says(memory, "alpha", said, f"s{number}")
        assert seen.receipt is not None, said
    found = memory.recall(ME, RecallRequest(before, k=3, context=0))
    assert found.hits[0].memory.text == before
    current = [hit for hit in found.hits if hit.memory.text == before and not hit.doubted_by]
    assert any(not hit.memory.superseded_by for hit in current)


@pytest.mark.parametrize(
    ("before", "after"), [PAIRS[0], ("Default branch is trunk.", "Default branch is main now.")]
)
def test_nor_is_it_on_the_same_day(memory: Memory, clock: Any, before: str, after: str) -> None:
    for number, said in enumerate((before, after, before)):
        clock.pass_by(600)
        memory.recall(ME, RecallRequest(said))
        assert says(memory, "alpha", said, f"s{number}").receipt is not None, said


def test_an_assistant_that_repeats_what_is_out_of_date_is_an_echo(
    memory: Memory, clock: Any
) -> None:
    before, after = PAIRS[0]
    says(memory, "alpha", before, "a")
    clock.pass_by(DAY)
    says(memory, "alpha", after, "b")
    memory.recall(ME, RecallRequest(before))
    turn = ConversationTurn("assistant", before, session="c", tags=["project:alpha"])
    assert [left.reason for left in memory.observe(ME, turn).skipped] == ["echo of recalled text"]


def test_what_other_projects_say_hides_no_change(memory: Memory, clock: Any) -> None:
    def note(project: str, text: str) -> str:
        tags = [f"project:{project}"]
        return memory.remember(ME, RememberRequest(text, tags=tags)).id

    before, after = "we ship our logs to Splunk", "the logs go to Loki, Splunk got too expensive"
    for project, place in (("beta", "Datadog"), ("gamma", "Elastic"), ("delta", "Splunk Cloud")):
        note(project, f"we ship our logs to {place}")
    note("alpha", before)
    clock.pass_by(30 * DAY)
    note("alpha", after)
    assert doubtful(memory) == [(before, after)]


@pytest.mark.parametrize("project", ["alpha", "beta"])
def test_what_another_project_says_is_no_newer_answer(
    memory: Memory, clock: Any, project: str
) -> None:
    here = "The barn conversion is waiting for planning permission."
    there = "The council waved the barn conversion through, builders are on site."
    for text in ("The sensors are read every second.", "We have choir on Thursdays."):
        memory.remember(ME, RememberRequest(text))
    memory.remember(ME, RememberRequest(here, tags=["project:alpha"]))
    clock.pass_by(30 * DAY)
    memory.remember(ME, RememberRequest(there, tags=[f"project:{project}"]))
    clock.pass_by(DAY)
    asked = RecallRequest("what is the status of the barn conversion?", context=0)
    found = memory.recall(ME, asked).hits[0].memory.text
    assert found == (there if project == "alpha" else here)
