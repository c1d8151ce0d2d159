"""What is stored later than it was said, or embedded later, relates as if it had come in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.text.time.timestamps import iso

ME = Identity("me")
DAY = 86_400.0
START = 1_717_200_000.0
SAID = (
    "The standup of the harbour team is at nine.",
    "Mara lives in Graz.",
    "The standup of the harbour team moved to ten.",
    "The deploy of the harbour team runs on Monday.",
    "Actually Mara lives in Linz now.",
    "The harbour team has a yellow van.",
    "The harbour team no longer deploys on Monday.",
    "The standup of the harbour team moved to eleven instead.",
    "The boat of the harbour team is called Vela.",
    "The harbour team no longer has a yellow van.",
)
"""Oldest first, a day apart."""


def state(memory: Memory) -> tuple[set[tuple[str, str]], set[str]]:
    """The texts of the pairs in doubt, the older first, and the texts that are out of date."""
    pairs = {(pair.older.text, pair.newer.text) for pair in memory.doubts(ME)}
    return pairs, {record.text for record in memory.listing(ME) if record.superseded_by}


def told_in_order(memory: Memory, clock: Any, said: Sequence[str] = SAID) -> None:
    for number, text in enumerate(said):
        clock.now = START + number * DAY
        memory.remember(ME, RememberRequest(text))


def record_of(number: int, text: str = "") -> dict[str, Any]:
    return {"text": text or SAID[number], "occurred_at": iso(START + number * DAY)}


def test_what_is_told_in_order_holds_doubts_and_corrections(
    open_memory: Any, clock: Any, minilm: Any
) -> None:
    memory = open_memory("told", minilm)
    told_in_order(memory, clock)
    pairs, outdated = state(memory)
    assert (SAID[0], SAID[2]) in pairs
    assert len(pairs) > 1
    assert outdated == {SAID[1], SAID[5]}


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(SAID))))
def test_an_import_in_any_order_finds_what_the_order_of_time_finds(
    open_memory: Any, clock: Any, minilm: Any, order: list[int]
) -> None:
    if not hasattr(open_memory, "told"):
        told = open_memory("told", minilm)
        told_in_order(told, clock)
        open_memory.told = state(told)
    name = f"imported-{'-'.join(map(str, order))}"
    memory = open_memory(name, minilm)
    clock.now = START + 1_000 * DAY
    for number in order:
        memory.bring_in(ME, record_of(number))
    assert state(memory) == open_memory.told
    memory.close()
    again = open_memory(name, minilm)
    assert state(again) == open_memory.told
    again.consolidate(ME, mode="contradictions")
    assert open_memory.told[0] <= state(again)[0]
    assert state(again)[1] == open_memory.told[1]
    again.close()


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(SAID))))
def test_what_is_dated_back_finds_it_too(
    open_memory: Any, clock: Any, minilm: Any, order: list[int]
) -> None:
    if not hasattr(open_memory, "told"):
        told = open_memory("told", minilm)
        told_in_order(told, clock)
        open_memory.told = state(told)
    memory = open_memory(f"dated-{'-'.join(map(str, order))}", minilm)
    clock.now = START + 1_000 * DAY
    for number in order:
        memory.remember(ME, RememberRequest(SAID[number], when=iso(START + number * DAY)))
    assert state(memory) == open_memory.told
    memory.close()


def test_an_import_is_no_more_certain_for_coming_before_what_it_follows(
    open_memory: Any, clock: Any
) -> None:
    clock.now = START + 1_000 * DAY
    said = ("I live in Graz.", "I moved to Wels.")
    for order in ((0, 1), (1, 0)):
        memory = open_memory(f"moved-{order[0]}")
        for number in order:
            memory.bring_in(ME, record_of(number, said[number]))
        assert state(memory) == ({said}, set())


def test_an_export_in_any_order_keeps_every_decision(open_memory: Any, clock: Any) -> None:
    memory = open_memory("first")
    told_in_order(memory, clock)
    pair = next(each for each in memory.doubts(ME) if each.newer.text == SAID[2])
    memory.resolve(ME, pair.older.id, pair.newer.id, "keep-both")
    elsewhere = open_memory("second")
    for record in reversed(list(memory.export(ME))):
        elsewhere.bring_in(ME, record)
    assert state(elsewhere) == state(memory)


def test_a_doubt_that_was_taken_back_stays_so_when_it_is_imported(
    open_memory: Any, clock: Any
) -> None:
    memory = open_memory("first")
    told_in_order(memory, clock, SAID[:3])
    (pair,) = memory.doubts(ME)
    change = next(each for each in memory.history(ME, pair.newer.id) if each.kind == "link")
    memory.undo_change(ME, pair.newer.id, change.seq)
    assert memory.doubts(ME) == []
    elsewhere = open_memory("second")
    for record in reversed(list(memory.export(ME))):
        elsewhere.bring_in(ME, record)
    assert elsewhere.doubts(ME) == []


def test_an_import_doubts_what_the_user_said_and_replaces_none_of_it(
    memory: Memory, clock: Any
) -> None:
    clock.now = START
    mine = memory.remember(ME, RememberRequest("Mara lives in Graz.")).id
    receipt = memory.bring_in(ME, record_of(3, "Actually Mara lives in Linz now."))
    assert memory.get(ME, mine).superseded_by == ""
    assert [(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)] == [(mine, receipt.id)]
    assert any(mine in warning for warning in receipt.warnings)
    memory.consolidate(ME)
    assert memory.get(ME, mine).superseded_by == ""


def test_an_older_import_is_out_of_date_since_what_the_user_said(
    memory: Memory, clock: Any
) -> None:
    clock.now = START + 10 * DAY
    mine = memory.remember(ME, RememberRequest("Actually Mara lives in Linz now.")).id
    receipt = memory.bring_in(ME, record_of(1))
    record = memory.get(ME, receipt.id)
    assert (record.superseded_by, record.valid_until) == (mine, START + 10 * DAY)
    assert memory.get(ME, mine).superseded_by == ""
    assert receipt.warnings == (f"{mine} corrects the new text",)


@pytest.mark.parametrize("trust", ["web", "quoted"])
def test_what_others_wrote_doubts_nothing_of_the_user(
    memory: Memory, clock: Any, trust: str
) -> None:
    clock.now = START
    memory.remember(ME, RememberRequest(SAID[0]))
    memory.bring_in(ME, record_of(3, SAID[2]) | {"trust": trust})
    assert memory.doubts(ME) == []


# Vectors that come later

MEANT = (
    "I live in Graz and work at Siemens.",
    "My dentist is called Horvat.",
    "I moved to Linz last week.",
    "I have my lunch at the canteen.",
    "I switched to a standing desk.",
    "We park the van behind the workshop.",
    "The van is now parked at the harbour.",
    "I sold my bicycle and bought a scooter.",
)
"""Oldest first. Some are compared for their meaning alone; the real model tells which."""


class Loading:
    """The gate of a writer, without a model for the texts at which *pending* is true."""

    def __init__(self, gate: Any) -> None:
        self._gate = gate
        self.pending = False

    def usable(self, fingerprint: str) -> Any:
        return None if self.pending else self._gate.usable(fingerprint)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gate, name)


def told_while_loading(
    memory: Memory, clock: Any, said: Sequence[str], pending: Sequence[bool]
) -> None:
    """Tell *said* in order, with the model there but for those that are *pending*; then embed."""
    parts = memory._runtime.parts()
    gate = Loading(parts.writer._gate)
    parts.writer._gate = gate  # type: ignore[assignment]
    for number, (text, late) in enumerate(zip(said, pending, strict=True)):
        clock.now = START + number * DAY
        gate.pending = late
        memory.remember(ME, RememberRequest(text))
    clock.pass_by(DAY)
    parts.maintenance.embed_now(30.0)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pending=st.lists(st.booleans(), min_size=len(MEANT), max_size=len(MEANT)))
def test_vectors_that_come_later_find_what_they_would_have_found_at_once(
    open_memory: Any, clock: Any, minilm: Any, pending: list[bool]
) -> None:
    if not hasattr(open_memory, "told"):
        told = open_memory("told", minilm)
        told_in_order(told, clock, MEANT)
        open_memory.told = state(told)
        assert (MEANT[0], MEANT[2]) in open_memory.told[0]
    name = "".join("01"[late] for late in pending)
    memory = open_memory(name, minilm)
    told_while_loading(memory, clock, MEANT, pending)
    assert state(memory) == open_memory.told
    memory.close()
    again = open_memory(name, minilm)
    assert state(again) == open_memory.told
    again.close()


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pending=st.lists(st.booleans(), min_size=len(SAID), max_size=len(SAID)))
def test_corrections_are_the_same_when_vectors_come_later(
    open_memory: Any, clock: Any, minilm: Any, pending: list[bool]
) -> None:
    if not hasattr(open_memory, "told"):
        told = open_memory("told", minilm)
        told_in_order(told, clock)
        open_memory.told = state(told)
    memory = open_memory("".join("01"[late] for late in pending), minilm)
    told_while_loading(memory, clock, SAID, pending)
    assert state(memory) == open_memory.told
    memory.close()


WORDED = (
    "We run on Node 20.",
    "node version is 20",
    "CI and prod use node 20",
    "We park the van behind the workshop.",
    "Node version is 22 now.",
)
"""Three wordings of one fact, and its change."""


@pytest.mark.parametrize("late", [(), (2,), (4,), (3, 4), (0, 2, 4), (0, 1, 2, 3, 4)])
def test_wordings_are_in_doubt_alike_when_vectors_come_later(
    open_memory: Any, clock: Any, minilm: Any, late: tuple[int, ...]
) -> None:
    memory = open_memory("told", minilm)
    told_while_loading(memory, clock, WORDED, [at in late for at in range(len(WORDED))])
    pairs, outdated = state(memory)
    assert {older for older, _ in pairs} | outdated == set(WORDED[:3])


def test_what_was_replaced_on_purpose_bears_on_nothing_else_later(
    open_memory: Any, clock: Any, no_model: Any, minilm: Any
) -> None:
    memory = open_memory("store", no_model)
    told_in_order(memory, clock, (MEANT[0], MEANT[3]))
    lunch = next(each for each in memory.listing(ME) if each.text == MEANT[3])
    memory.remember(ME, RememberRequest(MEANT[2], replaces=lunch.id))
    memory.close()
    again = open_memory("store", minilm)
    again._runtime.parts().maintenance.embed_now(30.0)
    assert again.doubts(ME) == []


@pytest.mark.parametrize("order", [1, -1])
def test_a_summary_that_is_imported_puts_nothing_in_doubt(
    open_memory: Any, clock: Any, minilm: Any, order: int
) -> None:
    clock.now = START + 100 * DAY
    memory = open_memory("imported", minilm)
    told = ("My running goal is a half marathon in autumn.", "My knee is worse, cancelled it.")
    records = [{**record_of(place, text), "id": f"{place}" * 20} for place, text in enumerate(told)]
    sources = [record["id"] for record in records]
    text = f"1 June 2024: {told[0]} 2 June: My knee is worse, cancelled the half marathon."
    both = {**record_of(1, text), "kind": "summary", "derived_from": sources}
    for record in (*records, both)[::order]:
        memory.bring_in(ME, record)

    assert len(memory.listing(ME)) == 3
    assert state(memory) == (set(), set())
