"""How much of free conversation is doubted, where hardly anything is ever corrected.

Run: python tests/bench/doubted.py CONVERSATIONS... [--first 2] [--show 20] [--seed 0]. Every turn
is remembered on its day. Printed are the shares of turns that a later one may put out of date,
wholly or in part (recall marks the first kind and ranks both), and --show of the pairs, drawn at
random.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from memory_core.config import ConsolidationSettings, Settings
from memory_core.evaluation.conversation import Conversation
from memory_core.evaluation.readers import read
from memory_core.link_kinds import DOUBTS, DOUBTS_PART
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.text.time.timestamps import iso

Pair = tuple[str, str, str]
"""The kind of a link, the older text and the newer one."""


def doubted(conversation: Conversation, memory: Memory) -> tuple[list[Pair], int]:
    """The pairs of *conversation*, all its turns remembered, and how many turns it has."""
    who = Identity(conversation.id)
    for turn in conversation.turns:
        request = RememberRequest(
            turn.text,
            speaker=turn.speaker,
            role=turn.role,
            session=turn.session,
            when="" if turn.when is None else iso(turn.when),
        )
        memory.remember(who, request)
    texts = {record["id"]: record["text"] for record in memory.export(who)}
    pairs = [
        (link["kind"], texts[link["b"]], texts[record["id"]])
        for record in memory.export(who)
        for link in record.get("links", ())
        if link["a"] == record["id"] and link["kind"] in (DOUBTS, DOUBTS_PART)
    ]
    return pairs, len(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--first", type=int, default=2)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    conversations = [each for file in given.files for each in read(file, "auto")][: given.first]
    found: list[Pair] = []
    turns = 0
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        still = ConsolidationSettings(automatic=False)
        with Memory(Settings(data_dir=Path(folder), consolidation=still)) as memory:
            memory.wait_ready(60)
            for conversation in conversations:
                pairs, count = doubted(conversation, memory)
                found += pairs
                turns += count
    seconds = time.perf_counter() - begun
    for kind in (DOUBTS, DOUBTS_PART):
        older = {text for link, text, _ in found if link == kind}
        print(f"{kind}: {len(older)} of {turns} turns, {100 * len(older) / turns:.1f} %")
    print(f"{seconds:.0f} seconds")
    random.Random(given.seed).shuffle(found)
    for kind, old, new in found[: given.show]:
        print(f"- {kind}\n    {old}\n    {new}")


if __name__ == "__main__":
    main()
