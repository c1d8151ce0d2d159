"""One ASGI application: Streamable HTTP at /mcp, legacy SSE at /sse and /messages/, and /healthz.

Door checks every request, also to additional routes: Host and Origin must be the server's own (a
web page must not reach a memory on this machine), the body is limited, and a token is required.
There is no CORS. /healthz answers only that the process runs.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_core.errors import InvalidInput, MemoryCoreError
from server.http.tokens import Grant, Tokens
from server.protocol import messages

MAX_BODY = 1024 * 1024
"""Bytes of one request. A call with the longest text, all escaped, takes 240 kB."""
SESSIONS = 1_000
"""Open sessions of clients before protocol revision 2026-07-28; one more gets 503."""
SESSION_SECONDS = 1_800.0
"""Idle time, without a request or an open stream, after which such a session is closed."""

GRANT_SECONDS = 2.0
"""Between two checks that the token of an open stream is still valid."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OPEN = frozenset({"/healthz"})


def is_loopback(host: str) -> bool:
    """True when *host* is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def build_app(
    server: MCPServer[Any],
    *,
    tokens: Tokens | None,
    host: str = "127.0.0.1",
    allowed_hosts: Sequence[str] = (),
    more: Sequence[Route] = (),
) -> ASGIApp:
    """The application for a server bound to *host*, with *more* routes behind the same Door.

    *tokens* None requires no token; then *host* must be loopback, else InvalidInput is raised.
    *allowed_hosts* are further host names that clients use.
    """
    if tokens is None and not is_loopback(host):
        raise InvalidInput(
            f"{host} can be reached from other machines and no token is required",
            "omit --no-token, or bind 127.0.0.1",
        )
    names = _names(host, allowed_hosts)
    # Door checks Host and Origin for all routes; the SDK's own check knows fewer names.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    http = server.streamable_http_app(
        transport_security=unchecked,
        max_request_body_size=MAX_BODY,
        max_sessions=SESSIONS,
        session_idle_timeout=SESSION_SECONDS,
    )
    sse = server.sse_app(transport_security=unchecked, max_request_body_size=MAX_BODY)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    app = Starlette(
        routes=[
            Route("/healthz", _healthz, methods=["GET"]),
            *more,
            *http.routes,
            *sse.routes,
        ],
        lifespan=lifespan,
    )
    return Door(AuthContextMiddleware(_Repairing(app)), names, tokens)


class Door:
    """Passes on a request with our Host and Origin, a bounded body and a known token.

    A POST must be JSON, which a web page cannot send without a CORS preflight.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str], tokens: Tokens | None) -> None:
        """*names* are our host names in lower case; *tokens* None requires no token."""
        self._app = app
        self._names = names
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421, 403, 413, 401, 415 or 503, or pass the request on with its user set."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        passed = self._passed(scope)
        if isinstance(passed, Response):
            await passed(scope, receive, send)
        elif passed is None or self._tokens is None:
            await self._app(scope, receive, send)
        else:
            await self._while_granted(passed, self._tokens, scope, receive, send)

    async def _while_granted(
        self, grant: Grant, tokens: Tokens, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve the request; close its stream when its token is revoked."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_revoked, tokens, grant, tasks.cancel_scope)
            await self._app(scope, receive, send)
            tasks.cancel_scope.cancel()

    def _passed(self, scope: Scope) -> Grant | Response | None:
        """The grant of the request (None where no token is required), or the refusal."""
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not self._ours(headers["host"]):
            return _problem(
                421, "this host name is unknown", "use the address that the server printed"
            )
        origin = headers.get("origin")
        if origin is not None and not self._our_origin(origin):
            return _problem(403, "this origin is not allowed", "call from outside a web page")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            return _problem(413, f"the body is over {MAX_BODY} bytes", "send less")
        grant: Grant | Response | None = None
        if self._tokens is not None and scope["path"] not in _OPEN:
            grant = self._identify(scope, headers, self._tokens)
            if isinstance(grant, Response):
                return grant
        if scope["method"] == "POST" and _media_type(headers) != "application/json":
            return _problem(415, "the body is not JSON", "send Content-Type: application/json")
        return grant

    def _identify(self, scope: Scope, headers: Headers, tokens: Tokens) -> Grant | Response:
        kind, _, secret = headers.get("authorization", "").partition(" ")
        try:
            grant = tokens.find(secret.strip()) if kind.lower() == "bearer" else None
        except MemoryCoreError as problem:
            return JSONResponse({"error": str(problem)}, 503)
        if grant is None:
            answer = _problem(
                401, "no valid token", "send Authorization: Bearer TOKEN; see anamnesis token list"
            )
            answer.headers["WWW-Authenticate"] = "Bearer"
            return answer
        user = AuthenticatedUser(grant.as_access_token())
        scope["user"], scope["auth"] = user, AuthCredentials(list(grant.rights))
        return grant

    def _ours(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name, _ = parts.hostname, parts.port
        except ValueError:
            return False
        bare = parts.path == parts.query == parts.fragment == "" and parts.username is None
        return bare and name is not None and name.lower() in self._names

    def _our_origin(self, origin: str) -> bool:
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and self._ours(host)


async def _until_revoked(tokens: Tokens, grant: Grant, request: anyio.CancelScope) -> None:
    with suppress(MemoryCoreError):  # a list that cannot be read grants nothing
        while tokens.granted(grant):
            await anyio.sleep(GRANT_SECONDS)
    request.cancel()


class _Repairing:
    """Passes a POST's body on as `messages.readable` repairs it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            body = await _body(receive)
        except ClientDisconnect:
            return
        if body is None:
            await _problem(413, f"the body is over {MAX_BODY} bytes", "send less")(
                scope, receive, send
            )
            return
        text = messages.readable(body)
        await self._app(scope, _replaying(text.encode("utf-8"), receive), send)


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None when it is over MAX_BODY. Raises ClientDisconnect."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _replaying(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _names(host: str, more: Sequence[str]) -> frozenset[str]:
    """Our host names: loopback, *host*, *more*, and all of this machine's when bound to all."""
    names = {*_LOOPBACK, *more}
    if host in ("0.0.0.0", "::", ""):
        names |= {socket.gethostname(), *_addresses()}
    else:
        names.add(host)
    return frozenset(name.strip("[]").lower() for name in names if name)


def _addresses() -> set[str]:
    try:
        found = socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        return set()
    return {str(entry[4][0]).partition("%")[0] for entry in found}


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _problem(status: int, problem: str, next_step: str) -> JSONResponse:
    return JSONResponse({"error": f"{problem}; {next_step}"}, status)


async def _healthz(_: Request) -> Response:
    return JSONResponse({"status": "ok"})
