"""The walk of a write: mask -> understand -> embed -> relate -> commit.

No model that can be slow is asked: gists come from rules, and without an embedder the memory is
stored all the same and embedded by maintenance later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core import validation
from memory_core.beliefs.importance import ImportanceScorer
from memory_core.config import Settings
from memory_core.embedding.base import Profile
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.lifecycle import model_work, tombstones
from memory_core.lifecycle.known_names import KnownNames
from memory_core.lifecycle.pins import PINNED
from memory_core.link_kinds import DOUBTING, HOLDS, KNOWN
from memory_core.records import Change, Identity, Link, MemoryRecord, Receipt, content_hash
from memory_core.remember import again, commit
from memory_core.remember.draft import Draft
from memory_core.remember.late import relate_late
from memory_core.remember.merge import Brought, merge
from memory_core.remember.prepared import Prepared
from memory_core.remember.relate import place, relate
from memory_core.remember.understand import UNDERSTOOD, understand
from memory_core.representation import embed
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore
from memory_core.text import secrets
from memory_core.text.names.entities import known_names
from memory_core.text.names.spacy import OptionalNames

log = logging.getLogger(__name__)

_WRITTEN = (
    *("text", "gist", "source", "tags", "speaker", "session", "topic", "entities", "keywords"),
    *("client", "lead", "emotions", "due", "encoded"),
)
"""The fields of a memory that hold words of a caller; in all others only few words are allowed."""


_KEEP = 'limits.secrets = "mask_keys_only" in the settings file keeps PINs, cards and the like'
"""What a warning says where a secret was masked that is none of a machine."""

IMPORTED = frozenset({"import", "web", "quoted"})
"""Trusts of what came from elsewhere; an import may put its own in relation with it."""


class Writer:
    """Writes memories to one store; one instance serves all callers."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        settings: Settings,
        clock: Callable[[], float],
        scorer: ImportanceScorer,
    ) -> None:
        """Write to *store*; embed with the embedder of *gate*; *clock* returns epoch seconds.

        *scorer* judges the importance that the caller does not give.
        """
        self._store = store
        self._gate = gate
        self._settings = settings
        self._clock = clock
        self._scorer = scorer
        self._names = OptionalNames(settings.names.spacy)

    def remember(self, who: Identity, draft: Draft) -> Receipt:
        """Store *draft* durably; see Memory.remember for the receipt and the errors."""
        draft = self._as_replaced(who, draft)
        memory, warnings = self._masked(draft.memory)
        prepared = Prepared(
            who,
            self._understood(who, memory, self._clock(), judged=draft.judged),
            replaces=draft.replaces,
            key=draft.key,
            asked=draft.asked,
            seen=draft.seen,
            edit=draft.edit,
            judged=draft.judged,
            leaving=self._leaving(draft.leaving),
            forms=self._forms(memory.text),
            warnings=(*draft.warnings, *warnings),
        )
        prepared = self._embedded(prepared)
        self._store.catch_up()  # with what was committed while the model worked
        now = self._clock()
        prepared = relate(self._store, draft, prepared, self._scorer, self._profile, now)
        prepared = relate_late(self._store, prepared, self._profile, now)
        return self._store.commit(lambda tx: commit.remember(tx, prepared))

    def take(self, who: Identity, memory: MemoryRecord, replaces: str, run: str) -> Receipt:
        """Store what *memory* says, whose id is made from its name elsewhere, as of *run*.

        Understood like what is remembered, related like an import. It takes the place of the memory
        *replaces*, "" for none. The receipt is that of remember.
        """
        memory, warnings = self._masked(memory)
        memory = self._understood(who, memory, memory.occurred_at, judged=False)
        self._store.catch_up()
        prepared = Prepared(
            who,
            memory,
            replaces=replaces,
            readable=True,
            forms=self._forms(memory.text),
            warnings=warnings,
        )
        prepared = place(self._store, self._embedded(prepared), self._profile)
        prepared = relate_late(self._store, prepared, self._profile)
        return self._brought(lambda tx: commit.take_in(tx, prepared, (), run))

    def refuses(self, who: Identity, memory: MemoryRecord) -> bool:
        """True when *who* cannot import *memory*, as what it says was forgotten."""
        memory, _ = self._masked(memory)
        prepared = Prepared(who, memory, forms=self._forms(memory.text))
        return bool(commit.forgotten(self._store.journal, prepared))

    def bring_in(
        self,
        who: Identity,
        memory: MemoryRecord,
        links: Sequence[Link] = (),
        run: str = "",
        elsewhere: Brought | None = None,
    ) -> Receipt:
        """Store an imported *memory* under its own id, related as if it came when it was said.

        Fields that it does not give are read from its text, as of what is remembered.
        Those of its *links* are stored whose other end is a memory that *who* may change; a link
        that puts one memory in the place of another only between two imported ones. What was set
        later *elsewhere* of a known memory is set. The receipt's status is reinforced for a known
        id or an exact repeat, changed, refused for what was forgotten, else stored. All changes are
        those of *run*.
        """
        memory, warnings = self._masked(memory)
        memory = replace(memory, content_hash=content_hash(memory.text))
        self._store.catch_up()
        given = elsewhere or Brought()
        known = bool(memory.id) and self._store.may_read(who, memory.id)
        if not known:
            memory = self._completed(who, memory, given.fields)
        forms = self._forms(memory.text)
        prepared = Prepared(who, memory, readable=known, forms=forms, warnings=warnings)
        overcome = again.overcome(self._store, memory, [memory.id]) if known else {}
        if overcome:
            prepared = place(self._store, self._embedded(prepared), self._profile)
            prepared = replace(prepared, overcome=overcome)
        elif not known:
            prepared = place(self._store, self._embedded(prepared), self._profile)
            prepared = relate_late(self._store, prepared, self._profile)
        ends = [(link, link.b if link.a == memory.id else link.a) for link in links]
        kept = [link for link, other in ends if self._may_link(who, link, other)]
        return self._brought(lambda tx: merge(tx, prepared, given, kept, run))

    def embedded_late(
        self,
        memory: MemoryRecord,
        fingerprint: str,
        parts: Sequence[int],
        vectors: NDArray[np.float32],
    ) -> None:
        """Store the *vectors* (n, d) of *memory*, which was written without, and their relations.

        What it corrects and puts in doubt becomes what it would be had it been written with them.
        """
        who = Identity(memory.agent, memory.team)
        prepared = Prepared(
            who, memory, fingerprint, parts, vectors, self._replaced_by(memory), readable=True
        )
        if not (prepared.replaces or memory.derived_from):
            prepared = place(self._store, prepared, self._profile)
            prepared = relate_late(self._store, prepared, self._profile)
        self._store.commit(lambda tx: commit.embedded_late(tx, prepared))

    def _brought(self, write: Callable[[Transaction], Receipt]) -> Receipt:
        """The receipt of the import that *write* commits, with the doubts among it."""

        def counted(tx: Transaction) -> Receipt:
            before = tx.last()
            receipt = write(tx)
            doubts = sum(map(_is_doubt, tx.changes(before)))
            return replace(receipt, doubts=doubts) if doubts else receipt

        return self._store.commit(counted)

    def _replaced_by(self, memory: MemoryRecord) -> str:
        """The id of a memory that the caller replaced by *memory*; "" when there is none.

        What somebody replaces on purpose is the only one that the new memory bears on.
        """
        with self._store.reading() as view:
            rows = np.flatnonzero(view.columns.replaced).tolist()
            ids = [view.columns.id(row) for row in rows]
        known = self._store.indexed(ids)
        return next((id for id, old in known.items() if old.superseded_by == memory.id), "")

    def _may_link(self, who: Identity, link: Link, other: str) -> bool:
        """True when an import of *who* may bring *link* to the stored memory *other*.

        Otherwise a file could put what it holds in the place of what was said here.
        """
        if not self._store.may_read(who, other):
            return False
        memory = self._store.memories([other]).get(other)
        if memory is None or (memory.agent != who.agent and not who.admin):
            return False
        return link.kind not in KNOWN or memory.trust in IMPORTED

    # Steps

    def _masked(self, memory: MemoryRecord) -> tuple[MemoryRecord, tuple[str, ...]]:
        """*memory* without the secrets in its texts and labels, and a warning that names their
        kinds.

        Raises InvalidInput for a secret where the settings refuse it.
        """
        limits = self._settings.limits
        changed: dict[str, Any] = {}
        found: list[str] = []
        optional = False
        for name in _WRITTEN:
            given = getattr(memory, name)
            texts = (given,) if isinstance(given, str) else given
            masked, kinds = secrets.mask_all(texts, personal_too=limits.secrets != "mask_keys_only")
            if kinds:
                found.append(kinds)
                optional |= kinds != secrets.mask_all(texts, personal_too=False)[1]
                changed[name] = masked[0] if isinstance(given, str) else tuple(masked)
        if not found:
            return memory, ()
        told = ", ".join(found)
        if limits.secrets == "refuse":
            field = next(iter(changed))
            raise validation.invalid(field, f"it holds a secret ({told})", "leave it out")
        how = f"; {_KEEP}" if optional else ""
        return replace(memory, **changed), (f"secrets were masked: {told}{how}",)

    def _as_replaced(self, who: Identity, draft: Draft) -> Draft:
        """*draft* with the tags, the kind and the pin of what it replaces, where it gives none.

        What belongs to another agent keeps its owner, team and scope.
        """
        if not draft.replaces:
            return draft
        self._store.catch_up()
        if not self._store.may_read(who, draft.replaces):
            return draft
        old = self._store.memories([draft.replaces]).get(draft.replaces)
        if old is None:
            return draft
        if who.admin and old.agent != who.agent:
            draft = _as_of_owner(draft, old)
        if old.derived_from:
            return draft
        memory = draft.memory
        kind = old.kind if memory.kind == "episode" else memory.kind
        memory = replace(memory, tags=memory.tags or old.tags, kind=kind)
        if draft.judged or old.importance != PINNED:
            return replace(draft, memory=memory)
        return replace(draft, memory=replace(memory, importance=PINNED), judged=True)

    def _understood(
        self, who: Identity, memory: MemoryRecord, now: float, *, judged: bool
    ) -> MemoryRecord:
        """*memory* with all that its text says, the names that *who* may know of among it."""
        with self._store.reading() as view:
            known = known_names(memory.text, KnownNames(view, view.readable(who)))
        names = (*known, *self._names(memory.text))
        return understand(memory, names, self._settings, judged=judged, encode=who.encode, now=now)

    def _completed(
        self, who: Identity, memory: MemoryRecord, given: Collection[str] | None
    ) -> MemoryRecord:
        """*memory* with what its text says, but for the fields that were *given*; None: all."""
        if given is None or memory.derived_from or UNDERSTOOD.issubset(given):
            return memory
        judged = "importance" in given
        understood = self._understood(who, memory, memory.occurred_at, judged=judged)
        kept = {name: getattr(memory, name) for name in UNDERSTOOD.intersection(given)}
        return replace(understood, **kept)

    def _embedded(self, prepared: Prepared) -> Prepared:
        """*prepared* with its vectors; as it is while no model can make them."""
        embedder = self._gate.usable(self._store.fingerprint)
        if embedder is None:
            return prepared
        try:
            parts, vectors = embed(embedder, prepared.memory)
        except EncoderUnavailable as problem:
            log.warning("stored without vectors: %s", problem)
            self._gate.back_off(problem)
            return prepared
        return replace(prepared, fingerprint=embedder.fingerprint, parts=parts, vectors=vectors)

    def _leaving(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The jobs that a model has for each of *ids*, which leave the ring."""
        late = self._settings.writes_gists
        known = self._store.indexed(ids) if ids and late else {}
        return {
            id: model_work.due_late(known[id], self._settings) if id in known else () for id in ids
        }

    def _forms(self, text: str) -> tuple[str, ...]:
        """The forms of *text* that tombstones are compared with; () if nothing was forgotten."""
        forgot = self._store.journal.meta(tombstones.SECRET) is not None
        return tombstones.forms(text) if forgot else ()

    @property
    def _profile(self) -> Profile:
        embedder = self._gate.embedder
        return embedder.profile if embedder is not None else Profile()


def _as_of_owner(draft: Draft, old: MemoryRecord) -> Draft:
    """*draft* as a memory of the owner of *old*, with a warning where that changes who reads it."""
    memory = replace(draft.memory, agent=old.agent, team=old.team, visibility=old.visibility)
    if memory.visibility == draft.memory.visibility:
        return replace(draft, memory=memory)
    kept = f"the scope is {old.visibility}, as of the other agent's memory that this replaces"
    return replace(draft, memory=memory, warnings=(*draft.warnings, kept))


def _is_doubt(change: Change) -> bool:
    """True for a link by which a write puts one memory in doubt by another."""
    body = change.body or {}
    return (
        change.source == commit.DOUBT and body.get("kind") in DOUBTING and body["weight"] >= HOLDS
    )
