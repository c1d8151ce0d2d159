"""Links: what the first hits bring to mind without any cue of the question.

Activation spreads from the best candidates by bounded hops: to memories that share a rare name, to
those that were noted as belonging together (co-recall, updates, sources), and, from the first hits
only, to the closest of the same topic and to their nearest neighbours in meaning. A step keeps
SPREAD of the activation times the share of its kind; of several paths the best is kept (seed rows
B3.1-B3.3, A4.6). Nothing is stored. Call inside store.reading().
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memory_core.recall.evidence import Candidates, Reached, similarities
from memory_core.recall.query import Question
from memory_core.records import KINDS
from memory_core.scoring.activation import length_gate
from memory_core.scoring.arrays import Rows, Scores
from memory_core.storage.store import MemoryStore

SEEDS, HOPS, FAN_OUT, REACHED = 3, 2, 8, 32
"""First hits that spread, steps, what each step reaches at most from one memory, and in all."""

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
may hold it for that: the share falls with the square of their number, for a name that everybody
says says nothing."""

STORED = 0.4
"""Share of a stored link, times its weight where that is under 1."""

TOPIC = 0.2
"""Share of a memory of the same topic, times its similarity."""

NEAREST, LIKENESS, WORDLESS = 5, 0.1, 0.3
"""Neighbours in meaning of a first hit, and their share, times the similarity.

The less the question's words lead, the more likeness does: WORDLESS is what it gains when they say
nothing. Where they lead, only the best hit is followed, which spares two searches."""

_DERIVED = (KINDS.index("summary"), KINDS.index("concept"))

_KINDS = {
    "co_recall": "recalled with",
    "derived_from": "a source of, or drawn from,",
    "updates": "an update of, or updated by,",
    "contradicts": "contradicts",
}


Links = dict[int, Reached]
Step = tuple[int, float, str]
"""Another row, the share of activation that reaches it, and how it is told."""


def follow(
    store: MemoryStore, asked: Question, found: Candidates, mask: NDArray[np.bool_]
) -> Candidates:
    """*found* with what its best bring to mind among the rows of *mask*.

    What is reached gains its activation times the spread of the scores, as "links", but stays just
    behind the best direct hit. A row that was no candidate joins as a middling one.
    """
    seeds = _seeds(found)
    likeness = LIKENESS + WORDLESS * (1.0 - found.trust)
    alike = dict.fromkeys(list(seeds)[: SEEDS if found.trust < 1.0 else 1], likeness)
    links = _spread(store, seeds, alike, mask, asked.cues.mind.topics)
    if not links:
        return found
    found = _joined(store, asked, found, np.array(sorted(links), dtype=np.int64))
    gained = np.zeros(len(found.rows))
    top, middle = float(found.score.max()), float(np.median(found.score))
    for place, row in enumerate(found.rows.tolist()):
        if row in links:
            gained[place] = links[row].activation * (top - middle)
    gained = np.clip(gained, 0.0, np.maximum(0.0, top - BEHIND - found.score))
    added = {**found.added, "links": gained}
    return replace(found, added=added, score=found.score + gained, links=links)


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
    """The best rows with what each has to give, 0 to 1.

    A standing wish brings nothing to mind for being one: it is not about what is asked.
    """
    score = found.score - found.added.get("standing", np.zeros(len(found.rows)))
    order = np.argsort(-score, kind="stable")[:SEEDS]
    middle = float(np.median(score))
    room = float(score[order[0]]) - middle
    if room <= 0:
        return {}
    strength = np.maximum(0.0, score[order] - middle) / room
    return dict(zip(found.rows[order].tolist(), strength.tolist(), strict=True))


def _spread(
    store: MemoryStore,
    seeds: dict[int, float],
    alike: dict[int, float],
    mask: NDArray[np.bool_],
    fetched: Collection[str],
) -> Links:
    links: Links = {}
    front = seeds
    for hop in range(HOPS):
        reached: dict[int, float] = {}
        for row, strength in front.items():
            given = strength * SPREAD * float(length_gate(store.columns.words[[row]])[0])
            near = _near(store, row, mask, alike.get(row, 0.0), fetched) if hop == 0 else ()
            for other, share, how in (*_noted(store, row), *near):
                value = given * share
                best = links[other].activation if other in links else FLOOR
                if other != row and mask[other] and value > best:
                    links[other] = Reached(value, how, row)
                    reached[other] = value
        strongest = sorted(reached, key=lambda row: (-reached[row], row))[:FAN_OUT]
        front = {row: reached[row] for row in strongest if row not in seeds}
    kept = sorted(links, key=lambda row: (-links[row].activation, row))[:REACHED]
    return {row: links[row] for row in kept}


def _noted(store: MemoryStore, row: int) -> Iterator[Step]:
    """By a shared name, or by a link that was stored."""
    graph = store.graph
    for other, name in graph.entity_neighbours(row, FAN_OUT):
        boost = ENTITY_BOOST if " " in name else WORD_BOOST
        yield other, boost * min(1.0, RARE / _said(store, name)) ** 2, f"shares {name} with"
    stored = [each for each in graph.neighbours(row) if each[1] in _KINDS]
    for other, kind, weight in sorted(stored, key=lambda each: -each[2])[:FAN_OUT]:
        yield other, STORED * min(1.0, weight), _KINDS[kind]


def _said(store: MemoryStore, name: str) -> int:
    """How many rows name *name*; what only retells makes it no less rare."""
    kinds = store.columns.kind
    return sum(int(kinds[row]) not in _DERIVED for row in store.graph.rows_of(name)) or 1


def _near(
    store: MemoryStore,
    row: int,
    mask: NDArray[np.bool_],
    likeness: float,
    fetched: Collection[str],
) -> Iterator[Step]:
    """By the topic, and by *likeness* alone where that is above 0.

    Not by a topic that the conversation has *fetched* before (seed row A1.13): what of it mattered
    is in the hot buffer.
    """
    if store.vectors is None:
        return
    point = store.vectors.wholes(np.array([row], dtype=np.int64))[0]
    if np.isnan(point).any():
        return
    if store.columns.topic(row) not in fetched:
        yield from _of_topic(store, row, point, mask)
    if likeness > 0:
        rows, cosines = store.vectors.search(point, NEAREST + 1, part="whole", allowed=mask)
        for other, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
            if other != row and cosine > 0:
                yield other, likeness * cosine, "like"


def _of_topic(
    store: MemoryStore, row: int, point: NDArray[np.float32], mask: NDArray[np.bool_]
) -> Iterator[Step]:
    topic = store.columns.topic(row)
    if not topic:
        return
    assert store.vectors is not None
    rows = np.flatnonzero(store.columns.about(topic) & mask)
    cosines = store.vectors.similarities(point, rows, part="whole")
    for place in np.argsort(-np.nan_to_num(cosines), kind="stable")[: FAN_OUT + 1].tolist():
        if cosines[place] > 0:
            yield int(rows[place]), TOPIC * float(cosines[place]), f"same topic ({topic}) as"


def _joined(store: MemoryStore, asked: Question, found: Candidates, rows: Rows) -> Candidates:
    """*found* with those of *rows* that it lacks, as middling candidates without neighbours."""
    new = np.setdiff1d(rows, found.rows)
    if not new.size:
        return found
    zero, lexical = np.zeros(new.size), asked.words.scores[new].astype(np.float64)
    middle = np.full(new.size, float(np.median(found.score)))
    nowhere = np.full(new.size, -1, dtype=np.int64)

    def longer(values: Scores, more: Scores) -> Scores:
        return np.concatenate([values, more])

    return replace(
        found,
        rows=np.concatenate([found.rows, new]),
        passage=longer(found.passage, similarities(store, asked, new, "passage")),
        whole=longer(found.whole, similarities(store, asked, new, "whole")),
        lexical=longer(found.lexical, lexical),
        nearby=longer(found.nearby, lexical),
        fused=longer(found.fused, middle),
        added={name: longer(values, zero) for name, values in found.added.items()},
        score=longer(found.score, middle),
        neighbours={
            offset: np.concatenate([places, nowhere]) for offset, places in found.neighbours.items()
        },
    )
