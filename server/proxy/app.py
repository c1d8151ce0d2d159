"""The proxy: passes requests on to one model API, with memories, and listens to the answers.

It serves /v1/... for programs that only know a base URL. The caller's own headers go through, its
key too; nothing of them is kept or logged. What the API answers, errors too, is passed on as it is.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import anyio.to_thread
import httpx2
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from memory_core.errors import InvalidInput, MemoryCoreError
from memory_core.memory import Memory
from memory_core.records import Identity
from server.companion.bodies import dialect_of
from server.companion.companion import AGENT, SESSION, Companion, Exchange
from server.companion.heard import gather, tell
from server.http import peer, problems
from server.http.app import is_loopback
from server.http.tokens import Tokens

log = logging.getLogger(__name__)

MOST_BODY = 64 * 1024 * 1024
"""Bytes of a request, which may hold pictures."""
TIMEOUT = httpx2.Timeout(600.0, connect=10.0)
"""Seconds that a model may be silent, and that connecting to it may take."""
TOKEN = "x-anamnesis-token"
"""Header with a token of the memory; a base URL may hold it instead: /token/TOKEN/v1."""

_ONE_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
_NOT_SENT = _ONE_HOP | {"host", "content-length", TOKEN, SESSION, AGENT}
_METHODS = ["GET", "POST", "DELETE", "PATCH", "PUT"]


def build_proxy(memory: Memory, owner: Identity, upstream: str, tokens: Tokens | None) -> ASGIApp:
    """The application that passes /v1/... on to *upstream*, the address of a model API.

    Without *tokens* every caller is *owner*, so only this machine may reach it. Raises InvalidInput
    when *upstream* is no address.
    """
    return _Proxy(memory, owner, root_of(upstream), tokens).app()


def root_of(upstream: str) -> str:
    """What /v1 stands for: *upstream*, with /v1 when it has no path. Raises InvalidInput."""
    try:
        parts = urlsplit(upstream)
        named = parts.hostname and parts.scheme in ("http", "https") and (parts.port or True)
    except ValueError:
        named = None
    if not named or parts.query or parts.fragment or parts.username is not None:
        raise InvalidInput(
            "upstream is no address of a model API", "give one such as https://api.openai.com/v1"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1'}"


class _Proxy:
    def __init__(self, memory: Memory, owner: Identity, root: str, tokens: Tokens | None) -> None:
        self._companion = Companion.of(memory, owner)
        self._owner = owner
        self._root = root
        self._tokens = tokens
        self._client: httpx2.AsyncClient | None = None

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/{path:path}", self._pass_on, methods=_METHODS),
                Route("/token/{token}/v1/{path:path}", self._pass_on, methods=_METHODS),
            ],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _elsewhere},
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        nobodys = CookieJar(DefaultCookiePolicy(allowed_domains=()))
        async with httpx2.AsyncClient(timeout=TIMEOUT, cookies=nobodys) as client:
            client.headers.clear()  # nothing is asked for but what the program asks for
            self._client = client
            yield
        await anyio.to_thread.run_sync(self._companion.flush)

    async def _pass_on(self, request: Request) -> Response:
        who = self._caller(request)
        if isinstance(who, Response):
            return who
        if {".", ".."} & set(request.path_params["path"].split("/")):
            return _refused(404, "a path with . or .. leads nowhere", "name it in full")
        content = await _body(request)
        if content is None:
            return _refused(
                413, f"the body is over {MOST_BODY // 2**20} MiB", "send less, or smaller pictures"
            )
        exchange = await self._asked(request, who, content)
        client = self._client
        assert client is not None
        sent = client.build_request(
            request.method,
            self._address(request),
            headers=[(n, v) for n, v in request.headers.raw if _name(n) not in _NOT_SENT],
            content=exchange.content if exchange else content,
        )
        try:
            response = await client.send(sent, stream=True)
        except httpx2.HTTPError as problem:
            log.warning("the model API cannot be reached: %s", type(problem).__name__)
            return _refused(
                502, "the model API cannot be reached", "check --upstream and the network"
            )
        heard = exchange if response.status_code == 200 else None
        answer = StreamingResponse(self._passed(response, heard), response.status_code)
        answer.raw_headers = [
            (name.lower(), value)
            for name, value in response.headers.raw
            if _name(name) not in _ONE_HOP
        ]
        return answer

    async def _asked(self, request: Request, who: Identity, content: bytes) -> Exchange | None:
        """The request with what it brings to mind; None for what is no turn of a chat."""
        dialect = dialect_of(request.url.path)
        if dialect is None or request.method != "POST":
            return None
        session = request.headers.get(SESSION, "")
        return await anyio.to_thread.run_sync(
            lambda: self._companion.ask(dialect, content, session, who=who)
        )

    async def _passed(
        self, response: httpx2.Response, exchange: Exchange | None
    ) -> AsyncIterator[bytes]:
        kept = bytearray()
        try:
            async for part in response.aiter_raw():
                yield part
                if exchange is not None:
                    gather(kept, part)
        finally:  # a program may leave as soon as it knows that this was the end
            if exchange is not None:
                tell(self._companion, exchange, response, kept)
            with anyio.CancelScope(shield=True):
                await response.aclose()

    def _address(self, request: Request) -> str:
        path = request.scope["raw_path"].decode("latin-1").partition("?")[0].partition("/v1/")[2]
        query = f"?{request.url.query}" if request.url.query else ""
        return f"{self._root}/{path}{query}"

    def _caller(self, request: Request) -> Identity | Response:
        """Who calls, or the refusal: of a web page and of another user where no token is asked for,
        or of a token."""
        if self._tokens is None:
            host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
            if "origin" in request.headers or not is_loopback(host):
                return _refused(
                    403, "web pages and other host names are refused", "call it as 127.0.0.1"
                )
            if peer.is_of_another_user(request.scope.get("client"), request.scope.get("server")):
                return _refused(
                    403,
                    "without tokens only the user who started the proxy may call it",
                    "start one of your own",
                )
            agent = request.headers.get(AGENT, "")
            return Identity(agent, self._owner.team) if agent else self._owner
        given = request.path_params.get("token") or request.headers.get(TOKEN, "")
        try:
            grant = self._tokens.find(given)
        except MemoryCoreError as problem:
            status = problems.STATUS.get(problem.code, 500)
            return _refused(status, problem.problem, problem.next_step, code=problem.code)
        if grant is None or not {"read", "write"} <= set(grant.rights):
            return _refused(
                401,
                "no token of the memory with the rights read and write",
                "send X-Anamnesis-Token, or end the base URL with /token/TOKEN/v1",
            )
        return Identity(grant.agent, grant.team, frozenset(grant.rights), grant.encode)


async def _elsewhere(_: Request, error: Exception) -> Response:
    """What is not under /v1, or by another method."""
    assert isinstance(error, HTTPException)
    next_step = "give the program a base URL that ends with /v1, and let it speak that API"
    return _refused(error.status_code, "only /v1/... is passed on", next_step)


def _refused(status: int, detail: str, next_step: str, *, code: str = "") -> Response:
    """The refusal as everywhere, and as the clients of model APIs read it: in `error`."""
    kind = code or problems.CODES.get(status, "api_error")
    said = {"type": kind, "message": f"{detail}; {next_step}"}
    return problems.problem(status, detail, next_step, code=code, error=said)


def _name(raw: bytes) -> str:
    """The name of a header, in small letters."""
    return raw.decode("latin-1").lower()


async def _body(request: Request) -> bytes | None:
    """The body of *request*; None for one that is too long, which is not read to its end."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > MOST_BODY:
        return None
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MOST_BODY:
            return None
    return bytes(content)
