"""What comes first of a user's half year: sixty statements, and questions about them.

    python tests/bench/year.py [FILE]

FILE (default tests/evals/data/year.json) holds what was `said`, in order, and what is `asked`, each
with parts of the texts that answer it; none where the memory holds no answer. Printed is how many
questions bring an answer first and among the first four, at write and after one sleep, and those
that do not with what came first. The clock stands where FILE says. Nothing is drawn at random.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import machine

from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

YEAR = Path(__file__).parents[1] / "evals" / "data" / "year.json"
ME = Identity("me")
SHOWN = 4
"""Places that an assistant looks at."""


def moment(text: str) -> float:
    """*text*, ISO 8601 without an offset, in UTC, in epoch seconds."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def places(memory: Memory, asked: Mapping[str, Any]) -> tuple[int, str]:
    """The place of the first answer, 0 for none among SHOWN, and what comes first."""
    found = memory.recall(ME, RecallRequest(asked["question"], k=SHOWN, rehearse=False))
    texts = [hit.memory.text for hit in (*found.hits, *found.partial)]
    right = [any(part in text for part in asked["answer"]) for text in texts]
    return (right.index(True) + 1 if True in right else 0), texts[0] if texts else ""


def report(when: str, memory: Memory, asked: list[Mapping[str, Any]]) -> None:
    """Print what the questions of *asked* bring."""
    found = [(each["question"], *places(memory, each)) for each in asked if each["answer"]]
    first = sum(place == 1 for _, place, _ in found)
    among = sum(place > 0 for _, place, _ in found)
    print(f"{when}: first {first} of {len(found)}, among the first {SHOWN} {among}")
    for question, place, best in found:
        if place != 1:
            print(f"  {place or '-'}  {question}\n       {' '.join(best.split())[:80]}")
    sure = [
        (memory.recall(ME, RecallRequest(each["question"], rehearse=False)), each["question"])
        for each in asked
        if not each["answer"]
    ]
    for told, question in sure:
        print(f"  no answer: {question} confidence {told.confidence:.2f}")


def main() -> None:
    """Say it all, ask, sleep, and ask again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", default=YEAR, type=Path)
    told = json.loads(parser.parse_args().file.read_text("utf-8"))
    print(machine(0))
    now = [0.0]
    with tempfile.TemporaryDirectory() as folder:
        still = ConsolidationSettings(automatic=False)
        settings = Settings(data_dir=Path(folder), offline=True, consolidation=still)
        with Memory(settings, clock=lambda: now[0]) as memory:
            assert memory.wait_ready(60)
            for each in told["said"]:
                now[0] = moment(each["when"])
                request = RememberRequest(
                    each["text"], speaker=each["speaker"], session=each["session"]
                )
                memory.remember(ME, request)
            now[0] = moment(told["now"])
            report("at write", memory, told["asked"])
            memory.consolidate(ME)
            report("after sleep", memory, told["asked"])


if __name__ == "__main__":
    main()
