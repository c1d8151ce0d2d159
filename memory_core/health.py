"""The health report: a real round trip through the store, then one check for each part."""

from __future__ import annotations

import importlib.metadata
import platform
import random
import shlex
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from memory_core import browse
from memory_core.config import Settings
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import Busy, MemoryCoreError, NotFound, StorageError
from memory_core.lifecycle import stamps
from memory_core.maintenance.loop import Maintenance
from memory_core.maintenance.table_sync import TABLE
from memory_core.recall.query import Query
from memory_core.records import TRUSTS, Change, Check, HealthReport, Identity, MemoryRecord
from memory_core.remember.draft import Draft
from memory_core.runtime import Parts, Runtime
from memory_core.storage.generations import Generations
from memory_core.storage.index.vector_source import INDEX
from memory_core.storage.journal.errors import RESTORE
from memory_core.storage.ownership import foreign, remedy
from memory_core.storage.store import EMBEDDING, MemoryStore

PROBE_AGENT = "anamnesis-health"
"""The probe is private to this agent, so no other agent recalls it."""

PROBE = "Health probe {:06d}: the quick heron waits by the quiet weir."
"""Each probe has a random number, so two concurrent reports do not find each other's probe."""

PROBE_TAG = "health-probe"
"""Recall of the probe is filtered by this tag, so it counts as an access of no other memory."""

PROBE_SECONDS = 60.0
"""A probe older than this was left behind by a process that was killed."""

HEADROOM = 200 * 2**20
"""Free bytes below which the disk counts as nearly full."""

CLOCK_SECONDS = 86_400.0
"""How far the newest memory may lie ahead of the clock; a wrong time zone shifts by less."""

ERASURE_SECONDS = 60.0
"""Within which forgotten text is erased from every file while a server runs."""

_DATED_ELSEWHERE = ("import", "web", "quoted")

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ceph"})
"""File systems whose locks and syncs are not reliable."""

VENDORS = ("mcp", "lancedb", "faiss-cpu", "apsw", "onnxruntime", "numpy")

SPOOL, SPOOL_DROPPED = "spool", "dropped"
"""The folder in which hooks leave what they were told, and the file with a byte for each that was
dropped; see server.hooks.spool."""

_MOUNTS = Path("/proc/self/mountinfo")
_ORDER = ("ok", "repaired", "degraded", "failing")
_REPAIR = "call health with repair, or run `anamnesis health --repair`"


def report(
    runtime: Runtime, settings: Settings, who: Identity, *, repair: bool, now: float
) -> HealthReport:
    """Check every part of *runtime*; with *repair*, first rebuild what the journal can rebuild.

    Counts and runs are of what *who* may read; only an admin is told those of the whole store.
    *now* is epoch seconds. A check that raises is reported as failing.
    """
    parts, gate = runtime.parts(), runtime.gate
    store, maintenance = parts.store, parts.maintenance
    repaired = _repair(maintenance, gate) if repair else []
    checks = [
        *repaired,
        _guarded("round trip", lambda: _round_trip(parts, now)),
        _guarded("journal", lambda: _journal(store, maintenance, thorough=repair)),
        _guarded("memories", lambda: _memories(store)),
        _guarded("table", lambda: _table(store, maintenance)),
        _guarded("vectors", lambda: _vectors(store, maintenance)),
        _guarded("model", lambda: _model(parts, gate, settings.embedder)),
        _guarded("encoder", lambda: parts.worker.check(who)),
        *([] if parts.worker.local is None else [_guarded("judge", parts.worker.local.check)]),
        _guarded("upkeep", lambda: upkeep(store, maintenance, now)),
        _guarded("set aside", lambda: quarantine(store)),
        _guarded("erasure", lambda: _erasure(maintenance)),
        _guarded("hooks", lambda: hooks(settings.data_dir)),
        _guarded("disk", lambda: disk(store)),
        _guarded("clock", lambda: clock(store, now)),
        *(check for check in [_guarded("rights", lambda: rights(store))] if check.status != "ok"),
        *(Check("settings", "degraded", warning, "correct it") for warning in settings.warnings),
    ]
    if not who.admin:  # a detail counts what all agents stored
        checks = [replace(check, detail="") if check.status == "ok" else check for check in checks]
    worst = max((check.status for check in checks), key=_ORDER.index)
    return HealthReport(
        status="ok" if worst == "repaired" else worst,
        checks=tuple(checks),
        counts=_facts(lambda: browse.stats(store, who)),
        storage=_facts(lambda: _storage(store, maintenance, who)),
        model=_facts(lambda: _model_facts(store, gate)),
        encoder=_facts(parts.worker.budget.report) if who.admin else {},
        jobs=_facts(lambda: parts.worker.counts(who)) if who.admin else {},
        last_run=_facts(lambda: _last_run(store, who)),
        versions=_versions(),
    )


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except MemoryCoreError as problem:
        return Check(name, "failing", problem.problem, problem.next_step)


def _facts(gather: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """The result of *gather*, or its error: a broken part must not hide the rest of the report."""
    try:
        return gather()
    except MemoryCoreError as problem:
        return {"problem": problem.problem}


def hooks(data: Path) -> Check:
    """What hooks have left for the memory to take over, and how many payloads were dropped."""
    folder = data / SPOOL
    waiting = len(list(folder.glob("*.json")))
    try:
        dropped = (folder / SPOOL_DROPPED).stat().st_size
    except OSError:
        dropped = 0
    detail = f"{waiting} waiting, {dropped} dropped"
    if dropped:
        fix = f"too much waited, or a payload could not be read; remove {folder / SPOOL_DROPPED}"
        return Check("hooks", "degraded", detail, fix)
    return Check("hooks", "ok", detail)


# Round trip


def _round_trip(parts: Parts, now: float) -> Check:
    """Write a probe, find it by words (and by meaning when a model is loaded), remove it."""
    who, store = Identity(PROBE_AGENT, encode=False), parts.store
    text = PROBE.format(random.randrange(10**6))
    probe = MemoryRecord(id="", text=text, agent=who.agent, tags=(PROBE_TAG,), occurred_at=now)
    receipt = parts.writer.remember(who, Draft(probe, judged=False))
    try:
        found = parts.reader.recall(who, Query(text, tags=(PROBE_TAG,), context=0))
        ids = [hit.memory.id for hit in (*found.hits, *found.partial)]
    finally:
        _remove(store, [receipt.id, *_left_behind(store, receipt.id)])
    if receipt.id not in ids:
        return Check("round trip", "failing", "a memory just written was not found", _REPAIR)
    if store.may_read(who, receipt.id):
        return Check("round trip", "failing", "a memory just removed is still found", _REPAIR)
    return Check("round trip", "ok", "written, found and removed")


def _left_behind(store: MemoryStore, id: str) -> list[str]:
    """Ids of probes that are too old to belong to a report still running."""
    with store.reading() as view:
        columns = view.columns
        row = columns.row(id)
        if row is None:
            return []
        old = columns.recorded_at < columns.recorded_at[row] - PROBE_SECONDS
        probes = columns.live & (columns.agent == columns.agent[row])
        return [columns.id(each) for each in np.flatnonzero(old & probes).tolist()]


def _remove(store: MemoryStore, ids: list[str]) -> None:
    for id in ids:
        with suppress(NotFound):  # a concurrent report removed it first
            _forget(store, id)


def _forget(store: MemoryStore, id: str) -> None:
    body = {"digests": [], "reason": stamps.PROBE, "erase": False}
    change = Change("forget", id, body, actor=PROBE_AGENT)
    store.commit(lambda tx: tx.forget(change))


# Journal, table, vectors, model


def _journal(store: MemoryStore, maintenance: Maintenance, *, thorough: bool) -> Check:
    if thorough:
        maintenance.scrub()
    store.journal.require_present()
    problems = list(maintenance.damage)
    problems += [why for what, why in store.unusable.entries.items() if what.startswith("change ")]
    if problems:
        return Check("journal", "failing", "; ".join(problems[:3]), RESTORE)
    if store.journal.read_only:
        return Check("journal", "degraded", "it is read-only", "give this user write access")
    facts = store.journal.stats()
    detail = f"{facts['changes']} changes, sequence {store.applied}"
    return Check("journal", "ok", detail + ("; every checksum matches" if thorough else ""))


def rights(store: MemoryStore) -> Check:
    """Whether every file is this user's, and the directory closed to others."""
    directory = store.directory
    if not directory.is_dir():
        return Check("rights", "ok")  # it is gone, which the check of the journal says
    if whose := foreign(directory):
        fix = f"{remedy(directory)}, then restart the server"
        return Check("rights", "degraded", f"{whose}: a command was run as another user", fix)
    mode = stat.S_IMODE(directory.stat().st_mode)
    if mode & 0o077 and sys.platform != "win32":
        detail = f"{directory} can be read by others (mode {mode:o})"
        return Check("rights", "degraded", detail, f"`chmod go= {shlex.quote(str(directory))}`")
    if store.journal.was_open:
        return Check("rights", "repaired", store.journal.was_open)
    return Check("rights", "ok")


def _memories(store: MemoryStore) -> Check:
    """Whether every memory is indexed; one that no index accepts is kept, and named here."""
    wrong = {id: why for id, why in store.unusable.entries.items() if not id.startswith("change ")}
    if not wrong:
        return Check("memories", "ok", "every memory is indexed")
    id, why = next(iter(wrong.items()))
    detail = f"{len(wrong)} cannot be indexed, such as {id}: {why}"
    return Check("memories", "degraded", detail, "export it, correct it and import it again")


def _table(store: MemoryStore, maintenance: Maintenance) -> Check:
    table, behind = store.table, len(store.unsynced)
    problem = maintenance.problems.get("table") or store.table_problem
    if problem:
        detail = f"memories are read from the journal: {problem}"
        return Check("table", "degraded", detail, _REPAIR)
    if table is None:
        return Check("table", "ok", "LanceDB is loading; memories are read from the journal")
    rebuilt = maintenance.table_sync.rebuilds
    detail = f"{table.count()} memories in LanceDB, {behind} still to merge"
    if rebuilt:
        return Check("table", "repaired", f"{detail}; rebuilt {rebuilt} times since the start")
    return Check("table", "ok", detail)


def _vectors(store: MemoryStore, maintenance: Maintenance) -> Check:
    with store.reading() as view:
        index, live = view.vectors, int(view.columns.live.sum())
        if index is None:
            if live == 0:
                return Check("vectors", "ok", "no memories yet")
            return Check("vectors", "degraded", "recall is lexical only", "see the model check")
        held, method = index.rows_with_vectors, index.method
    problem = maintenance.problems.get("vectors") or maintenance.problems.get("snapshot")
    if refused := list(maintenance.refused.values()):
        problem = f"the model refused {len(refused)}, which are tried again ({refused[0][1]})"
    if held < live or problem:
        detail = f"{held} of {live} memories have vectors; {problem or 'the rest are being added'}"
        return Check("vectors", "degraded", detail, "wait, or see the model check")
    return Check("vectors", "ok", f"{held} memories, {method} search")


def _model(parts: Parts, gate: EmbedderGate, setting: str) -> Check:
    """Which model the store uses, whether it is loaded, and which one is replacing it."""
    if gate.problem is not None:
        detail = f"recall is lexical only: {gate.problem.problem}"
        return Check("model", "degraded", detail, gate.problem.next_step)
    if gate.failure is not None:
        detail = f"recall is lexical only, the model does not answer: {gate.failure.problem}"
        return Check("model", "degraded", detail, gate.failure.next_step)
    if gate.embedder is None:
        detail = "the model is loading; recall is lexical only"
        return Check("model", "degraded", detail, "wait a moment")
    name = (parts.store.journal.meta(EMBEDDING) or {}).get("name", setting)
    if gate.embedder.fingerprint != parts.store.fingerprint:
        detail = f"recall is lexical only: {name} makes other vectors here than in the store"
        return Check("model", "degraded", detail, f"`anamnesis reembed {name}`")
    if (target := parts.reembedding.target) is not None:
        left, problem = parts.reembedding.left(), parts.maintenance.problems.get("reembedding")
        detail = f"{name}, until {target['name']} has embedded {left} more memories"
        if problem:
            return Check("model", "degraded", f"{detail}: {problem}", f"`anamnesis reembed {name}`")
        return Check("model", "ok", detail)
    if name != setting:
        detail = f"the store works with {name}, this program is set to {setting}"
        fix = f"`anamnesis reembed {setting}`, or set ANAMNESIS_EMBEDDER to {name}"
        return Check("model", "degraded", detail, fix)
    return Check("model", "ok", f"{gate.embedder.name}, {gate.embedder.dimension} dimensions")


# Maintenance


def upkeep(store: MemoryStore, maintenance: Maintenance, now: float) -> Check:
    """Which process maintains the derived files, how far behind it is, when each check last ran."""
    lag, keeper = store.journal.last() - store.applied, maintenance.keeper
    who = "this process" if maintenance.holder else f"process {keeper}" if keeper else "nobody yet"
    parts = [f"kept by {who}", f"{lag} changes to apply"]
    if store.applied_at is not None:
        parts.append(f"last apply {max(0.0, now - store.applied_at):.0f} s ago")
    last = maintenance.inspection.last()
    if last:
        parts.append(f"every file verified {max(0.0, now - last['at']) / 3600:.0f} h ago")
    if maintenance.scrubbed_at is not None:
        parts.append(f"checksums compared {max(0.0, now - maintenance.scrubbed_at):.0f} s ago")
    detail = ", ".join(parts)
    steps = ("files", "journal", "lock", "accesses", "log", "inspection", "reserve")
    problems = [f"{s}: {maintenance.problems[s]}" for s in steps if s in maintenance.problems]
    if problems:
        return Check("upkeep", "degraded", f"{detail}; {problems[0]}", "it is tried again")
    if last.get("problems"):
        found = f"{detail}; damage found: {last['problems'][0]}"
        return Check("upkeep", "degraded", found, "call health with repair, which verifies again")
    return Check("upkeep", "ok", detail)


def _erasure(maintenance: Maintenance) -> Check:
    if not maintenance.erasing:
        return Check("erasure", "ok", "no file holds forgotten text")
    detail = "forgotten text is still being erased from older files"
    steps = ("table", "snapshot", "erasure")
    problems = [maintenance.problems[step] for step in steps if step in maintenance.problems]
    if problems:
        return Check("erasure", "degraded", f"{detail}: {problems[0]}", "it is tried again")
    if not maintenance.kept:
        detail = "older files hold forgotten text, and no process is erasing it"
        return Check("erasure", "degraded", detail, _REPAIR)
    if (waited := maintenance.pending_seconds) > ERASURE_SECONDS:
        detail = f"older files hold text that was forgotten {waited:.0f} s ago"
        fix = f"restart process {maintenance.keeper}, which keeps the files and does not erase it"
        return Check("erasure", "degraded", detail, fix)
    return Check("erasure", "ok", detail)


def quarantine(store: MemoryStore) -> Check:
    """Names the damaged folders that were set aside; reads go to the journal or to a new copy."""
    found = set_aside(store)
    if not found:
        return Check("set aside", "ok", "no damage was found")
    detail = f"damaged and set aside: {', '.join(found)}"
    return Check("set aside", "repaired", detail, "`anamnesis health --repair` removes them")


def set_aside(store: MemoryStore) -> list[str]:
    """Damaged folders that were kept for inspection, such as table/3.damaged."""
    roots = [store.directory / name for name in (TABLE, INDEX)]
    return [
        f"{root.name}/{path.name}" for root in roots for path in Generations(root).quarantined()
    ]


def _repair(maintenance: Maintenance, gate: EmbedderGate) -> list[Check]:
    """Load the model again if it failed, and rebuild table and snapshot from the journal."""
    gate.retry()
    gate.wait(5.0)
    try:
        maintenance.repair()
    except MemoryCoreError as problem:
        status = "degraded" if isinstance(problem, Busy) else "failing"
        return [Check("repair", status, problem.problem, problem.next_step)]
    return [Check("repair", "repaired", "table and snapshot were rebuilt from the journal")]


# Disk and clock


def disk(store: MemoryStore) -> Check:
    """Whether there is free space, on a file system whose locks and syncs are reliable."""
    free, system = free_bytes(store.directory), file_system(store.directory)
    if system in NETWORK:
        detail = f"the data directory is on a network file system ({system}): locks may not hold"
        return Check("disk", "degraded", detail, "move it to a local disk")
    if free < HEADROOM:
        return Check("disk", "degraded", f"{free // 2**20} MiB free", "free some space")
    return Check("disk", "ok", f"{free // 2**20:,} MiB free")


def free_bytes(directory: Path) -> int:
    """Free bytes on the disk of *directory*. Raises StorageError when the directory is gone."""
    try:
        return shutil.disk_usage(directory).free
    except OSError as problem:
        raise StorageError(
            f"the data directory is gone ({problem.strerror})", "restore it"
        ) from None


def file_system(directory: Path) -> str:
    """The type of the file system that holds *directory*, as Linux names it; "" elsewhere."""
    if sys.platform != "linux":
        return ""
    found, longest = "", -1
    path = directory.resolve()
    for line in _MOUNTS.read_text("utf-8", "replace").splitlines():
        mount, _, system = line.partition(" - ")
        point = mount.split()[4].replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= longest:
            found, longest = system.split()[0], len(point)
    return found


def clock(store: MemoryStore, now: float) -> Check:
    """Whether the clock was set back behind the newest records; order does not depend on it.

    A memory that came from a file may have any date, so imported ones say nothing.
    """
    with store.reading() as view:
        columns = view.columns
        here = columns.live & ~np.isin(columns.trust, [TRUSTS.index(t) for t in _DATED_ELSEWHERE])
        recorded = columns.recorded_at[here]
        newest = float(recorded.max()) if recorded.size else now
    ahead = newest - now
    if ahead > CLOCK_SECONDS:
        detail = f"the newest memory was recorded {ahead / 86_400:,.0f} days after today's date"
        return Check("clock", "degraded", detail, "set the clock of this machine")
    return Check("clock", "ok")


# Facts


def _storage(store: MemoryStore, maintenance: Maintenance, who: Identity) -> dict[str, Any]:
    if not who.admin:
        return {
            "maintenance_holder": maintenance.holder,
            "erasing": maintenance.erasing,
            "set_aside": set_aside(store),
        }
    return {
        "directory": str(store.directory),
        "sequence": store.applied,
        "behind": len(store.unsynced),
        "lag": store.journal.last() - store.applied,
        "last_apply": store.applied_at,
        "last_inspection": maintenance.inspection.last().get("at"),
        "last_scrub": maintenance.scrubbed_at,
        "maintenance_holder": maintenance.holder,
        "maintenance_process": maintenance.keeper,
        "erasing": maintenance.erasing,
        "set_aside": set_aside(store),
        "free_bytes": free_bytes(store.directory),
        **store.journal.stats(),
    }


def _model_facts(store: MemoryStore, gate: EmbedderGate) -> dict[str, Any]:
    meta = store.journal.meta(EMBEDDING) or {}
    return {**meta, "ready": gate.ready}


def _last_run(store: MemoryStore, who: Identity) -> dict[str, Any]:
    runs = [run for run in store.journal.runs() if who.admin or run.actor == who.agent]
    if not runs:
        return {}
    body = dict(runs[0].body or {})
    return {"run": runs[0].target, "state": body.get("state", ""), "at": runs[0].at}


def _versions() -> dict[str, str]:
    names = ("anamnesis-mcp", *VENDORS)
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


@cache
def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "from source"
