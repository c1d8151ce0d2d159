"""The command line: reads it, runs one command and prints its outcome.

Exit codes: 0 done, 1 a problem, 2 wrong usage. Data goes to stdout, everything else to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Literal, NoReturn

import click

from memory_core.errors import MemoryCoreError
from server import __version__
from server.cli import admin, capture, commands, doctor, evaluate, import_export, install, review
from server.cli.console import Outcome
from server.cli.demo import demo
from server.cli.grammar import SectionedGroup, command, setting
from server.cli.invocation import PROGRAM, Invocation, report
from server.cli.serve import serve_http, serve_stdio


@command("serve", json=False, example="anamnesis serve --transport http")
@click.option(
    "--transport",
    type=click.Choice(("stdio", "http")),
    default="stdio",
    show_default=True,
    help="How clients connect.",
)
@setting("--host", help="Address to listen on.  [default: 127.0.0.1]")
@setting("--port", type=int, help="Port to listen on; 0 takes a free one.  [default: 7832]")
@click.option("--no-token", is_flag=True, help="Require no token; loopback addresses only.")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A further host name under which clients reach this server; repeatable.",
)
@click.pass_obj
def serve(
    call: Invocation,
    transport: Literal["stdio", "http"],
    no_token: bool,
    allow_host: Sequence[str],
) -> NoReturn:
    """Serve MCP over stdio or HTTP."""
    if transport == "stdio":
        serve_stdio(call)
    serve_http(call, with_tokens=not no_token, allowed_hosts=allow_host)


@command("hook", json=False)
@click.pass_obj
def hook(call: Invocation) -> Outcome:
    """Answer a hook of a client: JSON on stdin, JSON on stdout."""
    from server.hooks.command import answer

    return Outcome({}, "", answer({name: value for name, value in call.flags.items() if value}))


SECTIONS = {
    "Commands": (
        commands.remember,
        commands.recall,
        commands.forget,
        commands.consolidate,
        commands.health,
        install.install,
        serve,
        doctor.doctor,
        demo,
        import_export.export,
    ),
    "More on memories": (
        commands.history,
        review.review,
        commands.stats,
        commands.encode,
        capture.observe,
        capture.seed,
        import_export.import_,
        admin.clear,
    ),
    "Backup and repair": (admin.backup, admin.restore, admin.salvage, commands.reembed),
    "Set-up and access": (admin.setup, admin.token, install.uninstall, hook),
    "Measurement": (evaluate.evaluate,),
}


@click.group(
    name=PROGRAM,
    cls=SectionedGroup,
    sections=SECTIONS,
    otherwise=("serve",),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="%(prog)s %(version)s", help="Print the version.")
def program() -> None:
    """Long-term memory for assistants. Without a command it serves MCP over stdio."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line *words* (default: this process's); returns the exit code."""
    call = Invocation()
    try:
        outcome = run(sys.argv[1:] if words is None else words, call)
        return _print(outcome, as_json=call.as_json)
    except click.exceptions.Exit as end:  # --help and --version
        return end.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else PROGRAM
        print(f"{where}: {error.format_message()} (see {where} --help)", file=sys.stderr)
        return 2
    except MemoryCoreError as problem:
        return report(problem)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return 130


def run(words: Sequence[str], call: Invocation) -> Outcome:
    """Run the command line *words*; its flags and wishes are in *call* afterwards.

    Raises click.UsageError for a wrong command line, click's Exit after help, MemoryCoreError.
    """
    with program.make_context(PROGRAM, list(words), obj=call) as context:
        outcome: Outcome = program.invoke(context)
    return outcome


def _print(outcome: Outcome, *, as_json: bool) -> int:
    """Print the data of *outcome* as JSON, or its text; returns its exit code."""
    if as_json:
        print(json.dumps(outcome.data, ensure_ascii=False, indent=2))
    elif outcome.text:
        print(outcome.text)
    sys.stdout.flush()
    return outcome.code
