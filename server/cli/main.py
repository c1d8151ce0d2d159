"""The command line: reads it, runs one command and prints its outcome.

Exit codes: 0 done, 1 a problem, 2 wrong usage, 130 interrupted. Data goes to stdout, everything
else to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal, NoReturn

import click
from click.core import ParameterSource

from server import __version__
from server.cli import (
    admin,
    capture,
    chat,
    commands,
    doctor,
    evaluate,
    import_export,
    install,
    letters,
    look,
    proxy,
    review,
    running,
    service,
    ui,
)
from server.cli.console import Outcome
from server.cli.demo import demo
from server.cli.engine import engine
from server.cli.grammar import SHARED, SectionedGroup, command, setting
from server.cli.invocation import PROGRAM, Invocation
from server.cli.printed import Printed, unwritten
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
@click.option("--compat", is_flag=True, help="Answer the paths of earlier memory servers too.")
@click.pass_obj
def serve(
    call: Invocation,
    transport: Literal["stdio", "http"],
    no_token: bool,
    allow_host: Sequence[str],
    compat: bool,
) -> NoReturn:
    """Serve MCP over stdio or HTTP."""
    if transport == "stdio":
        _refuse_flags_of_http(click.get_current_context())
        sys.exit(serve_stdio(call))
    serve_http(call, with_tokens=not no_token, allowed_hosts=allow_host, compat=compat)


def _refuse_flags_of_http(ctx: click.Context) -> None:
    """Raise UsageError for a flag of *ctx* that has no effect over stdio."""
    for each in ctx.command.params:
        given = ctx.get_parameter_source(str(each.name)) is ParameterSource.COMMANDLINE
        if given and each not in SHARED and each.name != "transport":
            raise click.UsageError(f"{each.opts[0]} needs --transport http beside it", ctx)


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
    "Look and put right": (
        ui.ui,
        chat.chat,
        look.list_,
        look.show,
        look.edit,
        look.pin,
        look.tag,
        look.retire,
        look.topics,
        look.people_,
        look.sessions,
    ),
    "More on memories": (
        commands.history,
        review.review,
        commands.stats,
        commands.encode,
        capture.observe,
        capture.seed,
        import_export.import_,
        import_export.sync,
        admin.clear,
    ),
    "Backup and repair": (admin.backup, admin.restore, admin.salvage, commands.reembed),
    "Set-up and access": (
        admin.setup,
        admin.token,
        install.uninstall,
        hook,
        proxy.proxy,
        engine,
        service.group,
    ),
    "Hooks": (capture.pause_hooks, capture.resume_hooks),
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
    try:
        letters.prepare()
        given = sys.argv[1:] if words is None else words
        return running.printed(program, given, Invocation()).show()
    except (KeyboardInterrupt, click.Abort) as end:  # Abort: at a question that click asks
        told = "; ".join(("interrupted", *map(str, end.args)))
        return Printed("", f"{PROGRAM}: {told}\n", 130).show()
    except OSError as problem:
        return unwritten(problem)


def run(words: Sequence[str], call: Invocation) -> Outcome:
    """Run the command line *words*; see running.run."""
    return running.run(program, words, call)
