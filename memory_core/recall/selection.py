"""Choosing among the scored candidates: their order, and one for all that say the same.

Places count within the candidates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory_core import link_kinds
from memory_core.beliefs import claims, quoted, whose
from memory_core.beliefs.amended import amends
from memory_core.beliefs.change import repeats
from memory_core.beliefs.lexicon import DENIES
from memory_core.beliefs.question import Past, Period, gives, kind_asked
from memory_core.recall import as_it_was
from memory_core.recall.answering import Embed, asks_for_the_rest
from memory_core.recall.candidates import Candidates, amending, newer
from memory_core.recall.confidence import FEW, has_evidence, nearness
from memory_core.recall.query import Cues, Query, moments, superseded_in
from memory_core.records import KINDS, normalised
from memory_core.scoring import clusters, reranking
from memory_core.scoring.arrays import Mask, Rows, cosines
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.view import View
from memory_core.text.time.mentions import asks_what_was
from memory_core.text.words import words

SURE, BREADTH = 10, 0.3
"""So many places go by the score alone; behind them each turn of the same conversation that is
already there costs a turn BREADTH of the standard deviation of the scores.

What the first ten leave open is seldom said where they come from. Measured on LoCoMo with twenty
places: session recall@10 94.7 to 96.4, turn recall@20 89.8 to 89.5 (docs/internals/recall.md)."""

SHARE = 0.45
"""Share of the best score below which a candidate is no answer, so that fewer than k are returned.

Measured on two LoCoMo conversations: no evidence of the first 12 places is lost, and 0.2 points of
that of the first 20, of which 15 stay; 0.5 costs 0.3 points of the first 12, 0.6 costs 1.6
(docs/internals/recall.md)."""

ALIKE = 0.85
"""Share of the best nearness (cosine) from which on a candidate is as near as the best."""

_IN_PART = frozenset({link_kinds.DOUBTS_PART, link_kinds.UPDATES_PART})
_DERIVED = [KINDS.index("summary"), KINDS.index("concept")]


@dataclass(frozen=True, slots=True)
class Selection:
    """Places of candidates: those *chosen*, best first, and the rest of the *order* behind them.

    *folded* maps a chosen place to the places that it stands for; *order* holds all places with
    evidence, best first, *unsupported* those without. Below the score *floor* nothing is chosen.
    """

    chosen: list[int]
    folded: Mapping[int, list[int]]
    order: Rows
    unsupported: Rows
    floor: float

    @property
    def represented(self) -> Rows:
        """The places that a chosen one stands for."""
        return np.array([place for places in self.folded.values() for place in places], np.int64)


def choose(view: View, cues: Cues, found: Candidates, embed: Embed) -> Selection:
    """At most k candidates with evidence, the newer before the older, each saying something new.

    Those are left out whose score is below SHARE of the best. *embed* gives vectors of parts of
    texts.
    """
    order = _ranked(view, cues, found)
    order = _broadened(view, found, order, cues.query.k)
    order = _in_time(view, cues, found.rows, order)
    late = _superseded(view, cues, found.rows)
    order = _newest_first(view, cues, found.rows, order, late, embed)
    found = _inheriting(found, late)
    order = order[cues.former | cues.valid[found.rows[order]]]
    evident = has_evidence(cues, found)[order]
    order, unsupported = order[evident], order[~evident]
    order, named = _beside(view, cues, found.rows, order)
    near_duplicate = cues.profile.near_duplicate if cues.has_model else None
    kept, folded = _folded(view, cues.query, found.rows[order], near_duplicate)
    floor = _floor(cues, found, order)
    far = _far(found, order, floor)
    far[named] = False
    kept = [place for place in kept if not far[order[place]]]
    return Selection(
        order[kept].tolist(),
        {int(order[kept]): order[places].tolist() for kept, places in folded.items()},
        order,
        unsupported,
        floor,
    )


def _in_time(view: View, cues: Cues, rows: Rows, order: Rows) -> Rows:
    """*order* by time, where a time is the whole question; the best k, or the next that come.

    Asked what changed, what corrects or was superseded then stands before what was only said.
    """
    period = cues.period
    if period is None or "period" not in cues.filters:
        return order
    chosen = order if period.ahead else order[: cues.query.k]
    at, changed = moments(view.columns, rows[order], period), np.zeros(len(order), np.bool_)
    if period.changed:
        changed = _changes(view, cues, rows[order], period)
        most = np.argsort(~changed, kind="stable")
        order, at, changed = order[most], at[most], changed[most]
    count = len(chosen)
    first = np.lexsort((at[:count], ~changed[:count]))
    return np.concatenate([order[:count][first], order[count:]])


def _changes(view: View, cues: Cues, rows: Rows, period: Period) -> Mask:
    """True for those of *rows* that were superseded in *period*, and for what was said in it and
    supersedes, updates or doubts another one."""
    ended = superseded_in(view.columns, period)
    news = {origin for kind in link_kinds.NEWER for origin, _ in view.graph.of_kind(kind)}
    memories = view.memories(np.flatnonzero(ended & cues.readable))
    successors = {view.columns.row(memory.superseded_by) for memory in memories.values()}
    return ended[rows] | np.isin(rows, [row for row in news | successors if row is not None])


def _floor(cues: Cues, found: Candidates, order: Rows) -> float:
    """The least score that answers.

    -inf without a cut, and where scores cannot tell: for what a filter chose, among few candidates,
    and where none is above the mean.
    """
    if not cues.query.cut or cues.filters or len(found.rows) < FEW or not len(order):
        return float("-inf")
    best = float(found.score[order].max())
    return SHARE * best if best > 0 else float("-inf")


def _far(found: Candidates, order: Rows, floor: float) -> Mask:
    """The candidates below the *floor* that are also less near to the query than the best one is.

    Among texts that are all alike the scores still spread, for they measure differences. What a
    link reached is not far: it stands behind the best on purpose.
    """
    if not len(order):
        return np.zeros(len(found.rows), np.bool_)
    near = nearness(found)
    linked = np.isin(found.rows, list(found.links))
    far: Mask = (found.score < floor) & (near < ALIKE * near[order].max()) & ~linked
    return far


def _ranked(view: View, cues: Cues, found: Candidates) -> Rows:
    """The places by score; with a lambda under 1 the first by marginal relevance.

    Two texts overlap from the cosine of a cluster on; half way to that of near-duplicates they say
    the same.
    """
    order = np.argsort(-found.score, kind="stable")
    lambda_ = cues.mmr_lambda
    if lambda_ >= 1.0 or view.vectors is None:
        return order
    overlap, same = cues.profile.cluster, (cues.profile.cluster + cues.profile.near_duplicate) / 2
    first = order[: _window(cues.query.k)]
    vectors = view.vectors.wholes(found.rows[first])
    gained = reranking.select(found.score[first], vectors, len(first), lambda_, (overlap, same))
    return np.concatenate([first[gained], order[len(first) :]])


def _broadened(view: View, found: Candidates, order: Rows, k: int) -> Rows:
    """*order* with more conversations behind the first SURE places.

    Among what may be taken for *k* places; what has no session costs nothing.
    """
    rest = order[SURE : _window(k)]
    if k <= SURE or len(rest) < 2:
        return order
    threads = view.columns.thread[found.rows]
    cost, value = BREADTH * float(found.score.std()), found.score[rest].astype(np.float64)
    shared = (threads[rest][:, None] == threads[order[:SURE]][None, :]).sum(axis=1)
    value -= cost * np.where(threads[rest] >= 0, shared, 0)
    taken: list[int] = []
    for _ in range(len(rest)):
        best = int(np.argmax(value))
        taken.append(best)
        thread, value[best] = threads[rest[best]], -np.inf
        if thread >= 0:
            value[threads[rest] == thread] -= cost
    return np.concatenate([order[:SURE], rest[taken], order[SURE + len(rest) :]])


def _superseded(view: View, cues: Cues, rows: Rows) -> dict[int, int]:
    """The places of *rows* that were out of date at the moment asked about, each with that of what
    superseded it, or of the last that did; -1 where none of them is a candidate."""
    places = {int(row): place for place, row in enumerate(rows)}
    superseded = rows[view.columns.superseded[rows]].tolist()
    after = cues.doubts.following(superseded)
    found = {places[row]: _place(places, following) for row, following in after.items()}
    lost = [int(rows[place]) for place, newer in found.items() if newer < 0]
    for row, last in cues.doubts.successors(lost).items():
        found[places[row]] = _place(places, last)
    return found


def _place(places: Mapping[int, int], row: int | None) -> int:
    """The place of *row*; -1 where it has none."""
    return -1 if row is None else places.get(row, -1)


def _inheriting(found: Candidates, late: Mapping[int, int]) -> Candidates:
    """*found*, where what superseded another one has the evidence for that one as well.

    It stands in its place: what answers in words of the older text is no worse an answer. *late* is
    as `_superseded` gives it.
    """
    if not late:
        return found
    columns = {
        name: getattr(found, name).copy() for name in ("passage", "whole", "nearby", "score")
    }
    for older in late:
        newer, passed = late[older], {older}
        while newer >= 0 and newer not in passed:
            for column in columns.values():
                column[newer] = np.fmax(column[newer], column[older])
            passed.add(newer)
            newer = late.get(newer, -1)
    return replace(found, **columns)


def amended(view: View, cues: Cues, found: Candidates) -> Candidates:
    """*found* with what only sets a candidate right as good an answer as that one.

    It has no words of its own that a question could find. Its column is "amends".
    """
    places = {int(row): place for place, row in enumerate(found.rows)}
    right: dict[int, int] = {}
    for row, place in places.items():
        for origin in amending(view, cues, np.array([row], dtype=np.int64)).tolist():
            texts = view.memories(np.array([row, origin]))
            both = origin in places and len(texts) == 2
            if both and amends(texts[row].text, texts[origin].text) is not None:
                right[place] = places[origin]
    if not right:
        return found
    gained = np.zeros_like(found.score)
    for older, later in right.items():
        gained[later] = max(gained[later], found.score[older] - found.score[later])
    return _inheriting(found.plus("amends", gained), right)


def _newest_first(
    view: View, cues: Cues, rows: Rows, order: Rows, late: Mapping[int, int], embed: Embed
) -> Rows:
    """*order* with what was out of date at the moment asked about behind what supersedes it.

    Those are *late*, see `_superseded`. Also with what is updated for a while that is not over, or
    in the part asked for, behind the update, and what was merged behind what it was merged into.
    """
    columns, as_of = view.columns, cues.query.as_of
    at = np.inf if as_of is None else as_of
    places = {int(row): place for place, row in enumerate(rows)}
    moment = cues.now if as_of is None else as_of
    later = _updated(view, cues, places, order, moment, embed)
    retired = np.isfinite(columns.retired_at[rows]) & (columns.retired_at[rows] <= at)
    for place in np.flatnonzero(retired).tolist():
        merged = view.graph.targets(int(rows[place]), link_kinds.DUPLICATE_OF)
        into = [places[row] for row in merged if row in places]
        if into and not retired[into[0]]:
            later[place] = into[0]
    later |= late
    if cues.past is not None:
        then = _as_it_was(view, cues, cues.past, places, late)
        held = set(then.values())
        later = {place: other for place, other in later.items() if place not in held} | then
    if not later:
        return order
    return np.array(reranking.behind(order.tolist(), later), dtype=np.int64)


def _as_it_was(
    view: View, cues: Cues, past: Past, places: Mapping[int, int], late: Mapping[int, int]
) -> dict[int, int]:
    """The places that stand behind what held in the *past*, each with that of it."""
    certain = [(older, later) for older, later in late.items() if later >= 0]
    doubted = []
    for row, place in places.items():
        for origin, kind in newer(view, cues, row):
            if origin in places and kind == link_kinds.UPDATES:
                certain.append((place, places[origin]))
            elif origin in places and kind in link_kinds.DOUBTING:
                doubted.append((place, places[origin]))
    return as_it_was.behind(view.columns, past, list(places), certain, doubted)


def _updated(
    view: View, cues: Cues, places: Mapping[int, int], order: Rows, at: float, embed: Embed
) -> dict[int, int]:
    """The places of rows that another one of *places* updates or doubts, with that one's place.

    An update that did not yet hold or no longer holds *at* that moment does not count; an exception
    that is over stands behind what holds again. Nor does a doubt count where the query asks for
    what was, nor by what stands behind the first SURE places of the *order*: it is about something
    else. (Of the doubted turns of two LoCoMo conversations, the later one stood behind the tenth
    place for 18 of 25; of labelled corrections, right behind the older one.)
    """
    columns = view.columns
    rank = {place: number for number, place in enumerate(order.tolist())}
    first = set() if asks_what_was(cues.query.text) else set(order[:SURE].tolist())
    found: dict[int, int] = {}
    for row, place in places.items():
        for origin, kind in newer(view, cues, row):
            until = columns.valid_until[origin]
            # what begins later and lasts is told together with when it begins
            holds = until == np.inf or until >= at >= columns.valid_from[origin]
            known = origin in places and columns.recorded_at[origin] <= at
            if kind == link_kinds.SUSPENDS and columns.valid_until[origin] < at:
                if known and place in order[:SURE]:
                    found[places[origin]] = place
            elif holds and known and (kind == link_kinds.UPDATES or places[origin] in first):
                ahead = rank[place] < rank[places[origin]]
                if (
                    ahead
                    and kind in link_kinds.DOUBTING
                    and not _answers_too(view, cues, row, origin)
                ):
                    continue
                in_part = ahead and kind in _IN_PART
                if in_part and _asks_for_the_rest(view, cues, row, origin, embed):
                    continue
                found[place] = places[origin]
    return found


def _beside(view: View, cues: Cues, rows: Rows, order: Rows) -> tuple[Rows, list[int]]:
    """*order* with what puts one of the first k in doubt right behind that one, and its places.

    The mark of a doubtful memory names it, so it is read with it.
    """
    places = {int(row): place for place, row in enumerate(rows)}
    moved, named = order.tolist(), list[int]()
    for place in order[: cues.query.k].tolist():
        by = cues.doubts.newest(int(rows[place]), cues.readable, parts=True)
        row = None if by is None else view.columns.row(by.by)
        newer = _place(places, row)
        if newer in moved:
            named.append(newer)
            if moved.index(newer) > moved.index(place):
                moved.remove(newer)
                moved.insert(moved.index(place) + 1, newer)
    return np.array(moved, dtype=np.int64), named


def _answers_too(view: View, cues: Cues, older: int, newer: int) -> bool:
    """False when the query asks for the subject of *older*, which *newer* does not speak of; or how
    many or how much, and of two rows only *older* says a number.

    What puts it in doubt then answers something else. (That something is off answers when it is.)
    """
    found = view.memories(np.array([older, newer]))
    if len(found) < 2:
        return True
    then, now = quoted.claimed(found[older]), quoted.claimed(found[newer])
    query = cues.query.text
    if whose.asks_for_another(query, then, now) or whose.leaves_as_it_is(query, then, now):
        return False
    if kind_asked(cues.query.text) != "number":
        return True
    return gives("number", now) or not gives("number", then) or bool(DENIES & {*words(now)})


def _asks_for_the_rest(view: View, cues: Cues, older: int, newer: int, embed: Embed) -> bool:
    """True when the query asks for what the row *newer* leaves as it is of the row *older*."""
    found = view.memories(np.array([older, newer]))
    if len(found) < 2:  # forgotten by another process at this moment
        return False
    texts = quoted.claimed(found[older]), quoted.claimed(found[newer])
    return asks_for_the_rest(cues.query.text, *texts, embed, cues.profile.related)


def _folded(
    view: View, asked: Query, rows: Rows, near_duplicate: float | None
) -> tuple[list[int], dict[int, list[int]]]:
    """The places of the first k of the ranked *rows* that say something new.

    And, for each of them, the places that it stands for: what only retells it, and near-duplicates,
    from cosine *near_duplicate*, of one speaker and visibility, whose claims agree. Without a model
    (None) there are no near-duplicates. What *asked* repeats word for word stands for others. Looks
    further only where the first few fold into less than k.
    """
    k = asked.k
    retold = _retold(view, rows, k)
    left = np.setdiff1d(np.arange(len(rows)), list(retold))
    kept, twins = _without_twins(view, asked, rows[left], near_duplicate)
    folded = {int(left[one]): left[others].tolist() for one, others in twins.items()}
    first = [int(left[place]) for place in kept]
    reached = first[-1] if len(first) == k else len(rows)
    for place, source in retold.items():
        if source in first and place < reached:
            folded.setdefault(source, []).append(place)
    return first, folded


def _retold(view: View, rows: Rows, k: int) -> dict[int, int]:
    """The places of summaries and concepts that only retell, with that of their first source.

    One that ranks behind its source says less than it, unless it draws together half of what is
    returned. Measured on the dialogue after one sleep: with all of them recall@10 / @5 is 83.6 /
    70.9, so 85.5 / 72.7.
    """
    derived = np.isin(view.columns.kind[rows], _DERIVED)
    places = {int(row): place for place, row in enumerate(rows)}
    returned = set(rows[~derived][:k].tolist())
    found: dict[int, int] = {}
    for place in np.flatnonzero(derived).tolist():
        sources = view.graph.targets(int(rows[place]), DERIVED_FROM)
        first = min((places[row] for row in sources if row in places), default=place)
        if first < place and 2 * len(returned.intersection(sources)) < len(returned):
            found[place] = first
    return found


def _without_twins(
    view: View, asked: Query, rows: Rows, near_duplicate: float | None
) -> tuple[list[int], dict[int, list[int]]]:
    k = asked.k
    if near_duplicate is None or view.vectors is None:
        return list(range(min(k, len(rows)))), {}
    vectors = np.nan_to_num(view.vectors.wholes(rows[: _window(k)]))
    kept, folded = _fold(view, asked, rows, vectors, near_duplicate)
    if len(kept) < k and len(rows) > _window(k):
        vectors = np.nan_to_num(view.vectors.wholes(rows))
        kept, folded = _fold(view, asked, rows, vectors, near_duplicate)
    return kept, folded


def _fold(
    view: View, asked: Query, rows: Rows, vectors: NDArray[np.float32], near_duplicate: float
) -> tuple[list[int], dict[int, list[int]]]:
    near = cosines(vectors, vectors) >= near_duplicate
    np.fill_diagonal(near, False)
    crowded = rows[np.flatnonzero(near.any(axis=0))]
    if not crowded.size:
        return list(range(min(asked.k, len(vectors)))), {}
    wanted = normalised(asked.text)
    memories = view.memories(crowded)
    said = {row: claims.claims(m.text, m.entities) for row, m in memories.items()}

    def same(a: int, b: int) -> bool:
        one, other = int(rows[a]), int(rows[b])
        if one not in said or other not in said:  # forgotten by another process at this moment
            return False
        x, y = memories[one], memories[other]
        alike = (x.speaker, x.visibility) == (y.speaker, y.visibility)
        if x.dates and y.dates and x.dates != y.dates:
            return False  # it happened twice
        return alike and claims.agree(said[one], said[other]) and repeats(x.text, y.text)

    kept, folded = clusters.fold(vectors, near_duplicate, same, asked.k)
    asked_for = {row for row, m in memories.items() if normalised(m.text) == wanted}
    return _by_newest(view, rows, kept, folded, asked_for)


def _by_newest(
    view: View,
    rows: Rows,
    kept: list[int],
    folded: Mapping[int, list[int]],
    asked_for: Collection[int],
) -> tuple[list[int], dict[int, list[int]]]:
    """The groups of *folded*, each at its place in *kept* and shown by what was said last.

    Or by one of the rows *asked_for*, which the question repeats word for word.
    """
    said, shown = view.columns.occurred_at[rows], {}
    for first, others in folded.items():
        shown[first] = max(
            [first, *others], key=lambda place: (int(rows[place]) in asked_for, float(said[place]))
        )
    return (
        [shown.get(place, place) for place in kept],
        {
            shown[first]: [place for place in (first, *others) if place != shown[first]]
            for first, others in folded.items()
        },
    )


def _window(k: int) -> int:
    """How many of the best are compared with each other at first."""
    return max(4 * k, 20)
