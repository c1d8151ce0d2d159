"""What all clients of an engine share: one memory, one gate, one MCP server, and the hooks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from memory_core.errors import InvalidInput
from memory_core.records import Identity
from server.engine import usage
from server.engine.operations import OPERATIONS, arguments
from server.engine.talk import Talk
from server.gate import Gate
from server.protocol.lazy_memory import LazyMemory

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from memory_core.memory import Memory

HookAnswers = Callable[[Identity, Mapping[str, Any]], dict[str, Any]]
"""What a hook's payload is answered with, for whom; it raises nothing."""


Commands = Callable[[Identity, Mapping[str, Any], Talk, Mapping[str, Any]], dict[str, Any] | None]
"""Does the command line of a preamble for somebody: what it prints, None to give it back.

The last is what the engine says of itself."""


class HttpSite(Protocol):
    """The HTTP side of the process."""

    def on_need(self) -> str:
        """Its address; it is opened on a loopback port unless it is open."""

    def page(self, who: Identity, *, read_only: bool) -> str:
        """An address of the page for *who*, which opens once and within a minute."""

    def in_use(self) -> bool:
        """True while a page is open."""

    def open(self, host: str, port: int) -> str:
        """Its address; it is opened there unless it is open. Raises InvalidInput."""

    def close(self) -> None:
        """Close it, if it is open."""


HOOK_SECONDS = 5.0
"""Deadline after which a hook's answer is empty; capturing goes on."""
MOST_SECONDS = 120.0
"""Longest deadline that a call may ask for."""
COMMAND_SECONDS = 3_600.0
"""Deadline of a command line: somebody sees how far it is, and may interrupt it."""


class Shared:
    """The parts of one engine, over a memory that opens when it is first needed."""

    def __init__(
        self,
        memory: LazyMemory,
        hooks: HookAnswers,
        commands: Commands,
        site: HttpSite,
        *,
        gate: Gate,
        owner: Identity,
        clock: Callable[[], float] = time.time,
        answered: Callable[[], None] = lambda: None,
    ) -> None:
        """*owner* is the caller over HTTP without a token; *clock* returns epoch seconds.

        *answered* is called after each answer to a client.
        """
        self.memory = memory
        self.site = site
        self.gate = gate
        self.serving: Callable[[], Mapping[str, Any]] = usage.own
        """What this process says of itself in `health`; its engine sets it."""
        self.answered = answered
        self._owner = owner
        self._clock = clock
        self._hooks = hooks
        self._commands = commands
        self._building = threading.Lock()
        self._server: MCPServer[Any] | None = None

    def server(self) -> MCPServer[Any]:
        """The MCP server of all clients, built when first asked for: half a second of imports."""
        with self._building:
            if self._server is None:
                from server.protocol.server import build_server

                self._server = build_server(
                    cast("Memory", self.memory),
                    owner=self._owner,
                    clock=self._clock,
                    gate=self.gate,
                    engine=lambda: self.serving(),
                )
            return self._server

    async def hook(self, who: Identity, payload: object) -> dict[str, Any]:
        """What the hook with *payload* answers; {} for anything that is no payload.

        Raises Busy after the hook's deadline; capturing goes on.
        """
        if not isinstance(payload, dict):
            return {}
        return await self.gate.run(
            lambda: self._hooks(who, payload),
            late="the turn is still captured",
            seconds=HOOK_SECONDS,
        )

    async def command(
        self, who: Identity, asked: Mapping[str, Any], talk: Talk
    ) -> dict[str, Any] | None:
        """What the command line in *asked* prints; None when the client must do it itself.

        Raises Busy when there is no place for it.
        """
        return await self.gate.run(
            lambda: self._commands(who, asked, talk, self.serving()),
            late="repeat the command",
            seconds=COMMAND_SECONDS,
        )

    async def call(self, who: Identity, asked: Mapping[str, Any]) -> Any:
        """The result of one operation; see OPERATIONS. Raises what the memory raises."""
        name = asked.get("operation")
        run = OPERATIONS.get(name) if isinstance(name, str) else None
        if run is None:
            raise InvalidInput(f"the engine does not know the operation {name}", "update it")
        given = arguments(run, asked.get("arguments"))
        wished = asked.get("deadline")
        seconds = min(float(wished), MOST_SECONDS) if isinstance(wished, int | float) else 0.0
        return await self.gate.run(
            lambda: run(cast("Memory", self.memory), who, self._clock(), **given),
            late="repeat the call",
            seconds=seconds,
        )
