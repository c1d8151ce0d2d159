"""What a correction puts in doubt in a store of a few memories, where little else is near.

    python tests/bench/small_stores.py FILE [FILE ...] [--others N]

Each file holds cases of beliefs (docs/internals/evaluation.md). For each of its corrections, and of
its pairs that are both true, an agent of its own is told N other texts of the file, then both texts
of the case. Counted are the older texts that are in doubt or superseded.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import machine

from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

NOW, DAY, SEED = 1_780_000_000.0, 86_400.0, 7
PAIRS = {"corrections": ("old", "new"), "non_corrections": ("a", "b"), "near": ("a", "b")}


def main() -> None:
    """Print the counts of each file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--others", type=int, default=0)
    asked = parser.parse_args()
    print(machine(SEED))
    for file in asked.files:
        print(f"{file.stem}: {counted(json.loads(file.read_text('utf-8')), asked.others)}")


def counted(data: dict[str, Any], others: int) -> str:
    """How many corrections, and how many true texts, are in doubt."""
    choice = random.Random(SEED)
    cases = [(sort, case, *names) for sort, names in PAIRS.items() for case in data.get(sort, ())]
    texts = [case[older] for _, case, older, _ in cases]
    found = {True: [0, 0], False: [0, 0]}
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), offline=True)
        with Memory(settings, clock=lambda: NOW) as memory:
            memory.wait_ready(60)
            for number, (sort, case, older, newer) in enumerate(cases):
                who, pair = Identity(f"agent-{number}"), (case[older], case[newer])
                rest = [text for text in texts if text not in pair]
                for day, text in enumerate((*choice.sample(rest, others), *pair)):
                    when = NOW - (30 - day) * DAY
                    memory.remember(who, RememberRequest(text, when=when))
                doubts = {each.older.text for each in memory.doubts(who)}
                gone = {each["text"] for each in memory.export(who) if each.get("superseded_by")}
                tally = found[sort == "corrections"]
                tally[1] += 1
                tally[0] += pair[0] in doubts | gone
    seen, false = found[True], found[False]
    return f"{seen[0]} of {seen[1]} corrections, {false[0]} of {false[1]} true"


if __name__ == "__main__":
    main()
