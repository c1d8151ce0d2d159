"""One client's MCP session with the engine: JSON lines on a stream, and the shared server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
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

from memory_core.records import Identity
from server import gate
from server.identity import connected
from server.protocol import messages, sdk

log = logging.getLogger(__name__)

LAST_ANSWERS_SECONDS = 1.0
"""How long calls in flight may go on after the client has ended its side."""
WRITE_SECONDS = 60.0
"""After which a client that reads nothing is given up; its proxy reads again when it is asked."""
OPEN_CALLS = 256
"""Requests of one client that are under way; the next is read when one was answered."""
_LINES_AHEAD = 64
_STAYS = "subscriptions/listen"


class ClientConnection:
    """The messages between one client's stream and the server, until either ends."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server: MCPServer[Any],
        who: Identity,
        answered: Callable[[], None],
    ) -> None:
        """*who* is the caller of all calls; *answered* is called after each response sent."""
        self._reader = reader
        self._writer = writer
        self._server = server
        self._who = who
        self._answered = answered
        self._open_calls: set[str | int] = set()
        self._streams: set[str | int] = set()
        self._end = asyncio.Event()
        self._changed = asyncio.Event()
        self._finishing = False

    async def serve(self) -> None:
        """Pass messages on until the connection ends."""
        connected.set(self._who)  # the tasks below, and all handlers, run in this context
        gate.source.set((self._who.agent, str(id(self))))
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](_LINES_AHEAD)
        with to_server, from_client, to_client, from_server:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, to_server, to_client.clone())
                tasks.start_soon(self._write, from_server)
                tasks.start_soon(self._serve, from_client, to_client)
                await self._end.wait()
                tasks.cancel_scope.cancel()

    async def finish(self) -> None:
        """Read nothing more, and end when the calls that are open have been answered."""
        self._finishing = True
        self._changed.set()
        await self._quiet()
        self._end.set()

    async def _quiet(self) -> None:
        while self._open_calls:
            self._changed.clear()
            await self._changed.wait()

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
        async with inbox, answers:
            while line := await self._line():
                if line.isspace():
                    continue
                text = messages.readable(line)
                try:
                    message = jsonrpc_message_adapter.validate_json(text, by_name=False)
                except ValidationError:
                    await self._refuse(text, answers)
                    continue
                if isinstance(message, JSONRPCRequest):
                    (self._streams if message.method == _STAYS else self._open_calls).add(
                        message.id
                    )
                elif isinstance(message, JSONRPCNotification):
                    self._cancelled(message)
                await inbox.send(SessionMessage(message))
            with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                await self._quiet()
        self._end.set()

    async def _line(self) -> bytes:
        """The next line; b"" at the end, or when nothing more is to be read."""
        while len(self._open_calls) >= OPEN_CALLS and not self._finishing:
            self._changed.clear()
            await self._changed.wait()
        if self._finishing:
            await anyio.sleep_forever()
        try:
            line = await self._reader.readline()
        except (OSError, ValueError):  # broken, or a line that no proxy sends
            return b""
        if self._finishing:  # never begun: the client hears that the engine is gone
            await anyio.sleep_forever()
        return line if line.endswith(b"\n") else b""

    def _cancelled(self, message: JSONRPCNotification) -> None:
        """Stop waiting for a cancelled call, which gets no answer."""
        if message.method == "notifications/cancelled" and message.params:
            with suppress(TypeError):  # an id that is no id
                self._ended(message.params.get("requestId", ""))

    def _ended(self, id: str | int) -> None:
        self._open_calls.discard(id)
        self._streams.discard(id)
        self._changed.set()

    async def _refuse(self, text: str, answers: MemoryObjectSendStream[SessionMessage]) -> None:
        answer = messages.refusal(text)
        if answer is None:
            log.warning("a line of %d characters that is no message was skipped", len(text))
            return
        message = jsonrpc_message_adapter.validate_python(answer, by_name=False)
        await answers.send(SessionMessage(message))

    async def _write(self, outbox: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for item in outbox:
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                self._writer.write(line.encode("utf-8") + b"\n")
                with anyio.fail_after(WRITE_SECONDS):
                    await self._writer.drain()
            except (OSError, TimeoutError):
                log.info("a client is gone, or reads nothing")
                break
            if not isinstance(item.message, JSONRPCRequest) and hasattr(item.message, "id"):
                if item.message.id is not None:
                    self._ended(item.message.id)
                if isinstance(item.message, JSONRPCResponse):
                    self._answered()
        self._end.set()
