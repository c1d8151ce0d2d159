"""The commands that need no memory of the user's: setup, evaluate and token."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory_core.config import Settings
from server import console, render
from server.auth import Tokens
from server.outcome import Outcome


def setup(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Fetch and check the model's weights."""
    del args
    from memory_core.embedding import acquisition

    with console.progress("fetch the model") as move:
        folder = acquisition.acquire(
            settings,
            acquisition.indexes(environment),
            progress=lambda done, total: move(done, total, "fetch the model"),
        )
    return Outcome({"model": str(folder)}, f"the embedding model is in {folder}")


def evaluate(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Measure recall in fresh stores; the user's own memory is not touched."""
    del environment
    from memory_core.embedding.embedder import choose
    from memory_core.evaluation import readers, runner
    from memory_core.evaluation.baselines import BASELINES
    from memory_core.memory import Memory

    files = [Path(name) for name in args.files] or [OWN_DIALOGUE]
    conversations = [found for file in files for found in readers.read(file, args.format)]
    embedder = choose(settings)

    def open_memory(folder: Path) -> Memory:
        return Memory(settings.model_copy(update={"data_dir": folder}), embedder=embedder)

    with console.progress("evaluate") as move:
        report = runner.evaluate(
            conversations,
            open_memory,
            k=args.top,
            baselines=() if args.no_baselines else tuple(BASELINES),
            embedder=embedder,
            progress=move,
        )
    data = report.to_dict(details=args.details)
    return Outcome(data, _figures(data))


OWN_DIALOGUE = (
    Path(__file__).parent.parent / "memory_core" / "evaluation" / "data" / "dialogue.json"
)


_HEADINGS = {
    "category": "category",
    "questions": "n",
    "recall@1": "recall@1",
    "recall@5": "recall@5",
    "recall@10": "recall@10",
    "precision@10": "prec@10",
    "any@10": "any@10",
    "all@10": "all@10",
    "mrr": "mrr",
    "ndcg@10": "ndcg@10",
}


def _figures(data: Mapping[str, Any]) -> str:
    """This program by category, beside the baselines over all questions; then times and counts."""
    rankings = {name: rows for name, rows in data["rankings"].items() if rows}
    parts = []
    if rankings:
        product, own = next(iter(rankings.items()))
        shown = [name for name in _HEADINGS if name in own[0]]
        headings = [_HEADINGS[name] for name in shown]
        cells = [[row[name] for name in shown] for row in own]
        parts.append(console.table(headings, cells, title=f"{product}, by category"))
        last = [
            [name, *(rows[-1][column] for column in shown[1:])] for name, rows in rankings.items()
        ]
        parts.append(console.table(["ranking", *headings[1:]], last, title="over all questions"))
    if data["unanswerable"]:
        parts.append(console.pairs(data["unanswerable"], title="unanswerable questions"))
    for name in ("milliseconds", "counts", "versions", "machine"):
        parts.append(console.pairs(data[name], title=name))
    return "\n\n".join(parts)


def token(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Add, list or revoke tokens."""
    del environment
    tokens = Tokens(settings.data_dir)
    if args.action == "add":
        rights = [right.strip() for right in args.rights.split(",") if right.strip()]
        secret = tokens.add(settings.agent, settings.team, rights)
        grant = tokens.find(secret)
        assert grant is not None
        return Outcome({"id": grant.id, "token": secret}, secret)
    if args.action == "revoke":
        gone = tokens.revoke(args.id)
        return Outcome({"revoked": gone.id}, f"token {gone.id} of {gone.agent} revoked")
    rows = [
        (g.id, g.agent, g.team, ",".join(g.rights), render.iso(g.created)) for g in tokens.all()
    ]
    columns = ("id", "agent", "team", "rights", "created")
    data = [dict(zip(columns, row, strict=True)) for row in rows]
    return Outcome(data, console.table(columns, rows) if rows else "no tokens yet")
