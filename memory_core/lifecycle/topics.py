"""Topics: label, members, centroid, and the edges between topics.

A topic is a label that memories carry. Its centroid is the mean of its members' vectors. The weight
of an edge between two topics is the sum of the co-recall links between their members, so that edges
follow every split and merge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_core.records import MemoryRecord
from memory_core.scoring import clusters
from memory_core.scoring.arrays import Mask, Rows
from memory_core.storage.accesses import CO_RECALL
from memory_core.storage.index.columns import Columns
from memory_core.storage.view import View
from memory_core.text.keywords import nouns

LABEL_CHARS = 80
LABEL_NAMES, LABEL_TERMS = 2, 4


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its label, the rows that carry it, and their mean direction, unit length (d,).

    *names* are those that its members are about, in small letters.
    """

    label: str
    rows: Rows
    centroid: NDArray[np.float32]
    names: frozenset[str]


def nodes(view: View, rows: Rows) -> list[Topic]:
    """The topics of *rows*, by label; members without a vector do not count for the centroid."""
    columns, index = view.columns, view.vectors
    members: dict[str, list[int]] = {}
    for row in rows.tolist():
        if label := columns.topic(row):
            members.setdefault(label, []).append(row)
    found = []
    for label, places in sorted(members.items()):
        inside = np.array(places, dtype=np.int64)
        vectors = np.zeros((1, 1), np.float32) if index is None else index.wholes(inside)
        total = np.nan_to_num(vectors).sum(axis=0, keepdims=True)
        names = frozenset().union(*(subjects(columns.entities(row)) for row in places))
        found.append(Topic(label, inside, clusters.unit(total)[0], names))
    return found


def subjects(entities: Iterable[str]) -> frozenset[str]:
    """*entities* in the spelling in which topics compare them."""
    return frozenset(map(str.casefold, entities))


def nearest(
    found: list[Topic], vector: NDArray[np.float32], names: Collection[str], threshold: float
) -> str:
    """The label of the nearest topic that a memory of *vector* and *names* may join, else "".

    The cosine must reach *threshold*, and where both have names, they must share one.
    """
    found = [topic for topic in found if not clusters.apart(names, topic.names)]
    if not found or np.isnan(vector).any():
        return ""
    cosines = np.stack([topic.centroid for topic in found]) @ vector
    best = int(np.argmax(cosines))
    return found[best].label if cosines[best] >= threshold else ""


def edges(view: View, allowed: Mask) -> dict[tuple[str, str], float]:
    """The edges between topics of *allowed* rows: (a, b) with a < b -> weight, heaviest first.

    The weight is the number of times that members of both were recalled by one query.
    """
    columns = view.columns
    found: defaultdict[tuple[str, str], float] = defaultdict(float)
    for a, b, kind, weight in view.graph.links():
        if kind == CO_RECALL and allowed[a] and allowed[b]:
            one, other = sorted((columns.topic(a), columns.topic(b)))
            if one and one != other:
                found[one, other] += weight
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def sizes(columns: Columns, allowed: Mask) -> dict[str, int]:
    """How the *allowed* rows spread over topics.

    largest_topic (its members), topics_of_one, and without_topic: rows that carry none.
    """
    members, without = columns.topic_sizes(allowed)
    return {
        "largest_topic": int(members.max(initial=0)),
        "topics_of_one": int(np.count_nonzero(members == 1)),
        "without_topic": without,
    }


def label_from(memory: MemoryRecord) -> str:
    """The label of a topic that *memory* founds: its names and nouns, "Mara, boat, lake".

    The beginning of its text where it has neither. It depends on this memory alone, so that a
    label tells when it was made of a forgotten one.
    """
    terms = (*memory.entities[:LABEL_NAMES], *nouns(memory.text))
    distinct = {term.casefold(): term for term in reversed(terms)}
    label = ", ".join(list(distinct.values())[::-1][:LABEL_TERMS])[:LABEL_CHARS]
    return label or beginning(memory)


def beginning(memory: MemoryRecord) -> str:
    """The beginning of the text of *memory*, which is also what stores of old called a topic."""
    return " ".join(memory.text.split())[:LABEL_CHARS]
