"""What a judge adds to beliefs, by a stand-in that knows the labels of the cases and errs at times.

    python tests/bench/judges.py FILE [FILE ...] [--asked N ...]

Each FILE holds cases of beliefs (docs/internals/evaluation.md). They are played alone and in one
store: without a judge, with a language model that says which pairs were updated, and with an
entailment model that says which contradict each other; each right always, and right nine times in
ten. Which pairs it is wrong about is drawn by their texts. No weights and no service are needed, so
the figures say what the seam lets through and what it costs, and bound what a real judge can add.
Printed are shares, and the questions asked for one memory. --asked sets about how many of the
nearest memories, which nothing doubts, a language model is asked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import machine

from memory_core.config import ConsolidationSettings, Settings
from memory_core.embedding.embedder import choose
from memory_core.enrichment import candidates, judges
from memory_core.enrichment.queue import EnrichmentTuning
from memory_core.evaluation import beliefs
from memory_core.gist.base import Related
from memory_core.gist.passthrough import PassthroughEncoder
from memory_core.memory import Memory
from memory_core.records import Identity, Receipt
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

PARTS = ("background", "corrections", "non_corrections", "reversals", "near", "series")
FIGURES = (
    "corrections: current first, at write",
    "corrections: current first, after sleep",
    "true: not superseded or retired, after sleep",
    "true: not doubted, after sleep",
    "doubts: right, after sleep",
    "true: the older one first when asked for, after sleep",
    "reversals: the new one holds, sleep",
    "near: both shown, sleep",
)


class Labels:
    """How the pairs of a file relate: "updates", "contradicts" for a part, else "new"."""

    def __init__(self, data: Mapping[str, Any], right: float) -> None:
        self.right = right
        self.asked = 0
        self._known = {(each["old"], each["new"]): "updates" for each in data.get("reversals", ())}
        for case in data.get("corrections", ()):
            kinds = {"partial": "contradicts", "temporary": "new"}
            self._known[case["old"], case["new"]] = kinds.get(case["kind"], "updates")

    def of(self, older: str, newer: str) -> str:
        """The label, or a wrong one for a share of the pairs."""
        self.asked += 1
        label = self._known.get((older, newer), "new")
        drawn = int.from_bytes(hashlib.sha256(f"{older}\n{newer}".encode()).digest()[:4]) / 2**32
        if drawn < self.right:
            return label
        return "updates" if label == "new" else "new"


class LanguageModel(PassthroughEncoder):
    """Relates by the labels; describes nothing."""

    name = "stand-in"

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def relate(self, older: str, newer: str) -> Related:
        return Related(self._labels.of(older, newer))


class Entailment:
    """Finds a contradiction where the labels say that one text changes the other."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def probabilities(self, premise: str, hypothesis: str) -> Mapping[str, float]:
        labels = self._labels
        changed = {labels.of(premise, hypothesis), labels.of(hypothesis, premise)} - {"new"}
        against = 0.9 if changed else 0.05
        return {"contradiction": against, "entailment": 0.05, "neutral": 0.95 - against}


class Judged(Memory):
    """A memory whose judges answer before a call returns."""

    def remember(self, who: Identity, request: RememberRequest) -> Receipt:
        receipt = super().remember(who, request)
        if self._runtime.parts().worker.judges:
            self.encode(who)
        return receipt


def played(data: Mapping[str, Any], judge: str, labels: Labels, together: bool) -> dict[str, Any]:
    """The figures of *data*, by name."""
    settings: dict[str, Any] = {"offline": True}
    settings["consolidation"] = ConsolidationSettings(automatic=False)
    encoder = LanguageModel(labels) if judge == "language model" else None
    tuning = Tuning(enrichment=EnrichmentTuning(workers=0))
    with tempfile.TemporaryDirectory() as folder:
        settings |= {"data_dir": Path(folder)}
        if judge == "entailment":
            settings["judge"] = Path(folder)
        load = patch.object(judges, "_cross_encoder", lambda _place: Entailment(labels))
        now = beliefs.clock()
        with (
            load,
            Judged(Settings(**settings), clock=now, encoder=encoder, tuning=tuning) as memory,
        ):
            assert memory.wait_ready(60)
            if together:
                return beliefs.evaluate_together(data, memory, now()).to_dict()
            return beliefs.evaluate(data, memory, lambda _who, _payload: {}, now()).to_dict()


def report(data: Mapping[str, Any], together: bool, counts: Sequence[int]) -> None:
    """Print a line for each judge."""
    told = sum(1 for part in PARTS[1:] for _ in data.get(part, ()))
    rows = [("none", 1.0, 0)]
    rows += [("language model", right, n) for n in counts for right in (1.0, 0.9)]
    rows += [("entailment", right, 0) for right in (1.0, 0.9)]
    print(f"\n{'in one store' if together else 'each case alone'}")
    for judge, right, nearest in rows:
        labels = Labels(data, right)
        with patch.object(candidates, "ASKED", nearest):
            found = played(data, judge, labels, together)
        cells = [found.get(name, {}) for name in FIGURES]
        shares = "  ".join(f"{c['held']:3}/{c['of']:<3}" if c else "       " for c in cells)
        name = f"{judge} {right:.1f}" + (f", {nearest}" if judge == "language model" else "")
        print(f"{name:32} {shares}  asked {labels.asked / max(1, 2 * told):.2f}", flush=True)


def distances(data: Mapping[str, Any]) -> str:
    """How near the corrections lie to what they correct, beside the background."""
    embedder = choose(Settings(offline=True))
    others = embedder.documents(data["background"])
    corrections = [each for each in data["corrections"] if each["kind"] != "temporary"]
    older, newer = (embedder.documents([c[name] for c in corrections]) for name in ("old", "new"))
    cosines = (older * newer).sum(axis=1)
    nearest = cosines > (newer @ others.T).max(axis=1)
    least, near = (int((cosines >= n).sum()) for n in (candidates.LEAST, candidates.NEAR))
    told = f"from cosine {candidates.LEAST} {least}, from {candidates.NEAR} {near}"
    return f"{len(corrections)} corrections: {told}, with nothing nearer {int(nearest.sum())}"


def main() -> None:
    """Play every file, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--asked", nargs="+", type=int, default=[candidates.ASKED])
    args = parser.parse_args()
    print(machine(0))
    for number, name in enumerate(FIGURES, 1):
        print(f"{number}. {name}")
    for file in args.files:
        data = json.loads(file.read_text("utf-8"))
        data = {part: data[part] for part in PARTS if part in data}
        print(f"\n{file.stem}\n{distances(data)}")
        for together in (False, True):
            report(data, together, args.asked)


if __name__ == "__main__":
    main()
