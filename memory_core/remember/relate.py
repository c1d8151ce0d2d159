"""How a new memory relates to those that are stored: importance, repeats, updates, corrections.

Everything is looked up before the lock of the journal is taken; what another writer commits in
between is found by `commit` or by the next run of consolidation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from memory_core import link_kinds
from memory_core.beliefs import amended, authority, claims, competing, forms, quoted, wordings
from memory_core.beliefs.compare import compare, compare_wording
from memory_core.beliefs.competing import UNKNOWN, Nearness
from memory_core.beliefs.importance import ImportanceScorer
from memory_core.embedding.base import Profile
from memory_core.records import (
    DERIVED,
    KINDS,
    MASKED,
    PROJECT,
    ROLES,
    VISIBILITIES,
    Identity,
    MemoryRecord,
    Similar,
    elapsed,
    projects_of,
)
from memory_core.remember import again
from memory_core.remember.commit import TOLD, surest
from memory_core.remember.draft import Draft
from memory_core.remember.prepared import Doubt, Prepared
from memory_core.scoring.arrays import Mask, Rows
from memory_core.storage.index import bm25
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View
from memory_core.text.words import content_words

SIMILAR_MOST = 5
"""Near memories compared, and named in a receipt."""

NEAR_MOST = 12
"""Near memories looked up once: for what is similar, and for what may be out of date."""

LIVE_SECONDS = 60.0
"""A memory dated at most so long ago is said now: after all that is stored, however dated."""

COMPARED_MOST = 6
"""The nearest memories, and as many by their words, that are compared for what they change.

Of 150 labelled corrections among 3,000 other texts, 145 find there what they correct; 146 with 10.
"""

COMPARED_COSINE = 0.2
"""No rule is asked about what is farther. Of labelled corrections 49 of 50 are as near as 0.3, but
"I moved to Linz" lies 0.21 to 0.28 from short texts that say where the speaker lives."""

OCCASION_S = 86_400.0
"""Captured turns that say the same are one memory within a day of each other."""

PACKAGED = Profile()
"""Of the model that the likelihood of `competing` was fitted to."""

MATCHED_CHARS = 500
"""Of a text whose words are looked up."""

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
        nearest = _nearest(view, prepared)
        near = nearest[:SIMILAR_MOST]
        alike = [id for id, _ in near]
        if prepared.vectors is None:
            allowed = of_speaker(view, memory)
            alike = [view.columns.id(row) for row in _by_words(view, memory.text, allowed, who)]
    if not draft.judged:
        closest = None if prepared.vectors is None else max((c for _, c in near), default=-1.0)
        importance = scorer.importance(memory, closest, profile.related)
        memory = replace(memory, importance=importance)
    doubts = [] if replaces else _doubts(store, prepared, nearest, profile, now)
    if (before := _amended(store, prepared)) is not None and not replaces:
        doubts = [*(doubt for doubt in doubts if doubt.id != before.id), before]
    corrected = {d.id: d.found.supersedes for d in doubts if d.found.supersedes}
    close = [id for id, cosine in near if cosine >= profile.near_duplicate]
    doubtful = [doubt.id for doubt in surest(doubts) if not doubt.found.passing][:TOLD]
    # what was forgotten meanwhile is not among them
    others = store.indexed(dict.fromkeys([*close, *corrected, *doubtful]))
    shown = dict.fromkeys((id for id in doubtful if id not in close), link_kinds.DOUBTS)
    told = shown | corrected
    relations = _relations(memory, others) | {id: told[id] for id in others if id in told}
    return replace(
        prepared,
        memory=memory,
        similar=tuple(Similar(id, others[id].text, what) for id, what in relations.items()),
        doubts=doubts,
        overcome={} if replaces else again.overcome(store, memory, alike),
        twin=_twin(memory, others, relations) if draft.passive else "",
        readable=bool(replaces) and store.may_read(who, replaces),
        derived=_derived(store, [*_successors(store, replaces), *corrected]),
    )


def place(store: MemoryStore, prepared: Prepared, profile: Profile) -> Prepared:
    """*prepared*, an import, with what it corrects or puts in doubt of all that was said before."""
    memory = prepared.memory
    with store.reading() as view:
        nearest = _nearest(view, prepared, said_before(view, memory))
    doubts = _doubts(store, prepared, nearest, profile, math.inf)
    corrected = [doubt.id for doubt in doubts if doubt.found.supersedes]
    return replace(prepared, doubts=doubts, derived=_derived(store, corrected))


# What is near


def _nearest(view: View, prepared: Prepared, among: Mask | None = None) -> Near:
    """The nearest memories of *among* that the writer may read and that were not replaced."""
    fits = prepared.fingerprint == view.fingerprint
    if prepared.vectors is None or view.vectors is None or not fits:
        return ()
    columns = view.columns
    allowed = view.readable(prepared.who) & ~columns.replaced
    if among is not None:
        allowed &= among
    rows, cosines = view.vectors.search(
        prepared.vectors[0], NEAR_MOST, part="whole", allowed=allowed
    )
    return list(_named(view, rows, cosines).items())


def _named(view: View, rows: Rows, cosines: NDArray[np.float32]) -> dict[str, float]:
    """The cosine of each of *rows*, by id."""
    pairs = zip(rows.tolist(), cosines.tolist(), strict=True)
    return {view.columns.id(row): cosine for row, cosine in pairs}


def _relations(memory: MemoryRecord, others: Mapping[str, MemoryRecord]) -> dict[str, str]:
    """The relation of *memory* to each of *others*, by id."""
    if not others:
        return {}
    mine = claims.claims(memory.text, memory.entities)
    return {id: _relation(memory, mine, other) for id, other in others.items()}


def _relation(memory: MemoryRecord, mine: claims.Claims, other: MemoryRecord) -> str:
    if (memory.speaker, memory.visibility) != (other.speaker, other.visibility):
        return link_kinds.SIMILAR
    found = claims.relation(claims.opposed(mine, claims.claims(other.text, other.entities)))
    twice = memory.dates and other.dates and memory.dates != other.dates
    if found == link_kinds.DUPLICATE and (MASKED in memory.text or twice):
        return link_kinds.SIMILAR  # the secrets may differ; it happened, or is planned, twice
    longer = found == link_kinds.DUPLICATE and claims.extends(
        content_words(other.text), content_words(memory.text)
    )
    return link_kinds.EXTENDS if longer else found


def _twin(
    memory: MemoryRecord, others: Mapping[str, MemoryRecord], relations: Mapping[str, str]
) -> str:
    """The id of the duplicate said on the same occasion by the same speaker; "" for none.

    What is said on another day or in another project, or names other days, is another occasion.
    """
    for id, other in others.items():
        if relations[id] != link_kinds.DUPLICATE:
            continue
        alike = (other.agent, other.role, other.dates) == (memory.agent, memory.role, memory.dates)
        alike &= projects_of(other.tags) == projects_of(memory.tags)
        if alike and abs(other.occurred_at - memory.occurred_at) <= OCCASION_S:
            return id
    return ""


# What is put in doubt


def said_before(view: View, memory: MemoryRecord) -> Mask:
    """The mask of rows said before *memory*; at the same time: those that were stored before."""
    said, row = view.columns.occurred_at, view.columns.row(memory.id)
    before: Mask = said < memory.occurred_at
    same = np.flatnonzero(said == memory.occurred_at)
    before[same if row is None else same[same < row]] = True
    return before


def _doubts(
    store: MemoryStore,
    prepared: Prepared,
    nearest: Near,
    profile: Profile,
    now: float,
) -> list[Doubt]:
    """The memories that *prepared* may put out of date: said before it by the same speaker.

    None that is trusted more, but for an import.
    """
    memory, text = prepared.memory, quoted.claimed(prepared.memory)
    with store.reading() as view:
        live = elapsed(memory.occurred_at, now) < LIVE_SECONDS
        before = None if live else said_before(view, memory)
        allowed = of_speaker(view, memory) & ~view.columns.superseded
        if before is not None:
            allowed &= before
        near = comparable(view, prepared, allowed, profile, nearest)
        others = store.indexed(near)
        claimed = {id: quoted.claimed(other) for id, other in others.items()}
        names = forms.aliases([text, *claimed.values()])
        if also := forms.called(text, names):
            rows = _by_words(view, " ".join(also), allowed, prepared.who)
            near = {**dict.fromkeys(map(view.columns.id, rows), UNKNOWN), **near}
            others = store.indexed(near)
            claimed |= {i: quoted.claimed(others[i]) for i in others.keys() - claimed.keys()}
    found = []
    for id, other in others.items():
        what = compare(other, memory, near[id], names)
        if what is not None:
            found.append(Doubt(id, what))
    return found + _of_wordings(found, others, memory, near)


def _of_wordings(
    found: Sequence[Doubt],
    others: Mapping[str, MemoryRecord],
    memory: MemoryRecord,
    near: Mapping[str, Nearness],
) -> list[Doubt]:
    """The other wordings, among *others*, of what was *found* to be out of date."""
    known = {doubt.id for doubt in found}
    marked = [
        others[doubt.id] for doubt in found if not (doubt.found.passing or doubt.found.partial)
    ]
    also = []
    for id, other in others.items() if marked else ():
        cosine = near[id].cosine
        if id in known or (cosine is not None and cosine < competing.LEAST):
            continue
        found_of = (compare_wording(other, memory, each) for each in marked)
        if (what := next(filter(None, found_of), None)) is not None:
            also.append(Doubt(id, what))
    return also


def _amended(store: MemoryStore, prepared: Prepared) -> Doubt | None:
    """The memory that *prepared* only sets right: what its speaker said last, in the same
    conversation and amended.WITHIN_S seconds before at most."""
    memory = prepared.memory
    if not amended.begins_as_one(memory.text):
        return None
    with store.reading() as view:
        columns = view.columns
        since = memory.occurred_at - amended.WITHIN_S
        said = of_speaker(view, memory) & ~columns.superseded & said_before(view, memory)
        said &= columns.session == columns.code(memory.session, "session")
        rows = np.flatnonzero(said & (columns.occurred_at >= since))
        if not rows.size:
            return None
        last = columns.id(int(rows[np.lexsort((rows, columns.occurred_at[rows]))[-1]]))
    before = store.indexed([last]).get(last)
    if before is None or not authority.may_doubt(before, memory):
        return None
    found = amended.amends(before.text, memory.text)
    return None if found is None else Doubt(last, found)


def comparable(
    view: View,
    prepared: Prepared,
    allowed: Mask,
    profile: Profile,
    nearest: Near = (),
    also: Prepared | None = None,
) -> dict[str, Nearness]:
    """The ids of those of *allowed* that are near in meaning or share words, and how near.

    With *also*, which may be in no index yet, among them.
    """
    claimed = quoted.claimed(prepared.memory)
    near = _allowed(view, nearest, allowed)
    columns, vector = view.columns, None
    if prepared.vectors is not None and prepared.fingerprint == view.fingerprint:
        vector = prepared.vectors[0]
    worded = [columns.id(row) for row in _by_words(view, claimed, allowed, prepared.who)]
    if vector is None or view.vectors is None:
        return dict.fromkeys(worded, UNKNOWN)
    if len(near) < COMPARED_MOST and len(nearest) in (0, NEAR_MOST):  # the rest is of others
        near = _named(
            view, *view.vectors.search(vector, COMPARED_MOST, part="whole", allowed=allowed)
        )
    found = {id: near[id] for id in list(near)[:COMPARED_MOST] if near[id] >= COMPARED_COSINE}
    ids = list(dict.fromkeys((*found, *worded)))
    rows = np.array([columns.row(id) for id in ids], dtype=np.int64)
    vectors, said = view.vectors.wholes(rows), columns.occurred_at[rows]
    if also is not None and also.vectors is not None:
        ids = [also.memory.id, *(id for id in ids if id != also.memory.id)]
        rest = [place for place, row in enumerate(rows) if columns.id(row) != also.memory.id]
        vectors = np.concatenate([also.vectors[:1], vectors[rest]])
        said = np.concatenate([[also.memory.occurred_at], said[rest]])
    mapped = np.array([as_packaged(float(each), profile) for each in vectors @ vector])
    alike = _alike(view, ids, vectors, mapped >= competing.LEAST, claimed, profile, also)
    return _nearness(ids, vectors, said, vector, worded[:1], alike, profile)


def _alike(
    view: View,
    ids: Sequence[str],
    vectors: NDArray[np.float32],
    near: Mask,
    newer: str,
    profile: Profile,
    also: Prepared | None,
) -> NDArray[np.bool_]:
    """Which two of *ids* are wordings of what *newer* tells anew: (n, n), False on the diagonal.

    Only what is *near* to it is looked at.
    """
    close: NDArray[np.bool_] = vectors @ vectors.T >= profile.related
    close &= near[:, None] & near[None, :]
    np.fill_diagonal(close, False)
    places = np.flatnonzero(close.any(axis=0)).tolist()
    if not places:
        return close
    said = view.memories(view.rows(ids[place] for place in places))
    texts = {memory.id: memory.text for memory in said.values()}
    if also is not None:
        texts[also.memory.id] = also.memory.text
    for one, two in np.argwhere(np.triu(close)).tolist():
        mine, theirs = (texts.get(ids[place], "") for place in (one, two))
        same = bool(mine and theirs) and wordings.of_one_fact(mine, theirs, newer)
        close[one, two] = close[two, one] = same
    return close


def as_packaged(cosine: float, profile: Profile) -> float:
    """*cosine*, mapped from the range of a model with *profile* to that of the packaged one."""
    wide = max(0.01, profile.near_duplicate - profile.related)
    scale = (PACKAGED.near_duplicate - PACKAGED.related) / wide
    return PACKAGED.related + scale * (cosine - profile.related)


def _nearness(
    ids: Sequence[str],
    vectors: NDArray[np.float32],
    said: NDArray[np.float64],
    vector: NDArray[np.float32],
    worded: Sequence[str],
    alike: NDArray[np.bool_],
    profile: Profile,
) -> dict[str, Nearness]:
    """How near each of *ids* is to *vector* beside the others; *worded* shares most words.

    Those *alike* are none beside each other: what is said in two conversations may be put in doubt
    as what is said in one. What was *said* before one of them, and is nearer to it than to
    *vector*, is an earlier version of it. The vector of one without is not finite.
    """
    between, cosines = vectors @ vectors.T, vectors @ vector
    mapped = [as_packaged(float(each), profile) for each in cosines]
    found = dict.fromkeys(ids, UNKNOWN)
    for place, id in enumerate(ids):
        if not math.isfinite(mapped[place]):
            continue
        others = [
            at
            for at, other in enumerate(mapped)
            if at != place and math.isfinite(other) and not alike[at, place]
        ]
        later = [
            at
            for at in others
            if not (said[at] < said[place] and between[at, place] >= cosines[at])
        ]
        margin, ahead = (
            mapped[place] - max(competing.CROWD, max((mapped[at] for at in some), default=0.0))
            for some in (others, later)
        )
        copies = np.flatnonzero(alike[place]).tolist()
        shares = any(ids[at] in worded for at in (place, *copies))
        found[id] = Nearness(mapped[place], margin, ahead, shares)
    return found


def _allowed(view: View, near: Near, allowed: Mask) -> dict[str, float]:
    """Those of *near* that are *allowed*, in its order."""
    rows = {id: view.columns.row(id) for id, _ in near}
    return {id: cosine for id, cosine in near if (row := rows[id]) is not None and allowed[row]}


def _by_words(view: View, text: str, allowed: Mask, who: Identity) -> list[int]:
    """The rows of *allowed* that share most words with *text*, as *who* sees words."""
    seen = view.among(view.readable(who))
    scores = view.lexical.match(text[:MATCHED_CHARS], among=seen, spelling=False).scores
    rows: list[int] = bm25.best(scores, COMPARED_MOST, allowed)[0].tolist()
    return rows


def of_speaker(view: View, memory: MemoryRecord) -> Mask:
    """The mask of what the speaker of *memory* said in its scope, nothing derived, and nothing of
    other projects."""
    columns = view.columns
    own: Mask = columns.agent == columns.code(memory.agent, "agent")
    own &= _same_voice(view, memory, ("user",), quoted.SPEAKING)
    own &= columns.visibility == VISIBILITIES.index(memory.visibility)
    roles = quoted.SPEAKING if memory.role in quoted.SPEAKING else (memory.role,)
    own &= columns.live & _among(ROLES, roles)[columns.role] & ~_among(KINDS, DERIVED)[columns.kind]
    if memory.visibility == "team":
        own &= columns.team == columns.code(memory.team, "team")
    if mine := projects_of(memory.tags):
        here = columns.tagged_as(lambda tag: tag.casefold() in mine)
        own &= here | ~columns.tagged_as(lambda tag: tag.startswith(PROJECT))
    return own


def _same_voice(view: View, memory: MemoryRecord, *known_by: tuple[str, ...]) -> Mask:
    """The mask of what was said under the name of *memory*, or under none, where both are the
    owner.

    The owner is the only named speaker in the first roles of *known_by* in which one has a name.
    """
    columns = view.columns
    given = columns.code(memory.speaker, "speaker")
    named: Mask = columns.speaker == given
    if memory.role not in quoted.SPEAKING:
        return named
    own = columns.live & (columns.agent == columns.code(memory.agent, "agent"))
    for roles in known_by:
        said = own & _among(ROLES, roles)[columns.role]
        names = {columns.name(code, "speaker") for code in np.unique(columns.speaker[said])}
        names |= {memory.speaker} if memory.role in roles else set()
        if names := names - {""}:
            if names == {memory.speaker} or (len(names) == 1 and not memory.speaker):
                owner = columns.code(names.pop(), "speaker")
                one: Mask = named | (columns.speaker == owner) | (columns.speaker == 0)
                return one
            return named
    return named


@cache
def _among(names: Sequence[str], some: Sequence[str]) -> Mask:
    """Whether each of *names*, by its code, is among *some*: np.isin takes ten times longer."""
    return np.array([name in some for name in names])


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
