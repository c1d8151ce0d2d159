"""The health report tells the truth in every state, and asking leaves no trace."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from memory_core import health
from memory_core.config import Settings
from memory_core.errors import DiskFull
from memory_core.maintenance.loop import Maintenance
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Check, HealthReport, Identity, to_fields
from memory_core.remember.request import RememberRequest
from memory_core.storage.disk_reserve import DiskReserve
from memory_core.storage.journal.journal import Journal
from memory_core.storage.table.table import Table

ME = Identity("me")
PROBER = Identity(health.PROBE_AGENT)
HERON = "The heron waits by the weir in the morning."


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No background thread: rounds are done by hand."""
    monkeypatch.setattr(Maintenance, "start", lambda self: None)


def upkeep(memory: Memory) -> Maintenance:
    return memory._runtime.parts().maintenance


def rounds(memory: Memory, number: int = 3) -> None:
    for _ in range(number):
        upkeep(memory).round()


def checks(report: HealthReport) -> dict[str, Check]:
    return {check.name: check for check in report.checks}


def generations(tmp_path: Path) -> list[list[str]]:
    folders = [tmp_path / "store" / name for name in ("table", "index")]
    return [sorted(p.name for p in folder.iterdir()) for folder in folders if folder.exists()]


def with_a_broken_table(open_memory: Any, tmp_path: Path) -> Memory:
    """A memory that holds HERON, and whose table lost what was in its files."""
    memory: Memory = open_memory()
    memory.remember(ME, RememberRequest(HERON))
    rounds(memory)
    for path in (tmp_path / "store" / "table").rglob("*.lance"):
        if path.is_file():
            path.write_bytes(b"")
    return memory


def test_all_is_well(open_memory: Any, quiet: None) -> None:
    memory = open_memory()
    memory.remember(ME, RememberRequest(HERON))
    rounds(memory)
    report = memory.health(ME)
    assert {name: check.status for name, check in checks(report).items()} == dict.fromkeys(
        (
            *("round trip", "journal", "memories", "table", "vectors", "model"),
            *("encoder", "disk", "erasure", "clock", "upkeep", "set aside", "hooks"),
        ),
        "ok",
    )
    assert report.status == "ok"
    assert report.counts["memories"] == 1
    assert report.model["ready"]
    assert report.storage["maintenance_holder"]
    assert report.versions["lancedb"] == "0.40.0"
    assert not any(check.fix for check in report.checks)


def test_it_may_be_the_first_call_of_all(open_memory: Any, no_model: Any) -> None:
    for name, model in (("one", None), ("two", no_model)):
        memory = open_memory(name, model) if model else open_memory(name)
        report = memory.health(ME)
        assert checks(report)["round trip"].status == "ok"
        assert report.counts["memories"] == 0
        assert report.status == ("degraded" if model else "ok")


def test_asking_leaves_no_trace(open_memory: Any, quiet: None, tmp_path: Path) -> None:
    memory = open_memory()
    shared = memory.remember(ME, RememberRequest(HERON, scope="shared"))
    memory.remember(
        ME, RememberRequest("The quick heron waits by the quiet weir, says the health probe.")
    )
    rounds(memory)
    before = list(memory.export(ME))
    counts, folders = memory.stats(ME), generations(tmp_path)
    listed, answers = memory.listing(ME), memory.recall(ME, RecallRequest("heron probe")).hits
    upkeep(memory).accesses.flush()
    before = list(memory.export(ME))
    for _ in range(20):
        assert memory.health(ME).status == "ok"
        rounds(memory, 1)
    upkeep(memory).accesses.flush()
    assert list(memory.export(ME)) == before
    assert list(memory.export(PROBER)) == [r for r in before if r["id"] == shared.id]
    assert {**memory.stats(ME), "mean_access": 0} == {**counts, "mean_access": 0}
    assert [m.id for m in memory.listing(ME)] == [m.id for m in listed]
    assert [hit.memory.id for hit in memory.recall(ME, RecallRequest("heron probe")).hits] == [
        hit.memory.id for hit in answers
    ]
    assert generations(tmp_path) == folders
    assert memory.names(PROBER, "tags") == [
        tag for tag in memory.names(ME, "tags") if tag in shared_tags(before)
    ]


def shared_tags(records: list[dict[str, Any]]) -> set[str]:
    return {tag for record in records if record["visibility"] == "shared" for tag in record["tags"]}


def test_two_at_once_do_not_take_each_others_probe(open_memory: Any) -> None:
    memories = [open_memory(), open_memory()]
    reports: list[HealthReport] = []

    def ask(memory: Memory) -> None:
        reports.extend(memory.health(ME) for _ in range(6))

    threads = [threading.Thread(target=ask, args=(memory,)) for memory in memories * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [checks(report)["round trip"].status for report in reports] == ["ok"] * 36
    assert memories[0].stats(PROBER)["memories"] == 0


def test_a_probe_left_by_a_killed_process_is_cleared_up(open_memory: Any, clock: Any) -> None:
    memory = open_memory()
    memory.remember(PROBER, RememberRequest(health.PROBE.format(1), tags=[health.PROBE_TAG]))
    assert memory.stats(PROBER)["memories"] == 1
    memory.health(ME)
    assert memory.stats(PROBER)["memories"] == 1  # it may belong to a report under way
    clock.pass_by(health.PROBE_SECONDS + 1)
    memory.health(ME)
    assert memory.stats(PROBER)["memories"] == 0


def test_clearing_up_a_probe_that_another_report_cleared_up_is_no_failure(
    open_memory: Any, quiet: None
) -> None:
    memory = open_memory()
    told = memory.remember(PROBER, RememberRequest(health.PROBE.format(1), tags=[health.PROBE_TAG]))
    store = memory._runtime.parts().store
    health._remove(store, [told.id])
    health._remove(store, [told.id])
    assert memory.stats(PROBER)["memories"] == 0


def test_a_full_disk_fails_the_round_trip_and_names_the_cause(
    open_memory: Any, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    memory.remember(ME, RememberRequest(HERON))

    def full(self: Journal, build: Callable[[Any], Any]) -> None:
        raise DiskFull("the journal could not grow", "free some space")

    monkeypatch.setattr(Journal, "write", full)
    report = memory.health(ME)
    trip = checks(report)["round trip"]
    assert (report.status, trip.status) == ("failing", "failing")
    assert (trip.detail, trip.fix) == ("the journal could not grow", "free some space")
    assert report.counts["memories"] == 1


def test_a_journal_that_cannot_be_read_is_reported_and_not_raised(
    open_memory: Any, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    memory.remember(ME, RememberRequest(HERON))

    def fails(*_: object) -> None:
        raise DiskFull("input/output error", "look at the disk")

    monkeypatch.setattr(Journal, "_current_reader", fails)
    report = memory.health(ME)
    assert report.status == "failing"
    assert report.counts == {"problem": "input/output error"}


def test_damage_in_the_journal_is_failing_also_before_a_repair(
    open_memory: Any, tmp_path: Path
) -> None:
    memory = open_memory()
    memory.remember(ME, RememberRequest(HERON))
    memory.remember(ME, RememberRequest("A stork."))
    memory.close()
    connection = apsw.Connection(str(tmp_path / "store" / "journal.db"))
    connection.execute("UPDATE changes SET body = replace(body, 'stork', 'stirk')")
    connection.close()
    again = open_memory()
    report = again.health(ME)
    assert checks(report)["journal"].status == "failing"
    assert "damaged" in checks(report)["journal"].detail
    assert checks(report)["round trip"].status == "ok"
    assert report.counts["memories"] == 1


def test_a_memory_that_no_index_holds_is_named(open_memory: Any, quiet: None) -> None:
    memory = open_memory()
    receipt = memory.remember(ME, RememberRequest(HERON))
    odd = to_fields(memory.get(ME, receipt.id)) | {"id": "0" * 20, "text": "odd", "tags": [1]}
    memory._runtime.parts().store.commit(lambda tx: tx.append(Change("put", "0" * 20, odd)))
    report = memory.health(ME)
    check = checks(report)["memories"]
    assert (report.status, check.status) == ("degraded", "degraded")
    assert "0" * 20 in check.detail
    assert check.fix


def test_a_table_that_was_built_anew_shows_as_repaired(
    open_memory: Any, quiet: None, tmp_path: Path
) -> None:
    memory = with_a_broken_table(open_memory, tmp_path)
    assert memory.listing(ME)[0].text == HERON
    assert memory.get(ME, memory.listing(ME)[0].id).text == HERON
    assert checks(memory.health(ME))["table"].status == "degraded"
    rounds(memory)
    report = memory.health(ME)
    assert (report.status, checks(report)["table"].status) == ("ok", "repaired")
    assert memory.listing(ME)[0].text == HERON


def test_what_was_set_aside_is_named_until_a_repair_removes_it(
    open_memory: Any, quiet: None, tmp_path: Path
) -> None:
    memory = with_a_broken_table(open_memory, tmp_path)
    assert memory.get(ME, memory.listing(ME)[0].id).text == HERON
    rounds(memory)
    report = memory.health(ME)
    (name,) = report.storage["set_aside"]
    assert name.startswith("table/")
    assert (tmp_path / "store" / name).is_dir()
    check = checks(report)["set aside"]
    assert (check.status, check.detail) == ("repaired", f"damaged and set aside: {name}")
    assert "anamnesis health --repair" in check.fix
    assert checks(memory.health(ME, repair=True))["set aside"].status == "ok"
    assert not (tmp_path / "store" / name).exists()


def test_who_keeps_the_store_how_far_behind_it_is_and_since_when_are_told(
    open_memory: Any, quiet: None, clock: Any
) -> None:
    def told(memory: Memory) -> list[str]:
        return checks(memory.health(ME))["upkeep"].detail.split(", ")

    memory = open_memory()
    assert told(memory)[0] == "kept by nobody yet"
    rounds(memory)
    assert told(memory)[:2] == ["kept by this process", "0 changes to apply"]
    other = open_memory()
    assert told(other)[0] == f"kept by process {os.getpid()}"
    clock.pass_by(90.0)
    assert told(memory)[2] == "last apply 0 s ago"  # the probe was applied just now
    store = memory._runtime.parts().store
    applied_at = clock()
    clock.pass_by(90.0)
    other.remember(ME, RememberRequest(HERON))
    check = health.upkeep(store, upkeep(memory), clock())
    lag = store.journal.last() - store.applied
    assert lag > 0
    assert store.applied_at == applied_at
    assert f"{lag} changes to apply, last apply 90 s ago" in check.detail


def test_a_step_of_the_upkeep_that_fails_is_told_until_it_succeeds(
    open_memory: Any, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise DiskFull("the reserve found no room", "free some space")

    memory = open_memory()
    with monkeypatch.context() as patch:
        patch.setattr(DiskReserve, "ensure", full)
        rounds(memory)
        report = memory.health(ME)
        check = checks(report)["upkeep"]
        assert (report.status, check.status) == ("degraded", "degraded")
        assert "; reserve: disk_full: the reserve found no room" in check.detail
        assert check.fix == "it is tried again"
    upkeep(memory).nudge()
    rounds(memory)
    assert checks(memory.health(ME))["upkeep"].status == "ok"


def test_a_disk_that_is_nearly_full_is_told(
    open_memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    monkeypatch.setattr(health, "HEADROOM", 2**62)
    report = memory.health(ME)
    check = checks(report)["disk"]
    assert (report.status, check.status, check.fix) == ("degraded", "degraded", "free some space")
    free = report.storage["free_bytes"]
    assert abs(int(check.detail.split()[0]) - free // 2**20) < 1000


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux has mounted")
@pytest.mark.parametrize("system", sorted(health.NETWORK))
def test_a_network_file_system_is_told(
    open_memory: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str
) -> None:
    memory = open_memory()
    root = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw"
    mounts = tmp_path / "mountinfo"
    monkeypatch.setattr(health, "_MOUNTS", mounts)
    mounts.write_text(f"{root}\n36 35 98:0 / {tmp_path} rw - {system} server:/share rw\n", "utf-8")
    check = checks(memory.health(ME))["disk"]
    assert (check.status, check.fix) == ("degraded", "move it to a local disk")
    assert f"({system})" in check.detail
    elsewhere = f"36 35 98:0 / {tmp_path}-other rw - {system} server:/share rw"
    mounts.write_text(f"{root}\n{elsewhere}\n", "utf-8")
    assert checks(memory.health(ME))["disk"].status == "ok"


def test_a_table_that_cannot_be_built_is_degraded_and_the_rest_works(
    open_memory: Any, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    memory.remember(ME, RememberRequest(HERON))

    def full(*_: object, **__: object) -> None:
        raise DiskFull("creating the table found no room", "free some space")

    with monkeypatch.context() as patch:
        patch.setattr(Table, "create", full)
        rounds(memory)
        report = memory.health(ME)
        table = checks(report)["table"]
        assert (report.status, table.status) == ("degraded", "degraded")
        assert "found no room" in table.detail
        assert checks(report)["round trip"].status == "ok"
    repaired = memory.health(ME, repair=True)
    assert checks(repaired)["repair"].status == "repaired"
    assert checks(repaired)["table"].status == "ok"
    assert repaired.status == "ok"


def test_repair_mends_table_snapshot_and_model(
    open_memory: Any, quiet: None, tmp_path: Path, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    for number in range(3):
        memory.remember(ME, RememberRequest(f"Heron number {number} waits by the weir."))
    rounds(memory)
    shutil.rmtree(tmp_path / "store" / "table")
    counts = memory.stats(ME)
    report = memory.health(ME, repair=True)
    assert checks(report)["repair"].status == "repaired"
    assert report.status == "ok"
    assert report.counts == counts
    assert memory._runtime.parts().store.table is not None
    assert generations(tmp_path) == [["1"], ["1"]]


def test_repair_beside_the_process_that_works_is_no_failure(open_memory: Any, quiet: None) -> None:
    first, second = open_memory(), open_memory()
    rounds(first)
    report = second.health(ME, repair=True)
    assert checks(report)["repair"].status == "degraded"
    assert "maintenance.lock" in checks(report)["repair"].detail
    assert report.status == "degraded"


def test_memories_that_the_model_refuses_are_told_with_the_reason(
    open_memory: Any, quiet: None, no_model: Any, toy: Any
) -> None:
    early = open_memory("store", no_model)
    early.remember(ME, RememberRequest("a poisonous mushroom"))
    early.remember(ME, RememberRequest(HERON))
    early.close()
    toy.refuses = lambda text: "poison" in text
    memory = open_memory()
    rounds(memory)
    report = memory.health(ME)
    check = checks(report)["vectors"]
    assert (report.status, check.status) == ("degraded", "degraded")
    assert "1 of 2" in check.detail
    assert "the toy refuses this text" in check.detail


def test_an_erasure_shows_as_pending_until_it_is_done(
    open_memory: Any, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    told = memory.remember(ME, RememberRequest(HERON))
    rounds(memory)
    memory.forget(ME, ids=[told.id], confirm=True)
    check = checks(memory.health(ME))["erasure"]
    assert (check.status, "still being erased" in check.detail) == ("ok", True)
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "checkpoint", lambda self, **_: False)
        rounds(memory, 1)
    check = checks(memory.health(ME))["erasure"]
    assert (check.status, "write-ahead log" in check.detail) == ("degraded", True)
    upkeep(memory).nudge()
    rounds(memory, 1)
    report = memory.health(ME)
    assert checks(report)["erasure"].detail == "no file holds forgotten text"
    assert not report.storage["erasing"]


def test_an_imported_memory_of_the_year_9999_says_nothing_about_the_clock(
    open_memory: Any, quiet: None, clock: Any
) -> None:
    memory = open_memory()
    late = "9999-12-31T23:59:59Z"
    memory.bring_in(ME, {"text": HERON, "occurred_at": late, "recorded_at": late})
    rounds(memory)
    report = memory.health(ME)
    assert (checks(report)["clock"].status, report.status) == ("ok", "ok")
    memory.remember(ME, RememberRequest("The stork came back in March."))
    clock.pass_by(-30 * 86_400.0)
    assert checks(memory.health(ME))["clock"].status == "degraded"


def test_an_erasure_that_nobody_does_is_degraded(open_memory: Any, quiet: None, clock: Any) -> None:
    memory = open_memory()
    told = memory.remember(ME, RememberRequest(HERON))
    rounds(memory)
    memory.forget(ME, ids=[told.id], confirm=True)
    clock.pass_by(61.0)
    check = checks(memory.health(ME))["erasure"]
    assert (check.status, "61 s ago" in check.detail) == ("degraded", True)
    assert str(os.getpid()) in check.fix
    upkeep(memory)._lock.release()
    check = checks(memory.health(ME))["erasure"]
    assert (check.status, "no process" in check.detail) == ("degraded", True)
    report = memory.health(ME, repair=True)
    assert checks(report)["erasure"].status == "degraded"
    rounds(memory, 1)
    assert checks(memory.health(ME))["erasure"].status == "ok"


def test_warnings_of_the_settings_are_told(tmp_path: Path, toy: Any) -> None:
    settings = Settings(data_dir=tmp_path, warnings=("unknown setting X is ignored",))
    with Memory(settings, embedder=toy) as memory:
        report = memory.health(ME)
    assert checks(report)["settings"].detail == "unknown setting X is ignored"
    assert report.status == "degraded"


def test_the_journal_is_scrubbed_in_the_background_and_damage_is_told(
    open_memory: Any, quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage that comes while the program runs is found without anybody reading the memory."""
    memory = open_memory()
    memory.remember(ME, RememberRequest(HERON))
    rounds(memory, 1)
    assert memory.health(ME).storage["last_scrub"] is None
    connection = apsw.Connection(str(tmp_path / "store" / "journal.db"))
    connection.execute("UPDATE changes SET body = replace(body, 'weir', 'wear')")
    connection.close()
    assert checks(memory.health(ME))["journal"].status == "ok"
    monkeypatch.setattr(upkeep(memory), "_next_scrub", 0.0)
    rounds(memory, 1)
    report = memory.health(ME)
    assert report.storage["last_scrub"] is not None
    assert checks(report)["journal"].status == "failing"
    assert "damaged" in checks(report)["journal"].detail
    assert "checksums compared 0 s ago" in checks(report)["upkeep"].detail
