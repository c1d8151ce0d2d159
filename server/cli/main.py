"""The command line: flags and environment become Settings, a command runs, its outcome is printed.

Exit codes: 0 done, 1 a problem, 2 wrong usage. Data goes to stdout, everything else to stderr. With
this module's `serve` nothing heavy is imported before the client has its first answer.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, cast

from memory_core import config
from memory_core.errors import InvalidInput, MemoryCoreError, TooLarge
from memory_core.records import Identity
from server.cli.parser import Parser, build_parser

if TYPE_CHECKING:
    from memory_core.memory import Memory as Engine
    from server.cli.console import Outcome
import traceback
from types import TracebackType

log = logging.getLogger(__name__)

_FLAGS = ("data_dir", "agent", "team", "config", "log_level", "host", "port")
_ON_ENGINE = (
    "remember",
    "observe",
    "seed",
    "recall",
    "consolidate",
    "forget",
    "history",
    "encode",
    "health",
    "reembed",
    "stats",
    "export",
    "import",
    "clear",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command of *argv* (default: this process's); returns the exit code."""
    parser = build_parser()
    args = _parsed(parser, sys.argv[1:] if argv is None else list(argv))
    try:
        settings = config.load(os.environ, {name: getattr(args, name, None) for name in _FLAGS})
        configure(settings.log_level)
        for warning in settings.warnings:
            log.warning("%s", warning)
        if args.command == "serve":
            _serve(settings, args)
        return _printed(_run(settings, args), args)
    except MemoryCoreError as problem:
        print(f"{parser.prog}: {problem}", file=sys.stderr)
        return 2 if isinstance(problem, InvalidInput) and not isinstance(problem, TooLarge) else 1
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130


def _parsed(parser: Parser, argv: list[str]) -> Namespace:
    args, extra = parser.parse_known_args(argv)
    if extra:
        parser.refuse_extra(args.command or "", extra)
    if args.command is None:
        args = parser.parse_args([*argv, "serve"])
    return args


def _run(settings: config.Settings, args: Namespace) -> Outcome:
    from server.cli import commands
    from server.cli.console import Outcome

    if args.command in _ON_ENGINE:
        who = Identity(settings.agent, settings.team)
        with _engine(settings) as engine:
            return commands.WITH_ENGINE[args.command](engine, who, args)
    if args.command == "demo":
        from server.cli import demo

        keep = settings.data_dir if hasattr(args, "data_dir") else None
        return demo.run(keep, args.questions, _with_model(settings), _say(args))
    if args.command == "hook":  # with a flag before it; without, it does not come here
        from server.hooks import command

        flags = {name: getattr(args, name) for name in _FLAGS if getattr(args, name, None)}
        return Outcome({}, "", command.answer(flags))
    return commands.WITHOUT_ENGINE[args.command](settings, args, dict(os.environ))


def _printed(outcome: Outcome, args: Namespace) -> int:
    """Print *outcome* as the command line asked; its exit code."""
    if getattr(args, "json", False):
        print(json.dumps(outcome.data, ensure_ascii=False, indent=2))
    elif outcome.text:
        print(outcome.text)
    sys.stdout.flush()
    return outcome.code


def _with_model(settings: config.Settings) -> dict[str, str]:
    """The environment, naming the weights that `setup` may have put into the data directory.

    A server with another data directory would not find them there.
    """
    environment = dict(os.environ)
    if settings.embedder == "minilm":
        from memory_core.embedding import acquisition

        folder = acquisition.acquire(settings, acquisition.indexes(environment))
        environment[f"{config.PREFIX}MODEL_DIR"] = str(folder)
    return environment


def _say(args: Namespace) -> Callable[[str], None]:
    """Where a long command reports while it runs: stdout, or stderr when stdout carries JSON."""
    stream = sys.stderr if args.json else sys.stdout
    return lambda text: print(text, file=stream, flush=True)


def _engine(settings: config.Settings) -> Engine:
    from memory_core.memory import Memory

    return Memory(settings)


def _serve(settings: config.Settings, args: Namespace) -> NoReturn:
    from memory_core.storage import process_memory

    process_memory.limit_arenas()
    if args.transport == "stdio":
        _serve_stdio(settings)
    _serve_http(settings, args)


def _serve_stdio(settings: config.Settings) -> NoReturn:
    gc.disable()  # nothing that is imported for the handshake is garbage: a sixth of the time
    from server.stdio.server import Pipes, run

    if sys.stdin is not None and sys.stdin.isatty():
        print("serving MCP over stdio: a client should start this", file=sys.stderr)
    pipes = Pipes()
    from server.protocol.lazy_memory import LazyMemory
    from server.protocol.server import build_server

    engine = LazyMemory(lambda: _engine(settings), settings.limits.deadline_seconds)
    server = build_server(
        cast("Engine", engine),
        owner=Identity(settings.agent, settings.team),
        limits=settings.limits,
    )

    def answered() -> None:
        gc.freeze()
        gc.enable()
        engine.start()

    run(pipes, server, answered, engine.close)


def _serve_http(settings: config.Settings, args: Namespace) -> NoReturn:
    from server.hooks import route
    from server.hooks.client import ADDRESS
    from server.http import listener
    from server.http.app import build_app
    from server.http.tokens import Tokens
    from server.protocol.lazy_memory import LazyMemory
    from server.protocol.server import build_server
    from server.stdio.server import leave

    engine = LazyMemory(lambda: _engine(settings), settings.limits.deadline_seconds)
    owner = Identity(settings.agent, settings.team)
    server = build_server(
        cast("Engine", engine),
        owner=owner,
        limits=settings.limits,
    )
    tokens = None if args.no_token else Tokens(settings.data_dir)
    hooks = route.route(cast("Engine", engine), owner, settings.limits)
    app = build_app(
        server, tokens=tokens, host=settings.host, allowed_hosts=args.allow_host, more=[hooks]
    )
    if tokens is not None:
        tokens.ensure_first(settings.agent, settings.team)
    socket = listener.bind(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{socket.getsockname()[1]}"
    print(f"serving {url}/mcp", file=sys.stderr, flush=True)
    if tokens is not None:
        print(f"token in {tokens.first_file}", file=sys.stderr, flush=True)
    engine.start()
    said = {"url": url, "agent": settings.agent, "team": settings.team}
    with listener.announced(settings.data_dir / ADDRESS, said):
        listener.run(app, socket)
    leave(engine.close)


_TALKATIVE = (
    "mcp", "uvicorn", "sse_starlette", "asyncio",
    "anthropic", "ollama", "httpx", "httpx2", "httpcore", "httpcore2",
)  # fmt: skip


class DiscreetFormatter(logging.Formatter):
    """Shows where an exception came from and its type, not its message."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        """Type and places in the code of *ei*."""
        kind, _, places = ei
        if kind is None:
            return ""
        return "".join(traceback.format_tb(places)) + kind.__name__


def configure(level: str) -> None:
    """Log from *level* on to stderr. Libraries that log requests whole stay at WARNING."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(DiscreetFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level)))
