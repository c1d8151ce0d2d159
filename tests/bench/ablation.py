"""What each signal of recall earns: the signals of recall/signals left out one at a time.

Run: python tests/bench/ablation.py [FILE ...] [--pooled] [--format NAME]. FILE is a conversation
file of any format that `anamnesis evaluate` reads; the project's own dialogue is always measured,
as it is and with the facts that a model would extract. Prints for each file recall@1, @5 and @10 of
the full ranking in percent, and for each signal by how many points they change without it, and for
how many questions the first ten change. "links" is spreading activation, which is no signal of the
list but adds a column like one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from evals.recorded import RecordedEncoder
from material import Asked, machine
from numpy.typing import NDArray

from memory_core.config import ConsolidationSettings, GistSettings, Settings
from memory_core.evaluation.conversation import Conversation, pooled
from memory_core.evaluation.metrics import recall_at, without_repeats
from memory_core.evaluation.readers import DIALOGUE, read
from memory_core.gist.base import GistEncoder
from memory_core.memory import Memory
from memory_core.recall import reader, spreading
from memory_core.recall.request import RecallRequest
from memory_core.recall.signals import SIGNALS
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("ablation")
DEPTHS = (1, 5, 10)
TEXT_CHARS = 20_000

Ranking = list[str]


def without(name: str) -> AbstractContextManager[object]:
    """Recalls in this context leave out the signal *name*."""
    if name == "links":
        return patch.object(spreading, "spread", lambda view, cues, found, allowed: found)
    rest = tuple(signal for signal in SIGNALS if signal.name != name)
    return patch.object(reader, "SIGNALS", rest)


def remember(memory: Memory, conversation: Conversation) -> dict[str, str]:
    """Store every turn; the memory's id -> the turn it counts as."""
    turns: dict[str, str] = {}
    for turn in conversation.turns:
        request = RememberRequest(
            turn.text[:TEXT_CHARS],
            speaker=turn.speaker,
            role=turn.role,
            session=turn.session,
            when="" if turn.when is None else turn.when,
        )
        turns.setdefault(memory.remember(ME, request).id, turn.id)
    return turns


def rankings(
    conversation: Conversation, names: Sequence[str], embedder: Asked, encoder: GistEncoder | None
) -> Iterator[tuple[tuple[str, ...], dict[str, Ranking]]]:
    """For each question with evidence: the evidence, and the ranking without each of *names*.

    *encoder* extracts the facts of the conversation first.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(quiet(Path(folder)), embedder=embedder, encoder=encoder) as memory,
    ):
        memory.wait_ready(300)
        turns = remember(memory, conversation)
        if encoder is not None:
            memory.encode(ME, "0001-01-01")
        for question in conversation.questions:
            if not question.evidence:
                continue
            request = RecallRequest(question.text, k=max(DEPTHS), context=0, rehearse=False)
            found: dict[str, Ranking] = {}
            for name in names:
                with without(name):
                    hits = memory.recall(ME, request).hits
                found[name] = without_repeats(turns[hit.memory.id] for hit in hits)
            yield question.evidence, found


def quiet(folder: Path) -> Settings:
    """Settings without runs of their own, and with room for a whole conversation's facts."""
    still = ConsolidationSettings(automatic=False)
    return Settings(data_dir=folder, consolidation=still, gist=GistSettings(daily_tokens=10**7))


def report(
    title: str,
    conversations: Sequence[Conversation],
    embedder: Asked,
    encoder: GistEncoder | None = None,
) -> None:
    """Print the table of *conversations*."""
    names = ["", *(signal.name for signal in SIGNALS), "links"]
    asked = [each for one in conversations for each in rankings(one, names, embedder, encoder)]

    def recalls(name: str) -> NDArray[np.float64]:
        return np.array(
            [
                100 * np.mean([recall_at(found[name], evidence, k) for evidence, found in asked])
                for k in DEPTHS
            ]
        )

    whole = recalls("")
    print(f"\n{title}: {len(asked)} questions, recall@1 / @5 / @10")
    print(f"{'all signals':14}" + "".join(f"{each:8.1f}" for each in whole))
    for name in names[1:]:
        changed = sum(found[name] != found[""] for _, found in asked)
        deltas = "".join(f"{each:+8.1f}" for each in recalls(name) - whole)
        print(f"- {name:12}{deltas}{changed:7} changed")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("files", nargs="*", type=Path, help="labelled conversations")
    parser.add_argument("--format", default="auto")
    parser.add_argument("--pooled", action="store_true", help="all of a file in one store")
    args = parser.parse_args()
    print(machine(0))
    embedder = Asked()
    dialogue = read(DIALOGUE)
    report("own dialogue", dialogue, embedder)
    report("own dialogue, with facts", dialogue, embedder, RecordedEncoder(dialogue[0]))
    for file in args.files:
        found = read(file, args.format)
        report(file.name, [pooled(found)] if args.pooled else found, embedder)


if __name__ == "__main__":
    main()
