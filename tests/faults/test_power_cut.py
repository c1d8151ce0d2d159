"""The power goes: what was not synced may be gone, zeroed, or there in part, in any order.

A process is recorded, then the disks that may be left at its moments are laid out and opened. What
had been acknowledged until then must be there.
"""

from __future__ import annotations

import random
from pathlib import Path

import power
from journal_scenarios import Account, all_kinds
from replay import Cut, cuts
from yard import KILL_AFTER, Yard


def verify_journal(cut: Cut, folder: Path) -> None:
    account, said = Account(), list[list[str]]()
    account.take(cut.said)
    all_kinds(cut.lay_out(folder), lambda *words: said.append([str(word) for word in words]))
    assert not [words for words in said if words[0] == "failed"], said
    account.take(said)
    assert account.verify(folder) == 4


def test_no_power_cut_takes_from_the_journal_what_was_acknowledged(
    journal_yards: list[Yard], place: Path
) -> None:
    """A process is killed, a second one takes over what it left in the log, and the power goes."""
    store, record, order = place / "store", place / "record", random.Random(41)
    store.mkdir(mode=0o700)
    yard = journal_yards[0]
    yard.run("all_kinds", store, record=str(record), what=KILL_AFTER, first=order.randint(60, 200))
    yard.run("all_kinds", store, record=str(record))
    moments = range(0, len(power.events(record)), 40)
    tried = 0
    for cut in cuts(record, store, order, moments):
        verify_journal(cut, place / "left")
        tried += 1
    assert tried > 30


def test_no_power_cut_keeps_the_memory_from_opening(memory_yard: Yard, place: Path) -> None:
    """Table and snapshots are never synced: whatever is left of them, they are rebuilt."""
    store, record, order = place / "store", place / "record", random.Random(42)
    store.mkdir(mode=0o700)
    memory_yard.run("every_call", store, record=str(record))
    moments = set(order.sample(range(len(power.events(record))), 2))
    for cut in cuts(record, store, order, moments):
        if cut.way == power.WAYS[cut.number % len(power.WAYS)]:
            verify_memory(cut, place / "left")


def verify_memory(cut: Cut, folder: Path) -> None:
    import memory_scenarios as scenarios

    account, said = scenarios.Account(), list[list[str]]()
    account.take(cut.said)
    memory = scenarios.open_memory(cut.lay_out(folder))
    try:
        client = scenarios.Client(memory, lambda *words: said.append([str(w) for w in words]))
        scenarios.calls(client)
        account.take(said)
        assert not [words for words in said if words[0] == "failed"], said
        account.verify(memory)
    finally:
        memory.close()
