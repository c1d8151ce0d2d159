"""Recall as the three earlier systems do it: their formulas and parameters over the same turns.

Their users ask how this program compares. What a language model does there (extracting facts,
judging importance) is left out, so importance is neutral where only a model gives it. Everything is
computed as of the last turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory_core.beliefs.importance import salience
from memory_core.embedding.base import Embedder
from memory_core.evaluation.conversation import Conversation, labelled_text
from memory_core.text.names.entities import entities

Floats = NDArray[np.float64]

DAY = 86_400.0
NEUTRAL = 0.5


@dataclass(frozen=True, slots=True)
class Stored:
    """What a system holds: *texts*, unit *vectors* (n, d), age of each in seconds (n,)."""

    texts: Sequence[str]
    vectors: Floats
    age_s: Floats


@dataclass(frozen=True, slots=True)
class SimpleMemory:
    """Tiers: the last turns, recent ones, and pairs of turns under topic nodes.

    A fresh store has no edges between nodes yet, so the expansion along them finds nothing.
    A pair's vector is the mean of its turns'.
    """

    k: int = 6
    candidates: int = 10
    floor: float = 0.6
    tail: int = 5
    active: int = 20
    recent: int = 40
    recent_days: float = 7.0
    long_term_days: float = 30.0
    nodes: int = 6
    members: int = 2
    node_threshold: float = 0.70
    node_cap: int = 20
    split_step: float = 0.05

    def rank(self, stored: Stored, query: Floats) -> list[int]:
        """Turns by number, best first: those over the floor, then the last turns as they are."""
        count = len(stored.texts)
        newest = max(0, count - self.active)
        oldest = max(0, newest - self.recent)
        nearest = oldest + np.argsort(-(stored.vectors[oldest:newest] @ query), kind="stable")
        found: dict[tuple[int, ...], float] = {
            (turn,): score
            for turn in nearest[: self.candidates].tolist()
            if (score := self._fused(stored, query, (turn,), self.recent_days)) > 0
        }
        if len(found) < self.k:
            for pair in self._from_nodes(stored, query, oldest):
                score = self._fused(stored, query, pair, self.long_term_days)
                if score > 0:
                    found[pair] = score
        best = sorted(found, key=lambda held: -found[held])[: self.k]
        last = range(max(0, count - self.tail), count)
        return list(dict.fromkeys([*(turn for held in best for turn in held), *last]))

    def _fused(self, stored: Stored, query: Floats, held: tuple[int, ...], days: float) -> float:
        """0.6 similarity + 0.3 recency + 0.1 importance; 0 below the floor."""
        similarity = float(_mean(stored.vectors[list(held)]) @ query)
        if similarity < self.floor:
            return 0.0
        return 0.6 * similarity + 0.3 * _recency(stored, held, days) + 0.1 * NEUTRAL

    def _from_nodes(self, stored: Stored, query: Floats, end: int) -> Iterator[tuple[int, ...]]:
        """The best members of the best topic nodes among the turns before *end*."""
        pairs = [tuple(range(turn, min(turn + 2, end))) for turn in range(0, end, 2)]
        vectors = np.array([_mean(stored.vectors[list(pair)]) for pair in pairs])
        grouped = self._clusters(vectors)
        nearest = sorted(grouped, key=lambda node: -float(_mean(vectors[node]) @ query))
        for node in nearest[: self.nodes]:
            scores = {
                member: 0.5 * float(vectors[member] @ query)
                + 0.3 * _recency(stored, pairs[member], self.long_term_days)
                + 0.2 * NEUTRAL
                for member in node
            }
            for member in sorted(scores, key=lambda each: -scores[each])[: self.members]:
                yield pairs[member]

    def _clusters(self, vectors: Floats) -> list[list[int]]:
        """Find or create a node for each row; those over the cap are split stricter."""
        found: list[list[int]] = []
        for node in _leaders(vectors, list(range(len(vectors))), self.node_threshold):
            split = _leaders(vectors, node, self.node_threshold + self.split_step)
            found += split if len(node) > self.node_cap and len(split) > 1 else [node]
        return found


@dataclass(frozen=True, slots=True)
class CognitiveMemoryModel:
    """Similarity x decay x importance, spread to neighbours and by entities.

    No query precedes, so nothing is primed or rehearsed. The notes give no value for the shares
    that spread; these are 0.5 along similarity and 0.8 along a shared entity.
    """

    k: int = 10
    overfetch: int = 3
    decay_rate: float = 1e-5
    novel_below: float = 0.5
    spread_factor: float = 0.5
    entity_boost: float = 0.8
    neighbours: int = 5

    def rank(self, stored: Stored, query: Floats) -> list[int]:
        """Turns by number, best first."""
        strength = np.exp(-self.decay_rate * stored.age_s) * self._importance(stored)
        direct = (stored.vectors @ query) * strength
        seeds = np.argsort(-(stored.vectors @ query), kind="stable")[: self.k * self.overfetch]
        score = np.full(len(direct), -np.inf)
        score[seeds] = direct[seeds]
        for seed in seeds.tolist():
            for turn, share in self._linked(stored, seed):
                score[turn] = max(score[turn], direct[seed] * self.spread_factor * share)
        order = np.argsort(-score, kind="stable")[: self.k]
        return [turn for turn in order.tolist() if score[turn] > -np.inf]

    def _importance(self, stored: Stored) -> Floats:
        """0.5 to 2.0: twice what the wording says, 1.5 for what was new when it was said."""
        judged = 2.0 * np.array([salience(text)[0] for text in stored.texts])
        likeness = np.tril(stored.vectors @ stored.vectors.T, -1)
        new = likeness.max(axis=1, initial=0.0) < self.novel_below
        return np.where(new, np.maximum(judged, 1.5), judged)

    def _linked(self, stored: Stored, seed: int) -> Iterator[tuple[int, float]]:
        near = stored.vectors @ stored.vectors[seed]
        near[seed] = -1.0
        for turn in np.argsort(-near, kind="stable")[: self.neighbours].tolist():
            yield turn, float(near[turn])
        named = set(entities(stored.texts[seed]))
        for turn, text in enumerate(stored.texts):
            if named and turn != seed and any(name in text for name in named):
                yield turn, self.entity_boost


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """0.5 cosine + 0.3 recency + 0.2 importance, then MMR over an oversample."""

    k: int = 10
    oversample: int = 20
    half_life_days: float = 30.0
    mmr_lambda: float = 0.7

    def rank(self, stored: Stored, query: Floats) -> list[int]:
        """Turns by number, in the order in which MMR chooses them."""
        cosine = stored.vectors @ query
        left = np.argsort(-cosine, kind="stable")[: max(self.oversample, 2 * self.k)].tolist()
        recency = np.exp(-0.693 * stored.age_s / DAY / self.half_life_days)
        relevance = 0.5 * cosine + 0.3 * recency + 0.2 * NEUTRAL
        chosen: list[int] = []
        likeness = np.zeros(len(cosine))
        while left and len(chosen) < self.k:
            gain = self.mmr_lambda * relevance[left] - (1 - self.mmr_lambda) * likeness[left]
            best = left.pop(int(np.argmax(gain)))
            chosen.append(best)
            likeness = np.maximum(likeness, stored.vectors @ stored.vectors[best])
        return chosen


SYSTEMS: dict[str, SimpleMemory | CognitiveMemoryModel | AgentMemory] = {
    "simple_memory": SimpleMemory(),
    "cognitive-memory-model": CognitiveMemoryModel(),
    "agent-memory": AgentMemory(),
}
"""With the parameters that their authors chose; only the length of the list is asked for."""


def rankings(conversation: Conversation, embedder: Embedder, k: int) -> dict[str, list[list[str]]]:
    """Name of the system -> turn ids, best first and at most *k*, one list a question."""
    stored = _stored(conversation, embedder)
    asked = [
        embedder.query(question.text).astype(np.float64) for question in conversation.questions
    ]
    names = [turn.id for turn in conversation.turns]
    return {
        name: [[names[turn] for turn in replace(system, k=k).rank(stored, q)[:k]] for q in asked]
        for name, system in SYSTEMS.items()
    }


def _stored(conversation: Conversation, embedder: Embedder) -> Stored:
    turns = conversation.turns
    texts = [labelled_text(turn) for turn in turns]
    now = max((turn.when for turn in turns if turn.when is not None), default=0.0)
    ages = [now - (now if turn.when is None else turn.when) for turn in turns]
    return Stored(texts, embedder.documents(texts).astype(np.float64), np.array(ages))


def _recency(stored: Stored, held: Sequence[int], days: float) -> float:
    """exp(-age / days), as written there an e-folding time and no half-life."""
    return float(np.exp(-stored.age_s[list(held)].min() / DAY / days))


def _leaders(vectors: Floats, rows: Sequence[int], threshold: float) -> list[list[int]]:
    """*rows* in groups: each joins the nearest running mean from *threshold* on, or founds one."""
    groups: list[list[int]] = []
    sums: list[Floats] = []
    for row in rows:
        likeness = [float(vectors[row] @ total) / float(np.linalg.norm(total)) for total in sums]
        best = int(np.argmax(likeness)) if likeness else -1
        if best >= 0 and likeness[best] >= threshold:
            groups[best].append(row)
            sums[best] = sums[best] + vectors[row]
        else:
            groups.append([row])
            sums.append(vectors[row].copy())
    return groups


def _mean(vectors: Floats) -> Floats:
    total = vectors.sum(axis=0)
    unit: Floats = total / max(float(np.linalg.norm(total)), 1e-12)
    return unit
