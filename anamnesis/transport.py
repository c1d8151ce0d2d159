"""wrap: a client of a model that remembers and recalls by itself, by way of its HTTP transport.

The transport sees every way of calling: create, stream, parse, raw, loops of tools. Nothing is
patched; the client that is given stays as it was.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio.to_thread
import httpx2

from anamnesis.memory import AsyncMemory, Memory
from memory_core.errors import InvalidInput, ScopeDenied
from memory_core.memory import Memory as Facade
from memory_core.records import Identity
from server.companion.bodies import dialect_of
from server.companion.companion import AGENT, SESSION, Companion, Exchange
from server.companion.heard import gather, tell

if TYPE_CHECKING:
    from anamnesis.remote import RemoteFacade

Client = TypeVar("Client")


def wrap(
    client: Client, memory: Memory | AsyncMemory | None = None, *, session: str = ""
) -> Client:
    """A copy of *client* that recalls at each turn of the user and keeps what both say.

    *client* is one of the packages openai and anthropic, sync or async, or anything of that make
    for a compatible server. *memory* defaults to that of the environment's settings, opened at the
    first call of wrap. *session* names the conversation; the header X-Anamnesis-Session does so for
    one call, and X-Anamnesis-Agent its agent, which needs a memory in this process. Closing the
    copy keeps what was said, and closes *client*. Raises InvalidInput for any other client,
    ScopeDenied for a token that may not read and write.
    """
    own = getattr(client, "_client", None)
    copy: Callable[..., Client] | None = getattr(client, "copy", None)
    if copy is None or not isinstance(own, httpx2.Client | httpx2.AsyncClient):
        raise InvalidInput(
            f"cannot wrap {type(client).__name__}",
            "give a client of openai >= 3 or anthropic >= 2, which speak httpx2",
        )
    companion = companion_of(memory, session)
    # what a request begins with is added where it is built; the rest is done where own sends it
    same: dict[str, Any] = {
        "timeout": own.timeout,
        "headers": own.headers,
        "params": own.params,
        "cookies": own.cookies.jar,
    }
    if isinstance(own, httpx2.AsyncClient):
        later = _AsyncHeard(own, companion)
        return copy(http_client=httpx2.AsyncClient(transport=later, **same))
    heard = _Heard(own, companion)
    return copy(http_client=httpx2.Client(transport=heard, **same))


def companion_of(memory: Memory | AsyncMemory | None, session: str) -> Companion:
    """The companion of a client, which keeps what was said when the program ends; see wrap."""
    memory = memory.blocking if isinstance(memory, AsyncMemory) else memory or _default()
    who, facade = memory.identity, memory.facade
    if not {"read", "write"} <= set(who.rights):
        raise ScopeDenied("the token may not read and write", "use one with both rights")
    if isinstance(facade, Facade):
        companion = Companion.of(facade, who, session)
    else:
        companion = Companion(_Remote(cast("RemoteFacade", facade), who).answers, who, session)
    atexit.register(companion.flush)
    return companion


class _Remote:
    """The hooks of the server that keeps a memory."""

    def __init__(self, facade: RemoteFacade, who: Identity) -> None:
        self._facade = facade
        self._who = who

    def answers(self, who: Identity, event: Mapping[str, Any]) -> dict[str, Any]:
        if who.agent != self._who.agent:
            raise ScopeDenied("the token is of another agent", "open its memory in this process")
        return self._facade.hook(event)


@functools.cache
def _default() -> Memory:
    memory = Memory()
    atexit.register(memory.close)
    return memory


class _Heard(httpx2.BaseTransport):
    """Sends through the client that was wrapped, with memories, and listens to the answer."""

    def __init__(self, own: httpx2.Client, companion: Companion) -> None:
        self._own = own
        self._companion = companion

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        dialect, about = dialect_of(request.url.path), _about(request)
        exchange = None
        if dialect is not None and request.method == "POST":
            exchange = self._companion.ask(dialect, request.read(), *about)
        response = _unread(self._own.send(_again(request, exchange), stream=True))
        if exchange is None or response.status_code != 200:
            return _passed_on(response, response.iter_raw(), response.close)
        heard = self._listened(exchange, response)

        def close() -> None:
            heard.close()
            response.close()

        return _passed_on(response, heard, close)

    def close(self) -> None:
        self._companion.flush()
        self._own.close()

    def _listened(self, exchange: Exchange, response: httpx2.Response) -> Generator[bytes]:
        kept = bytearray()
        try:
            for part in response.iter_raw():
                gather(kept, part)
                yield part
        finally:  # a client may leave the stream as soon as it knows that this was the end
            tell(self._companion, exchange, response, kept)


class _AsyncHeard(httpx2.AsyncBaseTransport):
    """The same for asyncio and trio; what memory does is done in a thread."""

    def __init__(self, own: httpx2.AsyncClient, companion: Companion) -> None:
        self._own = own
        self._companion = companion

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        dialect, about = dialect_of(request.url.path), _about(request)
        exchange = None
        if dialect is not None and request.method == "POST":
            ask = functools.partial(self._companion.ask, dialect, await request.aread(), *about)
            exchange = await anyio.to_thread.run_sync(ask)
        response = _unread(await self._own.send(_again(request, exchange), stream=True))
        if exchange is None or response.status_code != 200:
            return _passed_on_later(response, response.aiter_raw(), response.aclose)
        heard = self._listened(exchange, response)

        async def close() -> None:
            await heard.aclose()
            await response.aclose()

        return _passed_on_later(response, heard, close)

    async def aclose(self) -> None:
        await anyio.to_thread.run_sync(self._companion.flush)
        await self._own.aclose()

    async def _listened(
        self, exchange: Exchange, response: httpx2.Response
    ) -> AsyncGenerator[bytes]:
        kept = bytearray()
        try:
            async for part in response.aiter_raw():
                gather(kept, part)
                yield part
        finally:
            tell(self._companion, exchange, response, kept)


def _about(request: httpx2.Request) -> tuple[str, str]:
    """The session and the agent that *request* names; it no longer does."""
    return request.headers.pop(SESSION, ""), request.headers.pop(AGENT, "")


def _again(request: httpx2.Request, exchange: Exchange | None) -> httpx2.Request:
    """*request*, with the content of *exchange*."""
    if exchange is None:
        return request
    headers = [pair for pair in request.headers.multi_items() if pair[0] not in _OF_CONTENT]
    return httpx2.Request(
        request.method,
        request.url,
        headers=headers,
        content=exchange.content,
        extensions=request.extensions,
    )


_OF_CONTENT = ("content-length", "transfer-encoding")


def _unread(response: httpx2.Response) -> httpx2.Response:
    """*response* to be read, also where a transport or an event hook has read it already."""
    if not response.is_stream_consumed:
        return response
    read = (*_OF_CONTENT, "content-encoding")
    return httpx2.Response(
        response.status_code,
        headers=[pair for pair in response.headers.multi_items() if pair[0] not in read],
        stream=httpx2.ByteStream(response.content),
        extensions=response.extensions,
    )


class _Stream(httpx2.SyncByteStream):
    def __init__(self, parts: Iterator[bytes], close: Callable[[], None]) -> None:
        self._parts = parts
        self._close = close

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def close(self) -> None:
        self._close()


class _AsyncStream(httpx2.AsyncByteStream):
    def __init__(self, parts: AsyncIterator[bytes], close: Callable[[], Any]) -> None:
        self._parts = parts
        self._close = close

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._parts

    async def aclose(self) -> None:
        await self._close()


def _passed_on(
    response: httpx2.Response, parts: Iterator[bytes], close: Callable[[], None]
) -> httpx2.Response:
    return httpx2.Response(
        response.status_code,
        headers=response.headers,
        stream=_Stream(parts, close),
        extensions=response.extensions,
    )


def _passed_on_later(
    response: httpx2.Response, parts: AsyncIterator[bytes], close: Callable[[], Any]
) -> httpx2.Response:
    return httpx2.Response(
        response.status_code,
        headers=response.headers,
        stream=_AsyncStream(parts, close),
        extensions=response.extensions,
    )
