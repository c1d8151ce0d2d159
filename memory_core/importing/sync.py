"""The walk of a sync: read what other machines wrote -> merge -> write what changed here.

Both directions can be repeated: a record is the whole state of a memory, and merging it twice, or
in another order, changes nothing more.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_core.consolidate.run_log import PATIENCE, RunLog
from memory_core.errors import InvalidInput, MemoryCoreError, NotFound, ScopeDenied, TooLarge
from memory_core.importing.request import PROBLEMS_MOST
from memory_core.importing.walk import Importer, Progress
from memory_core.interchange import folder, jsonl
from memory_core.interchange.folder import SyncFolder
from memory_core.interchange.found import Problem
from memory_core.lifecycle import stamps
from memory_core.records import (
    DERIVED,
    Change,
    Identity,
    Link,
    MemoryRecord,
    content_hash,
    is_id,
    new_id,
)
from memory_core.remember import merge
from memory_core.storage.backup import copies
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore

Forget = Callable[[Identity, Sequence[str], str, bool], object]
"""(who, ids, reason, never_again): forgets memories for good."""

BATCH = 500
"""Records that are held in memory and appended at once."""

_STATE = "sync "
"""Begins the meta keys of how far this machine is with a folder; a hash of its path follows."""


@dataclass(slots=True)
class SyncReport:
    """What a sync did.

    `counts` are what came, by status: stored, changed, reinforced (known), refused (its text was
    forgotten here), forgotten. `sent` are memories, `sent_forgotten` forgotten ones that were
    written; `erased` lines on forgotten memories that were overwritten in this machine's files.
    """

    machine: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    sent_forgotten: int = 0
    erased: int = 0
    waiting: int = 0
    """Links of which a memory has not arrived yet."""
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0

    def problem(self, place: str, what: object) -> None:
        """Note what is wrong at *place*."""
        self.problem_count += 1
        if len(self.problems) < PROBLEMS_MOST:
            self.problems.append(f"{place}: {what}")


class Syncer:
    """Keeps one store in step with others through folders; one instance serves all callers."""

    def __init__(
        self, store: MemoryStore, importer: Importer, forget: Forget, clock: Callable[[], float]
    ) -> None:
        """Write to *store* with *importer*; *clock* returns epoch seconds."""
        self._store = store
        self._importer = importer
        self._forget = forget
        self._clock = clock
        self._log = RunLog(store)

    def run(self, who: Identity, place: str, progress: Progress) -> SyncReport:
        """Exchange with the folder *place*; see Memory.sync."""
        if not who.admin or not who.reader:
            raise ScopeDenied(
                "a sync reads and writes for all agents", "use the rights of an admin"
            )
        shared = SyncFolder(place)
        of = hashlib.sha256(os.fsencode(shared.path.resolve())).hexdigest()[:16]
        with self._log.exclusive(PATIENCE):
            self._store.catch_up()
            work = _Sync(self._store, self._importer, self._forget, who, shared, of)
            work.report.machine = work.machine = self._machine(shared, work.state)
            work.receive(progress)
            work.send(progress)
            if work.report.sent:
                at = str(Path(place).expanduser().absolute())
                copies.note_export(self._store, who, at, self._clock())
        return work.report

    def _machine(self, shared: SyncFolder, state: Mapping[str, Any]) -> str:
        """The id of this machine; a new one for a copy of a memory that goes on elsewhere.

        Its own files then hold more than it knows of, and are read like those of another machine.
        """
        machine = str(self._store.journal.meta(stamps.MACHINE) or "")
        known, writing = state.get("own", {}), state.get("writing", "")
        found = shared.sizes(machine) if machine else {}
        more = [n for n, size in found.items() if size > known.get(n, 0) and n != writing]
        if machine and not more:
            return machine
        made = new_id(self._clock())
        values: dict[str, Any] = {stamps.MACHINE: made}
        if machine:
            before = self._store.journal.meta(stamps.MACHINES_BEFORE) or []
            values[stamps.MACHINES_BEFORE] = [*before, machine]
        changes = [Change("meta", key, {"value": values[key]}, source="sync") for key in values]

        def note(tx: Transaction) -> None:
            for change in changes:
                tx.append(change)

        self._store.commit(note)
        return made


class _Sync:
    """One sync: how far it is, and its report."""

    def __init__(
        self,
        store: MemoryStore,
        importer: Importer,
        forget: Forget,
        who: Identity,
        shared: SyncFolder,
        of: str,
    ) -> None:
        self.machine = ""
        self.report = SyncReport()
        self.state: dict[str, Any] = dict(store.journal.meta(_STATE + of) or {})
        self._store = store
        self._importer = importer
        self._forget = forget
        self._who = who
        self._folder = shared
        self._of = of
        self._waiting: list[list[Any]] = list(self.state.get("waiting", []))

    def _save(self, **values: Any) -> None:
        """Journal how far the sync is, if that is not known yet."""
        state = {**self.state, **values}
        if state != self.state:
            self.state = state
            change = Change("meta", _STATE + self._of, {"value": state}, source="sync")
            self._store.commit(lambda tx: tx.append(change))

    # What came

    def receive(self, progress: Progress) -> None:
        """Merge what the other machines have written since."""
        reached = dict(self.state.get("read", {}))
        for name, path in self._folder.others(self.machine):
            start = reached.get(name, 0)
            if path.stat().st_size < start:
                start = 0  # another file has its name
            try:
                for end, found in folder.read(name, path, start):
                    self._take(found, f"{name}, before byte {end}")
                    reached[name] = end
                    progress(sum(self.report.counts.values()), 0, "receive")
            except MemoryCoreError as problem:  # the rest of the file is read next time
                self.report.problem(name, problem)
        self._waiting = [each for each in self._waiting if not self._arrived(each)]
        self.report.waiting = len(self._waiting)
        self._save(read=reached, waiting=self._waiting)

    def _take(self, found: dict[str, Any] | Problem | None, place: str) -> None:
        if found is None:
            return
        if isinstance(found, Problem):
            self.report.problem(found.place, found.what)
            return
        try:
            self._forgotten(found) if "forgotten" in found else self._memory(found)
        except (InvalidInput, TooLarge, ScopeDenied) as problem:
            self.report.problem(place, problem)

    def _memory(self, record: Mapping[str, Any]) -> None:
        if not is_id(str(record.get("id", ""))):
            raise InvalidInput("a memory without id", "sync the machine that wrote it again")
        text, written = record.get("text"), record.get("content_hash")
        if written and isinstance(text, str) and written != content_hash(text):
            raise InvalidInput(
                f"the text of {record['id']} is not the one that its machine wrote",
                "delete this file, and sync that machine again",
            )
        receipt = self._importer.synced(self._who, record, self._of)
        self.report.counts[receipt.status] += 1
        if receipt.replaced:
            self._waiting.append([*receipt.replaced])
        if receipt.status in ("refused", merge.GONE):
            return
        self._waiting += [
            [link["a"], link["b"], link["kind"], link["weight"], link["stamp"]]
            for link in record.get("links", ())
            if not self._store.may_read(self._who, link["b"])
        ]

    def _forgotten(self, record: Mapping[str, Any]) -> None:
        id, stamp = record["forgotten"], stamps.one(record.get("stamp"))
        never_again = record.get("never_again") is True
        if not (isinstance(id, str) and is_id(id)):
            raise InvalidInput("a forgotten memory without id", "sync its machine again")

        def note(tx: Transaction) -> bool:
            return merge.note_forgotten(tx, id, stamp, self._of, never_again=never_again)

        if self._store.commit(note) or self._lives_wrongly(id, stamp):
            try:
                self._forget(self._who, [id], stamps.ELSEWHERE, never_again)
            except NotFound:
                return  # somebody forgot it just now
            self.report.counts[merge.GONE] += 1

    def _lives_wrongly(self, id: str, stamp: stamps.Stamp) -> bool:
        """True when an earlier sync noted that *id* was forgotten and was killed before it went."""
        return (
            self._store.may_read(self._who, id)
            and stamps.stamps(self._store.journal, id).of(stamps.BORN) < stamp
        )

    def _arrived(self, waiting: Sequence[Any]) -> bool:
        """True when what was waiting is settled: a doubt (two ids) or a link."""

        def settle(tx: Transaction) -> bool:
            if len(waiting) == 2:
                return merge.put_doubt(tx, self._who, *waiting)
            stamp = stamps.one(waiting[4])
            return merge.put_link(tx, self._who, Link(*waiting[:4]), stamp, self._of)

        return self._store.commit(settle)

    # What goes

    def send(self, progress: Progress) -> None:
        """Write what was changed here, or came from elsewhere, since the last time."""
        own, known = self._folder.sizes(self.machine), dict(self.state.get("own", {}))
        lost = any(own.get(name, -1) < size for name, size in known.items())
        after = 0 if lost or not own else int(self.state.get("after", 0))
        last = self._store.journal.last()
        changed, gone, erased = self._since(after, last, "" if lost else self._of)
        for number, batch in enumerate(_batches(self._lines(changed, gone))):
            name = self._folder.next_name(own, fresh=lost and not number)
            self._save(writing=name)
            own[name] = self._folder.append(self.machine, name, batch)
            self.report.sent += sum("text" in each for each in batch)
            self.report.sent_forgotten += sum("forgotten" in each for each in batch)
            progress(self.report.sent, 0, "send")
        if erased:
            before = self._store.journal.meta(stamps.MACHINES_BEFORE) or []
            for machine in (self.machine, *before):  # a machine that was restored is there no more
                self.report.erased += self._folder.blank(machine, erased)
        if self.report.sent or self.report.sent_forgotten or erased or lost:
            self._save(after=last, own=own, writing="")

    def _since(
        self, after: int, last: int, of: str
    ) -> tuple[dict[str, None], dict[str, None], set[str]]:
        """The ids that were changed and forgotten since, without what came from the folder *of*,
        and those whose lines are to go."""
        changed: dict[str, None] = {}
        gone: dict[str, None] = {}
        erased: set[str] = set()
        while after < last:
            batch = self._store.journal.changes(after, BATCH)
            if not batch:
                break
            after = batch[-1].seq
            batch = [each for each in batch if not stamps.ends_probe(each)]
            some, lost = stamps.touched(batch, of)
            changed |= some
            gone |= lost
            erased |= {change.target for change in batch if change.kind == "forget"}
        live = {id for id in erased if self._store.may_read(self._who, id)}
        return changed, gone, erased - live

    def _lines(
        self, changed: Mapping[str, None], gone: Mapping[str, None]
    ) -> Iterator[dict[str, Any]]:
        ids = list(changed)
        for start in range(0, len(ids), BATCH):
            part = [id for id in ids[start : start + BATCH] if self._store.may_read(self._who, id)]
            for id, memory in self._store.memories(part).items():
                if memory.kind not in DERIVED:  # each machine derives its own
                    yield self._record(id, memory)
        for id in gone:
            mine = stamps.stamps(self._store.journal, id)
            if mine.of(stamps.BORN) <= mine.forgotten:
                yield {
                    "forgotten": id,
                    "stamp": list(mine.forgotten),
                    "never_again": self._never_again(id),
                }

    def _record(self, id: str, memory: MemoryRecord) -> dict[str, Any]:
        mine = stamps.stamps(self._store.journal, id)
        links = [
            {"a": id, "b": b, "kind": kind, "weight": mine.weights[b, kind], "stamp": list(stamp)}
            for (b, kind), stamp in sorted(mine.links.items())
        ]
        more = {"links": links, "stamps": mine.exported()}
        return jsonl.to_record(memory) | {name: value for name, value in more.items() if value}

    def _never_again(self, id: str) -> bool:
        noted = self._store.journal.meta(stamps.FORGOTTEN + id) or {}
        told = [c.body or {} for c in self._store.journal.history(id) if c.kind == "forget"]
        return bool(noted.get("never_again")) or any(body.get("digests") for body in told)


def _batches(lines: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for line in lines:
        batch.append(line)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
