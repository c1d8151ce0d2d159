"""Forgetting over a real store: what goes, what stays, what cannot come back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.config import Settings
from memory_core.errors import InvalidInput, NotFound, ScopeDenied, StorageError
from memory_core.forget import Forgetter
from memory_core.lifecycle.tombstones import SECRET, digests
from memory_core.records import (
    Change,
    ForgetReport,
    Identity,
    MemoryRecord,
    content_hash,
    new_id,
    to_fields,
)
from memory_core.representation import index_text
from memory_core.storage.store import MemoryStore

ME = Identity("me", "crew", frozenset({"read", "write"}))
OTHER = Identity("other", "crew", frozenset({"read", "write"}))
ADMIN = Identity("chief", "crew", frozenset({"read", "write", "admin"}))
START = 1_700_000_000.0

PIN = "The door code of the house in Graz is 4711. It was changed in spring."
GARDEN = "The garden needs water twice a week in summer."
SHED = "The shed door sticks when it rains for long."


class World:
    """One store, without a model: forgetting needs none."""

    def __init__(self, directory: Path) -> None:
        self.now = START
        self.directory = directory
        self.settings = Settings(data_dir=directory)
        self.store = self.open()
        self.forgetting = Forgetter(self.store, lambda: self.now)

    def open(self) -> MemoryStore:
        return MemoryStore(self.directory, clock=lambda: self.now, index_text=index_text)

    def tell(self, text: str, *, who: Identity = ME, **fields: Any) -> str:
        self.now += 60.0
        memory = MemoryRecord(id=new_id(self.now), text=text, agent=who.agent, team=who.team)
        values = {"occurred_at": self.now, "recorded_at": self.now, **fields}
        memory = replace(memory, content_hash=content_hash(text), **values)
        self.store.commit(lambda tx: tx.append(Change("put", memory.id, to_fields(memory))))
        return memory.id

    def put(self, id: str, **fields: Any) -> None:
        self.store.commit(lambda tx: tx.append(Change("put", id, fields)))

    def summary(self, text: str, *sources: str, **fields: Any) -> str:
        return self.tell(text, kind="summary", derived_from=sources, **fields)

    def forget(self, *ids: str, who: Identity = ME, **options: Any) -> ForgetReport:
        values = {"reason": "", "never_again": True, "confirm": True, **options}
        return self.forgetting.forget(who, ids, **values)

    def alive(self, *ids: str) -> list[str]:
        self.store.catch_up()
        return [id for id in ids if id in self.store.memories([id])]

    def __getitem__(self, id: str) -> MemoryRecord:
        return self.store.memories([id])[id]

    def tombstones(self, who: Identity, text: str, visibility: str = "private") -> int:
        owner = f"private:{who.agent}" if visibility == "private" else f"{visibility}:{who.team}"
        secret = self.store.journal.meta(SECRET)
        marks = digests(secret, owner, text)
        return len(self.store.journal.write(lambda tx: tx.tombstones(marks)))

    def bytes_on_disk(self) -> bytes:
        return b"".join(p.read_bytes() for p in sorted(self.directory.rglob("*")) if p.is_file())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "store")
    yield made
    made.store.close()


def removed(report: ForgetReport) -> list[str]:
    return [removal.id for removal in report.removed]


def derived(report: ForgetReport) -> list[str]:
    return [removal.id for removal in report.derived]


def test_preview_lists_and_removes_nothing(world: World) -> None:
    pin, garden = world.tell(PIN), world.tell(GARDEN)
    rest = world.summary("The code is 4711.", pin)
    sequence = world.store.journal.last()
    report = world.forget(garden, pin, confirm=False)
    assert report.status == "preview"
    assert [(r.id, r.text) for r in report.removed] == [(garden, GARDEN), (pin, PIN)]
    assert [(r.id, r.text) for r in report.derived] == [(rest, "The code is 4711.")]
    assert report.note == ""
    assert world.store.journal.last() == sequence
    assert world.alive(pin, garden, rest) == [pin, garden, rest]


def test_confirmed_it_is_gone_from_every_index_and_its_neighbours_stay(world: World) -> None:
    pin, garden = world.tell(PIN, session="s"), world.tell(GARDEN, session="s")
    report = world.forget(pin)
    assert (report.status, removed(report), derived(report)) == ("forgotten", [pin], [])
    assert world.alive(pin, garden) == [garden]
    with world.store.reading() as view:
        assert view.columns.row(pin) is None
        assert not view.lexical.match("door code Graz").scores.any()
        (found,) = np.flatnonzero(view.lexical.match("garden water").scores)
        assert view.columns.id(int(found)) == garden
    assert "minute" in report.note


def test_it_stays_gone_after_reopening(world: World) -> None:
    pin, garden = world.tell(PIN), world.tell(GARDEN)
    world.forget(pin)
    world.store.close()
    world.store = world.open()
    world.store.catch_up()
    assert world.store.memories([pin, garden]).keys() == {garden}


def test_no_byte_of_it_is_left_in_the_journal_and_its_log(world: World) -> None:
    pin = world.tell(PIN, topic="", entities=("Graz",))
    world.tell(GARDEN)
    assert b"4711" in world.bytes_on_disk()
    world.forget(pin)
    left = world.bytes_on_disk()
    assert b"4711" not in left
    assert b"Graz" not in left
    assert b"garden needs water" in left


def test_what_rests_only_on_it_goes_too_however_far(world: World) -> None:
    pin, shed, garden = world.tell(PIN), world.tell(SHED), world.tell(GARDEN)
    doors = world.summary("Codes and doors.", pin, shed)
    concept = world.tell("Security", kind="concept", derived_from=(doors,))
    far = world.tell("Home", kind="concept", derived_from=(concept, pin))
    plants = world.summary("Plants.", garden)
    report = world.forget(pin, shed)
    assert sorted(derived(report)) == sorted([doors, concept, far])
    assert world.alive(pin, shed, doors, concept, far, garden, plants) == [garden, plants]


def test_what_rests_on_it_among_others_stays_and_is_stale(world: World) -> None:
    pin, garden, shed = world.tell(PIN), world.tell(GARDEN), world.tell(SHED)
    house = world.summary("Things at home: " + GARDEN, pin, garden, shed)
    assert world.forget(pin, confirm=False).derived == ()
    assert world[house].stale_since is None
    report = world.forget(pin)
    assert derived(report) == []
    assert "1 summaries" in report.note
    memory = world[house]
    assert memory.derived_from == (garden, shed)
    assert memory.stale_since == world.now
    assert memory.text == "Things at home: " + GARDEN


def test_a_summary_that_quotes_it_goes_although_it_has_other_sources(world: World) -> None:
    pin, garden = world.tell(PIN), world.tell(GARDEN)
    quoting = world.summary(f"Mara: {PIN.split('. ')[0]}. {GARDEN}", pin, garden)
    report = world.forget(pin)
    assert derived(report) == [quoting]
    assert world.alive(quoting, garden) == [garden]
    assert b"4711" not in world.bytes_on_disk()


def test_a_summary_that_names_only_its_people_goes_too(world: World) -> None:
    pin = world.tell("Doctor Novak called.", entities=("Novak",))
    garden = world.tell(GARDEN, entities=("Mara",))
    names = world.summary("Several things happened.", pin, garden, entities=("Novak", "Mara"))
    assert derived(world.forget(pin)) == [names]
    assert b"Novak" not in world.bytes_on_disk()


def test_a_concept_called_by_one_of_its_words_goes_too(world: World) -> None:
    pin, garden, shed = world.tell(PIN), world.tell(GARDEN), world.tell(SHED)
    named = world.tell("Topic: graz, door.", kind="concept", derived_from=(pin, garden, shed))
    other = world.tell("Topic: door, water.", kind="concept", derived_from=(pin, garden, shed))
    assert derived(world.forget(pin)) == [named]
    assert world[other].stale_since == world.now
    assert b"graz" not in world.bytes_on_disk()


def test_a_sentence_that_another_source_says_too_is_no_trace(world: World) -> None:
    pin, again = world.tell(PIN + " Good."), world.tell(PIN)
    both = world.summary(f"Said twice: {PIN}", pin, again)
    assert derived(world.forget(pin)) == []
    assert world[both].derived_from == (again,)


@pytest.mark.parametrize("old", [PIN[:80], "code, house, Graz"])
def test_a_topic_called_by_its_words_gets_another_name(world: World, old: str) -> None:
    name = "door"
    pin = world.tell(PIN, topic=old)
    shed = world.tell(SHED, topic=old)
    garden = world.tell(GARDEN, topic=old)
    other = world.tell("Somewhere else.", topic="elsewhere")
    world.put(other, topic=old + " (2)")
    world.put(other, topic="elsewhere")
    world.forget(pin)
    assert b"4711" not in world.bytes_on_disk()
    assert b"Graz" not in world.bytes_on_disk()
    assert world.store.journal.check() == []
    assert world.store.journal.fold([shed])[shed]["topic"] == name
    assert [world[id].topic for id in (shed, garden, other)] == [name, name, "elsewhere"]


def test_what_it_had_replaced_does_not_come_back(world: World) -> None:
    new = world.tell(PIN)
    at = world.now
    old = world.tell(GARDEN, superseded_by=new, superseded_at=at, replaced=True)
    found = world.tell(SHED, superseded_by=new, superseded_at=at)
    before = [world[old], world[found]]
    world.forget(new)
    assert [world[old], world[found]] == before


def test_what_its_owner_says_in_the_same_words_goes_with_it(world: World) -> None:
    first = world.tell(PIN, session="monday")
    again = world.tell(PIN.upper(), session="tuesday")
    longer = world.tell(f"{PIN} Nobody else knows it.")
    shared = world.tell(PIN, visibility="shared")
    theirs = world.tell(PIN, who=OTHER)
    assert removed(world.forget(first, confirm=False)) == [first, again]
    report = world.forget(first)
    assert (removed(report), "same words" in report.note) == ([first, again], False)
    assert world.alive(first, again, longer, shared, theirs) == [longer, shared, theirs]


def test_a_repeat_that_stays_is_named(world: World) -> None:
    first = world.tell(PIN, session="a")
    repeats = [world.tell(PIN, session=f"s{number}") for number in range(5)]
    report = world.forget(first, repeats=False)
    assert removed(report) == [first]
    assert f"the same words stay in {', '.join(repeats[:3])}, 2 more" in report.note
    assert world.alive(*repeats) == repeats


def test_what_stays_out_of_date_is_named_to_who_may_read_it(world: World) -> None:
    new = world.tell(PIN, visibility="shared")
    old = world.tell(GARDEN, superseded_by=new, superseded_at=world.now)
    world.tell(SHED, who=OTHER, superseded_by=new, superseded_at=world.now)
    report = world.forget(new, confirm=False)
    assert report.note == f"what this replaced stays out of date: {old}"
    assert world.forget(new, old, confirm=False).note == f"out of date: {old}"


def test_never_again_leaves_tombstones_of_the_text_and_its_telling_sentences(world: World) -> None:
    pin = world.tell(PIN)
    world.forget(pin)
    assert world.tombstones(ME, PIN.upper()) > 0
    assert world.tombstones(ME, "the door code of the house in Graz is 4711") == 1
    assert world.tombstones(ME, "It was changed in spring.") == 0
    assert world.tombstones(OTHER, PIN) == 0


def test_without_never_again_there_are_none(world: World) -> None:
    first, second = world.tell(PIN), world.tell(GARDEN)
    world.forget(first)
    world.forget(second, never_again=False)
    assert world.tombstones(ME, PIN) > 0
    assert world.tombstones(ME, GARDEN) == 0


def test_derived_memories_leave_no_tombstones_of_their_own(world: World) -> None:
    pin = world.tell(PIN)
    world.summary("Summary 17 of Vienna.", pin)
    world.forget(pin)
    assert world.tombstones(ME, "Summary 17 of Vienna.") == 0


def test_the_key_of_the_tombstones_is_made_once(world: World) -> None:
    first, second = world.tell(PIN), world.tell(GARDEN)
    assert world.store.journal.meta(SECRET) is None
    world.forget(first)
    key = world.store.journal.meta(SECRET)
    assert len(bytes.fromhex(key)) == 32
    world.forget(second)
    assert world.store.journal.meta(SECRET) == key
    assert world.tombstones(ME, PIN) > 0


def test_the_first_unknown_id_is_named_and_nothing_is_removed(world: World) -> None:
    pin, unknown = world.tell(PIN), new_id(START)
    with pytest.raises(NotFound, match=unknown):
        world.forget(pin, unknown, new_id(START))
    assert world.alive(pin) == [pin]


def test_forgotten_twice_is_not_found(world: World) -> None:
    pin = world.tell(PIN)
    world.forget(pin)
    with pytest.raises(NotFound, match=pin):
        world.forget(pin)


def test_what_may_not_be_read_looks_unknown(world: World) -> None:
    theirs = world.tell(PIN, who=OTHER)
    for who in (ME, ADMIN):
        with pytest.raises(NotFound):
            world.forget(theirs, who=who)
    assert world.alive(theirs) == [theirs]


def test_only_the_owner_or_an_admin_forgets_what_is_shared(world: World) -> None:
    first = world.tell(PIN, who=OTHER, visibility="team")
    second = world.tell(GARDEN, who=OTHER, visibility="team")
    for confirm in (False, True):
        with pytest.raises(ScopeDenied):
            world.forget(first, confirm=confirm)
    assert removed(world.forget(first, who=ADMIN)) == [first]
    assert removed(world.forget(second, who=OTHER)) == [second]
    assert world.tombstones(OTHER, PIN, "team") > 0


def test_an_id_given_twice_is_removed_once(world: World) -> None:
    pin = world.tell(PIN)
    assert removed(world.forget(pin, pin)) == [pin]


def test_nothing_asked_is_an_empty_preview(world: World) -> None:
    report = world.forget(confirm=False)
    assert (report.status, report.removed, report.derived) == ("preview", (), ())
    assert report.note == "no memory that you may delete matches"


def test_a_reason_that_is_too_long_is_refused(world: World) -> None:
    pin = world.tell(PIN)
    with pytest.raises(InvalidInput, match="reason"):
        world.forget(pin, reason="x" * 501)
    assert world.alive(pin) == [pin]


def test_the_reason_and_the_actor_stand_in_the_history(world: World) -> None:
    pin = world.tell(PIN)
    world.forget(pin, reason="asked by phone")
    last = world.store.journal.history(pin)[-1]
    assert (last.kind, last.actor) == ("forget", "me")
    assert (last.body or {})["reason"] == "asked by phone"


def test_a_summary_written_at_the_last_moment_goes_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = world.tell(PIN)
    late: list[str] = []
    reach = world.forgetting._reach

    def then_a_summary(*chosen: Any) -> Any:
        found = reach(*chosen)
        if not late:
            late.append(world.summary("Late.", pin))
        return found

    monkeypatch.setattr(world.forgetting, "_reach", then_a_summary)
    world.forget(pin)
    assert world.alive(pin, *late) == []


def test_it_is_forgotten_although_the_log_cannot_be_emptied(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = world.tell(PIN)

    def full(**_: Any) -> bool:
        raise StorageError("no room", "make some")

    monkeypatch.setattr(world.store.journal, "checkpoint", full)
    report = world.forget(pin)
    assert report.status == "forgotten"
    assert "no room" in report.note
    assert world.alive(pin) == []
