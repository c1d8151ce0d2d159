"""Listing, counting and walking through: LanceDB and the columns give the same answers."""

from __future__ import annotations

import itertools
import logging
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memory_core import browse
from memory_core.errors import InvalidInput, NotFound, StorageError
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Identity
from memory_core.remember.request import RememberRequest
from memory_core.storage.table.table import Filter

ME = Identity("me", "crew", frozenset({"read", "write"}))
OTHER = Identity("other", "crew", frozenset({"read", "write"}))
DAY = 86_400.0

OpenMemory = Callable[..., Memory]


def put(memory: Memory, id: str, **fields: Any) -> None:
    store = memory._runtime.parts().store
    store.commit(lambda tx: tx.append(Change("put", id, fields)))


def settled(memory: Memory) -> Any:
    """The store once LanceDB holds everything."""
    parts = memory._runtime.parts()
    for _ in range(50):
        parts.maintenance.round()
        if parts.store.table is not None and not parts.store.unsynced:
            return parts.store
    raise AssertionError("LanceDB never caught up")


@pytest.fixture
def filled(memory: Memory, clock: Any) -> Memory:
    kinds = ("episode", "fact", "preference")
    ids = []
    for number in range(30):
        clock.pass_by(DAY if number % 3 else 0.0)  # some happen at the same moment
        receipt = memory.remember(
            (ME, OTHER)[number % 5 == 0],
            RememberRequest(
                f"Entry {number}: Lena Ott met {'Ben Aster' if number % 2 else 'Cleo Birk'}.",
                kind=kinds[number % 3],
                session=f"s{number % 4}",
                scope=("", "shared", "team")[number % 3],
            ),
        )
        ids.append(receipt.id)
    for id in ids[::7]:
        put(memory, id, topic="people")
    put(memory, ids[8], retired_at=clock.now)
    memory.remember(ME, RememberRequest("Entry 11, corrected.", replaces=ids[11]))
    return memory


def test_a_value_that_was_rounded_stays_in_its_band() -> None:
    values = np.array([1.0, 0.7, 0.69, 0.4, 0.39, 0.0], np.float32)
    assert browse._bands(values) == {"high": 2, "medium": 2, "low": 2}


def test_table_and_columns_list_alike(filled: Memory) -> None:
    store = settled(filled)
    every = itertools.product(
        (ME, OTHER),
        ("", "s1", "nowhere"),
        ("", "fact"),
        ("", "Ben Aster", "Nobody"),
        ("", "people"),
        (1, 100),
    )
    for who, session, kind, entity, topic, limit in random.Random(3).sample([*every], 48):
        wanted = browse.Wanted(limit, session, kind, entity, topic)
        assert not store.unsynced
        table = list(browse._from_table(store, who, wanted).values())
        with store.reading() as view:
            assert [memory.id for memory in table] == browse._newest(view, who, wanted)
        assert table == browse.listing(store, who, wanted)


def test_what_is_dated_ahead_is_no_newer_than_what_was_stored_after_it(
    memory: Memory, clock: Any
) -> None:
    said = [("Anton married in Halle.", clock.now + 1_000 * DAY), ("The tea is out.", "")]
    ids = []
    for text, when in said:
        clock.pass_by(DAY)
        ids.append(memory.remember(ME, RememberRequest(text, when=when)).id)
    assert [each.id for each in memory.listing(ME)] == ids[::-1]
    assert [each.id for each in memory.listing(ME, limit=1)] == ids[1:]


def test_a_name_is_listed_however_it_is_written(filled: Memory) -> None:
    found = filled.listing(ME, entity="Ben Aster")
    assert found
    assert filled.listing(ME, entity="ben aster") == found


def test_a_table_that_hides_or_invents_rows_changes_no_listing(
    filled: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged table may pass over rows without an error (seen in a campaign)."""
    store = settled(filled)
    wanted = filled.listing(ME, limit=100)
    everybodys = store.table.listing(where=Filter(), limit=1_000)
    assert len(everybodys) > len(wanted)
    for shown in ([], wanted[3:9], everybodys):
        monkeypatch.setattr(store.table, "listing", lambda shown=shown, **_: shown)
        assert filled.listing(ME, limit=100) == wanted


def test_a_listing_is_newest_first_and_leaves_out_what_is_over(filled: Memory) -> None:
    found = filled.listing(ME, limit=100)
    keys = [(m.occurred_at, m.id) for m in found]
    assert keys == sorted(keys, reverse=True)
    assert all(not m.replaced and m.retired_at is None for m in found)
    readable = list(filled.export(ME))
    over = [r["id"] for r in readable if r["replaced"] or r["retired_at"]]
    assert len(over) == 2
    assert {m.id for m in found} == {r["id"] for r in readable} - set(over)
    assert filled.listing(ME, limit=3) == found[:3]
    for name, value in (("session", "s1"), ("kind", "fact"), ("topic", "people")):
        narrowed = filled.listing(ME, limit=100, **{name: value})
        assert narrowed == [m for m in found if getattr(m, name) == value]
        assert narrowed
    named = filled.listing(ME, limit=100, entity="Ben Aster")
    assert named == [m for m in found if "Ben Aster" in m.entities]


def test_a_new_memory_is_listed_at_once(filled: Memory, clock: Any) -> None:
    settled(filled)
    clock.pass_by(1)
    id = filled.remember(ME, RememberRequest("The very newest entry.")).id
    assert filled.listing(ME, limit=1)[0].id == id


def test_a_table_that_fails_is_not_an_empty_listing(
    filled: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = settled(filled)
    wanted = filled.listing(ME, limit=100)

    def fail(*_: Any, **__: Any) -> Any:
        raise StorageError("a block is lost", "rebuild it")

    monkeypatch.setattr(store.table, "listing", fail)
    monkeypatch.setattr(store.table, "get", fail)
    with caplog.at_level(logging.WARNING):
        assert browse.listing(store, ME, browse.Wanted(100)) == wanted
    assert "a block is lost" in caplog.text


def test_counts_agree_with_the_export(filled: Memory) -> None:
    records = list(filled.export(ME))
    counts = filled.stats(ME)
    assert counts["memories"] == len(records)
    for name, field in (
        ("by_kind", "kind"),
        ("by_scope", "visibility"),
        ("by_tier", "tier"),
        ("by_agent", "agent"),
    ):
        tally: dict[str, int] = {}
        for record in records:
            tally[record[field]] = tally.get(record[field], 0) + 1
        assert counts[name] == tally
    bands = [sum(r["importance"] >= least for r in records) for least in (0.7, 0.4, 0.0)]
    high, medium, low = bands[0], bands[1] - bands[0], bands[2] - bands[1]
    assert counts["by_importance"] == {"high": high, "medium": medium, "low": low}
    threads = {(r["visibility"], r["agent"], r["session"]) for r in records if r["session"]}
    assert counts["sessions"] == len(threads)
    assert counts["topics"] == len({r["topic"] for r in records if r["topic"]})
    held = [r for r in records if not r["retired_at"] and r["kind"] not in ("summary", "concept")]
    topics = Counter(r["topic"] for r in held if r["topic"])
    assert counts["largest_topic"] == max(topics.values())
    assert counts["topics_of_one"] == sum(count == 1 for count in topics.values())
    assert counts["without_topic"] == len(held) - topics.total()
    mean = sum(r["importance"] for r in records) / len(records)
    assert counts["mean_importance"] == pytest.approx(mean, abs=1e-4)


def test_names_come_in_order_without_repeats(filled: Memory) -> None:
    assert filled.names(ME, "session") == ["s0", "s1", "s2", "s3"]
    assert [n for n in filled.names(ME, "entities") if " " in n] == [
        "Ben Aster",
        "Cleo Birk",
        "Lena Ott",
    ]
    assert filled.names(ME, "tags") == sorted(set(filled.names(ME, "tags")))


def test_an_export_is_in_order_of_storing_and_survives_forgetting_meanwhile(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "BATCH", 4)
    ids = [
        memory.remember(ME, RememberRequest(f"Entry {n}.", when=f"{2030 - n}")).id
        for n in range(12)
    ]
    walk = memory.export(ME)
    seen = [next(walk)["id"] for _ in range(2)]
    memory.forget(ME, ids=[ids[9]], confirm=True)
    seen += [record["id"] for record in walk]
    assert seen == [id for id in ids if id != ids[9]]


def test_the_beginning_of_an_id_is_taken_wherever_an_id_is(memory: Memory, clock: Any) -> None:
    stored = []
    for text in ("The tea is in the tin.", "Ann moved to Graz.", "The boat is blue."):
        stored.append(memory.remember(ME, RememberRequest(text)).id)
        clock.now += 3600
    first, second, third = stored
    short = memory.short_ids(ME, stored)
    assert all(id.startswith(short[id]) and len(short[id]) == 8 for id in stored)
    assert memory.get(ME, short[first]).id == first
    assert [hit.memory.id for hit in memory.recall(ME, RecallRequest(short[second])).hits] == [
        second
    ]
    assert memory.history(ME, short[first]) == memory.history(ME, first)
    fixed = RememberRequest("The tea is in the box.", replaces=short[first])
    assert memory.remember(ME, fixed).replaced == (first,)
    assert [r.id for r in memory.forget(ME, ids=[short[third]]).removed] == [third]
    run = memory.consolidate(ME).run
    assert memory.consolidate(ME, undo=run[:12]).status == "undone"


def test_a_beginning_of_several_ids_is_refused_with_their_names(memory: Memory) -> None:
    """Both are of one millisecond; others' ids are neither counted nor named."""
    one, two = (memory.remember(ME, RememberRequest(text)).id for text in ("Tea.", "Coffee."))
    memory.remember(Identity("you"), RememberRequest("Cocoa."))
    with pytest.raises(InvalidInput, match="is the beginning of 2 ids") as problem:
        memory.get(ME, one[:8])
    assert one in str(problem.value)
    assert two in str(problem.value)
    short = memory.short_ids(ME, [one, two])
    assert [memory.get(ME, short[id]).id for id in (one, two)] == [one, two]
    assert memory.get(Identity("you"), one[:8]).text == "Cocoa."


def test_the_beginning_of_no_id_is_an_unknown_one(memory: Memory) -> None:
    with pytest.raises(NotFound):
        memory.remember(ME, RememberRequest("The key is in the shed.", replaces="0jxdtyg"))
    with pytest.raises(NotFound):
        memory.retire(ME, "0jxdtyg")


def test_words_and_numbers_are_no_beginnings_of_ids(memory: Memory) -> None:
    memory.remember(ME, RememberRequest("The number of the plumber is 0664123456."))
    found = memory.recall(ME, RecallRequest("0664123456"))
    shown = (*found.hits, *found.partial)
    assert [hit.memory.text for hit in shown] == ["The number of the plumber is 0664123456."]
    with pytest.raises(NotFound):
        memory.get(ME, "06zzzzzz")
