"""The journal hindered at changes of files all over a scenario: killed, refused, cut short.

The worker's scenario can be repeated by its keys, as a client does that got no answer. So after
each hindrance the whole of it is done again, and then everything that was ever acknowledged must
be there, whole and once.
"""

from __future__ import annotations

import errno
import json
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import apsw
import pytest
from journal_scenarios import Account, all_kinds
from yard import COUNT, FAIL, FOR_EVER, KILLS, SHORT, Outcome, Yard

from memory_core.storage.journal.format import FORMAT

pytestmark = pytest.mark.usefixtures("processes")

Task = dict[str, Any]
GOLDEN = Path(__file__).parents[1] / "storage" / "golden"


class Points:
    """Runs tasks on two yards at once."""

    def __init__(self, yards: list[Yard], place: Path) -> None:
        self.place = place
        self.yards: SimpleQueue[Yard] = SimpleQueue()
        for yard in yards:
            self.yards.put(yard)
        self.all = self.run({"what": COUNT}).seen
        self.numbers = iter(range(10**9))
        self.lock = threading.Lock()

    def run(self, task: Task) -> Outcome:
        """What came of a hindered run and of the second one, which nothing hindered."""
        yard = self.yards.get()
        try:
            folder = self.place / str(id(yard))
            outcome = yard.run("all_kinds", folder, **task)
            self.afterwards(folder, outcome)
            shutil.rmtree(folder)
        finally:
            self.yards.put(yard)
        return outcome

    def afterwards(self, folder: Path, outcome: Outcome) -> None:
        account, said = Account(), list[list[str]]()
        account.take(outcome.said)
        all_kinds(folder, lambda *words: said.append([str(word) for word in words]))
        assert not [words for words in said if words[0] == "failed"], said
        account.take(said)
        assert account.verify(folder) == 4  # a2, c1, c2 and the summary

    def each(self, task_of: Callable[[int], Task], step: int = 1) -> list[Outcome]:
        """The outcomes of the tasks for all points, or every *step*-th of them."""
        tasks = [task_of(point) | {"first": point} for point in range(1, self.all + 1, step)]
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(self.run, tasks))


@pytest.fixture
def points(journal_yards: list[Yard], place: Path) -> Points:
    return Points(journal_yards, place)


def test_kill_9_at_every_sixth_change_of_a_file_loses_nothing(points: Points) -> None:
    outcomes = points.each(lambda point: {"what": KILLS[point // 6 % 3]}, step=6)
    assert points.all > 150
    # ids are random, so that a run may touch a page more or less than the one that was counted
    assert sum(outcome.killed for outcome in outcomes) > 0.95 * len(outcomes)


REFUSALS: dict[str, tuple[Task, str]] = {
    "one EIO": ({"what": FAIL, "error": errno.EIO}, "storage"),
    "EIO from then on": ({"what": FAIL, "error": errno.EIO, "last": FOR_EVER}, "storage"),
    "one ENOSPC": ({"what": FAIL, "error": errno.ENOSPC, "room": True}, "disk_full"),
    "ENOSPC from then on": (
        {"what": FAIL, "error": errno.ENOSPC, "room": True, "last": FOR_EVER},
        "disk_full",
    ),
    "EDQUOT from then on": (
        {"what": FAIL, "error": errno.EDQUOT, "room": True, "last": FOR_EVER},
        "disk_full",
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if number % 2 == 0 else pytest.mark.long)
        for number, name in enumerate(REFUSALS)
    ],
)
def test_a_refused_change_of_a_file_is_told_and_loses_nothing(points: Points, name: str) -> None:
    task, code = REFUSALS[name]
    outcomes = points.each(lambda point: task, step=14)
    told = [words for outcome in outcomes for words in outcome.said if words[0] == "failed"]
    assert len(told) > len(outcomes) / 2
    codes = [words[3] for words in told]
    assert codes.count(code) > 0.9 * len(codes)
    assert set(codes) <= {code, "storage"}  # where SQLite does not say which refusal it was
    assert "read" not in {words[1] for words in told}  # reads go on


def test_short_writes_lose_nothing(points: Points) -> None:
    for outcome in points.each(lambda point: {"what": SHORT, "last": point + 30}, step=20):
        assert not [words for words in outcome.said if words[0] == "failed"]


def test_kill_9_at_every_change_of_a_migration_leaves_the_old_format_or_the_new(
    journal_yards: list[Yard], place: Path
) -> None:
    golden, folder, yard = GOLDEN / f"format_{FORMAT}", place / "data", journal_yards[0]
    expected = json.loads((golden / "expected.json").read_text())["folded"]

    def run(what: int, point: int) -> Outcome:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(golden, folder)
        return yard.run("migrate", folder, what=what, first=point)

    changes = run(COUNT, 0).seen
    assert changes > 5
    left = set()
    for point in range(1, changes + 1):
        assert run(KILLS[point % 3], point).killed
        connection = apsw.Connection(str(folder / "journal.db"))
        left.add(connection.execute("PRAGMA user_version").fetchall()[0][0])
        ids, texts = list(expected), [fields["text"] for fields in expected.values()]
        marks = ", ".join("?" for _ in ids)
        sql = f"SELECT count(*) FROM heads WHERE id IN ({marks})"
        assert connection.execute(sql, ids).fetchall() == [(len(texts),)]
        connection.close()
        assert yard.run("migrate", folder, what=COUNT).said[0] == ["whole"]
    assert left == {FORMAT, FORMAT + 1}
