"""`evaluate --ablation` and `evaluate --plot`: recall with each feature off, over half a year."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.config import Settings
from server.cli import console
from server.outcome import Outcome

if TYPE_CHECKING:
    from memory_core.evaluation.life import Lived
    from memory_core.memory import Memory


def live(settings: Settings, args: Namespace, files: list[Path]) -> Outcome:
    """A simulated life; with --ablation one for each feature left out, with --plot its course."""
    from memory_core.embedding.embedder import choose
    from memory_core.evaluation import life, readers
    from memory_core.evaluation.cached import Cached
    from memory_core.memory import Memory

    conversations = [found for file in files for found in readers.read(file, args.format)]
    embedder = Cached(choose(settings))

    def open_memory(folder: Path, own: Settings, clock: Callable[[], float]) -> Memory:
        del folder
        return Memory(own, clock=clock, embedder=embedder)

    given = conversations, settings, open_memory
    with console.progress("life") as move:
        if args.ablation:
            found = life.ablation(*given, days=args.days, progress=move)
        else:
            lived = life.live(*given, life.Habits(), days=args.days, progress=move)
            found = {"": {"life": lived}}
    if args.plot:
        from memory_core.evaluation import plot

        plot.draw(found[""]["life"].course, Path(args.plot))
    data: dict[str, Any] = {"days": args.days, "lives": _told(found)}
    topics = console.pairs(data["lives"][-1 if len(found) == 1 else 1]["topics"], title="topics")
    text = f"{_table(data['lives'])}\n\n{topics}"
    return Outcome(data, "\n".join([text, f"written to {args.plot}"] if args.plot else [text]))


def _told(found: Mapping[str, Mapping[str, Lived]]) -> list[dict[str, Any]]:
    """One row for each life; *change* is in points of recall@10 against the life with all."""
    return [
        {
            "without": without or "nothing",
            "life": name,
            "questions": len(lived.recalls),
            "recall@10": lived.recall,
            "change": 100 * (lived.recall - found[""][name].recall),
            "active": lived.active,
            "rows": lived.rows,
            "skipped": lived.skipped,
            "topics": lived.topics,
        }
        for without, lives in found.items()
        for name, lived in lives.items()
    ]


def _table(rows: list[dict[str, Any]]) -> str:
    cells = [
        [
            row["without"],
            row["life"],
            row["questions"],
            f"{100 * row['recall@10']:.1f}",
            f"{row['change']:+.1f}",
            row["active"],
            row["rows"],
            row["skipped"],
        ]
        for row in rows
    ]
    heads = ("without", "life", "n", "recall@10", "change", "active rows", "rows", "skipped")
    return console.table(heads, cells, title="recall@10 with each feature left out")
