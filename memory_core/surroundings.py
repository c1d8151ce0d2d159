"""What the health report says of the disk, the clock, the upkeep and what was set aside."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from memory_core.errors import StorageError
from memory_core.maintenance.loop import Maintenance
from memory_core.records import Check
from memory_core.storage.generations import Generations
from memory_core.maintenance.table_sync import TABLE
from memory_core.storage.store import MemoryStore
from memory_core.storage.index.vector_source import INDEX

HEADROOM = 200 * 2**20
"""Free bytes under which the disk counts as nearly full."""

CLOCK_SECONDS = 86400.0
"""How far the newest memory may lie ahead of the clock: time zones set wrongly come to less."""

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ceph"})
"""File systems whose locks or syncs cannot be relied on."""

_MOUNTS = Path("/proc/self/mountinfo")


def disk(store: MemoryStore) -> Check:
    """Room for more, and a file system that locks and syncs."""
    free, system = free_bytes(store.directory), file_system(store.directory)
    if system in NETWORK:
        detail = f"the data directory is on a network file system ({system}): locks may not hold"
        return Check("disk", "degraded", detail, "move it to a local disk")
    if free < HEADROOM:
        return Check("disk", "degraded", f"{free // 2**20} MiB free", "free some space")
    return Check("disk", "ok", f"{free // 2**20:,} MiB free")


def free_bytes(directory: Path) -> int:
    """Bytes that can still be written there. Raises StorageError when the directory is gone."""
    try:
        return shutil.disk_usage(directory).free
    except OSError as problem:
        raise StorageError(
            f"the data directory is gone ({problem.strerror})", "bring it back"
        ) from None


def file_system(directory: Path) -> str:
    """The type of the file system that holds *directory*, as Linux names it; else ""."""
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
    """Whether the clock has gone back behind what was recorded; order does not depend on it."""
    with store.reading():
        recorded = store.columns.recorded_at[store.columns.live]
        newest = float(recorded.max()) if recorded.size else now
    ahead = newest - now
    if ahead > CLOCK_SECONDS:
        detail = f"the newest memory was recorded {ahead / 86400:,.0f} days after what is now today"
        return Check("clock", "degraded", detail, "set the clock of this machine")
    return Check("clock", "ok")


def upkeep(store: MemoryStore, maintenance: Maintenance, now: float) -> Check:
    """Who keeps what is derived from the journal, and how far it has come."""
    lag, keeper = store.journal.last() - store.applied, maintenance.keeper
    who = "this process" if maintenance.holder else f"process {keeper}" if keeper else "nobody yet"
    parts = [f"kept by {who}", f"{lag} changes to apply"]
    if store.applied_at is not None:
        parts.append(f"last apply {max(0.0, now - store.applied_at):.0f} s ago")
    last = maintenance.inspection.last()
    if last:
        parts.append(f"every file read through {max(0.0, now - last['at']) / 3600:.0f} h ago")
    if maintenance.scrubbed_at is not None:
        parts.append(f"checksums compared {max(0.0, now - maintenance.scrubbed_at):.0f} s ago")
    detail = ", ".join(parts)
    steps = ("journal", "lock", "accesses", "log", "inspection", "reserve")
    problems = [f"{s}: {maintenance.problems[s]}" for s in steps if s in maintenance.problems]
    if problems:
        return Check("upkeep", "degraded", f"{detail}; {problems[0]}", "it is tried again")
    if last.get("problems"):
        found = f"{detail}; it found: {last['problems'][0]}"
        return Check("upkeep", "degraded", found, "call health with repair, which looks again")
    return Check("upkeep", "ok", detail)


def set_aside(store: MemoryStore) -> list[str]:
    """Folders that were found damaged and kept for people to look at, such as table/3.damaged."""
    roots = [store.directory / name for name in (TABLE, INDEX)]
    return [
        f"{root.name}/{path.name}" for root in roots for path in Generations(root).quarantined()
    ]


def quarantine(store: MemoryStore) -> Check:
    """What was set aside; the journal serves, or a new one was built."""
    found = set_aside(store)
    if not found:
        return Check("set aside", "ok", "nothing was found damaged")
    detail = f"damaged and set aside: {', '.join(found)}"
    return Check("set aside", "repaired", detail, "`anamnesis health --repair` removes them")
