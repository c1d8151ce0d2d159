"""Serves MCP over stdin and stdout until the client is gone.

The process ends within five seconds, with the memory closed, when stdin ends, stdout breaks, a
signal arrives (SIGTERM, SIGINT, SIGHUP) or the parent process ends. Every acknowledged write is
already durable, so nothing waits for an orderly end. It ends by os._exit, because a thread that
blocks in a read would keep it alive.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO, NoReturn

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import MCPServer
from mcp.shared.message import SessionMessage
from mcp.types import (
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from memory_core.errors import InvalidInput
from server.protocol import messages, sdk
from server.stdio import parents

log = logging.getLogger(__name__)

CLOSE_SECONDS = 3.0
"""How long closing the memory may take."""
LAST_ANSWERS_SECONDS = 1.0
"""How long calls in flight may go on after stdin has ended."""
PARENT_SECONDS = 0.5
_LINES_AHEAD = 64
MAX_LINE = 4 * 2**20
"""Bytes of one message. A call with the longest text, all escaped, takes 240 kB."""


class Pipes:
    """The protocol's own copies of stdin and stdout.

    Afterwards file descriptor 0 is empty and 1 is stderr, so that only the protocol can read or
    write the client's pipes, not a library at import time or a child process.
    """

    def __init__(self) -> None:
        """Take over the two descriptors; call once, as early as possible.

        Raises InvalidInput when one of them is closed.
        """
        try:
            self.incoming: BinaryIO = os.fdopen(os.dup(0), "rb")
            self.outgoing: BinaryIO = os.fdopen(os.dup(1), "wb")
        except OSError:
            raise InvalidInput(
                "stdin or stdout is closed", "let a client start the server"
            ) from None
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)


def run(
    pipes: Pipes, server: MCPServer[Any], answered: Callable[[], None], close: Callable[[], None]
) -> NoReturn:
    """Serve until the client is gone, then end the process with status 0. Does not return.

    *answered* is called once, after the first answer was sent; *close* closes the memory.
    """
    status = 0
    try:
        asyncio.run(_Connection(pipes, server, answered).serve())
    except BaseException as problem:  # the process ends here
        log.error("the server stopped with %s", type(problem).__name__, exc_info=problem)
        status = 1
    leave(close, status)


def leave(close: Callable[[], None], status: int = 0) -> NoReturn:
    """Close the memory, for CLOSE_SECONDS at most, and end the process with *status*."""
    closing = threading.Thread(target=close, name="close", daemon=True)
    closing.start()
    closing.join(CLOSE_SECONDS)
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


class _Connection:
    """The messages between the pipes and the server."""

    def __init__(self, pipes: Pipes, server: MCPServer[Any], answered: Callable[[], None]) -> None:
        self._pipes = pipes
        self._server = server
        self._answered: Callable[[], None] | None = answered
        self._open_calls: set[str | int] = set()

    async def serve(self) -> None:
        """Pass messages on until the connection ends."""
        self._end = asyncio.Event()
        self._quiet = asyncio.Event()
        _on_signals(self._end.set)
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](_LINES_AHEAD)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, to_server, to_client.clone())
            tasks.start_soon(self._write, from_server)
            tasks.start_soon(_watch_parent, self._end)
            tasks.start_soon(self._serve, from_client, to_client)
            await self._end.wait()
            tasks.cancel_scope.cancel()

    async def _serve(
        self,
        incoming: MemoryObjectReceiveStream[SessionMessage | Exception],
        outgoing: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        low = sdk.lowlevel(self._server)
        await low.run(incoming, outgoing, low.create_initialization_options())
        self._end.set()

    async def _read(
        self,
        inbox: MemoryObjectSendStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        lines = _Lines(self._pipes.incoming)
        async with inbox, answers:
            while (line := await lines.next()) is not None:
                if len(line) > MAX_LINE:
                    await self._answer(messages.too_long(line), answers, len(line))
                    continue
                text = messages.readable(line)
                try:
                    message = jsonrpc_message_adapter.validate_json(text, by_name=False)
                except ValidationError:
                    await self._refuse(text, answers)
                    continue
                if isinstance(message, JSONRPCRequest):
                    self._open_calls.add(message.id)
                elif isinstance(message, JSONRPCNotification):
                    self._cancelled(message)
                await inbox.send(SessionMessage(message))
            await self._last_answers()
        self._end.set()

    def _cancelled(self, message: JSONRPCNotification) -> None:
        """Stop waiting for a cancelled call, which gets no answer."""
        if message.method == "notifications/cancelled" and message.params:
            with suppress(TypeError):  # an id that is no id
                self._open_calls.discard(message.params.get("requestId", ""))

    async def _refuse(self, text: str, answers: MemoryObjectSendStream[SessionMessage]) -> None:
        await self._answer(messages.refusal(text), answers, len(text))

    async def _answer(
        self,
        answer: dict[str, Any] | None,
        answers: MemoryObjectSendStream[SessionMessage],
        size: int,
    ) -> None:
        if answer is None:
            log.warning("a line of %d characters that is no message was skipped", size)
            return
        message = jsonrpc_message_adapter.validate_python(answer, by_name=False)
        await answers.send(SessionMessage(message))

    async def _last_answers(self) -> None:
        """Wait for calls in flight: a script may write its calls and close stdin at once."""
        with anyio.move_on_after(LAST_ANSWERS_SECONDS):
            while self._open_calls:
                self._quiet.clear()
                await self._quiet.wait()

    async def _write(self, outbox: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for item in outbox:
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await anyio.to_thread.run_sync(self._put, line.encode("utf-8") + b"\n")
            except (OSError, ValueError):
                log.warning("stdout is broken; the client is gone")
                break
            if not isinstance(item.message, JSONRPCRequest) and hasattr(item.message, "id"):
                self._open_calls.discard(item.message.id)
                self._quiet.set()
                if self._answered and isinstance(item.message, JSONRPCResponse):
                    self._answered()
                    self._answered = None
        self._end.set()

    def _put(self, line: bytes) -> None:
        self._pipes.outgoing.write(line)
        self._pipes.outgoing.flush()


class _Lines:
    """Lines of a blocking stream, read in a thread that may still block when the process ends."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_LINES_AHEAD)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def next(self) -> bytes | None:
        """The next line that is not blank; None at the end."""
        line = await self._lines.get()
        self._room.release()
        return line

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nothing reads
            try:
                while line := self._stream.readline(MAX_LINE + 1):
                    if len(line) > MAX_LINE and not line.endswith(b"\n"):
                        line += self._rest_of_line()
                    if line.strip():
                        self._room.acquire()
                        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            except (OSError, ValueError):
                log.warning("stdin is broken; the client is gone")
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    def _rest_of_line(self) -> bytes:
        """Read the rest of a line that is too long and return its last bytes."""
        kept = b""
        while piece := self._stream.readline(MAX_LINE):
            kept = (kept + piece)[-messages.TAIL :]
            if piece.endswith(b"\n"):
                break
        return kept


def _on_signals(end: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, end)
        except NotImplementedError:  # Windows: its event loop takes no signal handlers
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(end))


async def _watch_parent(end: asyncio.Event) -> None:
    """Set *end* when the client, or the parent process, has ended."""
    ancestry = parents.Ancestry()
    while not ancestry.broken():
        await anyio.sleep(PARENT_SECONDS)
    log.warning("the process that started this one is gone")
    end.set()
