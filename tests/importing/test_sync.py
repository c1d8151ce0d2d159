"""Machines that lived apart are kept in step through a folder: merged, whole, and in any order."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from conftest import Clock, OpenMemory, ToyEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.config import Settings
from memory_core.errors import InvalidInput
from memory_core.importing.request import ImportRequest
from memory_core.importing.sync import SyncReport
from memory_core.memory import Memory
from memory_core.records import Identity, MemoryRecord
from memory_core.remember.request import RememberRequest
from tests.views import asked_for

ME = Identity("me")
COMPARED = (
    *("text", "occurred_at", "tags", "importance", "retired_at"),
    *("superseded_by", "replaced", "valid_until"),
)


def said(memory: Memory, text: str, **about: Any) -> str:
    return memory.remember(ME, RememberRequest(text, **about)).id


def state(memory: Memory) -> dict[str, tuple[Any, ...]]:
    """Everything that must be the same on each machine, by id."""
    found = {record["id"]: record for record in memory.export(ME)}
    return {id: tuple(record[name] for name in COMPARED) for id, record in found.items()}


def doubts(memory: Memory) -> set[tuple[str, str]]:
    return {(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)}


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    place = tmp_path / "cloud"
    place.mkdir()
    return place


@pytest.fixture
def one(open_memory: OpenMemory) -> Memory:
    return open_memory("one")


@pytest.fixture
def two(open_memory: OpenMemory) -> Memory:
    return open_memory("two")


def settle(shared: Path, *machines: Memory) -> list[SyncReport]:
    """Sync until nothing is sent any more; the reports of the last round."""
    for _ in range(6):
        reports = [memory.sync(ME, str(shared)) for memory in machines]
        assert [report.problems for report in reports] == [[] for _ in machines]
        if not any(report.sent or report.sent_forgotten for report in reports):
            return reports
    raise AssertionError("they never stop sending")


def files(shared: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in shared.rglob("*.jsonl")}


def test_the_probes_of_health_are_neither_sent_nor_counted(one: Memory, shared: Path) -> None:
    one.health(ME)
    kept = said(one, "The spare key is in the blue tin.")
    report = one.sync(ME, str(shared))
    assert (report.sent, report.sent_forgotten) == (1, 0)
    before = files(shared)
    one.health(ME)
    report = one.sync(ME, str(shared))
    assert (report.sent, report.sent_forgotten, files(shared)) == (0, 0, before)
    one.forget(ME, ids=[kept], reason="probe", confirm=True)
    assert one.sync(ME, str(shared)).sent_forgotten == 1


# Through an export


def exported(memory: Memory, path: Path) -> ImportRequest:
    lines = (json.dumps(record) + "\n" for record in memory.export(ME))
    path.write_text("".join(lines), encoding="utf-8")
    return ImportRequest(str(path))


def test_an_import_brings_what_was_set_later_on_the_other_side(
    one: Memory, two: Memory, clock: Clock, tmp_path: Path
) -> None:
    tagged = said(one, "The spare key is in the blue tin.", tags=["house"])
    wrong = said(one, "The dentist is on the 14th of December.")
    assert two.import_files(ME, exported(one, tmp_path / "a.jsonl")).counts["stored"] == 2
    clock.pass_by(60)
    one.amend(ME, tagged, tags=["kitchen"], importance=1.0)
    right = said(one, "The dentist is on the 16th of December.", replaces=wrong)
    request = exported(one, tmp_path / "a.jsonl")
    preview = two.import_files(ME, ImportRequest(request.path, dry_run=True))
    assert (preview.counts["changed"], preview.counts["new"]) == (2, 1)
    report = two.import_files(ME, request)
    assert dict(report.counts) == {"changed": 2, "stored": 1}
    assert state(two) == state(one)
    assert two.get(ME, wrong).superseded_by == right
    assert [change.source for change in two.history(ME, tagged)][-1] == "import"
    assert dict(two.import_files(ME, request).counts) == {"reinforced": 3}
    two.consolidate(ME, undo=report.run)
    assert two.get(ME, tagged).tags == ("house",)
    assert two.get(ME, wrong).superseded_by == ""


def test_the_newer_of_two_changes_holds_and_both_are_in_the_history(
    one: Memory, two: Memory, clock: Clock, tmp_path: Path
) -> None:
    id = said(one, "The ferry leaves at nine.", tags=["old"])
    two.import_files(ME, exported(one, tmp_path / "a.jsonl"))
    clock.pass_by(60)
    one.amend(ME, id, tags=["mine"])
    clock.pass_by(60)
    two.amend(ME, id, tags=["yours"])
    two.import_files(ME, exported(one, tmp_path / "a.jsonl"))
    assert two.get(ME, id).tags == ("yours",)
    one.import_files(ME, exported(two, tmp_path / "b.jsonl"))
    assert one.get(ME, id).tags == ("yours",)
    told = [list((change.body or {}).get("tags", ())) for change in one.history(ME, id)]
    assert [tags for tags in told if tags] == [["old"], ["mine"], ["yours"]]


def test_a_stamp_that_is_none_is_refused_by_name(one: Memory, tmp_path: Path) -> None:
    said(one, "The ferry leaves at nine.")
    record = next(one.export(ME)) | {"stamps": {"tags": ["soon", ""]}}
    with pytest.raises(InvalidInput, match="stamps"):
        one.bring_in(ME, record)


# Through a folder


def test_two_machines_get_what_the_other_has_and_repeating_it_does_nothing(
    one: Memory, two: Memory, shared: Path
) -> None:
    first = said(one, "The spare key is in the blue tin.", tags=["house"])
    said(two, "Ana prefers the train to flying.")
    settle(shared, one, two)
    assert state(one) == state(two)
    assert len(state(one)) == 2
    assert two.get(ME, first).trust == "import"
    before = files(shared), one.stats(ME), asked_for(one), asked_for(two)
    for memory in (one, two):
        report = memory.sync(ME, str(shared))
        assert (dict(report.counts), report.sent, report.sent_forgotten) == ({}, 0, 0)
    after = files(shared), one.stats(ME), asked_for(one), asked_for(two)
    assert after == before


def test_what_one_machine_forgot_goes_on_the_other_and_out_of_the_folder(
    one: Memory, two: Memory, shared: Path
) -> None:
    id = said(one, "The alarm code is on the note in the drawer.")
    settle(shared, one, two)
    two.forget(ME, ids=[id], confirm=True)
    settle(shared, one, two)
    assert id not in state(one)
    again = one.remember(ME, RememberRequest("The alarm code is on the note in the drawer."))
    assert again.status == "refused"
    assert not any(b"alarm code" in text for text in files(shared).values())


def test_a_text_that_was_forgotten_here_is_forgotten_where_it_was_said_again(
    one: Memory, two: Memory, shared: Path
) -> None:
    id = said(one, "The alarm code is on the note in the drawer.")
    one.forget(ME, ids=[id], confirm=True)
    said(two, "The alarm code is on the note in the drawer.")
    settle(shared, one, two)
    assert state(one) == state(two) == {}


def test_the_same_text_on_two_machines_is_one_memory_on_both(
    one: Memory, two: Memory, clock: Clock, shared: Path
) -> None:
    first = said(one, "The ladder leans on the shed.")
    clock.pass_by(5)
    second = said(two, "The ladder leans on the shed.")
    settle(shared, one, two)
    assert state(one) == state(two)
    assert one.get(ME, second).superseded_by == first
    assert one.get(ME, first).superseded_by == ""


def test_what_is_said_again_on_one_machine_holds_again_on_the_other(
    one: Memory, two: Memory, clock: Clock, shared: Path
) -> None:
    oslo = said(one, "User lives in Oslo.")
    clock.pass_by(60)
    bergen = said(one, "User lives in Bergen.")
    settle(shared, one, two)
    assert doubts(one) == doubts(two) == {(oslo, bergen)}
    clock.pass_by(60)
    said(one, "User lives in Oslo.")
    settle(shared, one, two)
    assert state(one) == state(two)
    assert doubts(one) == doubts(two) == {(bergen, oslo)}


def test_what_was_said_again_holds_again_where_it_is_imported(
    one: Memory, two: Memory, clock: Clock, tmp_path: Path
) -> None:
    oslo = said(one, "User lives in Oslo.")
    clock.pass_by(60)
    bergen = said(one, "User lives in Bergen.")
    two.import_files(ME, exported(one, tmp_path / "a.jsonl"))
    assert doubts(two) == {(oslo, bergen)}
    clock.pass_by(60)
    said(one, "User lives in Oslo.")
    two.import_files(ME, exported(one, tmp_path / "a.jsonl"))
    assert state(one) == state(two)
    assert doubts(two) == {(bergen, oslo)}


def test_two_replacements_of_one_memory_are_put_in_doubt(
    one: Memory, two: Memory, clock: Clock, shared: Path
) -> None:
    old = said(one, "The meeting is in room four.")
    settle(shared, one, two)
    clock.pass_by(60)
    mine = said(one, "Ask Ben where everybody sits.", replaces=old)
    clock.pass_by(60)
    yours = said(two, "We meet outside from now on.", replaces=old)
    settle(shared, one, two)
    assert state(one) == state(two)
    assert one.get(ME, old).superseded_by == yours
    assert doubts(one) == doubts(two) == {(mine, yours)}


def test_a_torn_line_waits_and_a_bad_one_is_named(
    one: Memory, two: Memory, shared: Path, tmp_path: Path
) -> None:
    said(one, "The spare key is in the blue tin.")
    said(one, "Ana prefers the train to flying.")
    one.sync(ME, str(shared))
    (path,) = shared.rglob("*.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert two.sync(ME, str(shared)).counts["stored"] == 1
    path.write_bytes(whole + b"{nonsense\n")
    report = two.sync(ME, str(shared))
    assert report.counts["stored"] == 1
    assert report.problem_count == 1
    assert "no JSON" in report.problems[0]
    assert set(state(two)) == set(state(one))


def test_a_text_that_was_changed_on_the_way_is_named_and_not_taken(
    one: Memory, two: Memory, shared: Path
) -> None:
    said(one, "The peony is magenta.")
    said(one, "Ana prefers the train to flying.")
    one.sync(ME, str(shared))
    (path,) = shared.rglob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"magenta", b"magexta", 1))
    report = two.sync(ME, str(shared))
    assert (report.counts["stored"], report.problem_count) == (1, 1)
    assert "is not the one that its machine wrote; delete this file" in report.problems[0]
    path.unlink()
    settle(shared, one, two)
    assert state(one) == state(two)
    assert len(state(two)) == 2


def test_a_line_without_a_hash_is_taken_and_one_without_a_text_is_named(
    one: Memory, two: Memory, shared: Path
) -> None:
    said(one, "The peony is magenta.")
    one.sync(ME, str(shared))
    (path,) = shared.rglob("*.jsonl")
    (line,) = path.read_text("utf-8").splitlines()
    record = json.loads(line)
    hashed = record.pop("content_hash")
    odd = {**record, "id": "0" * 20, "text": 5, "content_hash": hashed}
    path.write_text("".join(f"{json.dumps(each)}\n" for each in (record, odd)), "utf-8")
    report = two.sync(ME, str(shared))
    assert (report.counts["stored"], report.problem_count) == (1, 1)
    assert set(state(two)) == {record["id"]}


def test_what_is_sent_later_goes_to_the_same_file(one: Memory, shared: Path) -> None:
    for text in ("The peony is magenta.", "Ana prefers the train to flying."):
        said(one, text)
        settle(shared, one)
    assert len(files(shared)) == 1


def test_a_file_that_was_lost_is_written_again(one: Memory, two: Memory, shared: Path) -> None:
    said(one, "The spare key is in the blue tin.")
    settle(shared, one)
    for place in shared.iterdir():
        shutil.rmtree(place)
    settle(shared, one, two)
    assert state(one) == state(two)
    assert len(state(two)) == 1


def test_the_same_words_go_on_both_machines_when_one_forgets_them(
    one: Memory, two: Memory, shared: Path
) -> None:
    """The machine that forgot had not heard of the other one's memory, and is told that it went."""
    ids = {memory: said(memory, "The spare key is in the blue tin.") for memory in (one, two)}
    first, second = sorted((one, two), key=ids.__getitem__)  # the lower id stands for both
    first.sync(ME, str(shared))
    first.forget(ME, ids=[ids[first]], never_again=False, confirm=True)
    second.sync(ME, str(shared))
    settle(shared, first, second)
    assert state(first) == state(second) == {}


@pytest.mark.parametrize("lost", ["all", "its own", "the bytes", "the end"])
def test_what_was_written_again_is_read_from_its_beginning(
    one: Memory, two: Memory, shared: Path, lost: str
) -> None:
    """Of a file that is longer than the one that was lost, others must not read the end alone."""
    said(two, "The ladder leans on the shed.")
    rent = said(one, "The rent is 900 euros.")
    diary = said(one, "A quarrel with Tom on Sunday.")
    settle(shared, one, two)
    said(one, "The rent is 980 euros.", replaces=rent)
    one.forget(ME, ids=[diary], confirm=True)
    one.amend(ME, said(one, "Karl's birthday is on 4 May."), tags=["family"])
    if lost == "all":
        for place in shared.iterdir():
            shutil.rmtree(place)
    else:
        (own,) = (path for path in shared.rglob("*.jsonl") if b"The rent" in path.read_bytes())
        if lost == "its own":
            own.unlink()
        else:
            own.write_bytes(own.read_bytes()[:-30] if lost == "the end" else b"")
    settle(shared, one, two)
    assert state(one) == state(two)
    assert len(state(two)) == 4


def test_a_copied_memory_takes_a_machine_id_of_its_own(
    one: Memory, shared: Path, open_memory: OpenMemory, tmp_path: Path
) -> None:
    said(one, "The spare key is in the blue tin.")
    settle(shared, one)
    one.close()
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    again, copy = open_memory("one"), open_memory("copy")
    said(again, "Ana prefers the train to flying.")
    settle(shared, again)
    said(copy, "The ladder leans on the shed.")
    settle(shared, copy, again)
    assert state(again) == state(copy)
    assert len(state(copy)) == 3
    assert len(list(shared.iterdir())) == 2


def test_what_a_machine_wrote_before_it_was_restored_is_erased_by_what_it_became(
    one: Memory, shared: Path, open_memory: OpenMemory, tmp_path: Path
) -> None:
    id = said(one, "The alarm code is on the note in the drawer.")
    settle(shared, one)
    shutil.copytree(tmp_path / "one", tmp_path / "kept")
    said(one, "Ana prefers the train to flying.")
    settle(shared, one)
    one.close()
    restored = open_memory("kept")
    settle(shared, restored)
    assert len(state(restored)) == 2
    said(restored, "The ladder leans on the shed.")
    restored.forget(ME, ids=[id], confirm=True)
    (report, *_) = (restored.sync(ME, str(shared)), *settle(shared, restored))
    assert report.erased
    assert not any(b"alarm code" in text for text in files(shared).values())
    fresh = open_memory("fresh")
    settle(shared, fresh, restored)
    assert state(fresh) == state(restored)
    assert len(state(fresh)) == 2


def test_files_of_a_machine_that_is_gone_can_be_removed(
    one: Memory, two: Memory, shared: Path, open_memory: OpenMemory
) -> None:
    id = said(two, "The alarm code is on the note in the drawer.")
    said(two, "Ana prefers the train to flying.")
    settle(shared, one, two)
    two.close()
    one.forget(ME, ids=[id], confirm=True)
    settle(shared, one)
    assert any(b"alarm code" in text for text in files(shared).values()), "its machine is gone"
    for place in shared.iterdir():
        shutil.rmtree(place)
    fresh = open_memory("fresh")
    settle(shared, one, fresh)
    assert not any(b"alarm code" in text for text in files(shared).values())
    assert state(fresh) == state(one)
    assert len(state(one)) == 1


def test_a_folder_that_is_not_there_is_no_new_one(one: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="mount"):
        one.sync(ME, str(tmp_path / "unmounted"))


def test_an_undone_sync_of_a_decision_holds_on_both(
    one: Memory, two: Memory, clock: Clock, shared: Path
) -> None:
    id = said(one, "The ferry leaves at nine.", tags=["old"])
    settle(shared, one, two)
    clock.pass_by(60)
    change = two.amend(ME, id, tags=["new"])
    settle(shared, one, two)
    assert one.get(ME, id).tags == ("new",)
    two.undo_change(ME, id, change)
    settle(shared, one, two)
    assert one.get(ME, id).tags == two.get(ME, id).tags == ("old",)


# Any order

TEXTS = ("the key is in the tin", "ana likes trains", "the ferry leaves at nine", "ben is tall")
STEPS = st.tuples(
    st.integers(0, 2),
    st.sampled_from(("say", "say", "tag", "pin", "retire", "replace", "forget", "sync", "undo")),
    st.integers(0, 20),
)


def act(memory: Memory, what: str, number: int, shared: Path, kept: dict[str, str]) -> None:
    """One step of one machine; *kept* are the texts that were acknowledged, by id."""
    own: list[MemoryRecord] = sorted(
        (memory.get(ME, record["id"]) for record in memory.export(ME)), key=lambda each: each.id
    )
    if what == "sync":
        memory.sync(ME, str(shared))
    elif what == "say" or not own:
        receipt = memory.remember(ME, RememberRequest(TEXTS[number % len(TEXTS)]))
        if receipt.status == "stored":
            kept[receipt.id] = TEXTS[number % len(TEXTS)]
    else:
        chosen = own[number % len(own)]
        if what == "tag":
            memory.amend(ME, chosen.id, tags=[f"tag{number}"])
        elif what == "pin":
            memory.amend(ME, chosen.id, importance=number / 20)
        elif what == "retire":
            memory.retire(ME, chosen.id, retired=chosen.retired_at is None)
        elif what == "replace":
            text = f"{chosen.text} and {number}"
            receipt = memory.remember(ME, RememberRequest(text, replaces=chosen.id))
            if receipt.status in ("stored", "replaced"):
                kept.setdefault(receipt.id, text)
        elif what == "forget":
            memory.forget(ME, ids=[chosen.id], never_again=bool(number % 2), confirm=True)
            kept[chosen.id] = ""
        elif what == "undo":
            puts = [c for c in memory.history(ME, chosen.id) if c.source == "amend"]
            if puts:
                try:
                    memory.undo_change(ME, chosen.id, puts[-1].seq)
                except InvalidInput:
                    return  # it was undone, or changed since


LOSSES = st.tuples(st.just(-1), st.sampled_from(("sync", "empty", "cut")), st.integers(0, 20))


def lose(shared: Path, what: str, number: int) -> None:
    """All files of the folder go, or the end of the last one."""
    if what == "empty":
        for place in shared.iterdir():
            shutil.rmtree(place)
    elif what == "cut":
        for path in sorted(shared.rglob("*.jsonl"))[-1:]:
            os.truncate(path, path.stat().st_size * number // 21)


@settings(max_examples=12)
@given(
    steps=st.lists(STEPS | STEPS | LOSSES, min_size=4, max_size=24),
    machines=st.sampled_from((2, 3)),
)
def test_machines_that_change_everything_at_once_come_to_the_same(
    steps: list[tuple[int, str, int]], machines: int
) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as opened:
        clock, shared = Clock(), Path(folder) / "cloud"
        shared.mkdir()
        memories: list[Memory] = []
        for number in range(machines):
            chosen = Settings(data_dir=Path(folder) / str(number))
            memory = opened.enter_context(Memory(chosen, clock=clock, embedder=ToyEmbedder()))
            assert memory.wait_ready(120.0)
            memories.append(memory)
        kept: dict[str, str] = {}
        for machine, what, number in steps:
            clock.pass_by((number - 5) * 0.01)  # clocks go back, too
            if machine < 0 and what != "sync":
                lose(shared, what, number)
            else:
                act(memories[machine % machines], what, number, shared, kept)
        settle(shared, *memories)
        first, *others = (state(memory) for memory in memories)
        assert all(other == first for other in others)
        tombstoned = "" in kept.values()
        for id, text in kept.items():
            if text and not tombstoned:
                assert first[id][0] == text
        assert len({frozenset(doubts(memory)) for memory in memories}) == 1
