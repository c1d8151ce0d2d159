"""kill -9 during a run: taken up or taken back, and nothing is lost.

A sample of the changes of files that a run makes; all of them are played by
tests/campaigns/sleep_kill.py.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from yard import KILLS, Yard

pytestmark = pytest.mark.usefixtures("processes")

CHANGES = 250
"""About as many as opening, one run and closing make."""
SAMPLE = 6


@pytest.fixture(scope="module")
def sleep_yard(shim: Path) -> Iterator[Yard]:
    yard = Yard(shim, "sleep_scenarios")
    yield yard
    yard.close()


@pytest.fixture
def prepared(place: Path) -> Path:
    """A store on which every step of sleep has something to do."""
    import sleep_scenarios

    sleep_scenarios.prepare(place / "prepared")
    return place / "prepared"


@pytest.fixture
def legal(place: Path, prepared: Path) -> Any:
    """The two states in which a killed run may end."""
    import sleep_scenarios

    shutil.copytree(prepared, place / "played")
    found = sleep_scenarios.Legal(place / "played")
    assert all(found.steps.values()), found.steps
    return found


def test_kill_9_at_a_sample_of_all_changes_ends_in_a_legal_state(
    sleep_yard: Yard, prepared: Path, legal: Any, place: Path
) -> None:
    order, stretch = random.Random(6), CHANGES // SAMPLE
    store, ends, killed = place / "store", Counter[str](), 0
    for number in range(SAMPLE):
        shutil.copytree(prepared, store)
        point = number * stretch + order.randint(1, stretch)
        outcome = sleep_yard.run("one_sleep", store, what=KILLS[number % 3], first=point)
        ends[legal.verify(store, go_on=number % 2 == 0)] += 1
        killed += outcome.killed
        shutil.rmtree(store)
    assert killed >= SAMPLE - 2
    assert ends["resumed"]
    assert ends["taken back"]


def test_a_run_that_is_killed_again_and_again_is_taken_back_and_begun_anew(
    sleep_yard: Yard, prepared: Path, legal: Any
) -> None:
    import sleep_scenarios

    for point in (120, 60, 60, 60, 160):  # a run is started four times at most
        assert sleep_yard.run("one_sleep", prepared, what=KILLS[0], first=point).killed
    memory = sleep_scenarios.open_memory(prepared)
    try:
        rows = {row["id"]: row["text"] for row in memory.export(sleep_scenarios.ME)}
        assert legal.said.items() <= rows.items()
        assert len(legal.new(memory)) == 2
        report = memory.consolidate(sleep_scenarios.ME)
        assert report.status == "completed"
        found = legal.new(memory)
        assert found.pop(report.run) == "completed"
        assert set(found.values()) == {"failed"}
        memory.consolidate(sleep_scenarios.ME, undo=report.run)
        assert sleep_scenarios.export(memory) == legal.before
        assert memory.health(sleep_scenarios.ME, repair=True).status == "ok"
    finally:
        memory.close()
