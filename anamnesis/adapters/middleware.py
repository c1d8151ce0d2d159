"""A middleware for the clients of Anthropic, which recalls at each turn and keeps what is said."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio.to_thread
import httpx2
from anthropic import APIRequest, APIResponse, AsyncAPIResponse, AsyncCallNext, CallNext, Middleware

from anamnesis.memory import AsyncMemory, Memory
from anamnesis.transport import companion_of
from server.companion.bodies import Dialect, dialect_of
from server.companion.companion import AGENT, SESSION, Companion, Exchange
from server.companion.heard import gather, tell


class MemoryMiddleware(Middleware):
    """Recalls at each turn of the user and keeps what both say: `Anthropic(middleware=[...])`.

    By the hook of the package, with the rules of `wrap`; it serves clients of both kinds.
    """

    def __init__(self, memory: Memory | AsyncMemory | None = None, *, session: str = "") -> None:
        """*memory* and *session* are those of `wrap`. Raises ScopeDenied as it does."""
        self._companion = companion_of(memory, session)

    def handle(self, request: APIRequest, call_next: CallNext) -> APIResponse[Any]:
        """Send *request* with what it brings to mind."""
        request, asked = _to_ask(request)
        exchange = self._companion.ask(*asked) if asked else None
        response = call_next(_with(request, exchange))
        if exchange and (raw := _open(self._companion, exchange, response)) is not None:
            raw.stream = _Heard(raw.stream, self._companion, exchange, raw)
        return response

    async def handle_async(
        self, request: APIRequest, call_next: AsyncCallNext
    ) -> AsyncAPIResponse[Any]:
        """Send *request* with what it brings to mind."""
        request, asked = _to_ask(request)
        exchange = None
        if asked:
            ask = functools.partial(self._companion.ask, *asked)
            exchange = await anyio.to_thread.run_sync(ask)
        response = await call_next(_with(request, exchange))
        if exchange and (raw := _open(self._companion, exchange, response)) is not None:
            raw.stream = _AsyncHeard(raw.stream, self._companion, exchange, raw)
        return response

    def flush(self) -> bool:
        """Wait until what was said is kept; False when that takes too long."""
        return self._companion.flush()


def _to_ask(request: APIRequest) -> tuple[APIRequest, tuple[Dialect, bytes, str, str] | None]:
    """*request* without the headers for us, and what a companion is asked of it, if anything."""
    named = {name.lower(): str(value) for name, value in request.headers.items()}
    ours = named.get(SESSION, ""), named.get(AGENT, "")
    if any(ours):
        kept = {n: v for n, v in request.headers.items() if n.lower() not in (SESSION, AGENT)}
        request = request.copy(headers=kept)
    dialect = dialect_of(httpx2.URL(request.url).path)
    if dialect is None or request.method.upper() != "POST":
        return request, None
    try:
        return request, (dialect, json.dumps(request.json).encode(), *ours)
    except (TypeError, ValueError):  # such as an open file: it goes on without memory
        return request, None


def _with(request: APIRequest, exchange: Exchange | None) -> APIRequest:
    return request.copy(body=json.loads(exchange.content)) if exchange else request


def _open(
    companion: Companion, exchange: Exchange, response: APIResponse[Any] | AsyncAPIResponse[Any]
) -> httpx2.Response | None:
    """The answer that is still to be read; one that was read is told at once."""
    raw = response.http_response
    if raw.status_code != 200:
        return None
    if not raw.is_stream_consumed:
        return raw
    kind = raw.headers.get("content-type", "")
    companion.answered(exchange, kind, raw.content)
    return None


class _Heard(httpx2.SyncByteStream):
    """A stream whose bytes are told when it has come to its end."""

    def __init__(self, own: Any, *told: Any) -> None:
        self._own = own
        self._companion, self._exchange, self._response = told

        self._kept = bytearray()

    def __iter__(self) -> Iterator[bytes]:
        for part in self._own:
            gather(self._kept, part)
            yield part

    def close(self) -> None:
        """A client may leave the stream as soon as it knows that this was the end."""
        self._own.close()
        tell(self._companion, self._exchange, self._response, self._kept)


class _AsyncHeard(httpx2.AsyncByteStream):
    """The same for the async client."""

    def __init__(self, own: Any, *told: Any) -> None:
        self._own = own
        self._companion, self._exchange, self._response = told

        self._kept = bytearray()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._own:
            gather(self._kept, part)
            yield part

    async def aclose(self) -> None:
        """As above."""
        await self._own.aclose()
        tell(self._companion, self._exchange, self._response, self._kept)
