"""What an import costs: memories a second, peak memory, and the same import once more.

    python tests/bench/importing.py [--messages 100000] [--alone 2000] [--seed 7] [--model]

A ChatGPT export of conversations of fifty turns is imported into an empty store, then again; each
in a process of its own, whose peak resident memory is printed. Beside it stands `remember`, called
with the first turns one after the other, and an import of as many. Vectors are made from the words
without a model, so that what is measured is the walk; --model takes the built-in one.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import machine, notes

from memory_core.config import ConsolidationSettings, Settings
from memory_core.embedding.base import Profile
from memory_core.importing.request import ImportRequest
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")
TURNS = 50
BEGAN = 1_700_000_000.0


class OfWords:
    """Vectors of the shape of the built-in model's, as sums of one random vector for each word."""

    name = fingerprint = "of-words"
    dimension = 384
    profile = Profile()

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        of = [np.random.default_rng(zlib.crc32(w.encode())) for w in text.lower().split()]
        total = sum((rng.standard_normal(384) for rng in of), np.zeros(384))
        return np.asarray(total / (np.linalg.norm(total) or 1.0), np.float32)


def export(path: Path, texts: Sequence[str]) -> None:
    """Write *texts* as ChatGPT's conversations.json."""
    with path.open("w", encoding="utf-8") as to:
        for start in range(0, len(texts), TURNS):
            to.write(",\n" if start else "[")
            to.write(json.dumps(conversation(start, texts[start : start + TURNS])))
        to.write("]")


def conversation(start: int, texts: Sequence[str]) -> dict[str, Any]:
    """A conversation as a tree of one branch, a minute between two turns."""
    nodes: dict[str, Any] = {}
    for number, text in enumerate(texts):
        nodes[f"n{number}"] = {
            "parent": f"n{number - 1}" if number else None,
            "message": {
                "id": f"m{start + number}",
                "author": {"role": ("user", "assistant")[number % 2]},
                "create_time": BEGAN + 60 * (start + number),
                "content": {"content_type": "text", "parts": [text]},
            },
        }
    last = f"n{len(texts) - 1}"
    began = BEGAN + 60 * start
    return {"id": f"c{start}", "create_time": began, "current_node": last, "mapping": nodes}


def opened(folder: str, model: bool) -> Memory:
    """A memory that does nothing by itself in *folder*, ready."""
    still = ConsolidationSettings(automatic=False)
    settings = Settings(data_dir=Path(folder), consolidation=still, offline=True)
    memory = Memory(settings, embedder=None if model else OfWords())
    assert memory.wait_ready(120)
    return memory


def work(what: str, folder: str, path: str, model: bool) -> None:
    """Do one measured thing in this process and print it as JSON."""
    with opened(folder, model) as memory:
        started, cpu = time.perf_counter(), time.process_time()
        if what == "import":

            def told(done: int, total: int, step: str) -> None:
                if done and done % 10_000 == 0:
                    print(
                        f"  {done:,} after {time.perf_counter() - started:.0f} s", file=sys.stderr
                    )

            counts = dict(memory.import_files(ME, ImportRequest(path), told).counts)
        else:
            texts = json.loads(Path(path).read_text())
            for number, text in enumerate(texts):
                when, session = BEGAN + 60 * number, f"c{number // TURNS}"
                memory.remember(ME, RememberRequest(text, session=session, when=when))
            counts = {"stored": len(texts)}
        seconds, computed = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"counts": counts, "s": seconds, "cpu": computed, "peak": peak}))


def measured(name: str, what: str, folder: Path, path: Path, model: bool) -> None:
    words = ["--work", what, "--folder", str(folder), "--path", str(path)]
    ran = subprocess.run(
        [sys.executable, __file__, *words, *(["--model"] if model else [])],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told = json.loads(ran.stdout.splitlines()[-1])
    count = sum(told["counts"].values())
    said = ", ".join(f"{many} {status}" for status, many in told["counts"].items())
    print(
        f"{name}: {said} in {told['s']:.0f} s ({told['cpu']:.0f} s of CPU), "
        f"{count / told['s']:.0f} a second ({count / told['cpu']:.0f} of CPU), "
        f"peak {told['peak']:,} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--alone", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--model", action="store_true")
    for name in ("--work", "--folder", "--path"):
        parser.add_argument(name, default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.work, args.folder, args.path, args.model)
        return
    print(machine(args.seed))
    texts = notes(args.messages, args.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        some = texts[: args.alone]
        (folder / "some.json").write_text(json.dumps(some))
        export(folder / "few.json", some)
        export(folder / "all.json", texts)
        for name, what, path in (
            ("remember one by one", "remember", "some"),
            ("import of as many", "import", "few"),
        ):
            measured(name, what, folder / what, folder / f"{path}.json", args.model)
        if args.messages > args.alone:
            store = folder / "store"
            for name in ("import", "import again"):
                measured(name, "import", store, folder / "all.json", args.model)


if __name__ == "__main__":
    main()
