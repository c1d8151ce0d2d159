"""The graph of what is remembered: topics, summaries, episodes and names, and what ties them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from memory_core.overview.tallies import current
from memory_core.overview.topic_graph import topic_graph
from memory_core.records import DERIVED, KINDS, Identity, MemoryRecord
from memory_core.scoring.arrays import Mask
from memory_core.storage.index.columns import Columns
from memory_core.storage.store import MemoryStore

TYPES = ("topic", "summary", "episode", "entity")

TIES = ("tied", "holds", "derived", "names")
"""Topics are tied, a topic holds a memory, a summary has a source, a memory names an entity."""

TOPICS, SUMMARIES, EPISODES, ENTITIES = 120, 80, 200, 100
"""How many nodes of each type at most: what a picture can hold."""

_DERIVED = [KINDS.index(kind) for kind in DERIVED]


@dataclass(frozen=True, slots=True)
class Node:
    """One of TYPES, with its label: a topic, the text of a memory or a name.

    *key* is the id of a memory, else its type and label. *size* is how many memories a topic has,
    or how many of those in the graph name an entity; 1 for a memory.
    """

    key: str
    type: str
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class Tie:
    """What ties node *a* to node *b*: one of TIES, and how strongly."""

    a: str
    b: str
    relation: str
    weight: float


@dataclass(frozen=True, slots=True)
class MemoryGraph:
    """Nodes by type, of each the weightiest first, and the ties between them.

    Those of memories come first, then those between topics, the strongest first.
    """

    nodes: tuple[Node, ...]
    ties: tuple[Tie, ...]


def memory_graph(store: MemoryStore, who: Identity) -> MemoryGraph:
    """The largest topics, the weightiest summaries and other memories, and the names in these.

    Of what *who* may read; replaced and retired memories do not count.
    """
    topics = topic_graph(store, who)
    with store.reading() as view:
        columns, allowed = view.columns, current(view, who)
        derived = np.isin(columns.kind, _DERIVED)
        summaries = _weightiest(columns, allowed & derived, SUMMARIES)
        episodes = _weightiest(columns, allowed & ~derived, EPISODES)
    held = store.indexed([*summaries, *episodes])
    named = Counter(name for memory in held.values() for name in memory.entities)
    largest = topics.nodes[:TOPICS]
    nodes = [Node(f"topic:{each.label}", "topic", each.label, each.members) for each in largest]
    nodes += [Node(id, "summary", held[id].text, 1) for id in summaries if id in held]
    nodes += [Node(id, "episode", held[id].text, 1) for id in episodes if id in held]
    nodes += [Node(f"entity:{x}", "entity", x, n) for x, n in named.most_common(ENTITIES)]
    weights: defaultdict[tuple[str, str], float] = defaultdict(float)
    for edge in topics.edges:
        a, b = sorted((f"topic:{edge.a}", f"topic:{edge.b}"))
        weights[a, b] += edge.weight
    ties = [tie for memory in held.values() for tie in _ties(memory)]
    strongest = sorted(weights.items(), key=lambda each: -each[1])
    ties += [Tie(a, b, "tied", weight) for (a, b), weight in strongest]
    shown = {node.key for node in nodes}
    return MemoryGraph(tuple(nodes), tuple(t for t in ties if t.a in shown and t.b in shown))


def _weightiest(columns: Columns, mask: Mask, most: int) -> list[str]:
    """The ids of the *most* important rows of *mask*; of equal ones the newest."""
    rows = np.flatnonzero(mask)
    order = np.lexsort((-columns.occurred_at[rows], -columns.importance[rows]))[:most]
    return [columns.id(row) for row in rows[order].tolist()]


def _ties(memory: MemoryRecord) -> Iterable[Tie]:
    if memory.topic:
        yield Tie(f"topic:{memory.topic}", memory.id, "holds", 1.0)
    for source in memory.derived_from:
        yield Tie(memory.id, source, "derived", 1.0)
    for name in memory.entities:
        yield Tie(memory.id, f"entity:{name}", "names", 1.0)
