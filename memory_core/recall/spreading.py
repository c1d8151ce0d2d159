"""Spreading activation over links, from the best candidates to memories that no cue reaches.

In at most two steps: to memories that share a rare name, to those linked in the store (co-recall,
updates, sources), and, from the best candidates only, to the closest of the same topic and to their
nearest neighbours in meaning. A step keeps SPREAD of the activation times the share of its kind; of
several paths the best counts. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memory_core.recall.candidates import Candidates, Reached
from memory_core.recall.query import Cues
from memory_core.recall.signals import SIGNALS
from memory_core.records import KINDS
from memory_core.scoring.activation import length_gate
from memory_core.scoring.arrays import Mask, Rows, Scores
from memory_core.storage.index.graph import Namings
from memory_core.storage.view import View

SEEDS, HOPS, FAN_OUT, REACHED = 3, 2, 8, 32
"""Best candidates that spread, steps, and how many rows a step reaches from one memory and all."""

SPREAD = 0.5
"""What a step keeps, of a text over 30 words less, as along the thread: a long text holds many
names and is a little like everything (BEAM recall@10 65.1 to 68.4, the dialogue as before). Every
share below was chosen with it so that LoCoMo loses nothing (docs/internals/recall.md)."""

FLOOR = 0.02
"""Less activation than this reaches nothing."""

BEHIND = 1e-6
"""By how much what is reached stays behind the best direct hit at least."""

ENTITY_BOOST, WORD_BOOST, RARE = 1.0, 0.4, 3
"""Share of a shared name of several words ("Tannery Row"), of one word, and up to how many memories
may hold it for that: the share falls with the square of their number, because a name that everybody
says is no evidence."""

STORED = 0.4
"""Share of a stored link, times its weight where that is under 1."""

TOPIC = 0.2
"""Share of a memory of the same topic, times its similarity."""

NEAREST, LIKENESS, WORDLESS = 5, 0.1, 0.3
"""Neighbours in meaning of a best candidate, and their share, times the similarity.

The less the query's words weigh, the more likeness does: WORDLESS is what it gains when they weigh
nothing. Where they weigh in full, only the best candidate is followed: two searches fewer."""

_DERIVED = (KINDS.index("summary"), KINDS.index("concept"))

_HOW = {
    "co_recall": "recalled with",
    "derived_from": "a source of, or drawn from,",
    "updates": "an update of, or updated by,",
    "contradicts": "contradicts",
}
"""The stored links that are followed, and how an explanation calls a step along each."""

_NOT_ABOUT = [signal.name for signal in SIGNALS if not signal.is_about]

Links = dict[int, Reached]
Step = tuple[int, float, str]
"""Another row, the share of activation that reaches it, and how an explanation calls the step."""


def spread(view: View, cues: Cues, found: Candidates, allowed: Mask) -> Candidates:
    """*found* with what its best candidates reach among the *allowed* rows.

    What is reached gains its activation times the spread of the scores, as "links", but stays just
    behind the best direct hit. A row that was no candidate joins with the median score.
    """
    seeds = _seeds(found)
    likeness = LIKENESS + WORDLESS * (1.0 - found.trust)
    alike = dict.fromkeys(list(seeds)[: SEEDS if found.trust < 1.0 else 1], likeness)
    links = reach(view, seeds, alike, allowed, cues.readable, cues.mind.topics)
    if not links:
        return found
    found = _joined(view, cues, found, np.array(sorted(links), dtype=np.int64))
    gained = np.zeros(len(found.rows))
    top, middle = float(found.score.max()), float(np.median(found.score))
    for place, row in enumerate(found.rows.tolist()):
        if row in links:
            gained[place] = links[row].activation * (top - middle)
    gained = np.clip(gained, 0.0, np.maximum(0.0, top - BEHIND - found.score))
    return replace(found.plus("links", gained), links=links)


def path(links: Mapping[int, Reached], row: int) -> list[tuple[str, int]]:
    """The steps by which *row* was reached, last first: (how, from which row); [] when it was not.

    A step back to a row that the path has already passed ends it.
    """
    steps: list[tuple[str, int]] = []
    passed = {row}
    while row in links and links[row].source not in passed:
        steps.append((links[row].how, links[row].source))
        row = links[row].source
        passed.add(row)
        if len(steps) >= HOPS:
            break
    return steps


def _seeds(found: Candidates) -> dict[int, float]:
    """The best rows with the activation of each, 0 to 1, by the signals about the query."""
    score = found.score
    for name in _NOT_ABOUT:
        score = score - found.added.get(name, 0.0)
    order = np.argsort(-score, kind="stable")[:SEEDS]
    middle = float(np.median(score))
    room = float(score[order[0]]) - middle
    if room <= 0:
        return {}
    strength = np.maximum(0.0, score[order] - middle) / room
    return dict(zip(found.rows[order].tolist(), strength.tolist(), strict=True))


def reach(
    view: View,
    seeds: Mapping[int, float],
    alike: Mapping[int, float],
    allowed: Mask,
    readable: Mask,
    fetched: Collection[str],
) -> Links:
    """The *allowed* rows that activation from *seeds* reaches, and by which last step.

    *alike* is the share of a seed's neighbours in meaning. *fetched* topics lead nowhere: what
    mattered of them is in the hot buffer. Only *readable* rows count as naming something: how often
    others name it would tell that they do.
    """
    links: Links = {}
    namings = view.graph.namings(readable)
    front = dict(seeds)
    for hop in range(HOPS):
        reached: dict[int, float] = {}
        for row, strength in front.items():
            given = strength * SPREAD * float(length_gate(view.columns.words[[row]])[0])
            near = _near(view, row, allowed, alike.get(row, 0.0), fetched) if hop == 0 else ()
            for other, share, how in (*_linked(view, row, namings, readable), *near):
                value = given * share
                best = links[other].activation if other in links else FLOOR
                if other != row and allowed[other] and value > best:
                    links[other] = Reached(value, how, row)
                    reached[other] = value
        strongest = sorted(reached, key=lambda row: (-reached[row], row))[:FAN_OUT]
        front = {row: reached[row] for row in strongest if row not in seeds}
    kept = sorted(links, key=lambda row: (-links[row].activation, row))[:REACHED]
    return {row: links[row] for row in kept}


def _linked(view: View, row: int, namings: Namings, readable: Mask) -> Iterator[Step]:
    """Steps by a shared name, or by a link of the store, to *readable* rows."""
    for other, name in namings.neighbours(row, FAN_OUT):
        boost = ENTITY_BOOST if " " in name else WORD_BOOST
        rare = min(1.0, RARE / _mentions(view, namings.rows(name)))
        yield other, boost * rare**2, f"shares {name} with"
    found = view.graph.neighbours(row)
    stored = [each for each in found if each[1] in _HOW and readable[each[0]]]
    for other, kind, weight in sorted(stored, key=lambda each: -each[2])[:FAN_OUT]:
        yield other, STORED * min(1.0, weight), _HOW[kind]


def _mentions(view: View, naming: Rows) -> int:
    """How many of the rows *naming* a name count; summaries and concepts make it no less rare."""
    return int(np.count_nonzero(~np.isin(view.columns.kind[naming], _DERIVED))) or 1


def _near(
    view: View, row: int, allowed: Mask, likeness: float, fetched: Collection[str]
) -> Iterator[Step]:
    """Steps by the topic, and by *likeness* alone where that is above 0."""
    if view.vectors is None:
        return
    point = view.vectors.wholes(np.array([row], dtype=np.int64))[0]
    if np.isnan(point).any():
        return
    if view.columns.topic(row) not in fetched:
        yield from _of_topic(view, row, point, allowed)
    if likeness > 0:
        rows, cosines = view.vectors.search(point, NEAREST + 1, part="whole", allowed=allowed)
        for other, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
            if other != row and cosine > 0:
                yield other, likeness * cosine, "like"


def _of_topic(view: View, row: int, point: NDArray[np.float32], allowed: Mask) -> Iterator[Step]:
    topic = view.columns.topic(row)
    if not topic:
        return
    rows = np.flatnonzero(view.columns.about(topic) & allowed)
    cosines = view.similarities(point, rows, part="whole")
    for place in np.argsort(-np.nan_to_num(cosines), kind="stable")[: FAN_OUT + 1].tolist():
        if cosines[place] > 0:
            yield int(rows[place]), TOPIC * float(cosines[place]), f"same topic ({topic}) as"


def _joined(view: View, cues: Cues, found: Candidates, rows: Rows) -> Candidates:
    """*found* with those of *rows* that it lacks, with the median score and without neighbours."""
    new = np.setdiff1d(rows, found.rows)
    if not new.size:
        return found
    zero, lexical = np.zeros(new.size), cues.words.scores[new].astype(np.float64)
    middle = np.full(new.size, float(np.median(found.score)))
    nowhere = np.full(new.size, -1, dtype=np.int64)

    def longer(values: Scores, more: Scores) -> Scores:
        return np.concatenate([values, more])

    return replace(
        found,
        rows=np.concatenate([found.rows, new]),
        passage=longer(found.passage, view.similarities(cues.vector, new, part="passage")),
        whole=longer(found.whole, view.similarities(cues.vector, new, part="whole")),
        lexical=longer(found.lexical, lexical),
        nearby=longer(found.nearby, lexical),
        fused=longer(found.fused, middle),
        score=longer(found.score, middle),
        added={name: longer(values, zero) for name, values in found.added.items()},
        neighbours={
            offset: np.concatenate([places, nowhere]) for offset, places in found.neighbours.items()
        },
    )
