"""The command `evaluate`: measures recall on labelled conversations and prints the figures.

It also measures what the memory believes, on a file of corrections, true pairs and poisonings.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_core.config import Settings
from memory_core.errors import InvalidInput
from memory_core.evaluation.readers import DIALOGUE
from server.cli import console
from server.cli.console import Outcome
from server.cli.grammar import PLACE, READY_SECONDS, Decorated, command
from server.cli.invocation import Invocation, open_memory

if TYPE_CHECKING:
    from memory_core.evaluation.report import Report
    from memory_core.memory import Memory

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


def _moved(name: str, script: str, **more: Any) -> Callable[[Decorated], Decorated]:
    """An option of earlier versions, which names the *script* of the repository that has it now."""

    def refuse(_context: click.Context, _parameter: click.Parameter, value: object) -> None:
        if value:
            raise InvalidInput(
                f"{name} is not part of the installed program",
                f"run `python {script}` in a clone of the repository",
            )

    return click.option(name, hidden=True, expose_value=False, callback=refuse, **more)


@command("evaluate", example="anamnesis evaluate locomo10.json")
@click.argument("files", type=PLACE, nargs=-1, metavar="[FILE]...")
@click.option(
    "-k", "--top", type=int, default=20, show_default=True, metavar="N", help="Memories a question."
)
@click.option(
    "--format",
    "layout",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="auto, locomo, beam, longmemeval, dialogue, pairs or beliefs.",
)
@click.option(
    "--together",
    "--pooled",
    "pooled",
    is_flag=True,
    help="All conversations, or all cases of beliefs, in one store.",
)
@click.option(
    "--own-store",
    is_flag=True,
    help="Ask your own memories a list of {query, relevant_texts}; changes nothing.",
)
@click.option("--no-baselines", is_flag=True, help="Measure only this program.")
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Of the intervals."
)
@click.option("--misses", type=int, default=0, metavar="N", help="Show N missed questions.")
@click.option("--markdown", "as_table", is_flag=True, help="Print the table to keep.")
@click.option("--details", is_flag=True, help="With --json: every question.")
@_moved("--ablation", "tests/evals/life.py --ablation", is_flag=True)
@_moved("--plot", "tests/evals/life.py --plot PNG")
@_moved("--days", "tests/evals/life.py --days N")
@_moved("--with-facts", "tests/evals/compare.py", is_flag=True)
@click.pass_obj
def evaluate(
    call: Invocation,
    files: Sequence[str],
    top: int,
    layout: str,
    pooled: bool,
    own_store: bool,
    no_baselines: bool,
    seed: int,
    misses: int,
    as_table: bool,
    details: bool,
) -> Outcome:
    """Measure recall on labelled conversations.

    FILE is a labelled conversation, a BEAM folder or a list of questions; by default the project's
    own dialogue. Fresh stores are measured; your own memories are asked only with --own-store.
    With --format beliefs, FILE holds cases of what is out of date and what still holds.
    """
    paths = [Path(name) for name in files]
    if layout == "beliefs":
        return _beliefs(call.settings, paths, misses, pooled)
    if own_store:
        report = _own_store(call, paths, top, seed)
    else:
        report = _fresh_stores(
            call.settings,
            paths or [DIALOGUE],
            layout,
            pooled=pooled,
            baselines=not no_baselines,
            k=top,
            seed=seed,
        )
    from memory_core.evaluation import report as reports

    data = report.to_dict(details=details)
    flags = {
        "--pooled": pooled,
        "--own-store": own_store,
        "--no-baselines": no_baselines,
        f"-k {top}": top != 20,
        f"--seed {seed}": seed,
    }
    given = [flag for flag, wanted in flags.items() if wanted]
    data["command"] = " ".join(("anamnesis evaluate", *(path.name for path in paths), *given))
    if misses:
        data["misses"] = reports.misses(report, misses)
    return Outcome(data, markdown(data) if as_table else figures(data))


def _fresh_stores(
    settings: Settings,
    files: Sequence[Path],
    layout: str,
    *,
    pooled: bool,
    baselines: bool,
    k: int,
    seed: int,
) -> Report:
    """Measure this program on *files*, one fresh store a conversation."""
    from memory_core.embedding.embedder import choose
    from memory_core.evaluation import conversation, readers, runner
    from memory_core.evaluation.baselines import BASELINES
    from memory_core.memory import Memory

    conversations = [found for file in files for found in readers.read(file, layout)]
    if pooled:
        conversations = [conversation.pooled(conversations)]
    embedder = choose(settings)

    def open_store(folder: Path) -> Memory:
        return Memory(_unattended(settings, folder), embedder=embedder)

    with console.progress("evaluate") as move:
        return runner.evaluate(
            conversations,
            open_store,
            k=k,
            baselines=tuple(BASELINES) if baselines else (),
            embedder=embedder,
            progress=move,
            seed=seed,
        )


def _unattended(settings: Settings, folder: Path) -> Settings:
    """*settings* for a store in *folder* where no run begins by itself and no model reads."""
    still = settings.consolidation.model_copy(update={"automatic": False})
    own = {"data_dir": folder, "encoder": "passthrough", "consolidation": still}
    return settings.model_copy(update=own)


def _beliefs(settings: Settings, files: Sequence[Path], misses: int, pooled: bool) -> Outcome:
    """Play the cases of the one file to a fresh store, with the server's answers to hooks."""
    from memory_core.evaluation import beliefs
    from memory_core.memory import Memory
    from server.hooks.hooks import Hooks

    if len(files) != 1:
        raise InvalidInput("--format beliefs reads one file", "name one file of cases")
    cases = beliefs.read(files[0])
    clock = beliefs.clock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(_unattended(settings, Path(folder)), clock=clock) as memory,
        console.progress("evaluate") as move,
    ):
        memory.wait_ready(READY_SECONDS)
        if pooled:
            score = beliefs.evaluate_together(cases, memory, clock())
        else:
            hooks = Hooks(memory, clock)
            score = beliefs.evaluate(cases, memory, hooks.answer, clock(), move)
    data = score.to_dict(misses)
    return Outcome(data, _believed(data))


def _believed(data: Mapping[str, Any]) -> str:
    """A row for every figure, then the cases that it missed, where they were asked for."""
    rows = [
        (name, each["share"], f"{each['held']}/{each['of']}")
        if "share" in each
        else (name, each["mean"], f"mean of {each['of']}")
        for name, each in data.items()
    ]
    parts = [console.table(("figure", "share", "held"), rows)]
    for name, each in data.items():
        if each.get("missed"):
            parts.append("\n".join([f"missed ({name})", *(f"  {case}" for case in each["missed"])]))
    return "\n\n".join(parts)


def _own_store(call: Invocation, files: Sequence[Path], k: int, seed: int) -> Report:
    """Ask the user's own memory the questions of *files*; nothing is written."""
    from memory_core.evaluation.readers import read_pairs
    from memory_core.evaluation.runner import evaluate_store

    if not files:
        raise InvalidInput(
            "there is no file of questions", "give a list of {query, relevant_texts}"
        )
    items = [item for file in files for item in read_pairs(file)]
    with open_memory(call.settings) as memory, console.progress("evaluate") as move:
        memory.wait_ready(READY_SECONDS)
        return evaluate_store(memory, call.who, items, k=k, seed=seed, progress=move)


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
        asked = data["unanswerable"]
        silent, lost = 100 * asked["not_found"], 100 - 100 * asked["found_answerable"]
        lines += [
            "",
            f"Unanswerable: {asked['questions']}, AUC {asked['auc']:.2f}, nothing found for "
            f"{silent:.0f} %, and for {lost:.0f} % of the others.",
        ]
    return "\n".join(lines)


def _cells(values: Sequence[object]) -> str:
    return f"| {' | '.join(str(value) for value in values)} |"
