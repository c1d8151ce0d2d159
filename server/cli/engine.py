"""The commands of `engine`: run, show and stop the process that clients share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

from memory_core.errors import InvalidInput, StorageError
from server.cli import console
from server.cli.console import Outcome
from server.cli.grammar import SectionedGroup, command
from server.cli.invocation import Invocation
from server.engine import client, endpoint, launch, logfile, wanted, wire
from server.engine.launch import NoEngine

LINES = 50


@command("run", json=False)
@click.option("--stay", is_flag=True, help="It stays without clients, until it is stopped.")
@click.pass_obj
def run(call: Invocation, stay: bool) -> NoReturn:
    """Run an engine in the foreground.

    It ends ten minutes after its last client.
    """
    from server.cli.serve import run_engine

    flags = {name: str(value) for name, value in call.flags.items() if value is not None}
    try:
        listening = launch.alone(wanted.find(flags, call.environment))
        if listening is None:
            raise InvalidInput("an engine is running already", "see anamnesis engine status")
        run_engine(call, call.settings, listening, stay=stay)
    except (OSError, endpoint.Unsafe) as problem:
        raise StorageError(f"the engine cannot listen ({problem})", "correct it") from None


@command("status", example="anamnesis engine status")
@click.pass_obj
def status(call: Invocation) -> Outcome:
    """Show the engines of this data directory and their clients."""
    found = [told for _, told in _found(call)]
    text = [*map(_shown, found), *_silent(call, found)]
    return Outcome(found, "\n\n".join(text) or "no engine is running; the first client starts one")


@command("stop")
@click.pass_obj
def stop(call: Invocation) -> Outcome:
    """Let the engines of this data directory finish their calls and end.

    Clients start a new one with their next call.
    """
    stopped = []
    for each, told in _found(call):
        with suppress(NoEngine):  # it is leaving already
            client.stop(each)
            stopped.append(told)
    silent = _silent(call, stopped)
    text = "\n".join([f"engines stopped: {len(stopped)}", *silent])
    return Outcome({"stopped": len(stopped)}, text, 1 if silent else 0)


@command("log")
@click.option(
    "--lines", type=click.IntRange(min=1), default=LINES, show_default=True, help="How many lines."
)
@click.pass_obj
def log(call: Invocation, lines: int) -> Outcome:
    """Show the end of the engine's log."""
    text = logfile.last(call.settings.data_dir, lines)
    return Outcome({"log": text.splitlines()}, text or "the log is empty")


@click.group(
    "engine",
    cls=SectionedGroup,
    sections={"Commands": (status, stop, log, run)},
)
def engine() -> None:
    """Manage the process that all clients of a data directory share."""


def _found(call: Invocation) -> Iterator[tuple[wanted.WantedEngine, dict[str, Any]]]:
    """The engines that answer, whatever their version and settings, and what they say."""
    for each in client.engines(str(call.settings.data_dir.absolute())):
        with suppress(NoEngine, wire.Refused):
            yield each, client.status(each)


def _silent(call: Invocation, found: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each engine that lives, is not among those *found*, and does not answer."""
    places = map(endpoint.of, client.engines(str(call.settings.data_dir.absolute())))
    answered = {told["socket"] for told in found}
    return [
        f"an engine at {place.path} does not answer: its process stands still; end it"
        for place in places
        if place.path not in answered and os.path.lexists(place.path) and not place.dead()
    ]


def _shown(told: dict[str, Any]) -> str:
    about = {name: told[name] for name in ("version", "python", "pid", "seconds", "socket")}
    size = {name: f"{bytes / 2**20:.0f} MB" for name, bytes in told["memory"].items()}
    columns = ("kind", "agent", "team", "pid", "seconds")
    rows = [tuple(each[name] for name in columns) for each in told["clients"]]
    return f"{console.pairs({**about, 'memory': size})}\n{console.table(columns, rows)}"
