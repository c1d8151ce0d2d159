"""A run over a real store: what it writes, previews, takes back and never touches."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from memory_core.consolidate.run import MODES
from memory_core.consolidate.run_log import RunLog
from memory_core.errors import Busy, InvalidInput, NotFound
from memory_core.records import Change, Identity, new_id
from memory_core.storage.locks import FileLock

ME = Identity("me", "crew")
OTHER = Identity("other", "crew")
START = 1_700_000_000.0
DAY = 86_400.0
PORT = (
    "The production database of the billing service listens on port {} since the last big release"
)


@pytest.fixture
def world(make: Any) -> Any:
    return make(concept_members=3)


def _busy_store(world: Any) -> list[str]:
    ids = [world.tell(t, importance=0.6, session="lake") for t in world.sailing]
    ids += [world.tell(t, importance=0.4) for t in world.bread]
    world.tell("Bread once.", kind="summary", derived_from=tuple(ids[3:]), stale_since=START)
    ids += [world.tell(PORT.format(5432)), world.tell(f"Actually {PORT.format(5433)}")]
    again = PORT.format(5433).replace("last big", "last")
    ids += [world.tell(f"Actually {again}", importance=0.7)]
    ids += [world.tell("an umbrella", importance=0.1, tier="recent", recorded_at=START - 90 * DAY)]
    world.tell("Hm, the rain.", session="lake", importance=0.2, tier="active", role="user")
    world.access(ids[7], 3, START)
    world.now += 7200.0
    return ids


def test_preview_plans_what_the_run_then_does_and_writes_nothing(world: Any) -> None:
    _busy_store(world)
    before, sequence = world.export(), world.store.journal.last()
    preview = world.run(dry_run=True)
    assert world.store.journal.last() == sequence
    assert world.export() == before
    real = world.run()
    assert (preview.status, preview.run) == ("preview", "")
    assert preview.steps == real.steps
    assert preview.retired == real.retired
    assert preview.contradictions == real.contradictions
    assert [(s.text, s.derived_from) for s in preview.summaries] == [
        (s.text, s.derived_from) for s in real.summaries
    ]
    assert {s.id for s in preview.summaries} == {""}
    assert all(count > 0 for count in world.steps(real).values())


@pytest.mark.parametrize("mode", MODES)
def test_undo_brings_the_export_back_byte_for_byte(world: Any, mode: str) -> None:
    _busy_store(world)
    before, links = world.export(), world.links()
    report = world.run(mode)
    assert world.export() != before
    undone = world.consolidator.undo(ME, report.run)
    assert (undone.status, undone.kept) == ("undone", ())
    assert world.export() == before
    assert world.links() == links
    assert world.state(report.run) == "undone"


def test_a_run_after_an_undo_does_the_same_again(world: Any) -> None:
    _busy_store(world)
    first = world.run()
    after = [m for m in json.loads(world.export()) if m["kind"] not in ("summary", "concept")]
    world.consolidator.undo(ME, first.run)
    second = world.run()
    assert second.steps == first.steps
    again = [m for m in json.loads(world.export()) if m["kind"] not in ("summary", "concept")]
    assert [m["importance"] for m in again] == [m["importance"] for m in after]
    assert [m["topic"] for m in again] == [m["topic"] for m in after]


def test_undo_keeps_what_was_changed_since_and_says_so(world: Any) -> None:
    ids = [world.tell(text, importance=0.6) for text in world.sailing]
    report = world.run()
    world.put(ids[0], importance=0.9)
    undone = world.consolidator.undo(ME, report.run)
    assert undone.kept == (ids[0],)
    assert [world[id].importance for id in ids] == pytest.approx([0.9, 0.6, 0.6])
    assert {world[id].topic for id in ids} == {""}


def test_undo_keeps_accesses_made_since(world: Any) -> None:
    less = world.tell(PORT.format(5432))
    more = world.tell(PORT.format(5432).replace("last big", "last"), importance=0.7)
    world.access(less, 4, START)
    report = world.run("deduplicate")
    world.access(more, 5, START + 5.0)
    undone = world.consolidator.undo(ME, report.run)
    assert undone.kept == (more,)
    assert world[more].access_count == 5
    assert world[less].retired_at is None


def test_undo_never_brings_back_what_was_forgotten(world: Any) -> None:
    ids = [world.tell(text) for text in world.sailing]
    report = world.run()
    change = Change("forget", ids[1], {"digests": [], "reason": "", "erase": True})
    world.store.commit(lambda tx: tx.forget(change))
    world.consolidator.undo(ME, report.run)
    assert world.store.memories(ids).keys() == {ids[0], ids[2]}
    assert report.summaries[0].id not in world.ids()


def test_undoing_twice_is_refused(world: Any) -> None:
    _busy_store(world)
    run = world.run().run
    world.consolidator.undo(ME, run)
    after = world.export()
    with pytest.raises(InvalidInput, match="already undone"):
        world.consolidator.undo(ME, run)
    assert world.export() == after


def test_an_unknown_run_and_another_agents_run_look_alike(world: Any) -> None:
    id = world.tell(world.sailing[0])
    run = world.run().run
    for who, name in ((ME, new_id(START)), (OTHER, run), (ME, id)):
        with pytest.raises(NotFound):
            world.consolidator.undo(who, name)


def test_a_run_is_journalled_from_start_to_end_without_texts(world: Any) -> None:
    _busy_store(world)
    sequence = world.store.journal.last()
    report = world.run()
    changes = world.store.journal.changes(sequence, 10_000)
    marks = [c for c in changes if c.kind == "run"]
    assert [(c.target, (c.body or {})["state"]) for c in marks] == [
        (report.run, "started"),
        (report.run, "completed"),
    ]
    assert changes[0] == marks[0]
    assert changes[-1] == marks[1]
    assert "Mara" not in json.dumps(marks[1].body)
    made = [c for c in changes if c.kind in ("put", "link", "access")]
    assert {c.run for c in made} == {report.run}
    for change in made:
        if change.kind == "put" and "id" not in (change.body or {}):
            assert (change.before or {}).keys() == (change.body or {}).keys()


def test_progress_is_told_at_every_step(world: Any) -> None:
    _busy_store(world)
    told: list[tuple[int, int, str]] = []
    run = world.run(progress=lambda *step: told.append(step)).run
    assert told[0] == (0, 10, f"run {run}")
    assert [done for done, _, _ in told[1:]] == list(range(11))
    assert {total for _, total, _ in told} == {10}
    assert [message for _, _, message in told][-2:] == ["writing", "done"]


class Cancelled(Exception):
    """Raised by a progress callback."""


@pytest.mark.parametrize("at", range(10))
def test_a_run_that_is_stopped_anywhere_fails_and_leaves_nothing(world: Any, at: int) -> None:
    _busy_store(world)
    before = world.export()

    def stop(done: int, _total: int, _message: str) -> None:
        if done == at:
            raise Cancelled

    with pytest.raises(Cancelled):
        world.run(progress=stop)
    assert world.export() == before
    assert world.links() == set()
    (mark,) = world.store.journal.runs()
    assert (mark.body or {})["state"] == "failed"
    with pytest.raises(InvalidInput):
        world.consolidator.undo(ME, mark.target)
    assert world.run().status == "completed"


@pytest.mark.parametrize("batches", [1, 2, 4])
def test_a_run_that_fails_between_batches_leaves_nothing(
    world: Any, batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.consolidate.run_log.BATCH", 3)
    _busy_store(world)
    before, written = world.export(), 0

    def stop(_done: int, _total: int, message: str) -> None:
        nonlocal written
        written += message == "writing"
        if written > batches:
            raise Cancelled

    with pytest.raises(Cancelled):
        world.run(progress=stop)
    assert world.export() == before
    assert world.links() == set()


def test_a_run_that_is_stopped_between_two_batches_of_vectors_leaves_nothing(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.consolidate.run.EMBEDDED", 1)
    _busy_store(world)
    before = world.export()

    def stop(_done: int, _total: int, message: str) -> None:
        if message == "embedding":
            raise Cancelled

    with pytest.raises(Cancelled):
        world.run(progress=stop)
    assert world.export() == before
    report = world.run()
    with world.store.reading() as view:
        rows = [view.columns.row(summary.id) for summary in report.summaries]
        assert len(rows) > 2
        vectors = view.vectors.wholes(np.array(rows))
    for summary, vector in zip(report.summaries, vectors, strict=True):
        assert vector == pytest.approx(world.bag.query(summary.text), abs=2e-3)


def test_what_a_killed_run_left_is_taken_back_by_the_next(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.consolidate.run_log.BATCH", 3)
    _busy_store(world)
    before, written = world.export(), 0

    def die(_done: int, _total: int, message: str) -> None:
        nonlocal written
        written += message == "writing"
        if written > 2:
            raise Cancelled

    with monkeypatch.context() as killed:
        killed.setattr(RunLog, "fail", lambda *_: None)
        with pytest.raises(Cancelled):
            world.run(progress=die)
    left = world.store.journal.runs()[0]
    assert (left.body or {})["state"] == "started"
    assert world.export() != before
    with pytest.raises(InvalidInput):
        world.consolidator.undo(ME, left.target)
    assert world.export() == before
    assert world.state(left.target) == "failed"


# After a kill, and stopped


def _killed(world: Any, monkeypatch: pytest.MonkeyPatch, after: int, mode: str = "sleep") -> str:
    """Begin a run and die after so many batches of three changes; the id of the run."""
    written = 0

    def die(_done: int, _total: int, message: str) -> None:
        nonlocal written
        written += message == "writing"
        if written > after:
            raise Cancelled

    with monkeypatch.context() as killed:
        killed.setattr(RunLog, "fail", lambda *_: None)
        with pytest.raises(Cancelled):
            world.run(mode, progress=die)
    return str(world.store.journal.runs()[0].target)


def _said(world: Any) -> list[tuple[Any, ...]]:
    """What the export says, without the ids and times that clock and chance give."""
    rows = json.loads(world.export())
    names = ("text", "kind", "topic", "gist", "importance", "access_count")
    marks = ("superseded_by", "retired_at", "stale_since", "run")
    return sorted(
        (*(row[name] for name in names), *(bool(row[name]) for name in marks)) for row in rows
    )


@pytest.mark.parametrize("after", [0, 1, 2, 4, 6])
def test_a_killed_run_is_taken_up_under_its_id_and_ends_as_if_never_killed(
    make: Any, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr("memory_core.consolidate.run_log.BATCH", 3)
    unharmed = make(concept_members=3)
    _busy_store(unharmed)
    whole = unharmed.run()
    world = make(concept_members=3)
    _busy_store(world)
    before, links = world.export(), world.links()
    run = _killed(world, monkeypatch, after)
    report = world.run()
    assert (report.run, report.status) == (run, "completed")
    assert ("taken up" in report.note) == (after > 0)
    assert world.state(run) == "completed"
    assert [s.text for s in sorted(report.summaries, key=lambda s: s.text)] == sorted(
        s.text for s in whole.summaries
    )
    assert len(report.retired) == len(whole.retired)
    assert _said(world) == _said(unharmed)
    world.consolidator.undo(ME, run)
    assert world.export() == before
    assert world.links() == links


def test_a_run_of_another_kind_takes_back_what_a_kill_left(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.consolidate.run_log.BATCH", 3)
    _busy_store(world)
    left = _killed(world, monkeypatch, 2)
    report = world.run("prune")
    assert report.run != left
    assert world.state(left) == "failed"


def test_a_run_that_keeps_being_killed_is_given_up(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _busy_store(world)
    runs = [_killed(world, monkeypatch, 0) for _ in range(5)]
    assert len(set(runs[:4])) == 1
    assert runs[4] != runs[0]
    assert world.state(runs[0]) == "started"  # what clears up was kept from its work here, too


def test_undo_of_a_run_at_work_stops_it_and_nothing_remains(world: Any) -> None:
    _busy_store(world)
    before = world.export()
    told: list[Any] = []

    def stop(done: int, _total: int, _message: str) -> None:
        if done == 4 and not told:
            run = world.store.journal.runs()[0].target
            told.append(world.consolidator.undo(ME, run))

    report = world.run(progress=stop)
    assert (told[0].status, told[0].run) == ("running", report.run)
    assert (report.status, report.summaries, report.steps) == ("failed", (), ())
    assert "stopped" in report.note
    assert world.export() == before
    assert world.state(report.run) == "failed"


def test_nobody_stops_the_run_of_another(world: Any) -> None:
    _busy_store(world)

    def stop(done: int, _total: int, _message: str) -> None:
        if done == 2:
            with pytest.raises(Busy):
                world.consolidator.undo(OTHER, world.store.journal.runs()[0].target)

    assert world.run(progress=stop).status == "completed"


def test_only_one_run_at_a_time(world: Any) -> None:
    world.tell(world.sailing[0])
    lock = FileLock(world.store.directory / "run.lock")
    assert lock.acquire()
    try:
        with pytest.raises(Busy):
            world.run()
        assert world.run(dry_run=True).status == "preview"
    finally:
        lock.release()
    assert world.run().status == "completed"


def test_a_summary_is_not_written_when_a_source_was_forgotten_meanwhile(world: Any) -> None:
    boats = [world.tell(text) for text in world.sailing]
    loaves = [world.tell(text) for text in world.bread]

    def forget(_done: int, _total: int, message: str) -> None:
        if message == "writing":
            change = Change("forget", boats[0], {"digests": [], "reason": "", "erase": True})
            world.store.commit(lambda tx: tx.forget(change))

    report = world.run(progress=forget)
    made = [summary for summary in report.summaries if world[summary.id].kind == "summary"]
    assert [set(summary.derived_from) for summary in made] == [set(loaves)]
    assert [world[id].importance for id in boats[1:]] == [0.5, 0.5]


def test_a_field_that_changed_while_planning_is_left_alone(world: Any) -> None:
    ids = [world.tell(text) for text in world.sailing]

    def name_it(_done: int, _total: int, message: str) -> None:
        if message == "writing":
            world.put(ids[0], topic="boats")

    world.run("topics", progress=name_it)
    assert [world[id].topic for id in ids] == ["boats", *2 * ["Mara, boat"]]


def test_unknown_mode_is_refused(world: Any) -> None:
    with pytest.raises(InvalidInput, match="mode"):
        world.run("dream")


def test_an_empty_store_sleeps_well(world: Any) -> None:
    report = world.run()
    assert report.status == "completed"
    assert set(world.steps(report).values()) == {0}
