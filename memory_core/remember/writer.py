"""The walk of a write: mask -> understand -> embed -> relate -> commit.

No model that can be slow is asked: gists come from rules, and without an embedder the memory is
stored all the same and embedded by maintenance later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from memory_core import validation
from memory_core.config import Settings
from memory_core.embedding.base import Profile
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.lifecycle import model_work, tombstones
from memory_core.records import Identity, Link, MemoryRecord, Receipt, content_hash
from memory_core.remember import commit
from memory_core.remember.commit import Prepared
from memory_core.remember.draft import Draft
from memory_core.remember.known_names import KnownNames
from memory_core.remember.relate import relate
from memory_core.remember.understand import understand
from memory_core.representation import embed
from memory_core.storage.store import MemoryStore
from memory_core.text import secrets
from memory_core.text.importance import ImportanceScorer
from memory_core.text.names.entities import known_names
from memory_core.text.names.spacy import OptionalNames

log = logging.getLogger(__name__)


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
        memory, warnings = self._masked(draft.memory)
        prepared = Prepared(
            who,
            self._understood(who, memory, judged=draft.judged),
            replaces=draft.replaces,
            key=draft.key,
            leaving=self._leaving(draft.leaving),
            forms=self._forms(memory.text),
            warnings=(*draft.warnings, *warnings),
        )
        prepared = self._embedded(prepared)
        self._store.catch_up()  # with what was committed while the model worked
        prepared = relate(self._store, draft, prepared, self._scorer, self._profile, self._clock())
        return self._store.commit(lambda tx: commit.remember(tx, prepared))

    def bring_in(self, who: Identity, memory: MemoryRecord, links: Sequence[Link] = ()) -> Receipt:
        """Store an imported *memory* under its own id; a stored one is never changed.

        Those of its *links* are stored whose other end is a memory that *who* may read. The
        receipt's status is reinforced for a known id or an exact repeat, refused for what was
        forgotten, else stored.
        """
        memory, warnings = self._masked(memory)
        memory = replace(memory, content_hash=content_hash(memory.text))
        self._store.catch_up()
        known = bool(memory.id) and self._store.may_read(who, memory.id)
        forms = self._forms(memory.text)
        prepared = Prepared(who, memory, readable=known, forms=forms, warnings=warnings)
        prepared = prepared if known else self._embedded(prepared)
        ends = [(link, link.b if link.a == memory.id else link.a) for link in links]
        kept = [link for link, other in ends if self._store.may_read(who, other)]
        return self._store.commit(lambda tx: commit.take_in(tx, prepared, kept))

    # Steps

    def _masked(self, memory: MemoryRecord) -> tuple[MemoryRecord, tuple[str, ...]]:
        """*memory* without the secrets in its texts, and a warning that names their kinds.

        Raises InvalidInput for a secret where the settings refuse it.
        """
        texts, kinds = secrets.mask_all((memory.text, memory.gist, memory.source))
        if not kinds:
            return memory, ()
        if self._settings.limits.secrets == "refuse":
            raise validation.invalid("text", f"it holds a secret ({kinds})", "leave it out")
        text, gist, source = texts
        masked = replace(memory, text=text, gist=gist, source=source)
        return masked, (f"secrets were masked: {kinds}",)

    def _understood(self, who: Identity, memory: MemoryRecord, *, judged: bool) -> MemoryRecord:
        """*memory* with all that its text says, the names that *who* may know of among it."""
        with self._store.reading() as view:
            known = known_names(memory.text, KnownNames(view, who))
        names = (*known, *self._names(memory.text))
        return understand(memory, names, self._settings, judged=judged, encode=who.encode)

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
        late = self._settings.encoder != "passthrough"
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
