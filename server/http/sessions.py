"""A bound on the open sessions of each token: the one that was idle longest makes room.

Without it one token that opens sessions in a loop would take every place of the server.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.streams import token_of

EACH = 100
"""Open sessions of one token. The server's own bound is ten times this."""

_HEADER = "mcp-session-id"


@dataclass(slots=True)
class _Session:
    scope: Scope
    """Of the request that opened it; what closes it comes from the same caller."""
    requests: int = 0
    """In flight, streams included."""


class SessionsOfEach:
    """Closes sessions of a token above EACH, by the DELETE that a client would send.

    First goes the one without an open request or stream whose last request is longest ago. Its
    client is answered 404, and opens a new session as the protocol says.
    """

    def __init__(self, app: ASGIApp) -> None:
        """*app* gets requests with their user set."""
        self._app = app
        self._tokens: dict[str, OrderedDict[str, _Session]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note to which session it belongs."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token = token_of(scope)
        named = Headers(scope=scope).get(_HEADER, "")
        session = self._tokens.get(token, OrderedDict()).get(named)
        opened = ""

        async def noting(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start":
                answered = Headers(raw=message["headers"]).get(_HEADER, "")
                if session is None and not named and message["status"] == 200:
                    opened = answered
                elif message["status"] == 404 or scope["method"] == "DELETE":
                    self._forget(token, named)
            await send(message)

        if session is not None:
            session.requests += 1
            self._tokens[token].move_to_end(named)
        try:
            await self._app(scope, receive, noting)
        finally:
            if session is not None:
                session.requests -= 1
            if named in self._tokens.get(token, ()):
                self._tokens[token].move_to_end(named)
        if opened:
            self._tokens.setdefault(token, OrderedDict())[opened] = _Session(scope)
            await self._make_room(token)

    async def _make_room(self, token: str) -> None:
        sessions = self._tokens[token]
        while len(sessions) > EACH:
            idle = (name for name, each in sessions.items() if not each.requests)
            name = next(idle, next(iter(sessions)))
            await self._close(name, sessions.pop(name).scope)

    async def _close(self, name: str, opener: Scope) -> None:
        kept = [pair for pair in opener["headers"] if pair[0] == b"host"]
        headers = [*kept, (_HEADER.encode(), name.encode("ascii"))]

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Message) -> None:
            return

        await self._app({**opener, "method": "DELETE", "headers": headers}, receive, send)

    def _forget(self, token: str, name: str) -> None:
        sessions = self._tokens.get(token)
        if sessions is not None:
            with suppress(KeyError):
                del sessions[name]
            if not sessions:
                del self._tokens[token]
