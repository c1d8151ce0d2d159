"""A run beside other processes and other calls: one at a time, stopped from outside, in nobody's
way."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memory_core.config import ConsolidationSettings
from memory_core.consolidate.run import Consolidator
from memory_core.errors import Busy
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ROOT = Path(__file__).parents[2]
ME = Identity("me")
STILL = ConsolidationSettings(automatic=False)

OTHER = """
import importlib.util, sys
from pathlib import Path
from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.records import Identity

spec = importlib.util.spec_from_file_location("shared", "tests/conftest.py")
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)

def tell(done, total, message):
    if message.startswith("run "):
        print(message.split()[1], flush=True)
    if done == 3:
        sys.stdin.readline()

settings = Settings(
    data_dir=Path(sys.argv[1]), consolidation=ConsolidationSettings(automatic=False)
)
memory = Memory(settings, clock=lambda: 1_717_300_000.0, embedder=shared.ToyEmbedder())
memory.wait_ready(60)
print(memory.consolidate(Identity("me"), progress=tell).status, flush=True)
memory.close()
"""


def told(memory: Memory) -> str:
    for number in range(6):
        thing = ("heron", "otter")[number % 2]
        memory.remember(
            ME,
            RememberRequest(
                f"The {thing} of the {thing} house waits by the {thing} gate, {number}"
            ),
        )
    return export(memory)


def export(memory: Memory) -> str:
    return json.dumps(list(memory.export(ME)), sort_keys=True)


@pytest.mark.usefixtures("processes")
@pytest.mark.timeout(120)
def test_one_run_at_a_time_in_two_processes_and_one_stops_that_of_the_other(
    open_memory: Any, tmp_path: Path
) -> None:
    memory = open_memory(consolidation=STILL)
    before = told(memory)
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(tmp_path / "store")],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stdout is not None
        run = other.stdout.readline().strip()
        with pytest.raises(Busy, match="another consolidation"):
            memory.consolidate(ME)
        assert memory.consolidate(ME, dry_run=True).status == "preview"
        assert (
            memory.remember(ME, RememberRequest("Meanwhile somebody wrote this.")).status
            == "stored"
        )
        assert memory.consolidate(ME, undo=run).status == "running"
        out, _ = other.communicate("go on\n", timeout=60)
    finally:
        other.kill()
    assert out.strip() == "failed", "a run that was stopped is told as failed"
    assert "Meanwhile" in export(memory)
    assert [row for row in json.loads(export(memory)) if row["text"][:3] == "The"] == json.loads(
        before
    )
    assert memory.consolidate(ME).status == "completed"


def test_no_call_waits_for_a_run_that_begins_by_itself(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    threads: list[str] = []
    run = Consolidator.run

    def held(self: Consolidator, *given: Any, **options: Any) -> Any:
        threads.append(threading.current_thread().name)
        begun.set()
        assert go_on.wait(60)
        return run(self, *given, **options)

    monkeypatch.setattr(Consolidator, "run", held)
    memory.remember(ME, RememberRequest("The heron stands in the weir.", session="lake"))
    memory.end_session(ME, "lake")
    assert begun.wait(60), "the run has begun"
    try:
        assert (
            memory.remember(ME, RememberRequest("The otter has left.", session="lake")).status
            == "stored"
        )
        assert memory.recall(ME, RecallRequest("where is the heron?")).hits
        memory.end_session(ME, "lake")
        assert memory.health(ME).counts["memories"] == 2
    finally:
        go_on.set()
    assert set(threads) == {"scheduler"}
