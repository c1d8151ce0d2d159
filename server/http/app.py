"""One ASGI application: Streamable HTTP at /mcp, legacy SSE at /sse and /messages/, and /healthz.

Door checks every request, also to additional routes: Host and Origin must be the server's own (a
web page must not reach a memory on this machine), the body is limited, and a token is required.
There is no CORS. /healthz answers only that the process runs.
"""

from __future__ import annotations

import contextlib
import socket
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

import anyio
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_core.errors import InvalidInput, MemoryCoreError
from server.gate import source
from server.http import problems
from server.http.proof import proof
from server.http.sessions import SessionsOfEach
from server.http.streams import StreamsOfEach
from server.http.tokens import Grant
from server.protocol import messages

MAX_BODY = 1024 * 1024
"""Bytes of one request. A call with the longest text, all escaped, takes 240 kB."""
SESSIONS = 1_000
"""Open sessions of clients before protocol revision 2026-07-28; one more gets 503."""
SESSION_SECONDS = 1_800.0
"""Idle time, without a request or an open stream, after which such a session is closed."""

OPEN_EACH = 128
"""Requests of one token that are open at a time, streams included: half of all connections."""

MOST_NONCE = 64
"""Characters of the nonce of a hook."""

GRANT_SECONDS = 2.0
"""Between two checks that the token of an open stream is still valid."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OPEN = frozenset({"/healthz", "/ui", "/", "/api/v1/openapi.json", "/api/v1/reference"})
"""Paths without data, which need no token."""
_PAGE = "/ui/"
"""Under it lie files without data, and the exchange of a one-time code."""
PAGE_SECRET = "ans_"
"""What the token of a page's session begins with; an ended one is refused, also without tokens."""
_REST = "/api/"
"""Under it lie the operations, also those of earlier servers."""
_API = f"{_REST}v1/"
_STREAMED = frozenset({"/api/v1/import", "/api/v1/import/file"})
"""Paths that bound the length of the body themselves, by the rights of the caller."""


class Grants(Protocol):
    """What knows tokens."""

    def find(self, secret: str) -> Grant | None:
        """The grant of *secret*; None for an unknown one."""

    def granted(self, grant: Grant) -> bool:
        """True while *grant* is neither revoked nor changed."""


def is_loopback(host: str) -> bool:
    """True when *host* is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_empty(headers: Headers) -> bool:
    """True for a request without a body."""
    return not {"content-type", "transfer-encoding"} & set(headers) and (
        headers.get("content-length", "0") == "0"
    )


def build_app(
    server: MCPServer[Any],
    *,
    tokens: Grants | None,
    host: str = "127.0.0.1",
    allowed_hosts: Sequence[str] = (),
    more: Sequence[BaseRoute] = (),
    pages: Grants | None = None,
) -> ASGIApp:
    """The application for a server bound to *host*, with *more* routes behind the same Door.

    *tokens* None requires no token; then *host* must be loopback, else InvalidInput is raised.
    *allowed_hosts* are further host names that clients use. *pages* knows the sessions of the page
    at /ui/, whose files need no token.
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
        exception_handlers={HTTPException: _elsewhere},
    )
    bounded = StreamsOfEach(SessionsOfEach(AuthContextMiddleware(_Repairing(app))))
    return Door(bounded, names, tokens, pages)


class Door:
    """Passes on a request with our Host and Origin, a bounded body and a known token.

    A POST must be JSON, which a web page cannot send without a CORS preflight, or nothing where a
    token came with it; under /api/v1/ the operation checks that.
    """

    def __init__(
        self,
        app: ASGIApp,
        names: frozenset[str],
        tokens: Grants | None,
        pages: Grants | None = None,
    ) -> None:
        """*names* are our host names in lower case; *tokens* None requires no token.

        A session of *pages* counts in either case.
        """
        self._app = app
        self._names = names
        self._tokens = tokens
        self._open: Counter[str] = Counter()
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421, 403, 413, 401, 415, 429 or 503, or pass the request on with its user set."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        passed = self._passed(scope)
        if isinstance(passed, Response):
            await passed(scope, receive, send)
        elif passed is None:
            await self._app(scope, receive, send)
        else:
            grant, known = passed
            await self._while_granted(grant, known, scope, receive, send)

    async def _while_granted(
        self, grant: Grant, tokens: Grants, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve the request; close its stream when its token is revoked."""
        if self._open[grant.id] >= OPEN_EACH:
            next_step = "close streams that nobody reads, then repeat the request"
            answer = _problem(429, f"{OPEN_EACH} requests of this token are open", next_step)
            await answer(scope, receive, send)
            return
        self._open[grant.id] += 1
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_revoked, tokens, grant, tasks.cancel_scope)
                await self._app(scope, receive, send)
                tasks.cancel_scope.cancel()
        finally:
            self._open[grant.id] -= 1
            self._open += Counter()  # forgets what is zero

    def _passed(self, scope: Scope) -> tuple[Grant, Grants] | Response | None:
        """The grant and who knows it (None where none is required), or the refusal."""
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not self._ours(headers["host"]):
            return _problem(
                421, "this host name is unknown", "use the address that the server printed"
            )
        origin = headers.get("origin")
        if origin is not None and not self._our_origin(origin):
            return _problem(403, "this origin is not allowed", "call from outside a web page")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or (int(length) > MAX_BODY and not _streams(scope)):
            return _too_large(scope)
        grant: tuple[Grant, Grants] | Response | None = None
        source.set(("", _client(scope, headers)))
        if not _open(scope):
            grant = self._identify(scope, headers)
            if isinstance(grant, Response):
                return grant
        own_check = scope["path"].startswith(_API)  # each operation knows its type
        json_only = scope["method"] == "POST" and not own_check
        if json_only and isinstance(grant, tuple) and is_empty(headers):
            return grant  # a web page has no token, and there is nothing to parse
        if json_only and _media_type(headers) != "application/json":
            return _problem(415, "the body is not JSON", "send Content-Type: application/json")
        return grant

    def _identify(self, scope: Scope, headers: Headers) -> tuple[Grant, Grants] | Response | None:
        kind, _, secret = headers.get("authorization", "").partition(" ")
        grant, knowing = None, self._pages
        try:
            for known in (self._pages, self._tokens) if kind.lower() == "bearer" else ():
                if grant is None and known is not None:
                    grant, knowing = known.find(secret.strip()), known
        except MemoryCoreError as problem:
            return problems.of_error(problem)
        if grant is None and self._tokens is None and not secret.startswith(PAGE_SECRET):
            return None
        if grant is None or knowing is None:
            answer = _problem(
                401,
                "no valid token",
                "send Authorization: Bearer TOKEN; `anamnesis token add` makes one",
            )
            answer.headers["WWW-Authenticate"] = "Bearer"
            return answer
        user = AuthenticatedUser(grant.as_access_token())
        scope["user"], scope["auth"] = user, AuthCredentials(list(grant.rights))
        source.set((grant.agent, _client(scope, headers)))
        return grant, knowing

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


async def _until_revoked(tokens: Grants, grant: Grant, request: anyio.CancelScope) -> None:
    with suppress(MemoryCoreError):  # a list that cannot be read grants nothing
        while tokens.granted(grant):
            await anyio.sleep(GRANT_SECONDS)
    request.cancel()


def _open(scope: Scope) -> bool:
    return scope["path"] in _OPEN or scope["path"].startswith(_PAGE)


def _streams(scope: Scope) -> bool:
    return scope["method"] == "POST" and scope["path"] in _STREAMED


_SENDING = ("POST", "PATCH")


class _Repairing:
    """Passes a body on as `messages.readable` repairs it; the REST API reads its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in _SENDING or _streams(scope):
            await self._app(scope, receive, send)
            return
        try:
            body = await _body(receive)
        except ClientDisconnect:
            return
        if body is None:
            await _too_large(scope)(scope, receive, send)
            return
        if not scope["path"].startswith(_REST):
            body = messages.readable(body).encode("utf-8")
        await self._app(scope, _replaying(body, receive), send)


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


def _client(scope: Scope, headers: Headers) -> str:
    """What tells one client from another: its session, or else its connection."""
    return headers.get("mcp-session-id") or ":".join(map(str, scope.get("client") or ()))


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _too_large(scope: Scope) -> JSONResponse:
    """The refusal of a body over MAX_BODY; of a message to /mcp in the form that clients show."""
    if scope["method"] == "POST" and scope["path"] == "/mcp":
        return JSONResponse(messages.too_long_body(MAX_BODY), 413)
    return _problem(413, f"the body is over {MAX_BODY} bytes", "send less")


def _problem(status: int, problem: str, next_step: str) -> JSONResponse:
    return problems.problem(status, problem, next_step)


async def _elsewhere(_: Request, error: Exception) -> Response:
    """What no route takes, as a problem document too."""
    assert isinstance(error, HTTPException)
    answer = _problem(error.status_code, error.detail, "see the addresses in docs/clients.md")
    answer.headers.update(error.headers or {})
    return answer


async def _healthz(request: Request) -> Response:
    """That the process runs; with a nonce, the proof to a hook that it is the one announced."""
    nonce = request.query_params.get("nonce", "")[:MOST_NONCE]
    place = request.scope.get("server")
    if not nonce or not place or place[1] is None:
        return JSONResponse({"status": "ok"})
    return JSONResponse({"status": "ok", "proof": proof(place[1], nonce)})
