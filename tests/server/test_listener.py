"""What a client may take of a real listener: connections, and time for a request."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from server.http import bounded_protocol, listener
from server.http.app import Door, _Repairing

pytestmark = [pytest.mark.usefixtures("processes"), pytest.mark.anyio]

SECONDS = 60.0
QUICK = 0.15
GET = b"GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n"
POST = (
    b"POST /hello HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"content-length: 100000\r\n\r\n"
)


class Application:
    """The application behind Door, and the requests that reached it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.go_on = asyncio.Event()

    async def hello(self, request: Request) -> Response:
        self.bodies.append(await request.body())
        return PlainTextResponse("hello")

    async def stream(self, _: Request) -> Response:
        async def parts() -> AsyncIterator[bytes]:
            yield b"begun;"
            await self.go_on.wait()
            yield b"ended"

        return StreamingResponse(parts())


@asynccontextmanager
async def serving(application: Application) -> AsyncIterator[int]:
    """The port of the real HTTP server, running in this loop."""
    app = Starlette(
        routes=[
            Route("/hello", application.hello, methods=["GET", "POST"]),
            Route("/stream", application.stream),
        ]
    )
    door = Door(_Repairing(app), frozenset({"localhost"}), None)
    server = uvicorn.Server(listener.configured(door))
    bound = listener.bind("127.0.0.1", 0)
    running = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        await asyncio.wait_for(running, SECONDS)


def test_a_connection_holds_nothing_back_for_the_answer_of_what_it_sent_before() -> None:
    """Headers and body of an answer are two writes."""
    with (
        listener.bind("127.0.0.1", 0) as bound,
        socket.create_connection(bound.getsockname()),
        bound.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


class Wire(asyncio.Protocol):
    """One connection, spoken to in bytes. What came before a reset is kept."""

    def __init__(self) -> None:
        self.came = bytearray()
        self.writer: Any = None
        self._over = False
        self._news = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        self.writer = transport

    def data_received(self, data: bytes) -> None:
        self.came += data
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._over = True
        self._news.set()

    async def _next(self) -> None:
        await asyncio.wait_for(self._news.wait(), SECONDS)
        self._news.clear()

    async def all(self) -> bytes:
        """Everything until the server closes."""
        while not self._over:
            await self._next()
        return bytes(self.came)

    async def until(self, end: bytes) -> None:
        """Wait for *end*, and forget what came up to it."""
        while end not in self.came:
            assert not self._over
            await self._next()
        del self.came[: self.came.index(end) + len(end)]

    async def trickle(self, data: bytes) -> None:
        """A byte now and then, each before a deadline that began anew with it would end."""
        for byte in data:
            if self._over or self.writer.is_closing():
                return
            self.writer.write(bytes([byte]))
            await asyncio.sleep(QUICK / 10)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Wire]:
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(Wire, "127.0.0.1", port)
    try:
        yield wire
    finally:
        wire.writer.close()


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make the deadlines that a test waits for pass soon, and no others: machines are busy."""

    def set(*names: str, seconds: float = QUICK) -> None:
        for name in names:
            module = listener if hasattr(listener, name) else bounded_protocol
            monkeypatch.setattr(module, name, seconds)

    return set


@pytest.mark.parametrize("sent", [b"", b"GET /hello HT", GET[:-2]], ids=["nothing", "line", "most"])
async def test_headers_that_do_not_come_are_not_waited_for(
    application: Application, quick: Any, sent: bytes
) -> None:
    quick("HEADER_SECONDS")
    async with serving(application) as port, connected(port) as wire:
        wire.writer.write(sent)
        assert (await wire.all()).startswith(b"HTTP/1.1 408 ")
    assert application.bodies == []


async def test_trickled_headers_do_not_move_the_deadline(
    application: Application, quick: Any
) -> None:
    quick("HEADER_SECONDS")
    async with serving(application) as port, connected(port) as wire:
        trickling = asyncio.create_task(wire.trickle(GET[:-4] + b"x: " + b"y" * 1000))
        assert (await wire.all()).startswith(b"HTTP/1.1 408 ")
        trickling.cancel()


@pytest.mark.parametrize("trickled", [False, True])
async def test_a_body_that_does_not_come_never_reaches_the_application(
    application: Application, quick: Any, trickled: bool
) -> None:
    quick("BODY_SECONDS")
    async with serving(application) as port, connected(port) as wire:
        wire.writer.write(POST + b'{"half": ')
        trickling = asyncio.create_task(wire.trickle(b" " * (1000 if trickled else 0)))
        assert (await wire.all()).startswith(b"HTTP/1.1 408 ")
        trickling.cancel()
    assert application.bodies == []


async def test_a_long_body_that_goes_on_may_take_longer(
    application: Application, quick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_again = asyncio.Event()
    late = bounded_protocol.BoundedProtocol._late

    def seen(self: Any) -> None:
        quick("BODY_SECONDS", seconds=SECONDS)
        late(self)
        begun_again.set()

    monkeypatch.setattr(bounded_protocol.BoundedProtocol, "_late", seen)
    monkeypatch.setattr(bounded_protocol, "BODY_BYTES", 10)
    quick("BODY_SECONDS")
    async with serving(application) as port, connected(port) as wire:
        wire.writer.write(POST + b" " * 50_000)
        await begun_again.wait()
        wire.writer.write(b" " * 50_000)
        await wire.until(b"hello")
    assert [len(body) for body in application.bodies] == [100_000]


async def test_after_a_refusal_the_rest_of_a_body_is_not_taken_for_ever(
    application: Application, quick: Any
) -> None:
    quick("BODY_SECONDS")
    async with serving(application) as port, connected(port) as wire:
        wire.writer.write(POST.replace(b"localhost", b"elsewhere"))
        trickling = asyncio.create_task(wire.trickle(b" " * 1000))
        assert (await wire.all()).startswith(b"HTTP/1.1 421 ")
        trickling.cancel()


async def test_a_later_request_has_deadlines_of_its_own(
    application: Application, quick: Any
) -> None:
    async with serving(application) as port, connected(port) as wire:
        wire.writer.write(GET)
        await wire.until(b"hello")
        wire.writer.write(GET)
        await wire.until(b"hello")
        quick("HEADER_SECONDS")
        wire.writer.write(GET[:-2])
        assert (await wire.all()).startswith(b"HTTP/1.1 408 ")
    assert len(application.bodies) == 2


async def test_an_idle_connection_is_closed(application: Application, quick: Any) -> None:
    quick("IDLE_SECONDS")
    async with serving(application) as port, connected(port) as wire:
        wire.writer.write(GET)
        assert (await wire.all()).endswith(b"hello")


async def test_an_answer_may_take_longer_than_any_deadline(
    application: Application, quick: Any
) -> None:
    quick("HEADER_SECONDS", "BODY_SECONDS", "IDLE_SECONDS", seconds=1.0)
    async with serving(application) as port, connected(port) as wire:
        wire.writer.write(GET.replace(b"hello", b"stream"))
        await wire.until(b"begun;")
        async with connected(port) as other:  # the deadlines of this one have passed when it ends
            assert (await other.all()).startswith(b"HTTP/1.1 408 ")
        application.go_on.set()
        await wire.until(b"ended")


async def test_too_long_headers_are_refused(application: Application) -> None:
    async with serving(application) as port, connected(port) as wire:
        wire.writer.write(GET[:-2] + b"x: " + b"y" * (listener.HEADER_BYTES + 1))
        assert (await wire.all()).startswith(b"HTTP/1.1 400 ")


async def test_connections_are_capped_and_room_comes_back(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_protocol, "CONNECTIONS", 2)
    async with serving(application) as port, connected(port) as first, connected(port) as second:
        for wire in (first, second):
            wire.writer.write(GET.replace(b"hello", b"stream"))
            await wire.until(b"begun;")
        async with connected(port) as third:
            assert (await third.all()).startswith(b"HTTP/1.1 503 ")
        application.go_on.set()
        await second.until(b"ended")
        answers: list[Any] = []
        while not answers or b"503" in answers[-1]:  # until the server has seen it go
            async with connected(port) as again:
                again.writer.write(GET.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
                answers.append(await again.all())
        assert answers[-1].endswith(b"hello")


async def test_idle_connections_keep_nobody_out(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_protocol, "CONNECTIONS", 4)
    async with AsyncExitStack() as stack, serving(application) as port:
        busy = await stack.enter_async_context(connected(port))
        busy.writer.write(GET.replace(b"hello", b"stream"))
        await busy.until(b"begun;")
        wires = []
        for _ in range(8):
            wire = await stack.enter_async_context(connected(port))
            wire.writer.write(GET)
            await wire.until(b"hello")
            wires.append(wire)
        for wire in wires[:5]:  # those that were idle longest
            await wire.all()
        wires[-1].writer.write(GET)
        await wires[-1].until(b"hello")
        application.go_on.set()
        await busy.until(b"ended")


async def test_connections_that_send_nothing_keep_nobody_of_their_address_out(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_protocol, "CONNECTIONS", 6)
    monkeypatch.setattr(bounded_protocol, "HALF_OPEN", 3)
    async with AsyncExitStack() as stack, serving(application) as port:
        used = await stack.enter_async_context(connected(port))
        used.writer.write(GET)
        await used.until(b"hello")
        silent = [await stack.enter_async_context(connected(port)) for _ in range(8)]
        for wire in silent[:5]:  # the oldest ones
            assert (await wire.all()).startswith(b"HTTP/1.1 408 ")
        used.writer.write(GET)  # a connection between two requests is not half open
        await used.until(b"hello")
        for wire in silent[5:]:
            assert wire.came == b""
            wire.writer.write(GET)
            await wire.until(b"hello")


async def test_a_burst_of_connections_that_send_nothing_keeps_nobody_out(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are accepted in one round of the loop, before any that is closed for them is gone."""
    monkeypatch.setattr(bounded_protocol, "CONNECTIONS", 6)
    monkeypatch.setattr(bounded_protocol, "HALF_OPEN", 3)
    async with AsyncExitStack() as stack, serving(application) as port:
        for _ in range(40):
            silent = socket.create_connection(("127.0.0.1", port), SECONDS)
            stack.callback(silent.close)
        asking = await stack.enter_async_context(connected(port))
        asking.writer.write(GET)
        await asking.until(b"hello")


async def test_a_burst_of_whole_requests_is_answered(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They lie unread while the server is busy; that is no silence of who sent them."""
    monkeypatch.setattr(bounded_protocol, "HALF_OPEN", 3)
    async with AsyncExitStack() as stack, serving(application) as port:
        asking = [socket.create_connection(("127.0.0.1", port), SECONDS) for _ in range(12)]
        for each in asking:
            stack.callback(each.close)
            each.sendall(GET)
        answers = await asyncio.gather(*(asyncio.to_thread(each.recv, 12) for each in asking))
        assert answers == [b"HTTP/1.1 200"] * 12


@pytest.mark.parametrize("attack", ["deleted", "replaced", "folder moved"])
def test_the_address_of_a_server_is_taken_back_only_where_it_is_its_own(
    tmp_path: Path, attack: str
) -> None:
    folder = tmp_path / "data"
    file = folder / "http.json"
    with listener.announced(file, {"url": "http://127.0.0.1:1"}):
        assert file.stat().st_mode & 0o777 == 0o600
        if attack == "deleted":
            file.unlink()
        elif attack == "replaced":
            file.write_text("of a later server")
        else:
            folder.rename(tmp_path / "away")
    if attack == "replaced":
        assert file.read_text() == "of a later server"
    else:
        assert not file.exists()
    assert folder.exists() is (attack != "folder moved")
