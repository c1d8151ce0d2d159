"""The walk of `forget`: what was chosen, what is derived from it, one irreversible transaction.

The journal erases the text of a forgotten memory; this decides what has to go with it. A memory
derived only from forgotten ones is forgotten too, and so is one that holds a piece of their text.
One with other sources left stays, is marked stale and no longer names the forgotten ones. What its
owner said in the same words elsewhere answers as before, and so goes too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from memory_core import history, records, validation
from memory_core.errors import NotFound, ScopeDenied, StorageError
from memory_core.lifecycle.tombstones import SECRET, digests
from memory_core.lifecycle.topics import beginning, label_from
from memory_core.records import (
    Change,
    ForgetReport,
    Identity,
    MemoryRecord,
    Recollection,
    Removal,
    owner_of,
)
from memory_core.scoring import clusters
from memory_core.scoring.arrays import Rows
from memory_core.storage.backup import copies
from memory_core.storage.index.analyzer import index_terms, query_terms
from memory_core.storage.journal.journal import Journal, Transaction
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View
from memory_core.text import normalise, passages
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import content_words

FORGOTTEN = "gone from every answer; erased from every file within a minute while a server runs"
NOTHING = "no memory that you may delete matches"
ERASED = "gone from every answer and erased from every file"

BATCH = 500
"""Memories cleared in one transaction, at 0.2 to 0.7 ms each (measured): the write lock is held for
less than half a second."""

MOST, SHARE = 10, 0.7
"""Memories that a query finds by recall, and as many that recall passes over; and the share of the
best score that each has at least: what is forgotten is gone for good."""

NAMED = 3
"""Ids that a note names."""

_NUMBER = lazy_pattern(r" \([0-9]+\)$")
"""The number that clusters.new_label adds to a label that is taken."""

_Past = tuple[Collection[int], int]
"""Sequences of changes that hold a topic with forgotten text, and up to which sequence that is."""


def found(
    store: MemoryStore, who: Identity, text: str, recalled: Recollection
) -> list[MemoryRecord]:
    """What *text* finds that *who* may forget: the best of what was *recalled*, then what recall
    passes over.

    That is what is out of date or retired and holds every word of *text*, the newest first. What
    only led from there to its successor, which holds none, is left out.
    """
    asked = query_terms(text)
    with store.reading() as view:
        columns = view.columns
        over = view.readable(who) & (columns.superseded | np.isfinite(columns.retired_at))
        ids = [columns.id(row) for row in _holding(view, asked) if over[row]]
    passed = sorted(store.memories(ids).values(), key=_age, reverse=True)
    later, following = set[str](), {memory.superseded_by for memory in passed}
    while following := following - later - {""}:
        later |= following
        following = {memory.superseded_by for memory in store.memories(following).values()}
    answers = [
        memory
        for memory in _best(text, recalled)
        if memory.id not in later or set(asked) & set(index_terms(memory.text))
    ]
    known = {memory.id for memory in answers}
    more = [memory for memory in _own(who, passed) if memory.id not in known]
    return [*_own(who, answers), *more[:MOST]]


def _own(who: Identity, memories: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Those of *memories* that *who* may forget."""
    return [memory for memory in memories if who.admin or memory.agent == who.agent]


def _best(text: str, recalled: Recollection) -> list[MemoryRecord]:
    """What of *recalled* answers *text* about as well as the best of it, best first.

    Of near misses only what holds every word of *text*.
    """
    asked = set(index_terms(text))
    holding = (hit for hit in recalled.partial if asked <= set(index_terms(hit.memory.text)))
    hits = (*recalled.hits, *holding)
    least = SHARE * max((hit.score for hit in hits), default=0.0)
    return [hit.memory for hit in hits if hit.score >= least]


@dataclass(frozen=True, slots=True)
class _Reach:
    """The consequences of forgetting the chosen memories."""

    derived: dict[str, MemoryRecord]
    stale: dict[str, tuple[str, ...]]
    """Ids of memories that stay and become stale, and the sources they have left."""
    topics: dict[str, str]
    """Ids of memories whose topic is called by a forgotten text, and the new label of the topic."""
    heads: frozenset[str]
    """Beginnings of the forgotten texts: labels that topics may have, or have had."""
    going: frozenset[str]
    """Ids of memories that a later batch forgets."""

    def discloses(self, id: str, topic: str) -> bool:
        """True when a *topic* that the memory *id* has, or had, holds forgotten text."""
        if id in self.going:
            return False
        return self.is_head(topic) and self.topics.get(id) != topic

    def is_head(self, topic: str) -> bool:
        """True when *topic* is the beginning of a forgotten text."""
        return _is_head(topic, self.heads)


class Forgetter:
    """Removes memories irreversibly, on request only."""

    def __init__(self, store: MemoryStore, clock: Callable[[], float]) -> None:
        """Forget from *store*."""
        self._store = store
        self._clock = clock
        self._past = PastValues(store.journal, "topic")

    def forget(
        self,
        who: Identity,
        ids: Sequence[str],
        *,
        reason: str,
        never_again: bool,
        confirm: bool,
        repeats: bool | None = True,
        finish: Callable[[], bool] = lambda: False,
    ) -> ForgetReport:
        """What forgetting *ids* removes, in the order given; with *confirm* it is removed.

        Behind them stands what their owners said in the same words elsewhere, which goes with them;
        with *repeats* False it stays, and the note names it. None does not look for it, which takes
        a millisecond an id. *never_again* stores keyed hashes of the
        texts, by which a later write of them is refused.
        *finish*() erases them from the derived files and is True when that is done; without it a
        server does so later. The note names backups and exports that hold the texts, and memories
        that the removed ones replaced: these stay out of date. It names what replaced them, too.
        All or nothing. Raises NotFound for an id that *who* may not read, ScopeDenied for one of
        another agent (unless *who* is an admin), or a StorageError.
        """
        validation.text(reason, "reason", validation.SOURCE_CHARS)
        self._store.catch_up()
        chosen = self._chosen(who, ids)
        again = [] if repeats is None else self._said_again(chosen)
        if repeats:
            chosen, again = [*chosen, *again], []
        reach = self._reach(chosen)
        report = self._report("forgotten" if confirm else "preview", who, chosen, reach, again)
        if not confirm or not chosen:
            return report
        self._apply(who, chosen, reach, reason, never_again=never_again)
        problem = self._empty_log()
        done = ERASED if finish() else _joined(FORGOTTEN, problem)
        return replace(report, note=_joined(done, report.note))

    def forget_elsewhere(
        self, who: Identity, ids: Sequence[str], reason: str, never_again: bool
    ) -> None:
        """Forget *ids* because another machine did, for that *reason*; raises as forget does.

        What says the same here goes with them, for no reason of the other machine's: it does not
        know of them, and has to be told.
        """
        again = [memory.id for memory in self._said_again(self._chosen(who, ids))]
        for each, why in ((again, ""), (ids, reason)):
            self.forget(who, each, reason=why, never_again=never_again, confirm=True, repeats=None)

    def clear(self, who: Identity, ids: Sequence[str]) -> int:
        """Forget *ids*, oldest first, all of *who*, without tombstones; how many were forgotten.

        A batch at a time, so that other writers wait for one batch only. Derived memories go before
        their sources, so that they are not amended first.
        """
        going, last = frozenset(ids), list(reversed(ids))
        for start in range(0, len(last), BATCH):
            batch = last[start : start + BATCH]
            chosen = self._chosen(who, [id for id in batch if self._store.may_read(who, id)])
            self._apply(who, chosen, self._reach(chosen, going), "clear", never_again=False)
        self._empty_log()
        return len(ids)

    # What is forgotten

    def _chosen(self, who: Identity, ids: Sequence[str]) -> list[MemoryRecord]:
        wanted = list(dict.fromkeys(ids))
        readable = [id for id in wanted if self._store.may_read(who, id)]
        found = self._store.memories(readable)
        for id in wanted:
            if id not in found:
                raise NotFound(f"no memory {id[:40]}", "recall it to get its id")
        for id in wanted:
            if found[id].agent != who.agent and not who.admin:
                raise ScopeDenied(f"{id} belongs to another agent", "ask its owner or an admin")
        return [found[id] for id in wanted]

    def _said_again(self, chosen: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """What the owner of one of *chosen* said in the same words elsewhere, oldest first."""
        said = {_saying(memory): memory.text for memory in chosen}
        with self._store.reading() as view:
            rows = {row for text in said.values() for row in _holding(view, index_terms(text))}
            ids = {view.columns.id(row) for row in rows}.difference(m.id for m in chosen)
        found = self._store.memories(ids).values()
        return sorted((each for each in found if _saying(each) in said), key=_age)

    def _reach(self, chosen: Sequence[MemoryRecord], going: frozenset[str] = frozenset()) -> _Reach:
        """The consequences of forgetting *chosen*, followed transitively.

        *going* are ids that a later batch forgets: their topics are not renamed.
        """
        sources = self._sources()
        gone = {memory.id: memory for memory in chosen}
        stale: dict[str, tuple[str, ...]] = {}
        frontier = set(gone)
        while frontier:
            touched = [id for id, of in sources.items() if id not in gone and frontier & set(of)]
            rows = self._store.memories({id for t in touched for id in (t, *sources[t])})
            fresh = {}
            for id in touched:
                left = tuple(s for s in sources[id] if s in rows and s not in gone)
                lost = [gone[s] for s in sources[id] if s in gone]
                if not left or _holds(rows[id], lost, [rows[s] for s in left]):
                    fresh[id] = rows[id]
                else:
                    stale[id] = left
            gone |= fresh
            frontier = set(fresh)
        stale = {id: left for id, left in stale.items() if id not in gone}
        asked = {memory.id for memory in chosen}
        derived = {id: memory for id, memory in gone.items() if id not in asked}
        heads = frozenset(of(memory) for memory in gone.values() for of in (label_from, beginning))
        return _Reach(derived, stale, self._topics(gone.keys() | going, heads), heads, going)

    def _sources(self) -> dict[str, tuple[str, ...]]:
        """The sources of every derived memory of any owner, by its id."""
        with self._store.reading() as view:
            columns = view.columns
            rows = [row for row in range(len(columns)) if columns.derived_from(row)]
            return {columns.id(row): columns.derived_from(row) for row in rows}

    def _topics(self, gone: Collection[str], heads: frozenset[str]) -> dict[str, str]:
        """New labels, by member, of topics whose label was made of a forgotten text.

        Each is new in its scope alone: a number after it would tell of a topic of somebody else.
        """
        with self._store.reading() as view:
            columns = view.columns
            shared = columns.visibility == records.VISIBILITIES.index("team")
            team = np.where(shared, columns.team, 0)
            scopes = list(zip(columns.visibility, columns.agent, team, strict=True))
            topics = [columns.topic(row) for row in range(len(columns))]
            called = [row for row, topic in enumerate(topics) if _is_head(topic, heads)]
            old = {columns.id(row): scopes[row] for row in called}
        groups: dict[tuple[object, str], list[MemoryRecord]] = {}
        for memory in sorted(self._store.memories(old.keys() - gone).values(), key=_age):
            groups.setdefault((old[memory.id], memory.topic), []).append(memory)
        taken: dict[object, set[str]] = {scope: set() for scope in scopes}
        for of, topic in zip(scopes, topics, strict=True):
            taken[of] |= set() if _is_head(topic, heads) else {topic}
        renamed: dict[str, str] = {}
        for (scope, _), members in groups.items():
            names = [label_from(m) for m in members if m.kind not in records.DERIVED]
            label = clusters.new_label(names, taken[scope]) if names else ""
            taken[scope].add(label)
            renamed |= {memory.id: label for memory in members}
        return renamed

    # Forgetting

    def _apply(
        self,
        who: Identity,
        chosen: Sequence[MemoryRecord],
        reach: _Reach,
        reason: str,
        *,
        never_again: bool,
    ) -> None:
        """Forget *chosen* and *reach* in one transaction, then what was derived meanwhile.

        This terminates: nothing new can be derived from a forgotten memory.
        """
        self._commit(who, chosen, reach, reason, never_again)
        late = self._reach(chosen, reach.going)
        while late.derived or late.stale:
            self._commit(who, (), late, reason, False)
            late = self._reach(chosen, reach.going)

    def _commit(
        self,
        who: Identity,
        chosen: Sequence[MemoryRecord],
        reach: _Reach,
        reason: str,
        never_again: bool,
    ) -> None:
        """Commit, on a full disk too; the slow part, reading the journal, comes before the lock."""
        past = self._past.puts(reach.is_head, reach.discloses)

        def erase(tx: Transaction) -> None:
            self._erase(tx, who, chosen, reach, reason, never_again, past)

        self._store.reserve.with_room(lambda: self._store.commit(erase))

    def _erase(
        self,
        tx: Transaction,
        who: Identity,
        chosen: Sequence[MemoryRecord],
        reach: _Reach,
        reason: str,
        never_again: bool,
        past: _Past,
    ) -> None:
        secret = _secret(tx) if never_again else ""
        for memory in chosen:
            if tx.fields(memory.id) is None:
                raise NotFound(
                    f"no memory {memory.id}", "another call forgot it just now; recall again"
                )
            said = (memory.text, *history.repeats(tx, memory.id)) if never_again else ()
            marks = [mark for text in said for mark in digests(secret, owner_of(memory), text)]
            tx.forget(_forgotten(who, memory, marks, reason))
        for memory in reach.derived.values():
            if tx.fields(memory.id) is not None:
                tx.forget(_forgotten(who, memory, [], reason))
        self._amend(tx, who, reach, past)

    def _amend(self, tx: Transaction, who: Identity, reach: _Reach, past: _Past) -> None:
        for id, left in reach.stale.items():
            if tx.fields(id) is not None:
                body = {"stale_since": self._clock(), "derived_from": list(left)}
                tx.append(Change("put", id, body, actor=who.agent, source="forget"))
        now = {id: (tx.fields(id) or {}).get("topic") for id in reach.topics}
        tx.blank("topic", reach.discloses, *past)
        for id, label in reach.topics.items():
            if now[id] not in (None, label):
                tx.append(Change("put", id, {"topic": label}, actor=who.agent, source="forget"))

    def _empty_log(self) -> str:
        """Empty the write-ahead log; why that failed, else "". Maintenance tries again."""
        try:
            self._store.journal.checkpoint(truncate=True)
        except StorageError as problem:
            return f"not erased yet: {problem.problem}, it is tried again"
        return ""

    def _report(
        self,
        status: str,
        who: Identity,
        chosen: Sequence[MemoryRecord],
        reach: _Reach,
        again: Sequence[MemoryRecord],
    ) -> ForgetReport:
        seen = [m for m in reach.derived.values() if self._store.may_read(who, m.id)]
        stale = [id for id in reach.stale if self._store.may_read(who, id)]
        going = [memory.id for memory in (*chosen, *reach.derived.values())]
        held, replaced = self._copies(going), self._replaced(who, going)
        same = f"the same words stay in {_listed([memory.id for memory in again])}"
        over = [memory for memory in chosen if memory.superseded_by]
        later = dict.fromkeys(memory.superseded_by for memory in over)
        newer = [id for id in later if id not in going and self._store.may_read(who, id)]
        older = f"what this replaced stays out of date: {_listed(replaced)}"
        note = _joined(
            "" if chosen else NOTHING,
            f"out of date: {', '.join(m.id for m in over)}" if over and status == "preview" else "",
            f"the newer text stays: {_listed(newer)}" if newer else "",
            f"{len(stale)} summaries have other sources left and become stale" if stale else "",
            same if again else "",
            older if replaced else "",
            copies.in_words(held, places=who.admin),
        )
        return ForgetReport(status, _removals(chosen), _removals(seen), note)

    def _replaced(self, who: Identity, going: Collection[str]) -> list[str]:
        """The ids of what stays of that which *going* replaced, where *who* may read it."""
        with self._store.reading() as view:
            columns = view.columns
            rows = np.flatnonzero(view.readable(who) & columns.superseded)
            ids = [columns.id(row) for row in rows.tolist()]
        found = self._store.memories(set(ids).difference(going))
        return [id for id, memory in found.items() if memory.superseded_by in going]

    def _copies(self, ids: Sequence[str]) -> list[copies.Copy]:
        """The copies that hold one of *ids*: made after it, by someone who may read it."""
        noted = copies.known(self._store.journal)
        born = {id: self._store.journal.born(id) for id in ids} if noted else {}
        return [copy for copy in noted if self._holds_one(copy, born)]

    def _holds_one(self, copy: copies.Copy, born: Mapping[str, int]) -> bool:
        then = [id for id, first in born.items() if first <= copy.sequence]
        by = Identity(copy.agent, copy.team)
        return any(copy.kind == "backup" or self._store.may_read(by, id) for id in then)


def _saying(memory: MemoryRecord) -> tuple[str, str, str]:
    """Who says what, equal where somebody says the same words to the same readers."""
    return memory.agent, owner_of(memory), normalise.forgetting_form(memory.text)


def _holding(view: View, terms: Iterable[str]) -> list[int]:
    """The rows that hold all of *terms*; none where there are none."""
    found: list[Rows] = [view.lexical.holders(term) for term in set(terms)]
    found.sort(key=len)
    return reduce(np.intersect1d, found).tolist() if found else []


def _listed(ids: Sequence[str]) -> str:
    """*ids*, at most NAMED of them, and how many more there are."""
    if len(ids) <= NAMED:
        return ", ".join(ids)
    more = f"{len(ids) - NAMED} more"
    return ", ".join((*ids[:NAMED], more))


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _removals(memories: Iterable[MemoryRecord]) -> tuple[Removal, ...]:
    return tuple(Removal(m.id, m.text, m.occurred_at) for m in memories)


def _age(memory: MemoryRecord) -> tuple[float, str]:
    return memory.occurred_at, memory.id


def _is_head(topic: str, heads: Collection[str]) -> bool:
    """True when *topic* is one of *heads*, perhaps with the number of a taken label."""
    return topic in heads or _NUMBER.sub("", topic) in heads


def _secret(tx: Transaction) -> str:
    """The key of the tombstones' hashes, created by the first forgetting."""
    known = tx.meta(SECRET)
    if known is None:
        known = secrets.token_hex(32)
        tx.append(Change("meta", SECRET, {"value": known}, source="forget"))
    return str(known)


def _forgotten(who: Identity, memory: MemoryRecord, marks: list[str], reason: str) -> Change:
    body = {"digests": marks, "reason": reason, "erase": True}
    return Change(
        "forget",
        memory.id,
        body,
        actor=who.agent,
        source="forget",
        scope=owner_of(memory),
    )


def _holds(
    derived: MemoryRecord, lost: Sequence[MemoryRecord], left: Sequence[MemoryRecord]
) -> bool:
    """True when *derived* holds a sentence or name of *lost* that *left* does not hold.

    For a summary or concept also a single word: the next run writes it anew without that word.
    """
    text = _form(derived.text)
    remaining = " ".join(_form(memory.text) for memory in left)
    said = (
        _form(part) for memory in lost for part in (memory.text, *passages.sentences(memory.text))
    )
    if any(form in text and form not in remaining for form in said):
        return True
    if derived.kind in records.DERIVED:
        words = {word for memory in lost for word in content_words(memory.text)}
        words -= {word for memory in left for word in content_words(memory.text)}
        if not words.isdisjoint(content_words(derived.text)):
            return True
    names = {name.casefold() for memory in lost for name in memory.entities}
    names -= {name.casefold() for memory in left for name in memory.entities}
    return any(name.casefold() in names for name in derived.entities)


def _form(text: str) -> str:
    """The normalised words of *text* between spaces, so that only whole words match."""
    return f" {normalise.forgetting_form(text)} "


# Past values


READ_BATCH = 512
"""Journal changes that `PastValues` reads, and caches the values of, together."""


class PastValues:
    """Finds the puts that hold certain values of a field; one instance serves all callers.

    Caches the values in each complete batch of changes, and reads again only the batches that hold
    a wanted one: reading 10,000 changes takes 4 ms (measured), which grew with the journal. A value
    erased later stays in the cache and costs one read; a batch never gains values.
    """

    def __init__(self, journal: Journal, field: str, batch: int = READ_BATCH) -> None:
        """Look for values of *field* in *journal*, *batch* changes at a time."""
        self._journal = journal
        self._field = field
        self._batch = batch
        self._known: dict[int, frozenset[str]] = {}

    def puts(
        self, wanted: Callable[[str], bool], goes: Callable[[str, str], bool]
    ) -> tuple[list[int], int]:
        """The sequences of the puts for which *goes*(memory id, value), and the last one examined.

        *wanted*(value) is True wherever *goes* may be. Raises StorageError.
        """
        found, last = list[int](), self._journal.last()
        for after in range(0, last, self._batch):
            if any(map(wanted, self._values(after, last))):
                until = min(after + self._batch, last)
                held = self._journal.puts_where(self._field, goes, after, until)
                if held:
                    self._known.pop(after, None)  # its values are about to be erased
                found += held
        return found, last

    def _values(self, after: int, last: int) -> frozenset[str]:
        known = self._known.get(after)
        if known is None:
            known = self._journal.text_values(self._field, after, min(after + self._batch, last))
            if after + self._batch <= last:
                self._known[after] = known
        return known
