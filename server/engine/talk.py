"""One command line that an engine does for a client: what both sides say meanwhile."""

from __future__ import annotations

import asyncio
import json
import queue
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from server.engine import wire


class Talk:
    """Messages to and from the client's process; for the thread that does its command."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Call it in the event loop of both streams."""
        self._reader = reader
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._heard: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send *message*; nothing waits for it to arrive."""
        with suppress(RuntimeError):  # the loop has ended: nobody hears it
            self._loop.call_soon_threadsafe(self._writer.write, wire.encode(message))

    def hear(self) -> dict[str, Any] | None:
        """The next message of the client, once it is there; None when the client is gone."""
        return self._heard.get()

    async def run(
        self, command: Callable[[Talk], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any] | None:
        """What *command* answers; it is cancelled, and the result None, when the client is gone."""
        doing = asyncio.ensure_future(command(self))
        hearing = asyncio.ensure_future(self._hear())
        try:
            await asyncio.wait({doing, hearing}, return_when=asyncio.FIRST_COMPLETED)
            return doing.result() if doing.done() else None
        finally:
            for task in (doing, hearing):
                task.cancel()
            self._heard.put(None)

    async def _hear(self) -> None:
        """Keep what the client says until it ends."""
        with suppress(OSError, ValueError):
            while line := await self._reader.readline():
                self._heard.put(json.loads(line))
