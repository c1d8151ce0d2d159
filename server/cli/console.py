"""Outcomes of commands, and the tables and progress bars in them. rich is imported when used."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from server.cli.place import Progress, place
from server.cli.plain_words import plain
from server.protocol import rendering

PLAIN_WIDTH = 100


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> str:
    """A table as text, as wide as the terminal or PLAIN_WIDTH; columns of numbers align right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(
        title=title or None,
        title_justify="left",
        box=box.SIMPLE_HEAD if any(columns) else None,
        show_header=any(columns),
        pad_edge=False,
    )
    for number, name in enumerate(columns):
        numeric = all(isinstance(row[number], int | float) for row in rows) and bool(rows)
        drawn.add_column(
            name, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric
        )
    for row in rows:
        drawn.add_row(*(Text(_cell(value)) for value in row))
    return drawing(drawn)


def pairs(values: Mapping[str, Any], title: str = "") -> str:
    """A table of names, in words, and values, one pair a line; a mapping inside is on one line."""
    rows = [(plain(name), _inline(value, name)) for name, value in values.items()]
    return table(("", ""), rows, title)


def drawing(renderable: Any) -> str:
    """Render *renderable* with rich: in colour on a terminal, as plain text elsewhere."""
    from rich.console import Console

    terminal = place.get().terminal()
    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=terminal is not None,
        width=PLAIN_WIDTH if terminal is None else None,
        highlight=False,
        _environ=terminal,
    )
    console.print(renderable)
    return "\n".join(text.rstrip() for text in out.getvalue().rstrip().split("\n"))


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Yield a callback that moves a bar on stderr; without a terminal it does nothing."""
    if (elsewhere := place.get().progress(label)) is not None:
        yield elsewhere
        return
    if not sys.stderr.isatty():
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(label, total=None)

        def move(done: int, total: int, message: str) -> None:
            text = rendering.line(message)[:40].replace("[", "(").replace("]", ")")
            bar.update(task, completed=done, total=total or None, description=text or label)

        yield move


def _ignore(_done: int, _total: int, _message: str) -> None:
    """Show nothing."""


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else rendering.visible(str(value))


def _inline(value: Any, name: str = "") -> str:
    """The *value* of *name* on one line."""
    if isinstance(value, Mapping):
        called = str if name == "by_agent" else plain  # those are names of the user's
        inside = (f"{called(each)} {_inline(inner, each)}" for each, inner in value.items())
        return ", ".join(inside) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_inline(inner) for inner in value) or "none"
    return _cell(value)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a command: *data* for --json, *text* for people, and the exit *code*.

    A *listing* may be long: a terminal pages it, and without a terminal it is JSON.
    """

    data: Any
    text: str
    code: int = 0
    listing: bool = False
