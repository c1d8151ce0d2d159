"""Listening on a port: the socket, the HTTP server around the application, and its end."""

from __future__ import annotations

import signal
import socket

import uvicorn
from starlette.types import ASGIApp

from memory_core.errors import InvalidInput

GRACE_SECONDS = 2
"""How long open requests may go on after a signal; streams of idle clients are cut then."""
CONNECTIONS = 256
IDLE_SECONDS = 30
HEADER_BYTES = 32 * 1024


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises InvalidInput when it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as problem:
        raise InvalidInput(
            f"cannot listen on {host} port {port} ({problem.strerror or problem})",
            "choose another with --host and --port",
        ) from None


def run(app: ASGIApp, listener: socket.socket) -> None:
    """Serve *app* on *listener* until SIGTERM, SIGINT or SIGHUP."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    server = uvicorn.Server(config)
    # uvicorn raises the signal that stopped it once more when it is done; by default that would
    # kill the process before the engine is closed.
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(
                getattr(signal, name), lambda number, frame: server.handle_exit(number, frame)
            )
    server.run(sockets=[listener])
