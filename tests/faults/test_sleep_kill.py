"""kill -9 at one point of a run after another: taken up or taken back, and nothing is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_core.config import ConsolidationSettings
from memory_core.memory import Memory
from memory_core.records import Identity

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")

ROOT = Path(__file__).parents[2]
ME = Identity("me")

WORKER = """
import importlib.util, os, signal, sys
from pathlib import Path
from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.storage import runs

spec = importlib.util.spec_from_file_location("conftest", "tests/conftest.py")
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)
runs.BATCH = 3
directory, point = sys.argv[1], int(sys.argv[2])
told = 0

def die(done, total, message):
    global told
    told += 1
    if told == point:
        os.kill(os.getpid(), signal.SIGKILL)

still = ConsolidationSettings(automatic=False, concept_members=3)
settings = Settings(data_dir=Path(directory), consolidation=still)
memory = Memory(settings, clock=lambda: 1_717_900_000.0, embedder=shared.ToyEmbedder())
memory.wait_ready(30)
memory.consolidate(Identity("me"), progress=die)
memory.close()
"""

POINTS = (1, 5, 12, 13, 15, 16, 12)
"""Steps, and batches while writing, one after the other on one store; a run is started thrice."""


def export(memory: Memory) -> str:
    return json.dumps(list(memory.export(ME)), sort_keys=True)


def states(memory: Memory) -> dict[str, str]:
    runs = memory._engine.parts().store.journal.runs()
    return {change.target: (change.body or {})["state"] for change in runs}


@pytest.mark.timeout(300)
def test_a_kill_at_any_point_of_a_run_loses_nothing(open_memory: Any, tmp_path: Path) -> None:
    still = ConsolidationSettings(automatic=False, concept_members=3)
    memory = open_memory(consolidation=still)
    said = []
    for number in range(9):
        thing = ("heron", "otter", "mill")[number % 3]
        text = f"The {thing} of the {thing} house waits by the old {thing} gate on day {number}"
        said.append((memory.remember(ME, text, session="talk").id, text))
    before = export(memory)
    memory.close()
    for point in POINTS:
        command = [sys.executable, "-c", WORKER, str(tmp_path / "store"), str(point)]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        memory = open_memory(consolidation=still)
        rows = {row["id"]: row["text"] for row in memory.export(ME)}
        assert all(rows[id] == text for id, text in said)
        assert sorted(states(memory).values())[-1] == "started"
        memory.close()
    memory = open_memory(consolidation=still)
    report = memory.consolidate(ME)
    assert report.status == "completed"
    assert report.summaries
    found = states(memory)
    assert found.pop(report.run) == "completed"
    assert set(found.values()) == {"failed"}
    memory.consolidate(ME, undo=report.run)
    assert export(memory) == before
    assert memory.health(ME, repair=True).status == "ok"
