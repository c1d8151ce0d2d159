"""The HTTP server around the application: its socket, its configuration, its run and its end."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from memory_core.errors import InvalidInput
from server.hooks.forwarding import started
from server.http.bounded_protocol import BoundedProtocol
from server.http.proof import KEY

GRACE_SECONDS = 2
"""How long open requests and streams may go on after a signal; then they are closed."""
IDLE_SECONDS = 30
"""How long a connection may stay open between two requests."""
HEADER_BYTES = 32 * 1024


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free port. Raises InvalidInput when it cannot be bound.

    Its connections send at once. asyncio sees to that only for sockets that name their protocol;
    else the body of an answer waits, for 40 ms, until its headers are acknowledged.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host, port), family=family, backlog=128)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found
    except OSError as problem:
        raise InvalidInput(
            f"cannot listen on {host} port {port} ({problem.strerror or problem})",
            "choose another with --host and --port",
        ) from None


@contextmanager
def announced(file: Path, address: Mapping[str, str]) -> Iterator[None]:
    """Keep the *address* of this server (url, agent, team) in *file*, mode 0600, while it listens.

    A server that cannot write the file serves all the same; hooks then do the work themselves.
    """
    process = os.getpid()
    text = json.dumps({**address, "process": process, "started": started(process), "key": KEY})
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            if file.read_text("utf-8") == text:  # a later server has written its own
                file.unlink()


def configured(app: ASGIApp) -> uvicorn.Config:
    """The HTTP server's configuration for *app*."""
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=HEADER_BYTES,
    )


def begin(app: ASGIApp, listener: socket.socket) -> Callable[[], None]:
    """Serve *app* on *listener* in a thread; the function that is returned ends it and waits."""
    server = uvicorn.Server(configured(app))
    serving = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="http", daemon=True
    )
    serving.start()

    def end() -> None:
        server.should_exit = True
        serving.join(GRACE_SECONDS + 1)

    return end
