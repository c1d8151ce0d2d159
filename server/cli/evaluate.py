"""The command that measures recall, and how its figures look."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.config import Settings
from memory_core.errors import InvalidInput
from memory_core.records import Identity
from server.cli import console
from server.cli.console import Outcome

if TYPE_CHECKING:
    from memory_core.evaluation.report import Report
    from memory_core.memory import Memory

MOVED = {
    "ablation": "tests/evals/life.py --ablation",
    "plot": "tests/evals/life.py --plot PNG",
    "days": "tests/evals/life.py --days N",
    "with_facts": "tests/evals/compare.py",
}
"""Option that earlier versions had -> the script of the repository that does it now."""

READY_SECONDS = 60.0

_TURNS = {
    "recall@1": "r@1",
    "recall@5": "r@5",
    "recall@10": "recall@10",
    "precision@10": "p@10",
    "any@10": "any@10",
    "all@10": "all@10",
    "mrr": "mrr",
}
_SESSIONS = {
    f"session_{name}@{cut}": f"{name}@{cut}" for name in ("recall", "any", "all") for cut in (5, 10)
}


def evaluate(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Measure recall in fresh stores, or, read-only, in the user's own."""
    del environment
    for option, script in MOVED.items():
        if getattr(args, option):
            raise InvalidInput(
                f"--{option.replace('_', '-')} is not part of the installed program",
                f"run `python {script}` in a clone of the repository",
            )
    report = _own_store(settings, args) if args.own_store else _fresh_stores(settings, args)
    from memory_core.evaluation.report import misses

    data = report.to_dict(details=args.details)
    data["command"] = _command(args)
    if args.misses:
        data["misses"] = misses(report, args.misses)
    return Outcome(data, markdown(data) if args.markdown else figures(data))


def _fresh_stores(settings: Settings, args: Namespace) -> Report:
    from memory_core.embedding.embedder import choose
    from memory_core.evaluation import conversation, readers, runner
    from memory_core.evaluation.baselines import BASELINES
    from memory_core.memory import Memory

    files = [Path(name) for name in args.files] or [readers.DIALOGUE]
    conversations = [found for file in files for found in readers.read(file, args.format)]
    if args.pooled:
        conversations = [conversation.pooled(conversations)]
    embedder = choose(settings)

    def open_memory(folder: Path) -> Memory:
        # no run may begin while questions are asked, and no labelled set is sent to a model
        still = settings.consolidation.model_copy(update={"automatic": False})
        own = {"data_dir": folder, "encoder": "passthrough", "consolidation": still}
        return Memory(settings.model_copy(update=own), embedder=embedder)

    with console.progress("evaluate") as move:
        return runner.evaluate(
            conversations,
            open_memory,
            k=args.top,
            baselines=() if args.no_baselines else tuple(BASELINES),
            embedder=embedder,
            progress=move,
            seed=args.seed,
        )


def _own_store(settings: Settings, args: Namespace) -> Report:
    from memory_core.evaluation.readers import read_pairs
    from memory_core.evaluation.runner import evaluate_store
    from memory_core.memory import Memory

    if not args.files:
        raise InvalidInput(
            "there is no file of questions", "give a list of {query, relevant_texts}"
        )
    items = [item for name in args.files for item in read_pairs(Path(name))]
    who = Identity(settings.agent, settings.team)
    with Memory(settings) as memory, console.progress("evaluate") as move:
        memory.wait_ready(READY_SECONDS)
        return evaluate_store(memory, who, items, k=args.top, seed=args.seed, progress=move)


def _command(args: Namespace) -> str:
    """The command that gives this report again, with the names of its files alone."""
    flags = [
        f"--{name.replace('_', '-')}"
        for name in ("pooled", "own_store", "no_baselines")
        if getattr(args, name)
    ]
    values = [f"-k {args.top}" * (args.top != 20), f"--seed {args.seed}" * bool(args.seed)]
    files = [Path(name).name for name in args.files]
    return " ".join(part for part in ("anamnesis evaluate", *files, *flags, *values) if part)


def figures(data: Mapping[str, Any]) -> str:
    """This program by category, beside the others over all questions; then all that is known."""
    rankings = {name: rows for name, rows in data["rankings"].items() if rows}
    parts = []
    if rankings:
        product, own = next(iter(rankings.items()))
        parts.append(_table(own, ["category"], _TURNS, f"{product}, by category"))
        if "session_any@5" in own[0]:
            parts.append(_table(own, ["category"], _SESSIONS, f"{product}, sessions"))
        last = [{"ranking": name, **rows[-1]} for name, rows in rankings.items()]
        parts.append(_table(last, ["ranking"], _TURNS, "over all questions"))
    if data["unanswerable"]:
        parts.append(console.pairs(data["unanswerable"], title="unanswerable questions"))
    curve = [list(each.values()) for each in data["calibration"]["curve"]]
    heads = ("confidence from", "questions", "mean confidence", "share right")
    title = f"calibration, mean error {data['calibration']['error']:.3f}"
    parts.append(console.table(heads, curve, title=title))
    parts += [_missed(each) for each in data.get("misses", ())]
    for name in ("milliseconds", "counts", "versions", "machine"):
        parts.append(console.pairs(data[name], title=name))
    return "\n\n".join(parts)


def _table(
    rows: Sequence[Mapping[str, Any]], first: list[str], names: Mapping[str, str], title: str
) -> str:
    shown = [name for name in names if name in rows[0]]
    sure = ["95 %"] if names is _TURNS else []
    headings = [*first, "n", *(names[name] for name in shown), *sure]
    cells = [
        [
            *(row[name] for name in first),
            row["questions"],
            *(row[name] for name in shown),
            *("{:.2f}-{:.2f}".format(*row["interval"]) for _ in sure),
        ]
        for row in rows
    ]
    return console.table(headings, cells, title=title)


def _missed(item: Mapping[str, Any]) -> str:
    head = f"missed ({item['category']}, confidence {item['confidence']}): {item['question']}"
    wanted = [
        f"  wanted {e['id']}, rank {e['rank'] or 'beyond the list'}: {e['text']}"
        for e in item["evidence"]
    ]
    given = [f"  given  {e['id']}: {e['text']}" for e in item["given"]]
    return "\n".join([head, *wanted, *(given or ["  nothing found"])])


def markdown(data: Mapping[str, Any]) -> str:
    """The table to keep: command, seed, versions and date, then every ranking over all."""
    versions = ", ".join(f"{name} {number}" for name, number in data["versions"].items())
    counts = ", ".join(f"{n} {name}" for name, n in data["counts"].items() if n)
    lines = [
        f"`{data['command']}`, seed {data['seed']}, {data['date'][:10]}",
        "",
        f"{versions}; {counts}.",
        "",
    ]
    rankings = [(name, rows) for name, rows in data["rankings"].items() if rows]
    if not rankings:
        return "\n".join([*lines, "No question has an answer."])
    names = (*_TURNS, "session_recall@5", "session_recall@10")
    shown = [name for name in names if name in rankings[0][1][-1]]
    lines += [_cells(["ranking", "n", *shown, "95 %"]), _cells(["---"] * (len(shown) + 3))]
    product = [(f"recall, {row['category']}", row) for row in rankings[0][1][:-1]]
    for name, row in [*((name, rows[-1]) for name, rows in rankings), *product]:
        percent = [f"{100 * row[each]:.1f}" for each in shown]
        interval = "{:.1f}-{:.1f}".format(*(100 * bound for bound in row["interval"]))
        lines.append(_cells([name, row["questions"], *percent, interval]))
    if data["unanswerable"] and data["unanswerable"]["auc"] is not None:
        told = data["unanswerable"]
        silent, lost = 100 * told["not_found"], 100 - 100 * told["found_answerable"]
        lines += [
            "",
            f"Unanswerable: {told['questions']}, AUC {told['auc']:.2f}, nothing found for "
            f"{silent:.0f} %, and for {lost:.0f} % of the others.",
        ]
    return "\n".join(lines)


def _cells(values: Sequence[object]) -> str:
    return f"| {' | '.join(str(value) for value in values)} |"
