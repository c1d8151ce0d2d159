"""Sleep that begins by itself: when, for whom, and never while somebody writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memory_core.config import ConsolidationSettings
from memory_core.consolidate.run import Consolidator
from memory_core.consolidate.run_log import RunLog
from memory_core.consolidate.scheduler import Scheduler
from memory_core.records import Identity, MemoryRecord, from_fields
from memory_core.storage.locks import FileLock

ME = Identity("me", "crew")
OTHER = Identity("other", "crew")
START = 1_700_000_000.0
DAY, HOUR = 86_400.0, 3600.0

OFF = {"every_turns": 0, "unconsolidated": 0, "idle_s": 0.0}

Make = Callable[..., tuple[Any, Scheduler]]


@pytest.fixture
def asleep(make: Any) -> Make:
    def build(
        *, keeps: bool = True, automatic: bool = True, nightly: str = "", **tuning: Any
    ) -> tuple[Any, Scheduler]:
        world = make(**{**OFF, **tuning})
        chosen = ConsolidationSettings(automatic=automatic, nightly=nightly)
        return world, Scheduler(world.store, world.consolidator, chosen, world.clock, lambda: keeps)

    return build


def whys(sleeper: Scheduler) -> list[tuple[str, str]]:
    return [(due.who.agent, due.why) for due in sleeper.due()]


def test_after_enough_turns_and_not_again_before_as_many_came(asleep: Make) -> None:
    world, sleeper = asleep(every_turns=3)
    for text in world.sailing:
        assert sleeper.round() == []
        world.tell(text)
    assert sleeper.round() == []
    world.now += 60.0
    assert whys(sleeper) == [("me", "3 memories since the last run")]
    (report,) = sleeper.round()
    assert report.status == "completed"
    assert sleeper.round() == []
    for text in world.bread[:2]:
        world.tell(text)
    world.now += HOUR
    assert sleeper.round() == []
    world.tell(world.bread[2])
    world.now += HOUR
    assert len(sleeper.round()) == 1


def test_nothing_begins_while_somebody_writes(asleep: Make) -> None:
    world, sleeper = asleep(every_turns=1)
    world.tell(world.sailing[0])
    world.now += 59.0
    assert sleeper.due() == []
    world.now += 1.0
    assert len(sleeper.due()) == 1


def test_only_old_episodes_are_summarised(asleep: Make) -> None:
    world, sleeper = asleep(every_turns=1)
    for text in world.sailing:
        world.tell(text)
    world.now += 29 * DAY
    assert sleeper.round()[0].summaries == ()
    world.tell(world.bread[0])
    world.now += 2 * DAY
    assert len(sleeper.round()[0].summaries) == 1


def test_when_too_many_have_no_summary(asleep: Make) -> None:
    world, sleeper = asleep(unconsolidated=3)
    ids = [world.tell(text) for text in (*world.sailing, *world.bread)]
    world.tell("Boats.", kind="summary", derived_from=tuple(ids[:3]))
    world.now += HOUR
    assert sleeper.due() == []
    world.tell("A fourth thing that was said.")
    world.now += HOUR
    assert whys(sleeper) == [("me", "4 memories that no summary covers")]


def test_after_a_pause(asleep: Make) -> None:
    world, sleeper = asleep(idle_s=1800.0)
    for text in world.sailing:
        world.tell(text)
    world.now += 29 * 60.0
    assert sleeper.due() == []
    world.now += 60.0
    assert whys(sleeper) == [("me", "a pause")]
    sleeper.round()
    world.now += DAY
    assert sleeper.due() == []


def test_at_night_once_when_there_is_something_new(asleep: Make) -> None:
    world, sleeper = asleep(nightly="03:00")
    world.now = world.now // DAY * DAY + DAY + 2 * HOUR
    world.consolidator.run(ME, mode="prune", session="", dry_run=False, progress=None)
    world.tell(world.sailing[0])
    world.now += 50 * 60.0
    assert sleeper.due() == []
    world.now += HOUR
    assert whys(sleeper) == [("me", "the hour")]
    assert len(sleeper.round()) == 1
    world.now += DAY
    assert sleeper.due() == []
    world.tell(world.sailing[1])
    world.now += DAY
    assert len(sleeper.due()) == 1


def test_each_agent_has_a_run_of_its_own(asleep: Make) -> None:
    world, sleeper = asleep(every_turns=2)
    for text in world.sailing[:2]:
        world.tell(text)
        world.tell(text, who=OTHER)
    world.tell(world.bread[0])
    world.now += HOUR
    assert {agent for agent, _ in whys(sleeper)} == {"me", "other"}
    assert [due.who for due in sleeper.due()] == [ME, OTHER]
    assert len(sleeper.round()) == 2


def test_a_process_that_does_not_keep_the_store_and_a_setting_keep_it_from_beginning(
    asleep: Make,
) -> None:
    for options in ({"keeps": False}, {"automatic": False}):
        world, sleeper = asleep(every_turns=1, **options)
        world.tell(world.sailing[0])
        world.now += HOUR
        assert sleeper.round() == []


def test_a_session_that_ended_is_summed_up_at_once_and_alone(asleep: Make) -> None:
    world, sleeper = asleep(keeps=False)
    here = [world.tell(text, session="lake") for text in world.sailing]
    for text in world.bread:
        world.tell(text, session="kitchen")
    sleeper.end_session(ME, "lake")
    sleeper.end_session(ME, "lake")
    (report,) = sleeper.round()
    assert [set(summary.derived_from) for summary in report.summaries] == [set(here)]
    assert sleeper.round() == []
    sleeper.end_session(ME, "a session without a turn")
    assert sleeper.round() == []


def test_while_another_run_is_at_work_it_waits(asleep: Make) -> None:
    world, sleeper = asleep(every_turns=1)
    for text in world.sailing:
        world.tell(text, session="lake")
    world.now += HOUR
    sleeper.end_session(ME, "lake")
    lock = FileLock(world.store.directory / "run.lock")
    assert lock.acquire()
    try:
        assert sleeper.round() == []
    finally:
        lock.release()
    assert [report.status for report in sleeper.round()] == ["completed", "completed"]


def test_what_a_kill_cut_short_is_taken_up(asleep: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world, sleeper = asleep()
    for text in world.sailing:
        world.tell(text)

    class Killed(Exception):
        pass

    def die(done: int, _total: int, _message: str) -> None:
        if done == 3:
            raise Killed

    with monkeypatch.context() as killed:
        killed.setattr(RunLog, "fail", lambda *_: None)
        with pytest.raises(Killed):
            world.run(progress=die)
    run = world.store.journal.runs()[0].target
    (report,) = sleeper.round()
    assert (report.run, report.status) == (run, "completed")
    assert sleeper.round() == []


def test_closing_ends_a_run_and_nothing_of_it_remains(
    asleep: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, sleeper = asleep(every_turns=1)
    for text in world.sailing:
        world.tell(text)
    world.now += HOUR
    before, plan = world.export(), Consolidator._embed

    def then_close(self: Consolidator, *given: Any) -> None:
        sleeper.stop()
        plan(self, *given)

    monkeypatch.setattr(Consolidator, "_embed", then_close)
    assert sleeper.round() == []
    assert world.export() == before
    assert world.state(world.store.journal.runs()[0].target) == "failed"


def _undone(asleep: Make) -> tuple[Any, Scheduler, list[str], str]:
    """A world in which the first run that began by itself was taken back."""
    world, sleeper = asleep(every_turns=2, concept_members=3, min_age_s=0.0)
    ids = [world.tell(text, session="lake") for text in world.sailing]
    port = "the big database of the billing service listens on port {} since the last release"
    ids += [world.tell(port.format(5432)), world.tell(f"Actually {port.format(5433)}")]
    ids += [world.tell("an umbrella", importance=0.1, recorded_at=START - 90 * DAY)]
    world.now += HOUR
    before = world.export()
    (report,) = sleeper.round()
    done = world.steps(report)
    assert {name for name, count in done.items() if count} >= {
        *("topics", "contradictions", "summaries", "sessions", "concepts", "prune"),
    }
    world.consolidator.undo(ME, report.run)
    assert world.export() == before
    return world, sleeper, ids, before


def test_what_was_undone_is_not_done_again_by_itself(asleep: Make) -> None:
    world, sleeper, ids, before = _undone(asleep)
    world.now += HOUR
    assert sleeper.round() == [], "nothing new was said"
    fresh = [world.tell(text, session="kitchen") for text in world.bread]
    world.now += HOUR
    (report,) = sleeper.round()
    assert {id for summary in report.summaries for id in summary.derived_from} == set(fresh)
    assert report.retired == ()
    assert [world[id] for id in ids] == [_as_before(before, world[id]) for id in ids]
    world.tell("The umbrella is gone.")
    world.tell("The lake froze over.")
    world.now += HOUR
    (report,) = sleeper.round()
    assert report.summaries == ()
    assert [world[id] for id in ids] == [_as_before(before, world[id]) for id in ids]


def _as_before(before: str, memory: MemoryRecord) -> MemoryRecord:
    return from_fields(next(each for each in json.loads(before) if each["id"] == memory.id))


def test_by_hand_it_is_done_again_and_from_then_on_by_itself_too(asleep: Make) -> None:
    world, sleeper, ids, _ = _undone(asleep)
    by_hand = world.run()
    covered = {id for summary in by_hand.summaries for id in summary.derived_from}
    assert set(ids[:3]) <= covered
    assert ids[5] in by_hand.retired
    world.put(ids[1], superseded_by="x" * 20, superseded_at=world.now, replaced=True)
    more = [world.tell(f"{text} Again.", session="lake") for text in world.sailing[:2]]
    world.now += 2 * HOUR
    (report,) = sleeper.round()
    assert {*more, ids[0]} <= {id for made in report.summaries for id in made.derived_from}


def test_a_new_turn_of_a_conversation_sums_it_up_whole_again(asleep: Make) -> None:
    world, sleeper, ids, _ = _undone(asleep)
    sleeper.end_session(ME, "lake")
    (nothing,) = sleeper.round()
    assert nothing.summaries == ()
    new = world.tell("The harbour master sold Mara a much larger sail.", session="lake")
    sleeper.end_session(ME, "lake")
    (report,) = sleeper.round()
    assert [set(made.derived_from) for made in report.summaries] == [{*ids[:3], new}]


def test_many_that_no_summary_fits_do_not_start_a_run_each_time(asleep: Make) -> None:
    world, sleeper = asleep(unconsolidated=20)
    for number in range(21):
        world.tell(f"thing{number} stands{number} apart{number}")
    world.now += HOUR
    assert len(sleeper.round()) == 1
    world.tell("one more thing")
    world.now += HOUR
    assert sleeper.due() == []
    world.tell("and a second")
    world.now += HOUR
    assert whys(sleeper) == [("me", "23 memories that no summary covers")]


YEARS = 3650 * DAY


def test_a_clock_that_is_set_back_ten_years_starts_one_run_and_then_goes_on(asleep: Make) -> None:
    world, sleeper = asleep(idle_s=1800.0, nightly="03:00")
    for text in world.sailing:
        world.tell(text)
    world.now += HOUR
    (report,) = sleeper.round()
    assert report.status == "completed"
    world.now -= YEARS
    assert len(sleeper.round()) == 1  # when it last ran cannot be said
    world.now += HOUR
    assert sleeper.due() == []  # what lies ahead is not new for ten years
    for text in world.bread:
        world.tell(text)
    assert sleeper.due() == []  # somebody writes
    world.now += HOUR
    assert whys(sleeper) == [("me", "a pause")]
    assert len(sleeper.round()) == 1
    assert sleeper.due() == []
