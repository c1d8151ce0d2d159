"""The command `proxy`: a base URL with a memory, for programs that cannot be changed."""

from __future__ import annotations

from typing import NoReturn

import click

from server.cli import invocation
from server.cli.grammar import command
from server.cli.invocation import Invocation

PORT = 7833


@command("proxy", json=False, example="anamnesis proxy --upstream https://api.openai.com/v1")
@click.option("--upstream", required=True, metavar="URL", help="The model API to pass calls on to.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="HOST", help="Address to listen on."
)
@click.option(
    "--port",
    type=int,
    default=PORT,
    show_default=True,
    metavar="PORT",
    help="Port to listen on; 0 takes a free one.",
)
@click.pass_obj
def proxy(call: Invocation, upstream: str, host: str, port: int) -> NoReturn:
    """Pass calls of a model API on, with memories.

    It serves the paths of OpenAI and Anthropic under /v1. Beyond loopback every call needs a token.
    """
    from server.cli.serve import leave, until_signal
    from server.http import listener
    from server.http.app import is_loopback
    from server.http.tokens import Tokens
    from server.proxy.app import build_proxy

    settings = call.settings
    memory = invocation.open_memory(settings)
    tokens = None if is_loopback(host) else Tokens(settings.data_dir)
    try:
        app = build_proxy(memory, call.who, upstream, tokens)
        socket = listener.bind(host, port)
    except BaseException:
        memory.close()
        raise
    end = listener.begin(app, socket)
    named = f"[{host}]" if ":" in host else host
    address = f"http://{named}:{socket.getsockname()[1]}/v1"
    click.echo(f"anamnesis: passing {address} on to {upstream}", err=True)
    until_signal()
    end()
    leave(memory.close)
