"""Whether a conversation is found as well when it was imported as when it was told turn by turn.

    python tests/bench/imported.py FILE ...

FILE is of any form that `anamnesis evaluate` reads. Each conversation is told to one memory by
`remember`, and comes to another as a ChatGPT export of its sessions. Such an export names roles, no
speakers, so both have roles alone: the first speaker is the user, others the assistant. Printed is
recall@10 of both over all questions; a turn that the gate of an import drops is not found.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import Asked, machine

from memory_core.config import ConsolidationSettings, Settings
from memory_core.evaluation.conversation import Conversation, Turn
from memory_core.evaluation.metrics import recall_at, without_repeats
from memory_core.evaluation.readers import read
from memory_core.importing.request import ImportRequest
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")
PLACES = 10


def told(memory: Memory, conversation: Conversation, roles: Mapping[str, str]) -> dict[str, str]:
    """Memory id -> id of the turn, for every turn remembered."""
    found: dict[str, str] = {}
    for turn in conversation.turns:
        asked = RememberRequest(
            turn.text, role=roles[turn.id], session=turn.session, when=turn.when or ""
        )
        found.setdefault(memory.remember(ME, asked).id, turn.id)
    return found


def imported(
    memory: Memory, conversation: Conversation, roles: Mapping[str, str], folder: Path
) -> dict[str, str]:
    """Memory id -> id of the turn, for every turn that the import of an export took."""
    talks = []
    for session, turns in groupby(conversation.turns, lambda turn: turn.session):
        nodes: dict[str, Any] = {}
        last = None
        for turn in turns:
            nodes[turn.id] = {"parent": last, "message": message(turn, roles[turn.id])}
            last = turn.id
        began = conversation.turns[0].when
        talks.append({"id": session, "create_time": began, "current_node": last, "mapping": nodes})
    path = folder / "conversations.json"
    path.write_text(json.dumps(talks), encoding="utf-8")
    report = memory.import_files(ME, ImportRequest(str(path)))
    print(f"{conversation.id}: {dict(report.counts)}, left out {dict(report.left_out)}", flush=True)
    assert not report.problem_count, report.problems
    turn_of = {(turn.session, turn.text.strip()): turn.id for turn in reversed(conversation.turns)}
    return {
        record["id"]: turn_of[record["session"].removeprefix("chatgpt:"), record["text"]]
        for record in memory.export(ME)
    }


def message(turn: Turn, role: str) -> dict[str, Any]:
    return {
        "id": turn.id,
        "author": {"role": role},
        "create_time": turn.when,
        "content": {"content_type": "text", "parts": [turn.text]},
    }


def asked(memory: Memory, conversation: Conversation, turn_of: Mapping[str, str]) -> list[float]:
    """recall@10 of each question that has evidence."""
    scores = []
    for question in conversation.questions:
        if question.evidence:
            request = RecallRequest(question.text, k=PLACES, context=0, rehearse=False)
            hits = memory.recall(ME, request).hits
            ranking = without_repeats(turn_of.get(h.memory.id, h.memory.id) for h in hits)
            scores.append(recall_at(ranking, question.evidence, PLACES))
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    print(machine(0))
    embedder = Asked()
    still = ConsolidationSettings(automatic=False)
    sums = {"turn by turn": [], "imported": []}  # type: dict[str, list[float]]
    for conversation in (each for file in args.files for each in read(file)):
        embedder.prepare([turn.text for turn in conversation.turns])
        first = conversation.turns[0]
        roles = {
            turn.id: "user"
            if (turn.speaker or turn.role) == (first.speaker or first.role)
            else "assistant"
            for turn in conversation.turns
        }
        for arm in sums:
            with tempfile.TemporaryDirectory() as name:
                settings = Settings(data_dir=Path(name) / "data", consolidation=still)
                with Memory(settings, embedder=embedder) as memory:
                    memory.wait_ready(120)
                    if arm == "imported":
                        turn_of = imported(memory, conversation, roles, Path(name))
                    else:
                        turn_of = told(memory, conversation, roles)
                    sums[arm] += asked(memory, conversation, turn_of)
    for arm, scores in sums.items():
        print(
            f"{arm}: recall@{PLACES} {100 * sum(scores) / len(scores):.1f}, {len(scores)} questions"
        )


if __name__ == "__main__":
    main()
