"""The walk of an import: read -> gate -> known? -> take, as one run that can be undone.

The ids of memories are made from what the source calls them, so an import that was killed is
resumed, and one that is repeated adds only what is new. Conversations come word for word, those
with an agent at work through the gate of passive capture; nothing is summarised.
"""

from __future__ import annotations

import logging
import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from memory_core.beliefs import quoted, relevance
from memory_core.config import Settings
from memory_core.consolidate.run_log import IMPORT, PATIENCE, RunLog, RunRequest
from memory_core.errors import InvalidInput, ScopeDenied, stop_if_abandoned
from memory_core.importing import own
from memory_core.importing.copies import Conversations, without_copies
from memory_core.importing.request import SAMPLE_CHARS, SAMPLES, ImportReport, ImportRequest
from memory_core.importing.slots import Holding, Slots, matched
from memory_core.interchange.files import File, Unread, files, unreadable
from memory_core.interchange.found import OWN, TODAY, Entry, Incoming, LeftOut, Problem, SourceForm
from memory_core.interchange.parsing import moment
from memory_core.interchange.sources import registry
from memory_core.interchange.sources.okf import edited_form
from memory_core.lifecycle import stamps
from memory_core.records import (
    Identity,
    Link,
    MemoryRecord,
    Receipt,
    content_hash,
    id_of,
    is_id,
    new_id,
    repeat_key,
)
from memory_core.remember import draft
from memory_core.remember.merge import Brought
from memory_core.remember.writer import Writer
from memory_core.storage.store import MemoryStore
from memory_core.text import secrets
from memory_core.validation import LABEL_CHARS, LABELS_MOST, SOURCE_CHARS, mapping

log = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]

EARLIEST = 631_152_000.0
"""Before 1990 nobody wrote into what is imported here; a date of 1970 is a zero."""

AHEAD_SECONDS = 14 * 3600.0
"""A date without a zone may be so far ahead of UTC."""

_REFUSED = (InvalidInput, ScopeDenied)
"""What the writing of one memory raises that may not be stored; the rest of an import goes on."""

CHECKED = 64
"""Entries between two looks whether an undo asks the import to stop."""


class _Stopped(Exception):
    """An undo asked this import to stop."""


class Importer:
    """Imports into one store; one instance serves all callers."""

    def __init__(
        self, store: MemoryStore, writer: Writer, settings: Settings, clock: Callable[[], float]
    ) -> None:
        """Write to *store* with *writer*; *clock* returns epoch seconds."""
        self._store = store
        self._writer = writer
        self._settings = settings
        self._clock = clock
        self._log = RunLog(store)

    def bring_in(self, who: Identity, record: Mapping[str, Any]) -> Receipt:
        """Import one exported *record*; see Memory.bring_in."""
        memory, links, warnings = self._read(who, record)
        receipt = self._writer.bring_in(who, memory, links, elsewhere=own.brought(record))
        return replace(receipt, warnings=(*receipt.warnings, *warnings))

    def synced(self, who: Identity, record: Mapping[str, Any], of: str) -> Receipt:
        """Bring in the *record* of another machine from the folder *of*; see merge."""
        memory, links, warnings = self._read(who, record)
        times = [stamps.one(link.get("stamp")) for link in record.get("links", ())]
        stamped = list(zip(links, times, strict=True))
        given = Brought(stamps.read(record.get("stamps", {})), stamped, of)
        receipt = self._writer.bring_in(who, memory, (), "", given)
        return replace(receipt, warnings=(*receipt.warnings, *warnings))

    def _read(
        self, who: Identity, record: Mapping[str, Any]
    ) -> tuple[MemoryRecord, list[Link], tuple[str, ...]]:
        """The memory of an exported *record*, its links and warnings, checked."""
        links = draft.links(mapping(record, "record").get("links", ()))
        memory, warnings = own.memory(record, self._clock())
        return draft.imported(who, memory, self._settings.limits), links, warnings

    def run(self, who: Identity, request: ImportRequest, progress: Progress) -> ImportReport:
        """Import what *request* names; see Memory.import_files."""
        if request.strict and not request.dry_run:
            report = self._import(who, replace(request, dry_run=True), progress)
            if report.problem_count:
                report.status = "refused"
                return report
        return self._import(who, request, progress)

    def _import(self, who: Identity, request: ImportRequest, progress: Progress) -> ImportReport:
        with nullcontext() if request.dry_run else self._log.exclusive(PATIENCE):
            work = _Import(self._store, self._settings, who, request, self._clock())
            of = request.called or str(Path(request.path).expanduser().absolute())
            asked = RunRequest(who.agent, IMPORT, of)
            report = work.report
            try:
                for done, found in enumerate(work.entries()):
                    if request.dry_run:
                        stop_if_abandoned()
                        self._preview(work, found)
                        progress(done, 0, "preview")
                        continue
                    if not report.run:
                        report.run = self._begin(asked)
                    if done % CHECKED == 0 and self._log.is_stopping(report.run):
                        raise _Stopped
                    self._take(work, found)
                    progress(done, 0, "import")
            except _Stopped:
                self._log.fail(report.run, who.agent, "stopped")
                report.status = "stopped"
                return report
            report.status = "preview" if request.dry_run else "completed"
            if not (report.run or request.dry_run):  # killed when everything was there but its end
                report.run = self._log.unfinished_import(asked.actor, asked.session)
            if report.run:
                self._log.end_import(report.run, asked, report.counts)
        return report

    def _begin(self, asked: RunRequest) -> str:
        """The id of the run, which is that of an import of the same that did not end."""
        run = self._log.unfinished_import(asked.actor, asked.session) or new_id(self._clock())
        self._log.start(run, asked)
        return run

    def _preview(self, work: _Import, each: _New) -> None:
        try:
            memory, _, _ = self._checked(work.who, each)
        except _REFUSED as problem:
            work.report.problem(each.found.place, str(problem))
            return
        new = each.found.record is None or not each.replaces
        refused = new and self._writer.refuses(work.who, memory)
        if not refused:
            work.report.hidden(work.who, memory)
        if refused or (new and work.repeats(memory)):
            work.report.counts["refused" if refused else "reinforced"] += 1
            return
        status = "changed" if each.replaces else "new"
        if len(work.report.samples) < SAMPLES:
            work.report.samples.append(work.masked(memory.text)[:SAMPLE_CHARS])
        work.report.took(status, each.found.when, each.found.dated)

    def _checked(self, who: Identity, each: _New) -> tuple[MemoryRecord, list[Link], Brought]:
        """What *each* brings. Raises one of _REFUSED when it may not be stored."""
        if each.found.record is not None:
            record = each.found.record
            return *self._read(who, record)[:2], own.brought(record)
        assert each.memory is not None
        return draft.imported(who, each.memory, self._settings.limits), [], Brought()

    def _take(self, work: _Import, each: _New) -> None:
        found, report = each.found, work.report
        try:
            memory, links, given = self._checked(work.who, each)
            if found.record is not None:
                receipt = self._writer.bring_in(work.who, memory, links, report.run, given)
            else:
                receipt = self._writer.take(work.who, memory, each.replaces, report.run)
        except _REFUSED as problem:
            report.problem(found.place, str(problem))
            return
        report.took(receipt.status, found.when, found.dated)
        report.doubts += receipt.doubts
        if receipt.status != "refused":
            report.hidden(work.who, memory)
        if found.slot and each.memory is not None and receipt.status != "refused":
            work.slots.put(each.memory.source, receipt.id, each.memory, each.replaces)


class _New:
    """An entry that is not stored yet: what was *found*, as a memory, and what it *replaces*."""

    __slots__ = ("found", "memory", "replaces")

    def __init__(self, found: Incoming, memory: MemoryRecord | None, replaces: str = "") -> None:
        self.found = found
        self.memory = memory
        self.replaces = replaces


class _Import:
    """One import: what it reads, and its report."""

    def __init__(
        self,
        store: MemoryStore,
        settings: Settings,
        who: Identity,
        request: ImportRequest,
        now: float,
    ) -> None:
        self.who = who
        self.report = ImportReport()
        self.slots = Slots(store, who)
        self._store = store
        self._settings = settings
        self._request = request
        self._now = now
        self._session = ""
        self._seen: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._previewed: set[str] = set()

    def entries(self) -> Iterator[_New]:
        """What is to be written, in the order of the source; the rest is noted in the report.

        Raises InvalidInput when no file has a known form.
        """
        taken = (each for each in self._found() if self._taken(each))
        told = Conversations(self._store, self.who)
        found = without_copies(taken, told, self._as_stored, self.report.left_out)
        for (slot, many), group in groupby(found, lambda each: (each.slot, each.many)):
            if slot and many:
                yield from self._changed(list(group))
            else:
                yield from (new for each in group if (new := self._new(each)) is not None)

    # Reading

    def _found(self) -> Iterator[Incoming]:
        """Everything that the source holds, with dates that can be."""
        for file, form in self._files():
            entries = form.read(file)
            while True:
                try:
                    entry = next(entries, None)
                except InvalidInput as problem:
                    self.report.problem(file.name, str(problem))
                    break
                except OSError as problem:
                    self.report.problem(file.name, unreadable(problem))
                    break
                if entry is None:
                    break
                if (found := self._noted(form, entry)) is not None:
                    yield found

    def _files(self) -> Iterator[tuple[File, SourceForm]]:
        request, any_known = self._request, False
        asked = registry.forms(request.form, request.columns)
        for file in files(request.path, request.encoding, request.origin):
            if isinstance(file, Unread):
                self.report.problem(file.name, file.why)
                continue
            alone = "/" not in file.name and not Path(request.path).is_dir()
            try:
                form = asked[0] if request.form and alone else registry.form_of(file, asked)
            except InvalidInput as problem:
                self.report.problem(file.name, str(problem))
                continue
            except OSError as problem:
                self.report.problem(file.name, unreadable(problem))
                continue
            if form is None:
                self.report.not_known(file.name)
                continue
            any_known = True
            yield file, form
        if not any_known:
            looked = "; ".join(f"{form.name}: {form.about}" for form in asked)
            why = f" ({self.report.problems[0]})" if self.report.problems else ""
            raise InvalidInput(
                f"nothing in {request.origin or request.path} has a known form{why}. "
                f"Looked for {looked}",
                "name the form with --from, and the columns of a table with --column text=NAME; "
                "seed stores each line of a plain text",
            )

    def _noted(self, form: SourceForm, entry: Entry) -> Incoming | None:
        self.report.forms[form.name] += 1
        if isinstance(entry, Problem):
            self.report.problem(entry.place, entry.what)
            return None
        if isinstance(entry, LeftOut):
            self.report.left_out[entry.reason] += 1
            return None
        if entry.record is not None:
            return self._read(entry, entry.record)
        if not self._may_be_dated(entry.when, entry.place):
            entry = replace(entry, when=self._now, dated=TODAY)
        return replace(entry, key=f"{form.name}\x1f{entry.key}")

    def _read(self, entry: Incoming, record: Mapping[str, Any]) -> Incoming | None:
        """The *entry* of our own form, what is not taken of it noted; None when it is wrong."""
        try:
            record = own.with_when(record, self._now)
            _, warnings = own.memory(record, self._now)
        except InvalidInput as problem:
            self.report.problem(entry.place, str(problem))
            return None
        for warning in warnings:
            self.report.problem(entry.place, warning)
        return replace(entry, record=record)

    def _may_be_dated(self, when: float, place: str) -> bool:
        """False, and noted, for a date that nothing is written on."""
        if EARLIEST <= when <= self._now + AHEAD_SECONDS:
            return True
        said = "before 1990" if when < EARLIEST else "in the future"
        self.report.problem(place, f"its date is {said}; it is dated today")
        return False

    # What of it is new

    def _taken(self, found: Incoming) -> bool:
        """False for a turn that the gate drops, and for an id that comes a second time."""
        if found.record is not None:
            return True
        if found.turn:
            if not (text := relevance.without_recalled(found.text).strip()):
                self.report.left_out["echo of recalled text"] += 1
                return False
            if found.gated and (reason := relevance.kept(text, found.role)[1]):
                self.report.left_out[reason] += 1
                return False
        if found.many or found.replaces:
            return True
        if found.session != self._session and not found.slot:
            self._session, self._seen = found.session, {}
        if found.slot and found.dated == OWN:
            return True  # a later value of the same
        text, before = content_hash(found.text), self._seen.get(found.key)
        self._seen.setdefault(found.key, text)
        if before is not None and before != text:
            self.report.problem(found.place, "its id came before with another text, which is taken")
        elif before is not None:
            self.report.left_out["the same once more"] += 1
        return before is None

    def _new(self, found: Incoming) -> _New | None:
        """*found* as what is to be written; None when it is known."""
        if found.record is not None:
            return self._own(found)
        held = self.slots.held(self._source(found)) if found.slot and not found.replaces else {}
        id = self._id(found)
        if self._known(id, found) or (found.ours and self.slots.says(found.text)):
            self.report.counts["reinforced"] += 1
            return None
        current = max(held.values(), key=lambda each: each.when, default=None)
        if found.replaces:
            current = self._edited(found)
            if current is not None and not self._may_replace(current.id):
                why = f"{current.id} belongs to another agent; ask its owner or an admin"
                self.report.problem(found.place, why)
                return None
        if self._is_older(found, current):
            return None
        return self._written(found, self._again(id, current), current)

    def _is_older(self, found: Incoming, current: Holding | None) -> bool:
        """True, and counted, when *found* is of an older export than the *current* text."""
        older = current is not None and found.dated == OWN and found.when < current.when
        if older:
            self.report.left_out["older than what is known"] += 1
        return older

    def _own(self, found: Incoming) -> _New | None:
        """A record of our own form; the writer says whether it is known.

        One with an id was remembered with its date, whatever that is; one without was made by hand.
        """
        record = found.record or {}
        id = record.get("id")
        if isinstance(id, str) and is_id(id) and (text := own.text_of(record)):
            known = self._says_already(id, text)
            if known not in ("", content_hash(text)):
                if self._stored(id) and record.get("content_hash") == known:
                    return self._new(edited_form(record, found.place, found.when))
                self.report.problem(
                    found.place, "its id came before with another text, which stays"
                )
                return None
        when = moment(record.get("occurred_at"))
        if when is not None and id is None and not self._may_be_dated(when, found.place):
            dated = {name: each for name, each in record.items() if name != "occurred_at"}
            when, found = None, replace(found, record=dated, dated=TODAY)
        found = replace(found, when=self._now if when is None else when)
        if self._request.dry_run and isinstance(id, str) and is_id(id) and self._there(id):
            if self._later(id, record.get("stamps")):
                return _New(found, None, id)
            self.report.counts["reinforced"] += 1
            for memory in self._store.memories([id]).values():
                self.report.hidden(self.who, memory)
            return None
        return _New(found, None)

    def _says_already(self, id: str, text: str) -> str:
        """The hash of what the memory *id* says, here or in this preview; "" for a new one."""
        memory = self._store.memories([id]).get(id) if self._stored(id) else None
        if memory is not None:
            same = content_hash(self.masked(text)) == memory.content_hash
            return content_hash(text) if same else memory.content_hash
        return self._ids.setdefault(id, content_hash(text)) if self._request.dry_run else ""

    def _later(self, id: str, given: Any) -> bool:
        """True when the stamps *given* of a record are later than those of the memory *id*."""
        try:
            read = stamps.read(given or {})
        except InvalidInput:
            return True  # the preview names it
        mine = stamps.stamps(self._store.journal, id)
        return any(stamp > mine.of(name) for name, stamp in read.items())

    def _may_replace(self, id: str) -> bool:
        """False for a memory that belongs to another agent, or whose successor does."""
        seen: set[str] = set()
        while not (id in seen or self.who.admin):
            seen.add(id)
            memory = self._store.memories([id]).get(id)
            if memory is None:
                return True
            if memory.agent != self.who.agent:
                return False
            id = memory.superseded_by
        return True

    def _edited(self, found: Incoming) -> Holding | None:
        """The memory that *found* is an edited form of; None when it is not here."""
        memory = self._store.memories([found.replaces]).get(found.replaces)
        if memory is None or not self._stored(found.replaces):
            return None
        return Holding(memory.id, memory.text, -math.inf)  # an edit is later than what it edits

    def _changed(self, group: Sequence[Incoming]) -> Iterator[_New]:
        """What is new in a place that holds several texts, and what takes the place of what."""
        held = dict(self.slots.held(self._source(group[0])))
        new: list[tuple[str, Incoming]] = []
        for found in group:
            id = self._id(found)
            if held.pop(id, None) is not None or self._known(id, found):
                self.report.counts["reinforced"] += 1
            else:
                new.append((id, found))
        olds = list(held.values())
        places = matched([found.text for _, found in new], olds)
        self.report.gone += len(olds) - len(places)
        for place, (id, found) in enumerate(new):
            current = places.get(place)
            if self._is_older(found, current):
                continue
            yield self._written(found, self._again(id, current), current)

    def _written(self, found: Incoming, id: str, current: Holding | None) -> _New:
        memory = self._memory(found, id)
        if current is None:
            return _New(found, memory)
        for old in self._store.memories([current.id]).values():
            memory = replace(memory, agent=old.agent, team=old.team, visibility=old.visibility)
        return _New(found, memory, current.id)

    def _known(self, id: str, found: Incoming) -> bool:
        """True when *id* is stored, and is not the old self of what was changed back."""
        if not self._stored(id):
            return False
        memory = self._store.memories([id]).get(id) if found.slot else None
        if memory is None or not memory.replaced:
            return True
        return found.dated == OWN and found.when <= memory.occurred_at

    def _again(self, id: str, current: Holding | None) -> str:
        """*id*, or another one for a text that is said again in the place of *current*."""
        while self._stored(id) and current is not None:
            id = id_of(f"{id}\x1f{current.id}", None)
        return id

    def _stored(self, id: str) -> bool:
        return self._store.may_read(self.who, id)

    def _there(self, id: str) -> bool:
        """True for a memory that an import may write again, which an admin need not see."""
        return self._stored(id) or (self.who.admin and bool(self._store.memories([id])))

    def _id(self, found: Incoming) -> str:
        name = (self.who.agent, self.who.team, found.key, content_hash(found.text))
        parts = name if found.slot else name[:3]
        return id_of("\x1f".join(parts), found.when if found.dated == OWN else None)

    # As a memory

    def _as_stored(self, found: Incoming) -> MemoryRecord:
        return self._memory(found, self._id(found))

    def _source(self, found: Incoming) -> str:
        """The source as it is stored: within its length, without secrets."""
        return self.masked(_shortened(found.source, SOURCE_CHARS))

    def repeats(self, memory: MemoryRecord) -> bool:
        """True when *memory*, as it will be stored, repeats one that is there or came before it."""
        stored = replace(memory, text=self.masked(memory.text))
        key = repeat_key(stored)
        if key is None:
            return False
        if key in self._previewed:
            return True
        self._previewed.add(key)
        return self.slots.repeats(stored)

    def masked(self, text: str) -> str:
        """*text* without secrets, as the settings want."""
        personal = self._settings.limits.secrets != "mask_keys_only"
        return secrets.mask(text, personal_too=personal)[0]

    def _memory(self, found: Incoming, id: str) -> MemoryRecord:
        text = _said(found)
        pasted = found.turn and found.role in quoted.SPEAKING and quoted.is_content(text)
        memory = MemoryRecord(
            id=id,
            text=text,
            agent=self.who.agent,
            team=self.who.team,
            session=_label(found.session),
            speaker=_label(found.speaker),
            role=found.role,
            kind=found.kind,
            tags=tuple(dict.fromkeys(_label(tag) for tag in found.tags))[:LABELS_MOST],
            entities=tuple(_shortened(name, SOURCE_CHARS) for name in found.entities)[:LABELS_MOST],
            occurred_at=found.when,
            source=self._source(found),
            trust="quoted" if pasted else "import",
        )
        return memory


def _said(found: Incoming) -> str:
    """The text of *found*; of a turn without what was recalled for it, or added by a client.

    Of a turn beside the output of a program, what somebody wrote.
    """
    if not found.turn:
        return found.text
    text = relevance.without_recalled(found.text)
    if found.gated:
        text = relevance.without_blocks(relevance.kept(text, found.role)[0])
    return text.strip()


def _label(text: str) -> str:
    """*text* as one line of a label's length."""
    line = "".join(" " if unicodedata.category(char) == "Cc" else char for char in text)
    return _shortened(" ".join(line.split()), LABEL_CHARS)


def _shortened(text: str, most: int) -> str:
    """*text* of at most *most* characters; a longer one keeps apart by a hash at its end."""
    return text if len(text) <= most else f"{text[: most - 9]}~{content_hash(text)[:8]}"
