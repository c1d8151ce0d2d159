"""The whole memory hindered at a sample of its changes of files, LanceDB's and FAISS's among them:
killed, refused, cut short. Every call and every kind of upkeep is under way somewhere.
"""

from __future__ import annotations

import errno
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from yard import FAIL, FOR_EVER, KILLS, SHORT, Outcome, Yard

pytestmark = pytest.mark.usefixtures("processes")

Task = dict[str, Any]
CHANGES = 840
"""About as many as the scenario makes."""
SAMPLE = 4


@pytest.fixture
def hinder(memory_yard: Yard, place: Path) -> Any:
    """Runs the scenario hindered, then once more by the same keys, and looks everything up."""
    import memory_scenarios as scenarios

    def run(task: Task) -> Outcome:
        folder = place / "store"
        outcome = memory_yard.run("every_call", folder, **task)
        account, said = scenarios.Account(), list[list[str]]()
        account.take(outcome.said)
        memory = scenarios.open_memory(folder)
        try:
            client = scenarios.Client(memory, lambda *words: said.append([str(w) for w in words]))
            scenarios.calls(client)
            account.take(said)
            assert not [words for words in said if words[0] == "failed"], said
            account.verify(memory)
        finally:
            memory.close()
        shutil.rmtree(folder)
        return outcome

    return run


def spread(seed: int, count: int) -> list[int]:
    """Points all over the scenario, one in each of *count* stretches of it."""
    order, stretch = random.Random(seed), CHANGES // count
    return [start * stretch + order.randint(1, stretch) for start in range(count)]


def test_kill_9_at_a_sample_of_all_changes_loses_nothing(hinder: Any) -> None:
    killed = [
        hinder({"what": KILLS[number % 3], "first": point}).killed
        for number, point in enumerate(spread(50, SAMPLE))
    ]
    assert sum(killed) >= SAMPLE - 2


REFUSALS: dict[str, Task] = {
    "one EIO": {"what": FAIL, "error": errno.EIO, "more": 0},
    "EIO from then on": {"what": FAIL, "error": errno.EIO, "more": FOR_EVER},
    "ENOSPC for a while": {"what": FAIL, "error": errno.ENOSPC, "room": True, "more": 200},
    "ENOSPC from then on": {"what": FAIL, "error": errno.ENOSPC, "room": True, "more": FOR_EVER},
    "EDQUOT from then on": {"what": FAIL, "error": errno.EDQUOT, "room": True, "more": FOR_EVER},
    "short writes": {"what": SHORT, "more": FOR_EVER},
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if number % 2 == 0 else pytest.mark.long)
        for number, name in enumerate(REFUSALS)
    ],
)
def test_a_refused_change_is_told_loses_nothing_and_reads_go_on(hinder: Any, name: str) -> None:
    task = REFUSALS[name]
    for point in spread(len(name), 1):
        outcome = hinder(task | {"first": point, "last": min(FOR_EVER, point + task["more"])})
        failed = [words for words in outcome.said if words[0] == "failed"]
        assert {words[1] for words in failed} <= {"open", "remember", "forget", "consolidate"}
        if task["what"] == SHORT:
            assert failed == []
