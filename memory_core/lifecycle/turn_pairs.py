"""Pairs of a user's turn and the agent's answer.

The two turns stay memories of their own, verbatim. The pair is a link from the answer to the turn,
and the vector of "User: ... / Agent: ..." as a further part of the turn. A pair copies no text, so
a change or erasure of a turn applies to the pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_core.embedding.base import Embedder
from memory_core.records import ROLES, TIERS, Change, MemoryRecord
from memory_core.scoring.arrays import Rows
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View

Vectors = dict[str, tuple[list[int], NDArray[np.float16]]]
Embed = Callable[[Embedder, MemoryRecord], tuple[list[int], NDArray[np.float32]]]

PAIR = "pair"
"""The kind of the link from the answer to the turn."""

PART = -2
"""The number of the pair's vector among the parts of the turn (0 the whole, -1 a gist)."""

_USER, _ASSISTANT = ROLES.index("user"), ROLES.index("assistant")
_ACTIVE = TIERS.index("active")


@dataclass(frozen=True, slots=True)
class TurnPair:
    """A turn and its answer. *importance* is the higher one, *access_count* the sum of both."""

    user: MemoryRecord
    agent: MemoryRecord

    @property
    def text(self) -> str:
        """Both texts, as they are embedded and as recall returns the pair."""
        return joined(self.user.text, self.agent.text)

    @property
    def importance(self) -> float:
        """0-1."""
        return max(self.user.importance, self.agent.importance)

    @property
    def times(self) -> tuple[float, float]:
        """When the turn and when the answer was said, epoch seconds."""
        return self.user.occurred_at, self.agent.occurred_at

    @property
    def access_count(self) -> int:
        """How often either was recalled."""
        return self.user.access_count + self.agent.access_count

    @property
    def topic(self) -> str:
        """The topic of the turn, or of the answer when it has none."""
        return self.user.topic or self.agent.topic


def joined(user: str, agent: str) -> str:
    """The text of a pair."""
    return f"User: {user} / Agent: {agent}"


def found(view: View, rows: Rows, most_s: float) -> list[tuple[str, str]]:
    """The (turn, answer) ids to pair that contain one of *rows*.

    An answer is the next turn of the conversation, by the assistant, at most *most_s* seconds
    later. Turns that are still active, or paired already, are left out.
    """
    columns = view.columns
    wanted: dict[tuple[str, str], None] = {}
    before = columns.neighbours_many(rows, -1)
    for turn in (*rows.tolist(), *before[before >= 0].tolist()):
        if columns.role[turn] != _USER:
            continue
        answer = columns.neighbours(turn, 1)
        if answer is None or columns.role[answer] != _ASSISTANT:
            continue
        late = columns.occurred_at[answer] - columns.occurred_at[turn]
        fresh = _ACTIVE in (columns.tier[turn], columns.tier[answer])
        if not fresh and 0 <= late <= most_s and not view.graph.origins(turn, PAIR):
            wanted[columns.id(turn), columns.id(answer)] = None
    return list(wanted)


def vectors(
    store: MemoryStore, embedder: Embedder | None, wanted: Sequence[tuple[str, str]]
) -> Vectors:
    """Parts and vectors by the id of the turn: those it has, and that of its pair as PART.

    Turns without vectors are left out. {} without an *embedder*.
    """
    if embedder is None or not wanted:
        return {}
    memories = store.memories([id for pair in wanted for id in pair])
    known = store.journal.vectors([turn for turn, _ in wanted], embedder.fingerprint)
    ready = [(t, a) for t, a in wanted if t in known and t in memories and a in memories]
    texts = [joined(memories[turn].text, memories[answer].text) for turn, answer in ready]
    made = embedder.documents(texts).astype(np.float16)
    return {
        turn: ([*known[turn][0], PART], np.concatenate([known[turn][1], made[place : place + 1]]))
        for place, (turn, _) in enumerate(ready)
        if PART not in known[turn][0]
    }


def with_pair(store: MemoryStore, embed: Embed) -> Embed:
    """*embed*, which for a turn in a pair also embeds the pair; backfill and reembedding use it."""

    def embedded(embedder: Embedder, memory: MemoryRecord) -> tuple[list[int], NDArray[np.float32]]:
        parts, made = embed(embedder, memory)
        pair = of(store, [memory.id]).get(memory.id)
        if pair is None or pair.user.id != memory.id:
            return parts, made
        return [*parts, PART], np.concatenate([made, embedder.documents([pair.text])])

    return embedded


def write(
    tx: Transaction, turn: str, answer: str, made: Vectors, fingerprint: str, source: str
) -> int:
    """Link *turn* and *answer* and store the pair's vector; 1, or 0 when one of them is gone."""
    owner = str((tx.fields(answer) or {}).get("agent", ""))
    body = {"b": turn, "kind": PAIR, "weight": 1.0}
    change = Change("link", answer, body, actor=owner, source=source)
    if not tx.append(change):
        return 0
    if turn in made:
        tx.put_vectors(turn, fingerprint, *made[turn])
    return 1


def of(store: MemoryStore, ids: Sequence[str]) -> dict[str, TurnPair]:
    """The pair of each of *ids* that is in one, by id."""
    members: dict[str, tuple[str, str]] = {}
    with store.reading() as view:
        columns, graph = view.columns, view.graph
        for id in ids:
            row = columns.row(id)
            if row is None:
                continue
            for answer in graph.origins(row, PAIR):
                members[id] = id, columns.id(answer)
            for turn in graph.targets(row, PAIR):
                members[id] = columns.id(turn), id
    memories = store.memories([each for pair in members.values() for each in pair])
    return {
        id: TurnPair(memories[turn], memories[answer])
        for id, (turn, answer) in members.items()
        if turn in memories and answer in memories
    }
