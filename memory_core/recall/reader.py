"""The walk of a recall: ask -> mask -> candidates -> score -> spread -> choose -> judge -> attach.

Ranking is by evidence: the recipe and its weights were measured on LoCoMo and BEAM
(docs/internals/recall.md). Decay, importance and priming only move what the evidence leaves close.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memory_core import validation
from memory_core.beliefs.question import in_first_person
from memory_core.config import DecaySettings
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable, stop_if_abandoned
from memory_core.lifecycle.doubts import Doubts
from memory_core.lifecycle.working_memory import Mind, Sessions
from memory_core.recall import (
    answer,
    asked,
    candidates,
    confidence,
    pending,
    rehearsal,
    rivals,
    scoring,
    selection,
    spreading,
    unmet,
)
from memory_core.recall.answer import Chosen, Why
from memory_core.recall.explanation import Explainer
from memory_core.recall.query import Cues, Embedded, Query, ask, mask, valid
from memory_core.recall.signals import SIGNALS
from memory_core.records import Identity, Recollection
from memory_core.scoring import calibration, fusion
from memory_core.scoring.arrays import Mask
from memory_core.storage.accesses import Accesses
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View

log = logging.getLogger(__name__)

MMR_LAMBDA = 1.0
"""Off: 0.7 costs 2.3 points of recall@10 on LoCoMo and 8.6 on BEAM."""


class Reader:
    """Finds the memories that answer a query; one instance serves all callers."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        decay: DecaySettings,
        clock: Callable[[], float],
        sessions: Sessions,
        accesses: Accesses,
        embed_now: Callable[[float], None],
        mmr_lambda: float = MMR_LAMBDA,
    ) -> None:
        """Read from *store*; embed queries with the model of *gate*; *clock* returns epoch seconds.

        *sessions* hold the working memory of the conversations, which a recall renews; *accesses*
        count what was recalled, and what was recalled together. *embed_now*(seconds) makes, or
        waits for, the vectors that are missing.
        """
        self._store = store
        self._gate = gate
        self._decay = decay
        self._mmr_lambda = mmr_lambda
        self._clock = clock
        self._sessions = sessions
        self._accesses = accesses
        self._embed_now = embed_now

    def recall(self, who: Identity, query: Query) -> Recollection:
        """The memories that answer *query* among those that *who* may read; see Memory.recall."""
        self._store.catch_up()
        embedded = self._embed(who, query.text)
        look = self._sessions.asked if query.rehearse else self._sessions.mind
        mind = look(who, query.session)
        self._store.catch_up()  # with what was committed while the model worked
        if embedded.vector is not None:
            self._await_vectors(who)
        with self._store.reading() as view:
            cues = self._ask(view, who, query, embedded, mind)
            rows = mask(view, cues)
            waiting = pending.pending(view, rows) if cues.vector is not None else None
            chosen, searched = self._choose(view, cues, rows)
            if waiting is not None and calibration.feeling(chosen.confidence) == "none":
                by_words = self._ask(view, who, query, Embedded(), mind)
                chosen = self._by_words(view, by_words, waiting) or chosen
            if query.explain:
                chosen = self._with_outsiders(view, cues, chosen, cues.readable & ~searched)
            located = answer.locate(view, who, query, chosen, cues.valid, self._store.journal)
            similar = rehearsal.similarities(view, cues.mind.working, cues.vector)
            nothing = unmet.note(view, cues, rows)
        recollection = answer.attach(
            self._store,
            chosen,
            located,
            lexical_only=cues.vector is None,
            waiting=0 if waiting is None else int(waiting.sum()),
            unmet=nothing,
            replaced=query.as_of is not None or cues.former,
            as_of=query.as_of,
            context=query.context > 0,
        )
        if query.rehearse:
            self._sessions.answered(who, query.session, chosen.active, similar)
            self._accesses.associate(chosen.together)
            self._accesses.record(rehearsal.rehearsed(recollection, chosen.active))
        return recollection

    def by_id(self, who: Identity, query: Query) -> Recollection:
        """The memory whose id is the text of *query*, replaced or retired or not; no filter counts.

        Raises NotFound when there is none that *who* may read.
        """
        id = query.text.strip()
        self._store.catch_up()
        with self._store.reading() as view:
            row, readable = view.columns.row(id), view.readable(who)
            if row is None or not readable[row]:
                raise validation.unknown(id)
            why: list[Why] = [{"id": 1.0}] if query.explain else []
            chosen = Chosen([row], [1.0], why, confidence=1.0)
            current = readable & valid(view.columns, query.as_of)
            located = answer.locate(view, who, query, chosen, current, self._store.journal)
        recollection = answer.attach(
            self._store,
            chosen,
            located,
            lexical_only=False,
            replaced=True,
            as_of=query.as_of,
            context=query.context > 0,
        )
        if not recollection.hits:  # forgotten by another process at this moment
            raise validation.unknown(id)
        if query.rehearse:
            self._accesses.record([id])
        return recollection

    # wait

    def _await_vectors(self, who: Identity) -> None:
        """Wait for the vectors of what was stored just now, WAIT_SECONDS at most."""
        with self._store.reading() as view:
            awaited = pending.awaited(view, who, self._clock())
        if awaited:
            self._embed_now(pending.WAIT_SECONDS)

    def _by_words(self, view: View, cues: Cues, waiting: Mask) -> Chosen | None:
        """What answers by words among rows without vectors; None where nothing does."""
        if not waiting.any():
            return None
        chosen, _ = self._choose(view, cues, waiting)
        return None if calibration.feeling(chosen.confidence) == "none" else chosen

    # ask

    def _embed(self, who: Identity, text: str) -> Embedded:
        """The vectors of a query; none without the store's model."""
        embedder = self._gate.usable(self._store.fingerprint)
        if embedder is None:
            return Embedded()
        own = self._in_first_person(who, text) if embedder.profile.english else text
        try:
            vector = embedder.query(text)
            if own == text:
                return Embedded(vector, None, embedder.fingerprint)
            own_vector = embedder.query(own)
        except EncoderUnavailable as problem:
            log.warning("recall goes by words: %s", problem)
            self._gate.back_off(problem)
            return Embedded()
        return Embedded(fusion.between(vector, own_vector), own_vector, embedder.fingerprint)

    def _documents(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of *texts*; None without the store's model."""
        embedder = self._gate.usable(self._store.fingerprint)
        if embedder is None:
            return None
        try:
            return embedder.documents(texts)
        except EncoderUnavailable as problem:
            log.warning("recall goes by words: %s", problem)
            self._gate.back_off(problem)
            return None

    def _in_first_person(self, who: Identity, text: str) -> str:
        """*text* as those whom it names would put it, where *who* may read what they said."""
        with self._store.reading() as view:
            columns, readable = view.columns, view.readable(who)

            def speaks(name: str) -> bool:
                code = columns.code(name, "speaker")
                return code > 0 and bool(np.any(readable & (columns.speaker == code)))

            return in_first_person(text, speaks)

    def _ask(self, view: View, who: Identity, query: Query, embedded: Embedded, mind: Mind) -> Cues:
        embedder = self._gate.embedder
        return ask(
            view,
            who,
            query,
            embedded,
            mind=mind,
            profile=None if embedder is None else embedder.profile,
            decay=self._decay,
            mmr_lambda=self._mmr_lambda,
            now=self._clock(),
            doubts=Doubts(view, self._store.journal, query.as_of),
        )

    # mask

    def _choose(self, view: View, cues: Cues, rows: Mask) -> tuple[Chosen, Mask]:
        """What answers among *rows*, and which of them were searched.

        Retired memories are searched where the others do not answer with high confidence. Where
        they do, only the retired sources of what answers are searched, and those that share a
        derived memory with it. A recall as of an earlier moment searches retired memories as well.
        """
        retired = rows & np.isfinite(view.columns.retired_at)
        if cues.query.as_of is None and retired.any():
            searched = rows & ~retired
            chosen = self._search(view, cues, searched)
            if calibration.feeling(chosen.confidence) == "high":
                sources = retired & _sources(view, [*chosen.rows, *chosen.folded])
                if not sources.any():
                    return chosen, searched
                rows = searched | sources
        return self._search(view, cues, rows), rows

    # candidates -> score -> spread -> choose -> judge

    def _search(self, view: View, cues: Cues, rows: Mask) -> Chosen:
        """What answers among *rows*."""
        stop_if_abandoned()
        allowed = candidates.allow(view, cues, rows)
        found = candidates.find(view, cues, allowed, SIGNALS)
        if not found.size:
            return Chosen()
        scored = scoring.score(view, cues, found, SIGNALS)
        stop_if_abandoned()
        scored = spreading.spread(view, cues, scored, allowed.searched)
        scored = selection.amended(view, cues, scored)
        scored = asked.behind(view, cues, scored)
        scored = rivals.newest_first(view, cues, scored, self._documents)
        selected = selection.choose(view, cues, scored, self._documents)
        chosen = Chosen(
            scored.rows[selected.chosen].tolist(),
            scored.score[selected.chosen].tolist(),
            confidence=confidence.judge(view, cues, scored, selected.represented, self._documents),
            folded=scored.rows[selected.represented].tolist(),
        )
        if cues.query.rehearse:
            active = rehearsal.activated(view, cues, scored, selected.chosen)
            chosen = replace(chosen, active=active, together=rehearsal.together(view, cues, scored))
        if cues.query.explain:
            chosen = Explainer(view, cues, scored).explained(chosen, selected)
        return chosen

    def _with_outsiders(self, view: View, cues: Cues, chosen: Chosen, outside: Mask) -> Chosen:
        """*chosen* with the best of the rows *outside* of what was searched, as rejected."""
        allowed = candidates.allow(view, cues, outside)
        found = candidates.find(view, cues, allowed, SIGNALS)
        if not found.size:
            return chosen
        scored = scoring.score(view, cues, found, SIGNALS)
        outsiders = Explainer(view, cues, scored).outside()
        return replace(chosen, rejected=[*chosen.rejected, *outsiders])


def _sources(view: View, rows: Sequence[int]) -> Mask:
    """The mask of what *rows* were derived from, and of the other sources of what was derived from
    one of them.

    That derived memory may be retired itself: its sources answer in its place.
    """
    graph = view.graph
    derived = {origin for row in rows for origin in graph.origins(row, DERIVED_FROM)}
    found = np.zeros(len(view.columns), dtype=np.bool_)
    for row in (*rows, *derived):
        found[graph.targets(row, DERIVED_FROM)] = True
    return found
