"""HTTP/1.1 with caps on connections and deadlines for receiving a request.

uvicorn has neither, so this subclasses its protocol, which is not part of uvicorn's public API; no
other module may touch it. tests/server/test_private_parts.py fails first when a new version of
uvicorn changes what is used here.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS = 256
"""Open connections, streams included. For one more the one that is idle longest is closed; when
none is idle, the new one gets 503."""
HALF_OPEN = 32
"""Connections of an address whose request has not come as a whole; of more the oldest is closed."""
HEADER_SECONDS = 10.0
"""From the connection, or a request's first byte, to the end of its headers; then 408."""
BODY_SECONDS = 20.0
"""In which a body ends, or BODY_BYTES more of it come; else 408."""
BODY_BYTES = 2**20
"""A long export over a slow line goes on; who sends a byte now and then does not."""


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with caps on connections and deadlines for receiving a request."""

    _deadline: asyncio.TimerHandle | None = None
    _awaited: Any = None
    _came = 0
    """Bytes of a body since its deadline began."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or answer 503 above CONNECTIONS."""
        super().connection_made(transport)
        if len(self._open()) > CONNECTIONS and not self._close_idle():
            self._refuse(b"503 Service Unavailable")
            return
        self._await(h11.IDLE, HEADER_SECONDS)
        self._bound_half_open()

    def data_received(self, data: bytes) -> None:
        """Parse *data*, then set the deadline for what must come next."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.IDLE:
            self._await(state, HEADER_SECONDS)
        elif state is h11.SEND_BODY:
            self._came += len(data)
            self._await(state, BODY_SECONDS)
        else:
            self._await(None, 0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline of the connection."""
        self._await(None, 0)
        super().connection_lost(exc)

    def _open(self) -> list[BoundedProtocol]:
        """The connections of the server without those that are being closed.

        Of a burst many are accepted before the loop gets to what was closed for them.
        """
        return [
            each
            for each in self.connections
            if isinstance(each, BoundedProtocol) and not each.transport.is_closing()
        ]

    def _close_idle(self) -> bool:
        """Close the connection that has been idle longest since its last answer; False for none.

        HTTP lets a server close a connection between two requests at any time.
        """
        idle = [each for each in self._open() if each.timeout_keep_alive_task is not None]
        if not idle:
            return False
        min(idle, key=_idle_until).transport.close()
        return True

    def _bound_half_open(self) -> None:
        """Close the oldest connection of this address that waits, when too many do.

        Requests come within milliseconds, so the oldest is one that sends nothing; and a new
        client of the address is not kept waiting for its deadline. What a busy server has not read
        yet is no silence.
        """
        address = self.client and self.client[0]
        waiting = [
            each
            for each in self._open()
            if each._deadline is not None and each.client and each.client[0] == address
        ]
        if len(waiting) > HALF_OPEN:
            waiting.sort(key=lambda each: each._deadline.when() if each._deadline else 0)
            silent = next((each for each in waiting if not each._has_unread()), None)
            if silent is not None:
                silent._refuse(b"408 Request Timeout")

    def _has_unread(self) -> bool:
        """True when the client has sent something that was not read yet."""
        socket = self.transport.get_extra_info("socket")
        if socket is None or socket.fileno() < 0:
            return False
        with selectors.DefaultSelector() as look:
            look.register(socket, selectors.EVENT_READ)
            return bool(look.select(0))

    def _await(self, state: Any, seconds: float) -> None:
        """Start the deadline of *state* once; further bytes do not extend it."""
        if state is self._awaited and self._deadline is not None:
            return
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._awaited = state
        if state is not None:
            self._deadline = self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        """Refuse what has not come, or begin the deadline again for a body that goes on."""
        goes_on, self._came = self._came >= BODY_BYTES, 0
        if self._awaited is h11.SEND_BODY and goes_on:
            self._deadline = None
            self._await(h11.SEND_BODY, BODY_SECONDS)
        else:
            self._refuse(b"408 Request Timeout")

    def _refuse(self, status: bytes) -> None:
        """Close the connection, with an answer unless one has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(
                b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            )
        self.transport.close()


def _idle_until(connection: BoundedProtocol) -> float:
    """When the time of an idle *connection* is over, in the loop's seconds."""
    timer = connection.timeout_keep_alive_task
    return timer.when() if timer is not None else 0.0
