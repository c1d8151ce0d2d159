"""The HTTP side of a process that serves, in a thread with an event loop of its own."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from memory_core.errors import InvalidInput
from memory_core.records import Identity

if TYPE_CHECKING:
    from memory_core.config import Settings
    from memory_core.memory import Memory
    from server.gate import Gate
    from server.hooks.hooks import Hooks
    from server.page.activity import Activity
    from server.page.logins import Logins
    from server.protocol import structure
    from server.protocol.lazy_memory import LazyMemory


class Site:
    """MCP and hooks over HTTP, over the memory and behind the gate of this process."""

    def __init__(
        self,
        settings: Settings,
        memory: LazyMemory,
        gate: Gate | None,
        hooks: Hooks,
        *,
        engine: structure.Serving,
        activity: Activity,
        with_tokens: bool = True,
        allowed_hosts: Sequence[str] = (),
        compat: bool = False,
    ) -> None:
        """Opens nothing. *allowed_hosts* are further host names under which clients reach it.

        *hooks* answer all clients of this process, so that no conversation is told a thing twice.
        *engine* says for a health report what process this is, *activity* what clients just did.
        *compat* answers the paths of
        earlier memory servers too.
        """
        self._engine = engine
        self._activity = activity
        self._compat = compat
        self._settings = settings
        self._memory = memory
        self._gate = gate
        self._hooks = hooks
        self._with_tokens = with_tokens
        self._allowed_hosts = allowed_hosts
        self._opening = threading.Lock()
        self._closing = contextlib.ExitStack()
        self._url = ""
        self._logins: Logins | None = None

    def on_need(self) -> str:
        """The address of this site, opened on a loopback port unless it is open."""
        try:
            return self.open("127.0.0.1", self._settings.port)
        except InvalidInput:  # another data directory's engine has the port
            return self.open("127.0.0.1", 0)

    def page(self, who: Identity, *, read_only: bool) -> str:
        """An address of the page for *who*, which opens once and within a minute."""
        url = self.on_need()
        assert self._logins is not None  # made when the site was opened
        rights = {"read"} if read_only else who.rights
        return f"{url}/ui/#{self._logins.code(who, rights)}"

    def in_use(self) -> bool:
        """True while a page is open."""
        return self._logins is not None and self._logins.in_use()

    def open(self, host: str, port: int) -> str:
        """The address of this site, opened at *host* and *port* (0: a free one) unless it is open.

        Raises InvalidInput when it cannot be bound, or is not loopback without tokens.
        """
        with self._opening:
            if not self._url:
                self._url = self._opened(host, port)
            return self._url

    def _opened(self, host: str, port: int) -> str:
        from server.hooks import route
        from server.hooks.client import ADDRESS
        from server.http import listener
        from server.http.app import build_app
        from server.http.tokens import Tokens
        from server.page import operations, routes
        from server.page.logins import Logins
        from server.protocol.server import build_server
        from server.rest.mount import rest

        settings, memory = self._settings, cast("Memory", self._memory)
        who = Identity(settings.agent, settings.team)
        tokens = Tokens(settings.data_dir) if self._with_tokens else None
        logins = Logins()
        used = None if tokens is None else operations.UsedTokens(tokens)
        app = build_app(
            build_server(memory, owner=who, gate=self._gate, engine=self._engine),
            tokens=used,
            host=host,
            allowed_hosts=self._allowed_hosts,
            more=[
                route.route(self._hooks, who),
                *rest(memory, who, self._gate, compat=self._compat, engine=self._engine),
                *routes.routes(logins),
                *operations.routes(memory, who, self._gate, self._activity, used),
            ],
            pages=logins,
        )
        if tokens is not None:
            tokens.ensure_first(settings.agent, settings.team)
        socket = listener.bind(host, port)
        named = f"[{host}]" if ":" in host else host
        url = f"http://{named}:{socket.getsockname()[1]}"
        print(f"serving {url}/mcp", file=sys.stderr, flush=True)
        if tokens is not None:
            held = tokens.first_file.exists()
            token = f"token in {tokens.first_file}" if held else "tokens: anamnesis token list"
            print(token, file=sys.stderr, flush=True)
        self._logins = logins
        address = {"url": url, "agent": settings.agent, "team": settings.team}
        self._closing.enter_context(listener.announced(settings.data_dir / ADDRESS, address))
        self._closing.callback(listener.begin(app, socket))
        return url

    def close(self) -> None:
        """Let open requests finish for a moment, then close. Does nothing when it is not open."""
        with self._opening:
            self._closing.close()
