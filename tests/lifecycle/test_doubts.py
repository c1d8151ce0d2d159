"""Pairs of which the later one may put the earlier one out of date: shown, listed, decided."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.errors import InvalidInput, NotFound, ScopeDenied
from memory_core.lifecycle import doubts
from memory_core.lifecycle.doubts import DECISIONS
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Doubted, Hit, Identity
from memory_core.remember.request import RememberRequest
from memory_core.text.time.timestamps import iso
from tests.views import asked_for

ME = Identity("me", "crew", frozenset({"read", "write"}))
OTHER = Identity("other", "crew", frozenset({"read", "write"}))
ADMIN = Identity("chief", "crew", frozenset({"read", "write", "admin"}))
OLD = "The standup of the harbour team is at nine."
NEW = "The standup of the harbour team moved to ten."
LATER = "We shifted the standup of the harbour team to eleven."
BOAT = (
    "The red boat is moored at pier four.",
    "They moved the red boat from pier four to the yard.",
)
DAY = 86_400.0


@pytest.fixture
def memory(open_memory: Any, minilm: Any) -> Memory:
    """With the real model: what competes is told by meaning."""
    opened: Memory = open_memory("store", minilm)
    return opened


@pytest.fixture
def pair(memory: Memory, clock: Any) -> tuple[str, str]:
    """The ids of OLD and of NEW, which was said a day later and puts it in doubt."""
    return tell(memory, clock, OLD, scope="team"), tell(memory, clock, NEW, scope="team")


def tell(memory: Memory, clock: Any, text: str, **more: Any) -> str:
    clock.pass_by(DAY)
    return memory.remember(ME, RememberRequest(text, **more)).id


def listed(memory: Memory, who: Identity = ME) -> list[tuple[str, str]]:
    return [(pair.older.id, pair.newer.id) for pair in memory.doubts(who)]


def hit(memory: Memory, id: str, as_of: str = "") -> Hit:
    return memory.recall(ME, RecallRequest(id, as_of=as_of)).hits[0]


def shown(memory: Memory, as_of: str = "") -> dict[str, str]:
    """The ids that a recall returns, best first, and by which each is doubted."""
    found = memory.recall(ME, RecallRequest("when is the standup of the harbour team", as_of=as_of))
    return {each.memory.id: each.doubted_by for each in found.hits}


def decision_of(memory: Memory, id: str) -> int:
    """The number of the last change of *id* that a decision made."""
    decided = [each for each in memory.history(ME, id) if each.source.startswith("review: ")]
    return decided[-1].seq


def test_the_older_is_marked_with_the_newer_and_its_date(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    marked = hit(memory, old)
    assert (marked.doubted_by, marked.doubtful_since) == (new, clock.now)
    assert (hit(memory, new).doubted_by, hit(memory, new).doubtful_since) == ("", None)
    assert shown(memory) == {new: "", old: new}
    assert memory.doubted(ME, [old, new, "0" * 20]) == {old: Doubted(new, clock.now)}


def test_a_pair_is_listed_with_texts_dates_and_words_of_change(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    (found,) = memory.doubts(ME)
    assert (found.older.id, found.newer.id) == pair
    assert (found.older.text, found.newer.text) == (OLD, NEW)
    assert found.newer.occurred_at - found.older.occurred_at == DAY
    assert "moved" in found.reason


def test_a_reason_stays_as_it_was_found(
    memory: Memory, clock: Any, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(memory, clock, "Rosa leads the choir and lives in Linz.")
    tell(memory, clock, "Rosa does not lead the choir any more.")
    before = {each.newer.id: (each.reason, each.part) for each in memory.doubts(ME)}
    assert sorted(before.values()) == [
        ('the later text says "any more"', "Rosa leads the choir"),
        ('the later text says "moved"', ""),
    ]
    monkeypatch.setattr(doubts, "change", lambda _older, _newer: None)
    assert {each.newer.id: (each.reason, each.part) for each in memory.doubts(ME)} == before
    report = memory.consolidate(ME, mode="contradictions")
    assert {each.detail for each in report.contradictions} >= {'the later text says "moved"'}


def test_each_version_is_in_doubt_by_the_next(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    latest = tell(memory, clock, LATER, scope="team")
    assert next(iter(shown(memory))) == latest
    assert set(listed(memory)) == {pair, (pair[1], latest)}


def test_newer_holds_replaces_the_older_and_is_undone(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    assert memory.resolve(ME, old, new, "newer-holds") == f"{old} is replaced by {new}"
    record = memory.get(ME, old)
    assert (record.superseded_by, record.replaced) == (new, True)
    assert (record.superseded_at, record.valid_until) == (clock.now, clock.now)
    assert (listed(memory), shown(memory)) == ([], {new: ""})
    change = memory.history(ME, old)[-1]
    assert (change.source, change.actor) == ("review: newer-holds", "me")
    memory.undo_change(ME, old, change.seq)
    back = memory.get(ME, old)
    assert (back.superseded_by, back.replaced, back.valid_until) == ("", False, None)
    assert (listed(memory), shown(memory)) == ([pair], {new: "", old: new})


def test_what_was_replaced_by_a_decision_can_become_true_again(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    memory.resolve(ME, *pair, "newer-holds")
    again = memory.remember(ME, RememberRequest(OLD, scope="team"))
    assert again.status == "stored"
    assert again.id not in pair


def test_older_holds_replaces_the_newer_and_is_undone(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    memory.resolve(ME, old, new, "older-holds")
    record = memory.get(ME, new)
    assert (record.superseded_by, record.replaced, record.valid_until) == (old, True, None)
    assert (listed(memory), shown(memory)) == ([], {old: ""})
    memory.undo_change(ME, new, decision_of(memory, new))
    assert (listed(memory), shown(memory)) == ([pair], {new: "", old: new})


def test_keep_both_ends_the_doubt_for_good_and_is_undone(
    memory: Memory, open_memory: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    memory.resolve(ME, old, new, "keep-both")
    assert listed(memory) == []
    assert shown(memory) == dict.fromkeys(pair, "")
    report = memory.consolidate(ME)
    assert report.contradictions == ()
    assert memory.get(ME, old).superseded_by == ""
    assert listed(memory) == []
    memory.close()
    again = open_memory()
    assert (listed(again), hit(again, old).doubted_by) == ([], "")
    again.undo_change(ME, new, decision_of(again, new))
    assert listed(again) == [pair]


def test_kept_both_stays_so_when_it_is_imported_elsewhere(
    memory: Memory, open_memory: Any, pair: tuple[str, str]
) -> None:
    memory.resolve(ME, *pair, "keep-both")
    elsewhere = open_memory("elsewhere")
    for record in reversed(list(memory.export(ME))):
        elsewhere.bring_in(ME, record)
    for record in memory.export(ME):
        elsewhere.bring_in(ME, record)
    assert {m.id for m in elsewhere.listing(ME)} == set(pair)
    assert listed(elsewhere) == []


def test_merge_retires_the_older_and_is_undone_with_its_link(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    memory.resolve(ME, old, new, "merge")
    assert memory.get(ME, old).retired_at == clock.now
    assert ("duplicate_of", 1.0) in {(each.kind, each.weight) for each in memory.links(ME, old)}
    assert (listed(memory), hit(memory, old).doubted_by) == ([], "")
    assert memory.stats(ME)["merged"] == 1
    memory.undo_change(ME, old, decision_of(memory, old))
    assert memory.get(ME, old).retired_at is None
    assert (listed(memory), memory.stats(ME)["merged"]) == ([pair], 0)


def test_newer_holds_in_part_leaves_the_rest_of_the_older(
    memory: Memory, clock: Any, open_memory: Any
) -> None:
    old = tell(memory, clock, "Our office is in Lyon, and Ada runs the front desk.")
    new = tell(memory, clock, "Ada left, Bo runs the front desk now.")
    assert memory.resolve(ME, old, new, "newer-holds-in-part") == f"{new} holds for a part of {old}"
    assert (listed(memory), memory.get(ME, old).superseded_by) == ([], "")
    assert memory.consolidate(ME).contradictions == ()
    asked = RecallRequest("Ada")
    assert [each.memory.id for each in memory.recall(ME, asked).hits] == [new, old]
    memory.close()
    again = open_memory()
    assert listed(again) == []
    marked = hit(again, old)
    assert (marked.doubted_by, marked.in_part, marked.doubtful_since) == (new, True, None)
    assert not hit(again, new).doubted_by
    assert again.doubted(ME, [old, new]) == {old: Doubted(new, None, in_part=True)}
    again.resolve(ME, old, new, "undo")
    assert listed(again) == [(old, new)]


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_is_taken_back_by_its_pair(
    memory: Memory, clock: Any, pair: tuple[str, str], decision: str
) -> None:
    before = shown(memory)
    memory.resolve(ME, *pair, decision)
    assert listed(memory) == []
    clock.pass_by(DAY)
    assert memory.resolve(ME, *pair, "undo") == "{} and {} are in doubt again".format(*pair)
    assert (listed(memory), shown(memory)) == ([pair], before)
    with pytest.raises(NotFound, match="nothing was decided"):
        memory.resolve(ME, *pair, "undo")
    memory.resolve(ME, *pair, decision)  # and decided once more
    assert listed(memory) == []
    memory.resolve(ME, *pair, "undo")
    assert listed(memory) == [pair]


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_pair_that_nobody_doubted_is_not_in_doubt_after_its_decision(
    memory: Memory, clock: Any, decision: str
) -> None:
    apart = [tell(memory, clock, text) for text in ("The bread is in the box.", "Ann paints.")]
    memory.resolve(ME, *apart, decision)
    said = memory.resolve(ME, *apart, "undo")
    assert said == "the decision about {} and {} is undone; they are not in doubt".format(*apart)
    assert listed(memory) == []
    assert not any(memory.get(ME, id).superseded_by for id in apart)


def test_what_was_decided_about_another_pair_is_not_taken_back(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    boat, moved = (tell(memory, clock, text, scope="team") for text in BOAT)
    memory.resolve(ME, boat, moved, "newer-holds")
    with pytest.raises(NotFound, match="nothing was decided"):
        memory.resolve(ME, *pair, "undo")
    with pytest.raises(NotFound):
        memory.resolve(OTHER, "0" * 20, moved, "undo")
    with pytest.raises(ScopeDenied):
        memory.resolve(OTHER, boat, moved, "undo")
    memory.resolve(ADMIN, boat, moved, "undo")
    assert (boat, moved) in listed(memory)


def test_what_was_merged_comes_behind_what_it_was_merged_into(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    memory.resolve(ME, old, new, "merge")
    found = memory.recall(ME, RecallRequest("team nine"))
    assert [each.memory.id for each in found.hits] == [new, old]
    then = memory.recall(ME, RecallRequest(OLD, as_of=iso(clock.now - 1.0)))
    assert old in [each.memory.id for each in then.hits]


def test_what_a_doubt_or_a_decision_marks_counts_as_changed(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    reached = memory.changed(ME).reached
    memory.resolve(ME, *pair, "keep-both")
    found = memory.changed(ME, reached)
    assert {each.id for each in found.memories} == set(pair)
    boat, moved = (tell(memory, clock, text, scope="team") for text in BOAT)
    assert memory.doubted(ME, [boat])[boat][0] == moved
    assert {boat, moved} <= {each.id for each in memory.changed(ME, found.reached).memories}


def test_each_run_reports_the_pairs_that_nobody_has_decided(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    for _ in range(2):
        (found,) = memory.consolidate(ME, mode="contradictions").contradictions
        assert (found.older, found.newer, found.relation) == (*pair, "doubts")
        assert "moved" in found.detail
    memory.resolve(ME, *pair, "newer-holds")
    assert memory.consolidate(ME, mode="contradictions").contradictions == ()


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_is_made_once(memory: Memory, pair: tuple[str, str], decision: str) -> None:
    memory.resolve(ADMIN, *pair, decision)
    before = asked_for(memory)
    said = (
        "nothing to decide" if decision.endswith("er-holds") else "decided before; take that back"
    )
    for other in DECISIONS:
        with pytest.raises(NotFound, match=said):
            memory.resolve(ME, *pair, other)
    assert asked_for(memory) == before


def test_only_the_owner_or_an_admin_decides(memory: Memory, pair: tuple[str, str]) -> None:
    assert listed(memory, OTHER) == [pair]
    with pytest.raises(ScopeDenied):
        memory.resolve(OTHER, *pair, "newer-holds")
    assert listed(memory) == [pair]


def test_nobody_sees_a_pair_that_they_may_not_read(memory: Memory, clock: Any) -> None:
    private = tell(memory, clock, OLD), tell(memory, clock, NEW)
    assert listed(memory) == [private]
    assert listed(memory, OTHER) == []
    with pytest.raises(NotFound):
        memory.resolve(OTHER, *private, "keep-both")


def test_what_is_no_doubtful_pair_or_no_decision_is_refused(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    for ids in ((old, old), (old, "0" * 20)):
        with pytest.raises(NotFound, match="still hold"):
            memory.resolve(ME, *ids, "keep-both")
    for decision in ("", "both", "Keep-Both"):
        with pytest.raises(InvalidInput, match="newer-holds"):
            memory.resolve(ME, old, new, decision)
    with pytest.raises(InvalidInput):
        memory.resolve(ME, "the standup", new, "keep-both")


@pytest.mark.parametrize(("decision", "holds"), [("newer-holds", 1), ("older-holds", 0)])
def test_a_pair_is_decided_in_whichever_order_it_is_given(
    memory: Memory, pair: tuple[str, str], decision: str, holds: int
) -> None:
    memory.resolve(ME, *reversed(pair), decision)
    assert memory.get(ME, pair[1 - holds]).superseded_by == pair[holds]
    assert not memory.get(ME, pair[holds]).superseded_by


def test_what_nobody_doubts_is_decided_too_and_undone(memory: Memory, clock: Any) -> None:
    rent = tell(memory, clock, "The rent of the boathouse is 1180 euros.", scope="team")
    more = tell(memory, clock, "They want 1260 for that place at the lake.", scope="team")
    assert listed(memory) == []
    with pytest.raises(ScopeDenied):
        memory.resolve(OTHER, rent, more, "newer-holds")
    assert memory.resolve(ME, rent, more, "newer-holds") == f"{rent} is replaced by {more}"
    assert memory.get(ME, rent).superseded_by == more
    with pytest.raises(NotFound, match="nothing to decide"):
        memory.resolve(ME, rent, more, "keep-both")
    memory.resolve(ME, rent, more, "undo")
    assert memory.get(ME, rent).superseded_by == ""
    memory.retire(ME, more)
    with pytest.raises(NotFound, match="nothing to decide"):
        memory.resolve(ME, rent, more, "newer-holds")
    memory.retire(ME, more, retired=False)
    memory.resolve(ME, rent, more, "keep-both")
    with pytest.raises(NotFound, match="decided before"):
        memory.resolve(ME, rent, more, "merge")


def test_what_is_forgotten_or_replaced_doubts_nothing(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    memory.forget(ME, ids=[new], confirm=True)
    assert (listed(memory), hit(memory, old).doubted_by) == ([], "")
    second = tell(memory, clock, LATER, scope="team")
    assert listed(memory) == [(old, second)]
    memory.remember(ME, RememberRequest("It is at eight.", replaces=old, scope="team"))
    assert (listed(memory), hit(memory, old).doubted_by) == ([], "")


def test_a_doubt_passes_to_what_replaces_the_memory_that_doubts(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    fixed = tell(memory, clock, "Standup: half past ten, harbour.", replaces=new, scope="team")
    assert hit(memory, old).doubted_by == fixed
    assert listed(memory) == [(old, fixed)]
    memory.resolve(ME, old, fixed, "keep-both")
    assert (listed(memory), hit(memory, old).doubted_by) == ([], "")
    memory.undo_change(ME, new, memory.history(ME, new)[-1].seq)
    assert listed(memory) == [pair]


def test_what_was_replaced_doubts_nothing_once_its_replacement_is_forgotten(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    fixed = tell(memory, clock, "Standup: half past ten, harbour.", replaces=new, scope="team")
    assert listed(memory) == [(old, fixed)]
    memory.forget(ME, ids=[fixed], confirm=True)
    assert (listed(memory), hit(memory, old).doubted_by) == ([], "")


def test_records_that_replace_each_other_are_recalled_and_doubt_nothing(
    memory: Memory, open_memory: Any, minilm: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    elsewhere = open_memory("elsewhere", minilm)
    third = dict(next(iter(memory.export(ME))), id=new[::-1], text=LATER)
    for record in [*memory.export(ME), third]:
        if record["id"] != old:  # what no memory of ours says, but a file may
            record |= {"superseded_by": third["id"] if record["id"] == new else new}
            record |= {"superseded_at": record["occurred_at"], "replaced": True}
        elsewhere.bring_in(ME, record)
    assert shown(elsewhere) == {old: ""}


def test_as_of_shows_the_doubts_of_that_day(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair  # said on 2 and 3 June 2024
    clock.pass_by(DAY)
    memory.resolve(ME, old, new, "keep-both")
    assert shown(memory, as_of="2024-06-02") == {old: ""}
    assert list(shown(memory, as_of="2024-06-03").items()) == [(new, ""), (old, new)]
    assert list(shown(memory, as_of="2024-06-04").items()) == [(old, ""), (new, "")]
    assert hit(memory, old, as_of="2024-06-03").doubted_by == new
    assert hit(memory, old).doubted_by == ""


def test_a_replacement_decided_later_does_not_count_before(
    memory: Memory, clock: Any, pair: tuple[str, str]
) -> None:
    old, new = pair
    clock.pass_by(DAY)
    memory.resolve(ME, old, new, "newer-holds")
    assert shown(memory, as_of="2024-06-02") == {old: ""}
    assert shown(memory, as_of="2024-06-03") == {new: "", old: new}
    assert shown(memory, as_of="2024-06-04") == {new: ""}
    before, after = (hit(memory, old, as_of=day).memory for day in ("2024-06-03", "2024-06-04"))
    assert (before.superseded_by, before.superseded_at, before.replaced) == ("", None, False)
    assert (after.superseded_by, after.replaced) == (new, True)
    clock.pass_by(DAY)
    memory.undo_change(ME, old, decision_of(memory, old))
    assert shown(memory) == {new: "", old: new}


def test_what_held_for_a_while_stands_behind_what_holds_again(memory: Memory, clock: Any) -> None:
    usual = memory.remember(ME, RememberRequest("I work from the library in Lyon.")).id
    clock.pass_by(DAY)
    now = memory.remember(ME, RememberRequest("This week I work from the library in Nice.")).id
    asked = RecallRequest("I work from the library this week in Nice", context=0)
    assert [each.memory.id for each in memory.recall(ME, asked).hits][:2] == [now, usual]
    clock.pass_by(14 * DAY)
    assert [each.memory.id for each in memory.recall(ME, asked).hits][:2] == [usual, now]
    assert memory.doubts(ME) == []


def test_a_thing_is_known_by_both_of_its_names(memory: Memory, clock: Any) -> None:
    hosted, moved = "The data warehouse is hosted in Lyon.", "The DWH was moved to Nice."
    old = memory.remember(ME, RememberRequest(hosted)).id
    memory.remember(ME, RememberRequest(moved))
    assert listed(memory) == []
    memory.remember(OTHER, RememberRequest(hosted))
    memory.remember(OTHER, RememberRequest("Our data warehouse (DWH) belongs to finance."))
    new = memory.remember(OTHER, RememberRequest(moved)).id
    found = {newer: memory.doubts(OTHER) for _, newer in listed(memory, OTHER)}
    assert set(found) == {new}
    assert hosted in [pair.older.text for pair in found[new]]
    assert old not in [pair.older.id for pair in found[new]]


HOOK = {"role": "user", "trust": "user", "session": "s"}
WAYS: dict[str, dict[str, str]] = {
    "hook": HOOK,
    "hook, speaker named": {**HOOK, "speaker": "Nora"},
    "remember": {"client": "codex"},
    "remember, speaker named": {"client": "codex", "speaker": "Nora"},
    "command line": {"trust": "user", "client": "cli"},
}


@pytest.mark.parametrize("later", WAYS)
@pytest.mark.parametrize("earlier", WAYS)
def test_the_owner_is_one_whichever_client_heard_it(
    memory: Memory, clock: Any, earlier: str, later: str
) -> None:
    old = tell(memory, clock, OLD, **WAYS[earlier])
    new = tell(memory, clock, NEW, **WAYS[later])
    found = hit(memory, old)
    assert new in (found.doubted_by, found.memory.superseded_by)


@pytest.mark.parametrize(
    "later",
    [
        {"speaker": "Tom"},
        {"client": "codex", "source": "notes/standup.md"},
        {"client": "codex", "source": "https://example.com/standup"},
        {"role": "assistant", "session": "s"},
    ],
)
def test_the_owner_is_not_corrected_in_another_voice(
    memory: Memory, clock: Any, later: dict[str, str]
) -> None:
    old = tell(memory, clock, OLD, **WAYS["hook, speaker named"])
    tell(memory, clock, NEW, **later)
    found = hit(memory, old)
    assert (found.doubted_by, found.memory.superseded_by) == ("", "")


def test_among_several_named_speakers_nobody_without_a_name_is_the_owner(
    memory: Memory, clock: Any
) -> None:
    old = tell(memory, clock, OLD, speaker="Nora", **HOOK)
    tell(memory, clock, "Good morning from the quay.", speaker="Tom", **HOOK)
    tell(memory, clock, NEW)
    assert hit(memory, old).doubted_by == ""
