"""Topics as nodes: label, members, centroid; and the edges between them.

A topic is a label that memories carry; its centroid is the mean of their vectors, which is what a
running mean over the members comes to. Edges between topics are the sum of the co-recall of their
members, so that they follow every split and merge. Call inside store.reading().
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_core.records import MemoryRecord
from memory_core.scoring import clusters
from memory_core.scoring.arrays import Rows
from memory_core.storage.accesses import CO_RECALL
from memory_core.storage.store import MemoryStore


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its label, the rows that carry it, and their mean direction, unit length (d,)."""

    label: str
    rows: Rows
    centroid: NDArray[np.float32]


def nodes(store: MemoryStore, rows: Rows) -> list[Topic]:
    """The topics of *rows*, by label; members without a vector do not count for the centroid."""
    columns, index = store.columns, store.vectors
    members: dict[str, list[int]] = {}
    for row in rows.tolist():
        if label := columns.topic(row):
            members.setdefault(label, []).append(row)
    found = []
    for label, places in sorted(members.items()):
        inside = np.array(places, dtype=np.int64)
        vectors = np.zeros((1, 1), np.float32) if index is None else index.wholes(inside)
        total = np.nan_to_num(vectors).sum(axis=0, keepdims=True)
        found.append(Topic(label, inside, clusters.unit(total)[0]))
    return found


def nearest(found: list[Topic], vector: NDArray[np.float32], threshold: float) -> str:
    """The label of the topic of *found* nearest to *vector*, from cosine *threshold*; else ""."""
    if not found or np.isnan(vector).any():
        return ""
    cosines = np.stack([topic.centroid for topic in found]) @ vector
    best = int(np.argmax(cosines))
    return found[best].label if cosines[best] >= threshold else ""


def edges(store: MemoryStore, allowed: NDArray[np.bool_]) -> dict[tuple[str, str], float]:
    """The edges between topics of *allowed* rows: (a, b) in order of name -> weight.

    The weight is the number of times that memories of the two were recalled by one cue.
    """
    columns = store.columns
    found: defaultdict[tuple[str, str], float] = defaultdict(float)
    for a, b, kind, weight in store.graph.links():
        if kind == CO_RECALL and allowed[a] and allowed[b]:
            one, other = sorted((columns.topic(a), columns.topic(b)))
            if one and one != other:
                found[one, other] += weight
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def sizes(store: MemoryStore, allowed: NDArray[np.bool_]) -> dict[str, int]:
    """How the *allowed* rows lie in topics.

    largest_topic (its members), topics_of_one, and without_topic: rows that carry none.
    """
    named = [store.columns.topic(row) for row in np.flatnonzero(allowed).tolist()]
    members = Counter(label for label in named if label)
    return {
        "largest_topic": max(members.values(), default=0),
        "topics_of_one": sum(count == 1 for count in members.values()),
        "without_topic": len(named) - members.total(),
    }


LABEL_CHARS = 80


def beginning(memory: MemoryRecord) -> str:
    """What a topic is called that begins with *memory*."""
    return " ".join(memory.text.split())[:LABEL_CHARS]
