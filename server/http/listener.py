"""Listening on a port: the socket, the HTTP server around the application, and its end.

What a client may take is bounded before the application sees it: the number of connections, the
time for the headers and for the body of a request, and the time without a request.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from memory_core.errors import InvalidInput

GRACE_SECONDS = 2
"""How long open requests may go on after a signal; streams of idle clients are cut then."""
CONNECTIONS = 256
"""Open at a time, streams included; one more is answered 503 and closed."""
IDLE_SECONDS = 30
"""How long a connection may stay open between two requests."""
HEADER_SECONDS = 10.0
"""From the connection, or a request's first byte, to the end of its headers; then 408."""
BODY_SECONDS = 20.0
"""From the end of the headers to the end of the body; then 408."""
HEADER_BYTES = 32 * 1024


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with a cap on connections and deadlines for receiving a request."""

    _deadline: asyncio.TimerHandle | None = None
    _awaited: Any = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or answer 503 when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            self._refuse(b"503 Service Unavailable")
            return
        self._await(h11.IDLE, HEADER_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Read on; what is awaited next decides which deadline counts."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.IDLE:
            self._await(state, HEADER_SECONDS)
        elif state is h11.SEND_BODY:
            self._await(state, BODY_SECONDS)
        else:
            self._await(None, 0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its deadline."""
        self._await(None, 0)
        super().connection_lost(exc)

    def _await(self, state: Any, seconds: float) -> None:
        """Set the deadline of *state* once, however many bytes trickle in meanwhile."""
        if state is self._awaited and self._deadline is not None:
            return
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._awaited = state
        if state is not None:
            self._deadline = self.loop.call_later(seconds, self._refuse, b"408 Request Timeout")

    def _refuse(self, status: bytes) -> None:
        """End the connection, with an answer unless one has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(
                b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            )
        self.transport.close()


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


@contextmanager
def announced(file: Path, said: Mapping[str, str]) -> Iterator[None]:
    """Keep what is *said* of this server (url, agent, team) in *file*, mode 0600, while it listens.

    A server that cannot write it serves all the same; hooks then work without it.
    """
    text = json.dumps({**said, "process": os.getpid()})
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            if file.read_text("utf-8") == text:  # a later server has put its own there
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


def run(app: ASGIApp, listener: socket.socket) -> None:
    """Serve *app* on *listener* until SIGTERM, SIGINT or SIGHUP."""
    server = uvicorn.Server(configured(app))
    # uvicorn raises the signal that stopped it once more when it is done; by default that would
    # kill the process before the memory is closed.
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(
                getattr(signal, name), lambda number, frame: server.handle_exit(number, frame)
            )
    server.run(sockets=[listener])
