"""The walk of a recall: cues -> candidates -> fuse -> spread -> select -> judge -> attach.

Ranking is by evidence (design rule 4). The recipe and its weights were measured on LoCoMo and BEAM;
`docs/internals/architecture.md` tells the walk, `anamnesis evaluate` measures it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memory_core import validation
from memory_core.config import Settings
from memory_core.embedding.base import Profile
from memory_core.embedding.embedder import EmbedderGate
from memory_core.errors import EncoderUnavailable
from memory_core.lifecycle.working_memory import Mind, Sessions
from memory_core.recall import answer as attachment
from memory_core.recall import confidence, explanation, scoring, selection, spreading
from memory_core.recall import query as query_module
from memory_core.recall.answer import Chosen, Why
from memory_core.recall.evidence import Candidates
from memory_core.recall.query import Cues, Question
from memory_core.recall.signals import cognitive, facts, preferences
from memory_core.records import Identity, Recollection
from memory_core.scoring import calibration, fusion
from memory_core.scoring.arrays import Mask, Rows
from memory_core.storage.accesses import Accesses
from memory_core.storage.index import bm25
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore
from memory_core.text import question
from memory_core.text.names.entities import entities
from memory_core.text.question import asks_what_was_answered, in_first_person, order_asked
from memory_core.text.time import dates

log = logging.getLogger(__name__)

Vector = NDArray[np.float32] | None


class Reader:
    """Finds what a question brings to mind; one instance serves all callers."""

    def __init__(
        self,
        store: MemoryStore,
        gate: EmbedderGate,
        settings: Settings,
        clock: Callable[[], float],
        sessions: Sessions,
        accesses: Accesses,
    ) -> None:
        """Read from *store*; embed queries with what *gate* has loaded; *clock* gives the time.

        *sessions* are what the conversations have in mind; a recall renews it. *accesses* are told
        what was rehearsed, and which memories one cue brought up together.
        """
        self._store = store
        self._gate = gate
        self._settings = settings
        self._clock = clock
        self._sessions = sessions
        self._accesses = accesses

    def recall(self, who: Identity, cues: Cues) -> Recollection:
        """What *cues* bring to mind of what *who* may read; see Memory.recall."""
        self._store.catch_up()
        vector, told, model = self._query_vectors(who, cues.query)
        look = self._sessions.asked if cues.rehearse else self._sessions.mind
        cues = replace(cues, mind=look(who, cues.session))
        self._store.catch_up()  # with what was committed while the model worked
        with self._store.reading():
            if model != self._store.fingerprint:  # changed meanwhile: never mix two models
                vector = told = None
            columns = self._store.columns
            seen = self._store.readable(who)
            shown = seen & query_module.valid(columns, cues.as_of)
            cues = replace(cues, period=self._period(cues, seen))
            asked = replace(self._question(cues, vector, shown), told=told)
            chosen, among = self._choose(asked, self._narrowed(cues, shown))
            if cues.explain:
                chosen = self._with_outsiders(asked, chosen, seen & ~among)
            found = attachment.locate(columns, who.agent, cues, chosen, shown)
            stale = cognitive.similarities(self._store, cues.mind.working, vector)
        answer = attachment.attach(
            self._store,
            chosen,
            found,
            lexical_only=vector is None,
            replaced=cues.as_of is not None,
        )
        if cues.rehearse:
            self._sessions.answered(who, cues.session, chosen.active, stale)
            self._accesses.associate(chosen.together)
            self._accesses.record(_rehearsed(answer, chosen))
        return answer

    def by_id(self, who: Identity, cues: Cues) -> Recollection:
        """The memory whose id is the query of *cues*, replaced or retired or not, whatever narrows.

        Raises NotFound when there is none that *who* may read.
        """
        id = cues.query.strip()
        self._store.catch_up()
        with self._store.reading():
            columns, seen = self._store.columns, self._store.readable(who)
            row = columns.row(id)
            if row is None or not seen[row]:
                raise validation.unknown(id)
            why: list[Why] = [{"id": 1.0}] if cues.explain else []
            chosen = Chosen([row], [1.0], why, confidence=1.0)
            shown = seen & query_module.valid(columns, cues.as_of)
            found = attachment.locate(columns, who.agent, cues, chosen, shown)
        answer = attachment.attach(self._store, chosen, found, lexical_only=False, replaced=True)
        if not answer.hits:  # forgotten by another process at this moment
            raise validation.unknown(id)
        if cues.rehearse:
            self._accesses.record([id])
        return answer

    # cues

    def _query_vectors(self, who: Identity, query: str) -> tuple[Vector, Vector, str]:
        """The vector to search with, that of the first person, and whose they are.

        The first is None without the store's model, the second where nobody is named.
        """
        embedder = self._gate.usable(self._store.fingerprint)
        if embedder is None:
            return None, None, ""
        told = self._told(who, query) if embedder.profile.first_person else query
        try:
            vector = embedder.query(query)
            if told == query:
                return vector, None, embedder.fingerprint
            own = embedder.query(told)
            return fusion.between(vector, own), own, embedder.fingerprint
        except EncoderUnavailable as problem:
            log.warning("recall goes by words: %s", problem)
            self._gate.back_off(problem)
            return None, None, ""

    def _told(self, who: Identity, query: str) -> str:
        """*query* as those whom it names would put it, where *who* may read what they said."""
        with self._store.reading():
            columns, seen = self._store.columns, self._store.readable(who)

            def speaks(name: str) -> bool:
                code = columns.code(name, "speaker")
                return code > 0 and bool(np.any(seen & (columns.speaker == code)))

            return in_first_person(query, speaks)

    def _question(self, cues: Cues, vector: NDArray[np.float32] | None, shown: Mask) -> Question:
        days, called = dates.query_dates(cues.query, self._clock()), entities(cues.query)
        names = frozenset(term for name in called for term in index_terms(name))
        return Question(
            cues,
            vector if self._store.vectors is not None else None,
            self._store.lexical.match(cues.query, alone=names),
            days,
            dates.asks_when(cues.query),
            names=names,
            order=0 if days else order_asked(cues.query),
            facts=facts.lenders(self._store, cues, shown),
            standing=preferences.wishes(self._store, cues.query, shown),
            answered=asks_what_was_answered(cues.query),
            named=frozenset(self._speakers(called, shown)),
        )

    def _speakers(self, names: Iterable[str], shown: Mask) -> Iterator[int]:
        """The codes of those of *names* who speak in the rows *shown*."""
        columns = self._store.columns
        for name in names:
            code = columns.code(name, "speaker")
            if code > 0 and bool(np.any(shown & (columns.speaker == code))):
                yield code

    def _period(self, cues: Cues, seen: Mask) -> question.Period | None:
        """The time that is the whole question, if it is; people who are *seen* may be named."""
        now = self._clock()
        if not dates.query_dates(cues.query, now):
            return None
        names = self._store.columns.names("speaker", seen)
        return question.period_asked(cues.query, now, {name.casefold() for name in names})

    def _narrowed(self, cues: Cues, shown: Mask) -> Mask:
        """Those of the rows *shown* that fit what the caller asks for."""
        columns, mask = self._store.columns, shown.copy()
        for fitting in query_module.narrowing(columns, cues).values():
            mask &= fitting
        if cues.elsewhere and cues.session:
            mask &= columns.session != columns.code(cues.session, "session")
        return mask

    def _choose(self, asked: Question, mask: Mask) -> tuple[Chosen, Mask]:
        """What answers among the rows of *mask*, and which of them were searched.

        Retired ones only where the others do not answer, and where a summary does that rests on
        them, or something it tells together with them. What was known at an earlier moment
        includes what has been retired since or before.
        """
        retired = mask & np.isfinite(self._store.columns.retired_at)
        if asked.cues.as_of is None and retired.any():
            chosen, searched = self._search(asked, mask & ~retired), mask & ~retired
            if calibration.feeling(chosen.confidence) == "high":
                sources = retired & self._sources([*chosen.rows, *chosen.folded])
                if not sources.any():
                    return chosen, searched
                mask = searched | sources
        return self._search(asked, mask), mask

    def _sources(self, rows: Sequence[int]) -> Mask:
        """The mask of what *rows* rest on, and of what a summary tells together with one of them.

        The summary itself may rest: then they lead to what it would have led to.
        """
        graph = self._store.graph
        told = {origin for row in rows for origin in graph.origins(row, DERIVED_FROM)}
        found = np.zeros(len(self._store.columns), dtype=np.bool_)
        for row in (*rows, *told):
            found[graph.targets(row, DERIVED_FROM)] = True
        return found

    def _with_outsiders(self, asked: Question, chosen: Chosen, outside: Mask) -> Chosen:
        """*chosen* with the best of the rows *outside* of what was searched, as rejected."""
        rows = self._candidates(asked, outside)
        if not len(rows):
            return chosen
        reasons = self._reasons(self._weigh(asked, rows), asked.cues.mind)
        return replace(chosen, rejected=[*chosen.rejected, *reasons.outside(asked.cues)])

    # candidates

    def _search(self, asked: Question, mask: Mask) -> Chosen:
        rows = self._candidates(asked, mask)
        if not len(rows):
            return Chosen()
        texts = facts.without(self._store, asked, mask)
        found = spreading.follow(self._store, asked, self._weigh(asked, rows), texts)
        return self._select(asked, found)

    def _candidates(self, asked: Question, mask: Mask) -> Rows:
        """The best of each search and their neighbours in the thread, ascending, within *mask*."""
        most = max(self._settings.recall.candidates, 2 * asked.cues.k)
        lent = facts.reached(self._store, asked, mask, most)
        mask = facts.without(self._store, asked, mask)
        found = [bm25.best(asked.words.scores, most, mask)[0]]
        if asked.vector is not None:
            assert self._store.vectors is not None
            for part in ("whole", "passage"):
                nearest = self._store.vectors.search(asked.vector, most, part=part, allowed=mask)
                found.append(nearest[0])
            found.append(preferences.reached(self._store, asked, mask))
            found.append(
                cognitive.hot(self._store, asked.cues.mind, asked.vector, self._profile.related)
            )
        hits = np.unique(np.concatenate(found))
        around = [self._store.columns.neighbours_many(hits, offset) for offset in scoring.OFFSETS]
        rows = np.unique(np.concatenate([hits, *around]))
        rows = rows[rows >= 0]
        allowed: Rows = np.union1d(rows[mask[rows]], lent)
        return allowed

    # fuse and spread

    def _weigh(self, asked: Question, rows: Rows) -> Candidates:
        return scoring.weigh(self._store, self._settings, asked, rows, self._clock())

    # select and judge

    def _select(self, asked: Question, found: Candidates) -> Chosen:
        cues = asked.cues
        threshold = None if self._gate.embedder is None else self._profile.near_duplicate
        lambda_ = self._settings.recall.mmr_lambda
        alike = self._profile.cluster, (self._profile.cluster + self._profile.near_duplicate) / 2
        order = selection.ranked(self._store, found.rows, found.score, cues.k, lambda_, alike)
        order = selection.broadened(self._store, found.rows, found.score, order, cues.k)
        order = selection.newest_first(self._store, found.rows, order, cues.as_of, self._clock())
        speaks = confidence.supported(self._store.columns, asked, found)[order]
        order, silent = order[speaks], order[~speaks]
        kept, folded = selection.folded(self._store, found.rows[order], cues.k, threshold)
        chosen = order[kept]
        same = order[[place for places in folded.values() for place in places]]
        answer = Chosen(
            [int(row) for row in found.rows[chosen]],
            [float(score) for score in found.score[chosen]],
            confidence=confidence.judge(self._store, asked, found, same),
            active=cognitive.activated(
                self._store,
                found.rows[chosen],
                found.whole[chosen],
                found.lexical[chosen],
                self._profile.related,
            ),
            together=cognitive.together(
                self._store, found.rows, found.whole, self._profile.related
            ),
            folded=[int(found.rows[order[p]]) for places in folded.values() for p in places],
        )
        if not cues.explain:
            return answer
        return self._reasons(found, cues.mind).explained(answer, order, kept, folded, silent)

    def _reasons(self, found: Candidates, mind: Mind) -> explanation.Reasons:
        return explanation.Reasons(self._store, found, self._settings.decay, self._clock(), mind)

    @property
    def _profile(self) -> Profile:
        embedder = self._gate.embedder
        return embedder.profile if embedder is not None else Profile()


def _rehearsed(answer: Recollection, chosen: Chosen) -> list[str]:
    """What an answer rehearses: its best memory, and those that the cue really brought to mind.

    The rest of a list of k is only its tail: rehearsed with it, nothing would ever fade.
    """
    active = {each.id for each in chosen.active}
    ids = [hit.memory.id for hit in answer.hits]
    return [id for place, id in enumerate(ids) if place == 0 or id in active]
