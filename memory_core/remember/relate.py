"""How a new memory relates to those that are stored: importance, repeats, updates, corrections.

Everything is looked up before the lock of the journal is taken; what another writer commits in
between is found by `commit` or by the next run of consolidation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from memory_core import records
from memory_core.embedding.base import Profile
from memory_core.records import (
    DERIVED,
    KINDS,
    ROLES,
    VISIBILITIES,
    Identity,
    MemoryRecord,
    Similar,
    elapsed,
)
from memory_core.relations import change, claims, corrections, duplicates
from memory_core.relations.corrections import Correction
from memory_core.remember.commit import Doubt, Prepared
from memory_core.remember.draft import Draft
from memory_core.storage.index import bm25
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View
from memory_core.text import quoted
from memory_core.text.importance import ImportanceScorer

SIMILAR_MOST = 5
"""Near memories compared, and named in a receipt."""

SAME_SUBJECT = 20
"""The newest memories with a name of the new one that it is compared with for a correction."""

LIVE_SECONDS = 60.0
"""A memory dated at most so long ago is said now: after all that is stored, however dated."""

COMPARED_MOST = 16
"""The nearest memories, and as many by their words, that are compared for what they change."""

COMPARED_COSINE = 0.3
"""Of labelled corrections 49 of 50 are as near as this; no rule is asked about what is farther."""

OCCASION_S = 86_400.0
"""Captured turns that say the same are one memory within a day of each other."""

TURNED_COSINE = 0.85
"""From which two texts may hold the same words in another order; measured on reversals: 0.86."""

MATCHED_CHARS = 500
"""Of a text whose words are looked up."""

_DERIVED = [KINDS.index(kind) for kind in DERIVED]

Near = Sequence[tuple[str, float]]
"""Ids and their cosines in document space, best first."""


def relate(
    store: MemoryStore,
    draft: Draft,
    prepared: Prepared,
    scorer: ImportanceScorer,
    profile: Profile,
    now: float,
) -> Prepared:
    """*prepared* with its importance and with the memories of *store* that it bears on."""
    who, memory, replaces = prepared.who, prepared.memory, prepared.replaces
    with store.reading() as view:
        near = _nearest(view, prepared)
        related = [id for id, cosine in near if cosine >= profile.related]
        earlier = [] if replaces else _earlier(view, who, memory, related, now)
    if not draft.judged:
        nearest = None if prepared.vectors is None else max((c for _, c in near), default=-1.0)
        importance = scorer.importance(memory, nearest, profile.related)
        memory = replace(memory, importance=importance)
    corrected = _corrected(store, memory, earlier)
    doubts = [] if replaces else _doubts(store, prepared, corrected, now)
    close = [id for id, cosine in near if cosine >= profile.near_duplicate]
    others = store.indexed(dict.fromkeys([*close, *corrected]))
    relations = _relations(memory, others, corrected)
    return replace(
        prepared,
        memory=memory,
        similar=tuple(Similar(id, others[id].text, what) for id, what in relations.items()),
        corrected=corrected,
        doubts=doubts,
        twin=_twin(memory, others, relations) if draft.passive else "",
        readable=bool(replaces) and store.may_read(who, replaces),
        derived=_derived(store, [*_successors(store, replaces), *corrected]),
    )


# What is near


def _nearest(view: View, prepared: Prepared) -> Near:
    """The nearest memories that the writer may read and that were not replaced."""
    fits = prepared.fingerprint == view.fingerprint
    if prepared.vectors is None or view.vectors is None or not fits:
        return ()
    columns = view.columns
    allowed = view.readable(prepared.who) & ~columns.replaced
    rows, cosines = view.vectors.search(
        prepared.vectors[0], SIMILAR_MOST, part="whole", allowed=allowed
    )
    pairs = zip(rows.tolist(), cosines.tolist(), strict=True)
    return [(columns.id(row), cosine) for row, cosine in pairs]


def _relations(
    memory: MemoryRecord,
    others: Mapping[str, MemoryRecord],
    corrected: Mapping[str, Correction],
) -> dict[str, str]:
    """The relation of *memory* to each of *others*, by id."""
    if not others:
        return {}
    mine = claims.claims(memory.text, memory.entities)
    return {
        id: corrected[id].relation if id in corrected else _relation(memory, mine, other)
        for id, other in others.items()
    }


def _relation(memory: MemoryRecord, mine: claims.Claims, other: MemoryRecord) -> str:
    if (memory.speaker, memory.visibility) != (other.speaker, other.visibility):
        return duplicates.SIMILAR
    found = duplicates.relation(claims.opposed(mine, claims.claims(other.text, other.entities)))
    longer = found == duplicates.DUPLICATE and corrections.extends(other, memory)
    return duplicates.EXTENDS if longer else found


def _twin(
    memory: MemoryRecord, others: Mapping[str, MemoryRecord], relations: Mapping[str, str]
) -> str:
    """The id of the duplicate said on the same occasion by the same speaker; "" for none.

    What is said on another day, or names other days, is another occasion.
    """
    for id, other in others.items():
        if relations[id] != duplicates.DUPLICATE:
            continue
        alike = (other.agent, other.role, other.dates) == (memory.agent, memory.role, memory.dates)
        if alike and abs(other.occurred_at - memory.occurred_at) <= OCCASION_S:
            return id
    return ""


# What is corrected


def _earlier(
    view: View, who: Identity, memory: MemoryRecord, related: Sequence[str], now: float
) -> list[str]:
    """The ids that *memory* may correct: said before it by the same speaker of *who*.

    Those of *related*, and the newest that hold a name of *memory*. None unless its text has words
    of correction ("no longer", "moved to").
    """
    if not corrections.corrects(quoted.claimed(memory)):
        return []
    columns = view.columns
    own = columns.agent == columns.code(who.agent, "agent")
    said = own & (columns.speaker == columns.code(memory.speaker, "speaker"))
    said &= ~columns.superseded
    if elapsed(memory.occurred_at, now) >= LIVE_SECONDS:  # else all was said before it
        said &= columns.occurred_at <= memory.occurred_at
    near = [row for id in related if (row := columns.row(id)) is not None]
    naming = (view.graph.entity_rows(name) for name in memory.entities)
    rows = [*near, *(int(row) for some in naming for row in some[-SAME_SUBJECT:])]
    return [columns.id(row) for row in dict.fromkeys(rows) if said[row]]


def _corrected(
    store: MemoryStore, memory: MemoryRecord, earlier: Sequence[str]
) -> dict[str, Correction]:
    """Those of *earlier*, in the scope of *memory*, that it clearly corrects, and how.

    What no rule decides is left for consolidation to report.
    """
    if not earlier:
        return {}
    newer, found = corrections.said(memory), {}
    for id, other in store.indexed(earlier).items():
        if records.scope(other) == records.scope(memory) and not other.superseded_by:
            what = corrections.correction(corrections.said(other), newer)
            if what is not None and what.clear:
                found[id] = what
    return found


# What is put in doubt


def _doubts(
    store: MemoryStore, prepared: Prepared, corrected: Mapping[str, Correction], now: float
) -> list[Doubt]:
    """The memories that *prepared* may put out of date, and those that put it in doubt itself.

    Only statements of one speaker are compared, and none doubts what is trusted more. What was said
    before the new one is doubted by it; what was said after it, of an import, doubts it.
    """
    memory = prepared.memory
    live = elapsed(memory.occurred_at, now) < LIVE_SECONDS
    with store.reading() as view:
        ids = _comparable(view, prepared, live=live)
        rare = change.rare_in(view.lexical.document_frequency, len(view.lexical), index_terms)
    found = []
    for id, other in store.indexed(ids).items():
        newer, older = (memory, other)
        if not live and other.occurred_at > memory.occurred_at:
            newer, older = other, memory
        if id in corrected or not corrections.may_change(older, newer):
            continue
        if found_change := change.change(quoted.claimed(older), quoted.claimed(newer), rare):
            found.append(Doubt(id, found_change, by_new=newer is memory))
    return found


def _comparable(view: View, prepared: Prepared, *, live: bool) -> list[str]:
    """The ids of what was said by the same speaker and is near in meaning or shares its words.

    Of a text without words of change only near-duplicates are looked at, which may turn it round.
    """
    memory, columns = prepared.memory, view.columns
    signals = change.signals_change(quoted.claimed(memory)) or not live
    own = columns.agent == columns.code(memory.agent, "agent")
    own &= columns.speaker == columns.code(memory.speaker, "speaker")
    own &= columns.visibility == VISIBILITIES.index(memory.visibility)
    roles = quoted.SPEAKING if memory.role in quoted.SPEAKING else (memory.role,)
    own &= np.isin(columns.role, [ROLES.index(role) for role in roles])
    own &= columns.live & ~columns.superseded & ~np.isin(columns.kind, _DERIVED)
    if memory.visibility == "team":
        own &= columns.team == columns.code(memory.team, "team")
    rows: list[int] = []
    fits = prepared.fingerprint == view.fingerprint
    if prepared.vectors is not None and view.vectors is not None and fits:
        near, cosines = view.vectors.search(
            prepared.vectors[0], COMPARED_MOST, part="whole", allowed=own
        )
        rows += near[cosines >= (COMPARED_COSINE if signals else TURNED_COSINE)].tolist()
    if signals:
        scores = view.lexical.match(quoted.claimed(memory)[:MATCHED_CHARS]).scores
        rows += bm25.best(scores, COMPARED_MOST, own)[0].tolist()
    return [columns.id(row) for row in dict.fromkeys(rows)]


# What becomes stale


def _successors(store: MemoryStore, replaces: str) -> list[str]:
    """The memory *replaces* and those that have replaced it since, one the other."""
    found: list[str] = []
    id = replaces
    while id and id not in found:
        memory = store.indexed([id]).get(id)
        if memory is None:
            break
        found.append(id)
        id = memory.superseded_by if memory.replaced else ""
    return found


def _derived(store: MemoryStore, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What is derived from each of *ids*, directly or through others."""
    if not ids:
        return {}
    with store.reading() as view:
        return {id: _derived_from(view, id) for id in ids}


def _derived_from(view: View, id: str) -> tuple[str, ...]:
    found: dict[int, None] = {}
    row = view.columns.row(id)
    frontier = [] if row is None else [row]
    while frontier:
        reached = [other for row in frontier for other in view.graph.origins(row, DERIVED_FROM)]
        frontier = [row for row in dict.fromkeys(reached) if row not in found]
        found |= dict.fromkeys(frontier)
    return tuple(view.columns.id(row) for row in found)
