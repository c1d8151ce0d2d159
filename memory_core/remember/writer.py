"""The walk of a write: check -> gist -> parse -> embed -> relate -> commit.

No model that can be slow stands on it: the gist is the passthrough's and a missing embedder only
means that the vectors come later (maintenance backfills them).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory_core import records, validation
from memory_core.config import Settings
from memory_core.embedding.base import Profile
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.gist.base import GistEncoder, InputTurn
from memory_core.lifecycle import model_work, tombstones
from memory_core.records import (
    NEVER,
    Identity,
    Link,
    MemoryRecord,
    Receipt,
    Similar,
    content_hash,
    elapsed,
)
from memory_core.relations import claims, corrections, duplicates
from memory_core.relations.corrections import Correction
from memory_core.remember import commit
from memory_core.remember.commit import Entry
from memory_core.remember.known_names import Gazetteer
from memory_core.representation import embed
from memory_core.storage.store import MemoryStore
from memory_core.text import secrets
from memory_core.text.importance import NORMAL, ImportanceScorer
from memory_core.text.names.entities import MOST, known_names
from memory_core.text.names.spacy import SpacyNames
from memory_core.text.sentiment import affect
from memory_core.text.time import dates, validity

log = logging.getLogger(__name__)

LIVE_SECONDS = 60.0
"""What is dated no longer ago is said now: after all that is stored, whatever that is dated."""
SIMILAR_MOST = 5
"""Near memories looked at, and named in a receipt."""

SAME_SUBJECT = 20
"""Memories of one name looked at for what a new one corrects."""

OCCASION_S = 86_400.0
"""Captured turns that say the same are one memory within a day of each other."""

Near = list[tuple[str, float]]
"""Ids and their cosines in document space, best first."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a caller asks to be remembered, checked and in our terms; the memory has no id yet."""

    memory: MemoryRecord
    judged: bool
    """True when the caller gave the importance."""
    replaces: str = ""
    key: str = ""
    passive: bool = False
    """True for a captured turn: what was said already on this occasion is only reinforced."""
    leaving: tuple[str, ...] = ()
    """Ids that leave the ring when this enters."""
    warnings: tuple[str, ...] = ()


class Writer:
    """Turns what is said into memories; one instance serves all callers."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        encoder: GistEncoder,
        settings: Settings,
        clock: Callable[[], float],
        scorer: ImportanceScorer,
    ) -> None:
        """Write to *store*; embed with what *gate* has loaded; *clock* gives the time.

        *scorer* says how much something matters when the caller does not.
        """
        self._store = store
        self._gate = gate
        self._encoder = encoder
        self._settings = settings
        self._clock = clock
        self._scorer = scorer
        self._spacy = SpacyNames(settings.names.spacy) if settings.names.spacy else None

    def remember(self, who: Identity, draft: Draft) -> Receipt:
        """Store *draft* durably; see Memory.remember for the answer and the errors."""
        memory, warnings = self._mask(draft.memory)
        memory = self._parse(self._named(who, self._encode(memory, judged=draft.judged)))
        memory = self._due(who, memory, judged=draft.judged)
        entry = self._embed(
            Entry(
                who,
                memory,
                replaces=draft.replaces,
                key=draft.key,
                leaving=self._leaving(draft.leaving),
            )
        )
        self._store.catch_up()
        near = self._nearest(who, entry)
        if not draft.judged:
            memory = self._judged(memory, near if entry.vectors is not None else None)
        corrected = self._corrected(who, memory, near) if not draft.replaces else {}
        entry = replace(
            entry,
            memory=memory,
            similar=self._relate(memory, near, corrected),
            corrected=corrected,
            readable=bool(draft.replaces) and self._store.may_read(who, draft.replaces),
            forms=self._forms(memory),
            warnings=(*draft.warnings, *warnings),
        )
        twin = self._twin(entry) if draft.passive else ""
        receipt = self._store.commit(lambda tx: commit.remember(tx, entry, twin))
        if receipt.status in ("stored", "replaced"):
            corrected_ids = (*receipt.replaced, *corrected)
            commit.mark(self._store, who.agent, corrected_ids, self._clock())
        return receipt

    def bring_in(self, who: Identity, memory: MemoryRecord, links: Sequence[Link] = ()) -> Receipt:
        """Store an imported *memory* under its own id; what is there already stays as it is.

        Those of its *links* whose other end is there, and *who* may read it, are stored with it.

        The receipt says reinforced for a known id or an exact repeat, refused for what was
        forgotten, stored otherwise.
        """
        memory, warnings = self._mask(memory)
        memory = replace(memory, content_hash=content_hash(memory.text))
        self._store.catch_up()
        known = bool(memory.id) and self._store.may_read(who, memory.id)
        forms = self._forms(memory)
        entry = Entry(who, memory, readable=known, forms=forms, warnings=warnings)
        entry = entry if known else self._embed(entry)
        ends = [(link, link.b if link.a == memory.id else link.a) for link in links]
        there = [link for link, other in ends if self._store.may_read(who, other)]
        return self._store.commit(lambda tx: commit.take_in(tx, entry, there))

    # check

    def _mask(self, memory: MemoryRecord) -> tuple[MemoryRecord, tuple[str, ...]]:
        """*memory* without the secrets in its free text, and a warning that names their kinds."""
        masked = [secrets.mask(each) for each in (memory.text, memory.gist, memory.source)]
        kinds = ", ".join(kind for _, found in masked for kind in found)
        if not kinds:
            return memory, ()
        if self._settings.limits.secrets == "refuse":
            raise validation.invalid("text", f"it holds a secret ({kinds})", "leave it out")
        text, gist, source = (clean for clean, _ in masked)
        clean = replace(memory, text=text, gist=gist, source=source)
        return clean, (f"secrets were masked: {kinds}",)

    def _forms(self, memory: MemoryRecord) -> tuple[str, ...]:
        """What tombstones are compared with; () when nothing was ever forgotten."""
        forgot = self._store.journal.meta(tombstones.SECRET) is not None
        return tombstones.forms(memory.text) if forgot else ()

    # gist and parse

    def _encode(self, memory: MemoryRecord, *, judged: bool) -> MemoryRecord:
        """*memory* with its gist and all that comes with it; what the caller gave stays."""
        gist = self._encoder.encode([InputTurn(memory.text, memory.speaker, memory.role)]).gists[0]
        importance = NORMAL if gist.importance is None else gist.importance
        return replace(
            memory,
            gist=memory.gist or gist.gist,
            tags=memory.tags or gist.tags,
            topic=memory.topic or gist.topic,
            entities=memory.entities or gist.entities,
            importance=memory.importance if judged else importance,
        )

    def _due(self, who: Identity, memory: MemoryRecord, *, judged: bool) -> MemoryRecord:
        """*memory* with what a model is to do for it later, if one was chosen and may see it."""
        if not who.encode:
            return replace(memory, encoded=NEVER)
        chosen = self._settings.encoder != "passthrough"
        if not (chosen and model_work.allowed(memory, self._settings.gist)):
            return memory
        return replace(memory, due=model_work.due(memory, judged=judged))

    def _leaving(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """*ids*, each with what a model is to do for it then."""
        late = self._settings.encoder != "passthrough"
        known = self._store.indexed(ids) if ids and late else {}
        return {
            id: model_work.due_late(known[id], self._settings) if id in known else () for id in ids
        }

    def _named(self, who: Identity, memory: MemoryRecord) -> MemoryRecord:
        """*memory* with the names in its text that the store knows from elsewhere."""
        with self._store.reading():
            known = known_names(memory.text, Gazetteer(self._store, who))
        known = (*known, *self._found_by_spacy(memory.text))
        have = {name.casefold() for name in memory.entities}
        more = {name.casefold(): name for name in known if name.casefold() not in have}
        return replace(memory, entities=(*memory.entities, *more.values())[:MOST])

    def _found_by_spacy(self, text: str) -> tuple[str, ...]:
        """The names that the pipeline finds, if there is to be one; a fault never fails a write."""
        if self._spacy is None:
            return ()
        try:
            return self._spacy(text)
        except EncoderUnavailable as problem:
            log.warning("names are found by rules alone: %s", problem)
            self._spacy = None
            return ()

    def _parse(self, memory: MemoryRecord) -> MemoryRecord:
        start, end = memory.valid_from, memory.valid_until
        if start is None and end is None:
            start, end = validity.bounds(memory.text, memory.occurred_at)
        colour = affect(memory.text)
        return replace(
            memory,
            valence=colour.valence,
            arousal=colour.arousal,
            emotions=colour.emotions,
            valid_from=start,
            valid_until=end,
            dates=memory.dates or dates.resolve(memory.text, memory.occurred_at),
            content_hash=content_hash(memory.text),
        )

    # embed

    def _embed(self, entry: Entry) -> Entry:
        """*entry* with the vectors of its memory, or as it is while no model makes them."""
        embedder = self._gate.usable(self._store.fingerprint)
        if embedder is None:
            return entry
        try:
            parts, vectors = embed(embedder, entry.memory)
        except EncoderUnavailable as problem:  # the memory counts; its vectors come later
            log.warning("stored without vectors: %s", problem)
            self._gate.back_off(problem)
            return entry
        return replace(entry, fingerprint=embedder.fingerprint, parts=parts, vectors=vectors)

    # relate

    def _nearest(self, who: Identity, entry: Entry) -> Near:
        """The nearest memories that *who* may read and that were not replaced."""
        if entry.vectors is None:
            return []
        with self._store.reading():
            if self._store.vectors is None or entry.fingerprint != self._store.fingerprint:
                return []
            columns = self._store.columns
            allowed = self._store.readable(who) & ~columns.replaced
            vector: NDArray[np.float32] = entry.vectors[0]
            rows, cosines = self._store.vectors.search(
                vector, SIMILAR_MOST, part="whole", allowed=allowed
            )
            pairs = zip(rows, cosines, strict=True)
            return [(columns.id(int(row)), float(cosine)) for row, cosine in pairs]

    def _judged(self, memory: MemoryRecord, near: Near | None) -> MemoryRecord:
        """*memory* with its importance; *near* None: no model tells what it is like."""
        nearest = None if near is None else max((cosine for _, cosine in near), default=-1.0)
        scored = self._scorer.importance(memory.text, memory.role, nearest, self._profile.related)
        return replace(memory, importance=scored)

    def _relate(
        self, memory: MemoryRecord, near: Near, corrected: Mapping[str, Correction]
    ) -> tuple[Similar, ...]:
        close = [id for id, cosine in near if cosine >= self._profile.near_duplicate]
        close += [id for id in corrected if id not in close]
        if not close:
            return ()
        others = self._store.indexed(close)
        mine = claims.claims(memory.text, memory.entities)
        return tuple(
            Similar(
                id,
                other.text,
                corrected[id].relation if id in corrected else _relation(memory, mine, other),
            )
            for id, other in others.items()
        )

    def _twin(self, entry: Entry) -> str:
        """The id of what says the same on the same occasion, by the same speaker; "" for none.

        What is said again on another day, or of another day, is another occasion.
        """
        same = [near.id for near in entry.similar if near.relation == duplicates.DUPLICATE]
        mine = entry.memory
        for id, other in self._store.indexed(same).items():
            alike = (other.agent, other.role, other.dates) == (mine.agent, mine.role, mine.dates)
            if alike and abs(other.occurred_at - mine.occurred_at) <= OCCASION_S:
                return id
        return ""

    def _corrected(self, who: Identity, memory: MemoryRecord, near: Near) -> dict[str, Correction]:
        """What *memory* corrects in so many words, of what the same speaker said in that scope.

        Only with words of correction ("no longer", "moved to") and where a rule tells what is
        corrected; everything else is left for sleep to report.
        """
        if not corrections.corrects(memory.text):
            return {}
        close = [id for id, cosine in near if cosine >= self._profile.related]
        newer = corrections.said(memory)
        found = {}
        for id, other in self._store.indexed(self._earlier(who, memory, close)).items():
            if records.scope(other) == records.scope(memory) and not other.superseded_by:
                what = corrections.correction(corrections.said(other), newer)
                if what is not None and what.clear:
                    found[id] = what
        return found

    def _earlier(self, who: Identity, memory: MemoryRecord, close: list[str]) -> list[str]:
        """Those of *close*, and of the newest that name what *memory* names, that it may correct:
        said before it by the same speaker of *who*.
        """
        with self._store.reading():
            columns = self._store.columns
            own = columns.agent == columns.code(who.agent, "agent")
            said = own & (columns.speaker == columns.code(memory.speaker, "speaker"))
            said &= ~columns.superseded
            if elapsed(memory.occurred_at, self._clock()) >= LIVE_SECONDS:  # else all was before it
                said &= columns.occurred_at <= memory.occurred_at
            near = [row for id in close if (row := columns.row(id)) is not None]
            naming = (self._store.graph.entity_rows(name) for name in memory.entities)
            rows = [*near, *(int(row) for some in naming for row in some[-SAME_SUBJECT:])]
            return [columns.id(row) for row in dict.fromkeys(rows) if said[row]]

    @property
    def _profile(self) -> Profile:
        embedder = self._gate.embedder
        return embedder.profile if embedder is not None else Profile()


def _relation(memory: MemoryRecord, mine: claims.Claims, other: MemoryRecord) -> str:
    if (memory.speaker, memory.visibility) != (other.speaker, other.visibility):
        return duplicates.SIMILAR
    found = duplicates.relation(claims.opposed(mine, claims.claims(other.text, other.entities)))
    longer = found == duplicates.DUPLICATE and corrections.extends(other, memory)
    return duplicates.EXTENDS if longer else found
