"""The graph of topics: how many memories each has, and what ties them together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from memory_core.lifecycle import topics
from memory_core.overview.tallies import current
from memory_core.records import DERIVED, KINDS, Identity
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View

RELATIONS = ("co_occurs", "recalled_together", "derived", "abstracted")
"""Of two topics: their turns stand side by side in a conversation, one question recalled both, a
summary of one has sources in the other, a concept has sources in both."""

EDGES = 5_000
"""Heaviest edges of a graph."""

_CONCEPT = KINDS.index("concept")
_DERIVED = [KINDS.index(kind) for kind in DERIVED]


@dataclass(frozen=True, slots=True)
class TopicNode:
    """A topic: its label and the number of its memories; *kinds* says of which kinds they are."""

    label: str
    members: int
    kinds: dict[str, int]


@dataclass(frozen=True, slots=True)
class TopicEdge:
    """What ties topic *a* to topic *b*: one of RELATIONS, and how often.

    `derived` leads from the summary's topic to that of its source; the others have a before b.
    """

    a: str
    b: str
    relation: str
    weight: float


@dataclass(frozen=True, slots=True)
class TopicGraph:
    """Topics, the largest first, and their edges, the heaviest first."""

    nodes: tuple[TopicNode, ...]
    edges: tuple[TopicEdge, ...]


def topic_graph(store: MemoryStore, who: Identity) -> TopicGraph:
    """The graph of the topics of what *who* may read; replaced and retired memories do not count.

    It has every topic and the EDGES heaviest edges.
    """
    store.catch_up()
    with store.reading() as view:
        allowed = current(view, who)
        found = _nodes(view, allowed)
        edges = [*_side_by_side(view, allowed), *_derived(view, allowed)]
        pairs = topics.edges(view, allowed)
        edges += [TopicEdge(a, b, "recalled_together", w) for (a, b), w in pairs.items()]
    edges.sort(key=lambda edge: (-edge.weight, edge.a, edge.b, edge.relation))
    return TopicGraph(tuple(found), tuple(edges[:EDGES]))


def _nodes(view: View, allowed: Mask) -> list[TopicNode]:
    columns = view.columns
    kinds: dict[str, Counter[str]] = {}
    for row in np.flatnonzero(allowed).tolist():
        if label := columns.topic(row):
            kind = columns.name(int(columns.kind[row]), "kind")
            kinds.setdefault(label, Counter())[kind] += 1
    found = [TopicNode(label, each.total(), dict(each)) for label, each in kinds.items()]
    return sorted(found, key=lambda node: (-node.members, node.label))


def _side_by_side(view: View, allowed: Mask) -> list[TopicEdge]:
    """Edges between the topics of neighbouring turns of one conversation."""
    columns, rows = view.columns, np.flatnonzero(allowed)
    following = columns.neighbours_many(rows, 1)
    counts: Counter[tuple[str, str]] = Counter()
    for row, after in zip(rows.tolist(), following.tolist(), strict=True):
        if after >= 0 and allowed[after]:
            a, b = sorted((columns.topic(row), columns.topic(after)))
            if a and a != b:
                counts[a, b] += 1
    return [TopicEdge(a, b, "co_occurs", float(n)) for (a, b), n in counts.items()]


def _derived(view: View, allowed: Mask) -> list[TopicEdge]:
    """Edges from summaries to their sources, and between the sources of a concept."""
    columns, graph = view.columns, view.graph
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in np.flatnonzero(allowed & np.isin(columns.kind, _DERIVED)).tolist():
        sources = [each for each in graph.targets(row, DERIVED_FROM) if allowed[each]]
        labels = [label for each in sources if (label := columns.topic(each))]
        own = columns.topic(row)
        for label in labels:
            if own and own != label:
                counts[own, label, "derived"] += 1
        if columns.kind[row] == _CONCEPT:
            distinct = sorted(set(labels))
            for place, a in enumerate(distinct):
                counts.update((a, b, "abstracted") for b in distinct[place + 1 :])
    return [TopicEdge(a, b, relation, float(n)) for (a, b, relation), n in counts.items()]
