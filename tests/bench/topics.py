"""Calibrates the topic threshold of the embedding model on labelled conversations.

Run: python tests/bench/topics.py CONVERSATIONS... [--tune 3] [--steps 0.40:0.70:0.05]. Each
conversation is put into topics as sleep does it, after every session, without retiring anything.
Chosen is the strictest threshold at which no conversation of the first --tune has more than ALONE
percent of its turns in no topic or in one of their own; the others choose too, for comparison. Also
told are the largest topic; kin, turns whose topic holds another one of their session; joined, pairs
of turns in one topic of those that are evidence for one question; mixed, the same of pairs from
different sessions: what pairs by chance would be.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.consolidate.steps import ConsolidationTuning
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import choose
from memory_core.evaluation.conversation import Conversation
from memory_core.evaluation.readers import read
from memory_core.lifecycle.topics import subjects
from memory_core.scoring import clusters
from memory_core.text.names.entities import entities

ALONE = 2.0
"""Percent of the turns of a conversation that may stay alone."""

Row = dict[str, float]


def vectors(conversation: Conversation, embedder: Embedder) -> NDArray[np.float32]:
    """The whole vectors of the turns, as the store has them."""
    return embedder.documents(
        [
            f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
            for turn in conversation.turns
        ]
    )


def topics(conversation: Conversation, made: NDArray[np.float32], threshold: float) -> list[str]:
    """The topic of each turn ("" for none) after as many sleeps as there are sessions."""
    tuning = ConsolidationTuning()
    names = [turn.id for turn in conversation.turns]
    about = [subjects(entities(turn.text)) for turn in conversation.turns]
    labels: list[str] = []
    for _, session in groupby(conversation.turns, lambda turn: turn.session):
        labels += [""] * len(list(session))
        known = len(labels)
        found = clusters.topics(
            made[:known],
            labels,
            names[:known],
            threshold=threshold,
            most=tuning.topic_members,
            merge_at=tuning.topic_merge,
            subjects=about[:known],
        )
        sizes = Counter(found)
        labels = [
            label if before or sizes[label] > 1 else ""
            for before, label in zip(labels, found, strict=True)
        ]
    return labels


def measured(conversation: Conversation, labels: Sequence[str]) -> Row:
    """Topics against evidence and sessions; shares in percent."""
    place = {turn.id: number for number, turn in enumerate(conversation.turns)}
    sessions = np.array([turn.session for turn in conversation.turns])
    named = np.array([label or f"\0{number}" for number, label in enumerate(labels)])
    same, apart = named[:, None] == named[None, :], sessions[:, None] != sessions[None, :]
    asked = [
        bool(same[place[a], place[b]])
        for question in conversation.questions
        for a, b in combinations(dict.fromkeys(question.evidence), 2)
    ]
    kin = (same & ~apart).sum(axis=1) > 1
    sizes = Counter(label for label in labels if label)
    alone = sum(count == 1 for count in sizes.values())
    return {
        "topics": len(sizes),
        "of one": alone,
        "alone": 100 * (alone + labels.count("")) / len(labels),
        "largest": max(sizes.values(), default=0),
        "kin": 100 * float(kin.mean()),
        "joined": 100 * float(np.mean(asked)),
        "mixed": 100 * float(same[np.triu(apart, k=1)].mean()),
    }


def chosen(rows: dict[float, list[Row]], part: slice) -> float:
    """The strictest threshold that leaves few turns alone; the loosest when none does."""
    few = [t for t, found in rows.items() if max(row["alone"] for row in found[part]) <= ALONE]
    return max(few, default=min(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--tune", type=int, default=3, help="conversations that choose")
    parser.add_argument("--steps", default="0.40:0.70:0.05", help="first:last:step")
    args = parser.parse_args()
    embedder = choose(Settings())
    told = [each for file in args.files for each in read(file)]
    made = [vectors(each, embedder) for each in told]
    first, last, step = (float(part) for part in args.steps.split(":"))
    rows = {
        threshold: [
            measured(each, topics(each, own, threshold))
            for each, own in zip(told, made, strict=True)
        ]
        for threshold in np.round(np.arange(first, last + step / 2, step), 3).tolist()
    }
    names = list(rows[first][0])
    print(f"{embedder.name}\n{'':24}" + "".join(f"{name:>9}" for name in names))
    for threshold, found in rows.items():
        for each, row in zip(told, found, strict=True):
            cells = "".join(f"{row[name]:9.1f}" for name in names)
            print(f"{threshold:.3f}  {each.id:17}{cells}")
    head, tail = slice(None, args.tune), slice(args.tune, None)
    print(f"chosen on the first {args.tune}: {chosen(rows, head):.3f}", end="")
    print(f", on the others: {chosen(rows, tail):.3f}, in use: {embedder.profile.topic:.3f}")


if __name__ == "__main__":
    main()
