"""The engine killed under its clients; the long version is tests/campaigns/engine.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CAMPAIGN = Path(__file__).parents[1] / "campaigns" / "engine.py"
LONG = os.environ.get("LONG") == "1"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="counts in /proc"),
    pytest.mark.usefixtures("processes"),
]


def report(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(CAMPAIGN), *words, *([] if LONG else ["--warm"])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout[done.stdout.index("{") :]))


@pytest.mark.timeout(3600)
def test_nothing_acknowledged_is_lost_and_no_call_is_unanswered() -> None:
    found = report("kill", "--kills", "100" if LONG else "3", "--clients", "4" if LONG else "2")
    assert found["acknowledged"]
    assert (found["lost"], found["unanswered"], found["other errors"]) == (0, 0, [])
    assert found["engines at the end"] == 1


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_calls_are_answered_while_another_client_consolidates_without_end() -> None:
    """The ratio of the p99 is the long version's, a few calls have none."""
    words = ("60", "--memories", "2000") if LONG else ("1", "--memories", "40")
    found = report("sleeper", "--seconds", *words)
    assert found["runs"]
    assert found["errors"] == []
    for tool in ("recall", "remember"):
        assert found[tool]["calls within a run"]
        assert not LONG or found[tool]["ratio"] <= 2


@pytest.mark.timeout(7200)
def test_clients_that_come_and_go_leave_nothing() -> None:
    found = report("soak", "--minutes", "60" if LONG else "0.05")
    assert found["clients"]
    assert found["clients that the engine still knows"] == 0
    assert (found["processes left"], found["sockets left"]) == ([], 0)
    for what in ("private MiB", "descriptors"):
        assert not LONG or found[f"{what}, last tenth"] <= 1.1 * found[f"{what}, second tenth"]


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_calls_are_answered_beside_one_that_writes_and_one_that_never_reads() -> None:
    """The ratio of the p99 is the long version's, a few calls have none."""
    words = ("60",) if LONG else ("1", "--memories", "20", "--rounds", "1")
    found = report("neighbour", "--seconds", *words)
    assert min(found["recalls"]) > 1
    assert not LONG or found["ratio"] <= 2
