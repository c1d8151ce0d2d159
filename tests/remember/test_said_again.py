"""What was out of date and is said once more holds again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from tests.conftest import Clock, NoModel, OpenMemory

ME = Identity("me")
DAY = 86_400.0
THEN = 1_750_000_000.0
OSLO, BERGEN = "User lives in Oslo.", "User lives in Bergen."
BOSCH = "I work at Bosch."
LEFT = "I no longer work at Bosch, I moved to Siemens."


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    settings = Settings(data_dir=tmp_path)
    with Memory(settings, embedder=minilm, clock=lambda: THEN + 60 * DAY) as memory:
        assert memory.wait_ready(60)
        yield memory


def tell(memory: Memory, text: str, day: float, session: str = "") -> str:
    return memory.remember(ME, RememberRequest(text, when=THEN + day * DAY, session=session)).id


def doubted(memory: Memory) -> list[tuple[str, str]]:
    return [(pair.older.text, pair.newer.text) for pair in memory.doubts(ME)]


def first(memory: Memory, asked: str) -> str:
    return memory.recall(ME, RecallRequest(asked, k=5, context=0)).hits[0].memory.text


def test_what_was_in_doubt_holds_again(memory: Memory) -> None:
    oslo = tell(memory, OSLO, 0)
    tell(memory, BERGEN, 10)
    assert doubted(memory) == [(OSLO, BERGEN)]
    receipt = memory.remember(ME, RememberRequest(OSLO, when=THEN + 20 * DAY))
    assert (receipt.id, receipt.status) == (oslo, "reinforced")
    assert any("may be out of date" in told for told in receipt.warnings)
    assert doubted(memory) == [(BERGEN, OSLO)]
    assert first(memory, "Where does the user live?") == OSLO
    tell(memory, BERGEN, 30)
    assert doubted(memory) == [(OSLO, BERGEN)]
    assert first(memory, "Where does the user live?") == BERGEN


def test_what_was_superseded_holds_again(memory: Memory) -> None:
    bosch = tell(memory, BOSCH, 0)
    left = tell(memory, LEFT, 10)
    assert memory.get(ME, bosch).superseded_by == left
    tell(memory, BOSCH, 20)
    held = memory.get(ME, bosch)
    assert (held.superseded_by, held.valid_until) == ("", None)
    assert held.occurred_at == THEN + 20 * DAY
    assert doubted(memory) == [(LEFT, BOSCH)]
    assert first(memory, "Where do I work?") == BOSCH


def test_it_holds_again_after_the_next_start(tmp_path: Path, minilm: Embedder) -> None:
    settings = Settings(data_dir=tmp_path)
    for told in ((OSLO, 0), (BERGEN, 10), (OSLO, 20)), ():
        with Memory(settings, embedder=minilm, clock=lambda: THEN + 60 * DAY) as memory:
            assert memory.wait_ready(60)
            for text, day in told:
                tell(memory, text, day)
            assert doubted(memory) == [(BERGEN, OSLO)]


def test_it_holds_again_without_a_model(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with Memory(settings, embedder=NoModel(), clock=lambda: THEN + 60 * DAY) as memory:
        for text, day in ((OSLO, 0), (BERGEN, 10), (OSLO, 20)):
            tell(memory, text, day)
        assert doubted(memory) == [(BERGEN, OSLO)]


@pytest.mark.parametrize("trust", ["web", "quoted"])
def test_what_is_trusted_less_makes_nothing_hold_again(memory: Memory, trust: str) -> None:
    bosch = tell(memory, BOSCH, 0)
    left = tell(memory, LEFT, 10)
    tell(memory, OSLO, 0)
    tell(memory, BERGEN, 10)
    for text in (BOSCH, OSLO):
        memory.remember(ME, RememberRequest(text, when=THEN + 20 * DAY, trust=trust))
    assert memory.get(ME, bosch).superseded_by == left
    assert doubted(memory) == [(OSLO, BERGEN)]


def test_what_changed_and_changed_back_changes_again(memory: Memory) -> None:
    for text, day in ((BOSCH, 0), (LEFT, 10), (BOSCH, 20), (LEFT, 30)):
        tell(memory, text, day)
    assert doubted(memory) == [(BOSCH, LEFT)]
    assert first(memory, "Where do I work?") == LEFT


@pytest.mark.parametrize(
    ("older", "newer", "asked"),
    [(OSLO, BERGEN, "Where does the user live?"), (BOSCH, LEFT, "Where do I work?")],
)
def test_a_day_before_is_answered_as_of_that_day(
    tmp_path: Path, minilm: Embedder, clock: Clock, older: str, newer: str, asked: str
) -> None:
    with Memory(Settings(data_dir=tmp_path), embedder=minilm, clock=clock) as memory:
        assert memory.wait_ready(60)
        days = []
        for text in (older, newer, older):
            memory.remember(ME, RememberRequest(text))
            clock.pass_by(DAY)
            days.append(datetime.fromtimestamp(clock(), UTC).isoformat())
            clock.pass_by(DAY)
        told = [
            memory.recall(ME, RecallRequest(asked, context=0, as_of=day)).hits[0].memory.text
            for day in days
        ]
    assert told == [older, newer, older]


def test_what_was_said_before_it_went_out_of_date_changes_nothing(memory: Memory) -> None:
    tell(memory, OSLO, 0)
    tell(memory, BERGEN, 10)
    tell(memory, OSLO, 5)
    assert doubted(memory) == [(OSLO, BERGEN)]


def test_what_only_seemed_out_of_date_is_not_turned_round(memory: Memory) -> None:
    older = "The invoices are checked by Mr Okoro."
    newer = "Fatima from the second floor checks the invoices, Mr Okoro is on the night shift"
    for text in ("My sister plays the cello.", "The tomatoes need water.", "We use pnpm here."):
        tell(memory, text, -30)
    tell(memory, "Ruben coaches the junior rowers.", -30)
    tell(memory, older, 0)
    tell(memory, newer, 10)
    assert doubted(memory) == [(older, newer)]
    tell(memory, older, 20)
    assert doubted(memory) == []


def test_what_is_said_again_in_another_conversation_holds_in_its_place(memory: Memory) -> None:
    oslo = tell(memory, OSLO, 0, "one")
    bergen = tell(memory, BERGEN, 10, "two")
    again = memory.remember(ME, RememberRequest(OSLO, when=THEN + 20 * DAY, session="three"))
    assert (again.status, again.id == oslo) == ("stored", False)
    assert [(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)] == [(bergen, again.id)]
    assert first(memory, "Where does the user live?") == OSLO


def test_what_was_superseded_stays_so_where_another_conversation_says_it(memory: Memory) -> None:
    bosch = tell(memory, BOSCH, 0, "one")
    left = tell(memory, LEFT, 10, "two")
    again = memory.remember(ME, RememberRequest(BOSCH, when=THEN + 20 * DAY, session="three"))
    assert memory.get(ME, bosch).superseded_by == left
    assert [(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)] == [(left, again.id)]
    assert any(left in told for told in again.warnings)
    assert first(memory, "Where do I work?") == BOSCH


def test_what_is_trusted_less_ends_no_doubt_from_another_conversation(memory: Memory) -> None:
    tell(memory, OSLO, 0, "one")
    tell(memory, BERGEN, 10, "two")
    memory.remember(ME, RememberRequest(OSLO, when=THEN + 20 * DAY, session="x", trust="web"))
    assert doubted(memory) == [(OSLO, BERGEN)]


def test_it_is_taken_back_by_undo(memory: Memory) -> None:
    bosch = tell(memory, BOSCH, 0)
    left = tell(memory, LEFT, 10)
    tell(memory, BOSCH, 20)
    changes = [each for each in memory.history(ME, bosch) if each.source == "correction"]
    memory.undo_change(ME, bosch, changes[-1].seq)
    assert memory.get(ME, bosch).superseded_by == left
    assert memory.get(ME, bosch).occurred_at == THEN


def test_a_plan_that_is_said_on_another_day_is_another_plan(
    open_memory: OpenMemory, clock: Clock
) -> None:
    memory = open_memory()
    first = memory.remember(ME, RememberRequest("dentist tomorrow at nine"))
    again = memory.remember(ME, RememberRequest("dentist tomorrow at nine"))
    clock.pass_by(30 * DAY)
    later = memory.remember(ME, RememberRequest("dentist tomorrow at nine"))
    assert (again.status, again.id) == ("reinforced", first.id)
    assert later.status == "stored"
    assert memory.get(ME, first.id).dates != memory.get(ME, later.id).dates
    assert memory.remember(ME, RememberRequest("dentist tomorrow at nine")).id == later.id
    assert memory.remember(ME, RememberRequest("the gate is green")).status == "stored"
    clock.pass_by(30 * DAY)
    assert memory.remember(ME, RememberRequest("the gate is green")).status == "reinforced"


@pytest.mark.parametrize("text", ["I went to the optician.", "Paid the rent to Mr Hahn."])
def test_what_happened_on_another_day_happened_twice(memory: Memory, text: str) -> None:
    days = ("2025-06-05", "2025-07-05")
    once, again = (memory.remember(ME, RememberRequest(text, when=day)) for day in days)
    repeated = memory.remember(ME, RememberRequest(text, when=days[1]))
    assert (once.status, again.status) == ("stored", "stored")
    assert [each.relation for each in again.similar] == ["similar"]
    assert (repeated.status, repeated.id) == ("reinforced", again.id)
    memory.consolidate(ME, mode="deduplicate")
    hits = memory.recall(ME, RecallRequest(text.removeprefix("I "), k=5)).hits
    assert {hit.memory.id: hit.memory.dates for hit in hits} == {
        once.id: (days[0],),
        again.id: (days[1],),
    }
    later = memory.recall(ME, RecallRequest(text, since="2025-07-01")).hits
    assert [hit.memory.id for hit in later] == [again.id]


@pytest.mark.parametrize(
    ("text", "session"), [("The rent is 900 euros.", ""), ("I went to the optician.", "talk")]
)
def test_how_something_is_and_a_turn_of_a_talk_are_said_once(
    memory: Memory, text: str, session: str
) -> None:
    requests = (
        RememberRequest(text, when=day, session=session) for day in ("2025-06-05", "2025-07-05")
    )
    assert len({memory.remember(ME, request).id for request in requests}) == 1


def test_what_happened_today_has_no_day_of_its_own(memory: Memory) -> None:
    said = memory.remember(ME, RememberRequest("I went to the optician.")).id
    assert memory.get(ME, said).dates == ()
