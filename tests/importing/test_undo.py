"""An import that is taken back, whatever happened before and after it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from conftest import Clock, ToyEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.config import Settings
from memory_core.memory import Memory
from tests.importing.test_sync import ME, STEPS, act, exported

Steps = list[tuple[int, str, int]]


def opened(stack: ExitStack, folder: Path, clock: Clock) -> Memory:
    memory = Memory(Settings(data_dir=folder), clock=clock, embedder=ToyEmbedder())
    stack.enter_context(memory)
    assert memory.wait_ready(120.0)
    return memory


def played(memory: Memory, clock: Clock, steps: Steps, kept: dict[str, str]) -> None:
    for _, what, number in steps:
        clock.pass_by(1.0)
        if what != "sync":
            act(memory, what, number, Path(), kept)


def records(memory: Memory) -> dict[str, dict[str, Any]]:
    """Everything that an export tells of each memory but links, times of setting and recalls."""
    found = {record["id"]: dict(record) for record in memory.export(ME)}
    for record in found.values():
        for name in ("stamps", "links", "access_count", "last_accessed"):
            record.pop(name, None)
    return found


def lost(found: dict[str, dict[str, Any]]) -> set[str]:
    """Those whose successor is not there."""
    return {id for id, r in found.items() if r["replaced"] and r["superseded_by"] not in found}


def last_change(memory: Memory, id: str) -> int:
    return max((change.seq for change in memory.history(ME, id)), default=0)


@settings(max_examples=7)
@given(
    common=st.lists(STEPS, max_size=4),
    here=st.lists(STEPS, max_size=6),
    there=st.lists(STEPS, min_size=1, max_size=10),
    later=st.lists(STEPS, max_size=6),
)
def test_what_nobody_touched_since_is_as_before_and_the_rest_stays_whole(
    common: Steps, here: Steps, there: Steps, later: Steps
) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, ExitStack() as stack:
        folder, clock, kept = Path(place), Clock(), dict[str, str]()
        one, two = opened(stack, folder / "1", clock), opened(stack, folder / "2", clock)
        played(one, clock, [(0, "say", 0), *common, (0, "say", 1)], kept)
        if not records(one):  # an empty file has no known form
            return
        two.import_files(ME, exported(one, folder / "common.jsonl"))
        played(one, clock, here, kept)
        played(two, clock, there, {})
        if not records(two):
            return
        before = records(one)
        report = one.import_files(ME, exported(two, folder / "two.jsonl"))
        assert report.problems == []
        if not report.run:  # everything was known
            return
        imported = {id: last_change(one, id) for id in records(one)}
        played(one, clock, later, kept)
        touched = {id for id in records(one) if last_change(one, id) > imported.get(id, 0)}
        changed_since = records(one)

        one.consolidate(ME, undo=report.run)

        after = records(one)
        gone = before.keys() - changed_since.keys()  # forgotten by the import, or since
        for id in before.keys() - touched - gone:
            assert after[id] == before[id]
        for id, record in changed_since.items():
            said_again = record["trust"] != "import"
            mine = id in before or id not in imported or said_again
            assert (id in after) == mine, record
            assert not mine or after[id]["text"] == record["text"]
        assert lost(after) <= lost(before) | lost(changed_since)
        for record in one.export(ME):
            ends = {end for link in record.get("links", ()) for end in (link["a"], link["b"])}
            assert ends <= {*after}
