"""An engine inside a client's own process, for where none can be shared."""

from __future__ import annotations

import asyncio
import socket
import threading

from memory_core.records import Identity
from server.engine import wire
from server.engine.connection import ClientConnection
from server.engine.launch import EngineLink
from server.engine.shared import Shared


class OwnEngine:
    """Serves connections of this process in a thread, over a memory of its own."""

    def __init__(self, shared: Shared, who: Identity) -> None:
        """*who* is the caller of all calls."""
        self._shared = shared
        self._who = who
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="engine", daemon=True).start()

    def connect(self) -> EngineLink:
        """A new connection."""
        ours, theirs = socket.socketpair()
        asyncio.run_coroutine_threadsafe(self._serve(theirs), self._loop)
        return EngineLink(ours, wire.lines(ours))

    async def _serve(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=2 * wire.MAX_LINE)
        try:
            shared = self._shared
            await ClientConnection(
                reader, writer, shared.server(), self._who, shared.answered
            ).serve()
        finally:
            writer.close()

    def close(self) -> None:
        """Close the memory."""
        self._shared.memory.close()
