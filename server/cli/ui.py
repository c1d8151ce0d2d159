"""The command `ui`: gets an address of the page from the engine, prints it and opens a browser."""

from __future__ import annotations

import json
import sys
import webbrowser

import click

from memory_core.errors import InvalidInput, StorageError
from server.cli.console import Outcome
from server.cli.grammar import command
from server.cli.invocation import Invocation
from server.engine import client, wanted, wire
from server.engine.launch import NoEngine


@command("ui", example="anamnesis ui")
@click.option("--read-only", is_flag=True, help="The page can change nothing.")
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
@click.pass_obj
def ui(call: Invocation, read_only: bool, no_browser: bool) -> Outcome:
    """Open the page that shows what is remembered.

    Its address opens once, within a minute; each call prints a fresh one. Where no engine can be
    shared, this command serves the page itself until it is interrupted.
    """
    call.settings  # noqa: B018 - says what is wrong with them
    flags = {name: str(value) for name, value in call.flags.items() if value is not None}

    def shown(address: str) -> None:
        print(json.dumps({"address": address}) if call.as_json else address, flush=True)
        if not no_browser:
            _open(address)

    try:
        address = client.page(wanted.find(flags, call.environment), read_only=read_only, start=True)
    except client.CallFailed as failed:
        raise StorageError(failed.problem, failed.next_step) from None
    except wire.Refused as refused:
        raise InvalidInput(str(refused), "correct it") from None
    except NoEngine as reason:
        from server.cli.serve import serve_page

        print(f"no shared engine ({reason}): the page ends with this command", file=sys.stderr)
        serve_page(call, shown, read_only=read_only)
    if not no_browser:
        _open(address)
    return Outcome({"address": address}, address)


def _open(address: str) -> None:
    """Open a browser, the one that BROWSER names; without one the printed address must do."""
    try:
        opened = webbrowser.open(address)
    except (webbrowser.Error, OSError):
        opened = False
    if not opened:
        print("no browser was found; open the address in one", file=sys.stderr)
