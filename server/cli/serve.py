"""Starts the server over stdio or HTTP, without click: a client waits for the start."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, cast

from memory_core.errors import MemoryCoreError
from server.cli.invocation import Invocation, open_memory, report

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from memory_core.config import Settings
    from memory_core.memory import Memory
    from server.protocol.lazy_memory import LazyMemory

_FLAGS = ("--data-dir", "--agent", "--team", "--config", "--log-level")


def stdio_flags(words: Sequence[str]) -> dict[str, str] | None:
    """The flags of a command line that only starts the server over stdio, by setting.

    None for every other command line, help and mistakes included: click reads those. So a client
    waits neither for click nor for the other commands to be imported.
    """
    flags: dict[str, str] = {}
    serving = False
    rest = iter(words)
    for word in rest:
        if word == "serve" and not serving:
            serving = True
            continue
        flag, equals, value = word.partition("=")
        value = value if equals else next(rest, "")
        known = flag in _FLAGS or (serving and flag == "--transport")
        if not known or not value or (value.startswith("-") and not equals):
            return None
        flags[flag.removeprefix("--").replace("-", "_")] = value
    return flags if flags.pop("transport", "stdio") == "stdio" else None


def start_stdio(flags: dict[str, str]) -> int:
    """Serve over stdio with *flags*; returns an exit code only if the server cannot start."""
    try:
        serve_stdio(Invocation(flags))
    except MemoryCoreError as problem:
        return report(problem)


def serve_stdio(call: Invocation) -> NoReturn:
    """Serve MCP over stdin and stdout until stdin ends, then end the process.

    The memory opens in the background, after the first answer.
    """
    settings = call.settings
    _limit_arenas()
    gc.disable()  # nothing that is imported for the handshake is garbage: a sixth of the time
    from server.stdio.server import Pipes, run

    if sys.stdin is not None and sys.stdin.isatty():
        print("serving MCP over stdio: a client should start this", file=sys.stderr)
    pipes = Pipes()
    memory = _lazy_memory(settings)

    def answered() -> None:
        gc.freeze()
        gc.enable()
        memory.start()

    run(pipes, _server(call, memory), answered, memory.close)


def serve_http(call: Invocation, *, with_tokens: bool, allowed_hosts: Sequence[str]) -> NoReturn:
    """Serve MCP and hooks over HTTP until a signal ends the process.

    *allowed_hosts* are further host names under which clients reach this server. Raises
    InvalidInput when the address cannot be bound, or is not loopback without tokens.
    """
    from server.hooks import route
    from server.hooks.client import ADDRESS
    from server.http import listener
    from server.http.app import build_app
    from server.http.tokens import Tokens
    from server.stdio.server import leave

    settings = call.settings
    _limit_arenas()
    memory = _lazy_memory(settings)
    tokens = Tokens(settings.data_dir) if with_tokens else None
    app = build_app(
        _server(call, memory),
        tokens=tokens,
        host=settings.host,
        allowed_hosts=allowed_hosts,
        more=[route.route(cast("Memory", memory), call.who)],
    )
    if tokens is not None:
        tokens.ensure_first(settings.agent, settings.team)
    socket = listener.bind(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{socket.getsockname()[1]}"
    print(f"serving {url}/mcp", file=sys.stderr, flush=True)
    if tokens is not None:
        print(f"token in {tokens.first_file}", file=sys.stderr, flush=True)
    memory.start()
    address = {"url": url, "agent": settings.agent, "team": settings.team}
    with listener.announced(settings.data_dir / ADDRESS, address):
        listener.run(app, socket)
    leave(memory.close)


def _limit_arenas() -> None:
    from memory_core.storage import process_memory

    process_memory.limit_arenas()


def _lazy_memory(settings: Settings) -> LazyMemory:
    from server.gate import CallLimits
    from server.protocol.lazy_memory import LazyMemory

    return LazyMemory(lambda: open_memory(settings), CallLimits().deadline_seconds)


def _server(call: Invocation, memory: LazyMemory) -> MCPServer:
    from server.protocol.server import build_server

    return build_server(cast("Memory", memory), owner=call.who)
