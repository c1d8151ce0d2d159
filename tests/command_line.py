"""Reads a command line as the program does, and runs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unittest import mock

import click

from server.cli import main
from server.cli.grammar import AnswerCommand
from server.cli.invocation import Invocation


def read(words: Iterable[str]) -> tuple[str, dict[str, Any]]:
    """The command and its values, among them the flags and `json` where they were given.

    Raises click.UsageError for a wrong line and click's Exit for one that asks for help.
    """
    call = Invocation()
    found: list[tuple[str, dict[str, Any]]] = []

    def note(self: AnswerCommand, context: click.Context) -> None:
        name = context.command_path.removeprefix("anamnesis ")
        given = {k: list(v) if isinstance(v, tuple) else v for k, v in context.params.items()}
        found.append((name, given))

    with mock.patch.object(AnswerCommand, "invoke", note):
        main.run(list(words), call)
    ((name, values),) = found
    return name, values | call.flags | ({"json": True} if call.as_json else {})


def commands() -> dict[str, click.Command]:
    """All commands by name, those of a group behind its name."""
    found: dict[str, click.Command] = {}
    for name, command in main.program.commands.items():
        inner = command.commands if isinstance(command, click.Group) else {}
        found |= {f"{name} {each}": command for each, command in inner.items()}
        found |= {} if inner else {name: command}
    return found


def options(command: click.Command) -> set[str]:
    """The options of *command* that its help shows, in all their spellings."""
    return {
        option
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in parameter.opts
    }
