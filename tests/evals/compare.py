"""Recall beside what only developers compare it with.

    .venv/bin/python tests/evals/compare.py [FILE ...] [-k 20] [--pooled]

Prints the table of `anamnesis evaluate --markdown` with further rankings: the three earlier
systems; the same store asked with diversity (`mmr_lambda` 0.7); and, for the project's own dialogue
(no FILE), the same store after the recorded facts were extracted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from evals import earlier_systems
from evals.cached import Cached
from evals.recorded import RecordedEncoder

from memory_core.config import ConsolidationSettings, Settings
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import choose
from memory_core.evaluation import readers, runner
from memory_core.evaluation.baselines import BASELINES
from memory_core.evaluation.conversation import Conversation, pooled
from memory_core.evaluation.report import Report
from memory_core.memory import Memory
from memory_core.runtime import Tuning
from server.cli import console
from server.cli.evaluate import markdown

MMR = 0.7
READY_SECONDS = 60.0


def compare(
    conversations: list[Conversation],
    embedder: Embedder,
    *,
    k: int = 20,
    facts: bool = False,
    progress: runner.Progress | None = None,
) -> Report:
    """The report of `runner.evaluate` with the rankings of the module's docstring added.

    *facts*: with the recorded facts, which are those of the project's own dialogue.
    """
    variants = {f"recall, mmr {MMR}": _opener(embedder, tuning=Tuning(mmr_lambda=MMR))}
    if facts:  # the last one, since it adds to the store
        variants["recall, with facts"] = _extracting(embedder, RecordedEncoder(conversations[0]))
    report = runner.evaluate(
        conversations,
        _opener(embedder),
        k=k,
        baselines=tuple(BASELINES),
        variants=variants,
        embedder=embedder,
        progress=progress,
    )
    answers = {name: list(given) for name, given in report.answers.items()}
    for conversation in conversations:
        ranked = earlier_systems.rankings(conversation, embedder, k)
        for name, rankings in ranked.items():
            answers.setdefault(name, []).extend(runner.scored(conversation, rankings, k))
    return replace(report, answers=answers)


def _opener(
    embedder: Embedder,
    encoder: RecordedEncoder | None = None,
    tuning: Tuning | None = None,
) -> Callable[[Path], Memory]:
    def open_memory(folder: Path) -> Memory:
        still = ConsolidationSettings(automatic=False)  # no run while questions are asked
        chosen = Settings(data_dir=folder, consolidation=still)
        return Memory(chosen, embedder=embedder, encoder=encoder, tuning=tuning)

    return open_memory


def _extracting(embedder: Embedder, encoder: RecordedEncoder) -> Callable[[Path], Memory]:
    """Opens a memory and extracts the recorded facts of all that it holds."""

    def open_memory(folder: Path) -> Memory:
        memory = _opener(embedder, encoder=encoder)(folder)
        memory.wait_ready(READY_SECONDS)
        memory.encode(runner.EVALUATOR, "0001-01-01")
        return memory

    return open_memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("-k", "--top", type=int, default=20, metavar="N")
    parser.add_argument("--pooled", action="store_true", help="all conversations in one store")
    args = parser.parse_args()
    files = args.files or [readers.DIALOGUE]
    conversations = [found for file in files for found in readers.read(file)]
    if args.pooled:
        conversations = [pooled(conversations)]
    with console.progress("compare") as move:
        report = compare(
            conversations,
            Cached(choose(Settings())),
            k=args.top,
            facts=not args.files,
            progress=move,
        )
    words = ["tests/evals/compare.py", *(file.name for file in args.files)]
    print(markdown({**report.to_dict(), "command": " ".join(words)}))


if __name__ == "__main__":
    main()
