"""Every form of every command line: what it meant to the first release, it means still."""

from __future__ import annotations

import itertools
import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import commands, options, read

from server.cli.grammar import SHARED
from server.stdio.flags import stdio_flags

TABLE = json.loads(Path(__file__).with_name("command_lines.json").read_text("utf-8"))
"""Lines with the command and the values that they name beside its defaults, or the exit code."""
LINES = [pytest.param(row, id=row["line"]) for row in TABLE["lines"]]


def values(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return row["command"], TABLE["defaults"][row["command"]] | row["given"]


@pytest.mark.parametrize("row", LINES)
def test_a_command_line_means_what_it_meant(row: dict[str, Any]) -> None:
    words = shlex.split(row["line"])
    if row.get("exit") == 2:
        with pytest.raises(click.UsageError):
            read(words)
    elif "exit" in row:
        with pytest.raises(click.exceptions.Exit) as end:
            read(words)
        assert end.value.exit_code == row["exit"]
    else:
        assert read(words) == values(row)


@pytest.mark.parametrize("row", LINES)
def test_what_serves_over_stdio_is_read_the_same_without_click(row: dict[str, Any]) -> None:
    flags = stdio_flags(shlex.split(row["line"]))
    if flags is not None:
        assert row.get("command") == "serve"
        assert values(row)[1] == TABLE["defaults"]["serve"] | flags


@pytest.mark.parametrize(
    "line",
    [
        "",
        "serve",
        "serve --transport stdio",
        "--data-dir d serve",
        "serve --data-dir=d --agent ann --team ours --config c.toml --log-level INFO",
    ],
)
def test_lines_that_clients_start_us_with_need_no_click(line: str) -> None:
    assert stdio_flags(line.split()) is not None


def test_the_table_has_every_command_with_every_option_of_its_own() -> None:
    assert set(TABLE["defaults"]) == set(commands())
    shared = {option for parameter in SHARED for option in parameter.opts}
    for name, command in commands().items():
        lines = [row["line"] for row in TABLE["lines"] if row.get("command") == name]
        used = {word.partition("=")[0] for line in lines for word in shlex.split(line)}
        assert options(command) - shared <= used, name


def test_the_last_flag_of_the_program_counts_wherever_it_stands() -> None:
    for before, behind in itertools.product(("", "--team a "), ("", " --team=b")):
        _, found = read(f"{before}stats{behind}".split())
        assert found.get("team") == ("b" if behind else "a" if before else None)
