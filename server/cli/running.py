"""Runs a command line with the commands of a program, and gives what it prints."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from memory_core.errors import MemoryCoreError
from server.cli.console import Outcome
from server.cli.invocation import PROGRAM, Invocation, exit_code
from server.cli.place import place
from server.cli.printed import Printed
from server.protocol import rendering


def printed(program: click.Group, words: Sequence[str], call: Invocation) -> Printed:
    """What the command line *words* prints, and its exit code; *call* has its flags afterwards.

    Raises OSError where stdout does not take what the command wrote itself.
    """
    try:
        outcome = run(program, words, call)
        as_json = call.as_json or (outcome.listing and place.get().terminal() is None)
        text = _text(outcome, as_json=as_json)
        return Printed(text, "", outcome.code, paged=outcome.listing and not as_json)
    except click.exceptions.Exit as end:  # --help and --version
        return Printed("", "", end.exit_code)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else PROGRAM
        told = rendering.visible(error.format_message())
        return Printed("", f"{where}: {told} (see {where} --help)\n", 2)
    except MemoryCoreError as problem:
        return _failed(problem)
    except OSError as problem:  # such as a folder that this user may not search
        if problem.filename is None:
            raise
        from memory_core.storage.errors import from_os_error

        folder = call.settings.data_dir
        return _failed(from_os_error(problem, f"use {problem.filename}", folder))


def run(program: click.Group, words: Sequence[str], call: Invocation) -> Outcome:
    """Run the command line *words*; its flags and wishes are in *call* afterwards.

    Raises click.UsageError for a wrong command line, click's Exit after help, MemoryCoreError.
    """
    with program.make_context(PROGRAM, list(words), obj=call) as context:
        outcome: Outcome = program.invoke(context)
    return outcome


def _failed(problem: MemoryCoreError) -> Printed:
    return Printed("", f"{PROGRAM}: {rendering.visible(str(problem))}\n", exit_code(problem))


def _text(outcome: Outcome, *, as_json: bool) -> str:
    """The data of *outcome* as JSON, or its text."""
    if as_json:
        data, plain = rendering.all_visible(outcome.data), not place.get().takes_unicode()
        return json.dumps(data, ensure_ascii=plain, indent=2) + "\n"
    return f"{outcome.text}\n" if outcome.text else ""
