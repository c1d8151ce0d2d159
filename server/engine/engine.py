"""The engine process: accepts clients, serves each over one shared memory, and knows when to leave.

It leaves ten minutes after its last client, when its name was removed or taken over, at SIGTERM and
when it is told to; calls that are open are finished first. Every acknowledged write is already
durable, so nothing waits for an orderly end.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory_core import config
from memory_core.errors import InvalidInput
from memory_core.records import Identity
from server import __version__
from server.engine import usage, wire
from server.engine.endpoint import Endpoint
from server.engine.talk import Talk

if TYPE_CHECKING:
    from server.engine.connection import ClientConnection
    from server.engine.shared import Shared

log = logging.getLogger(__name__)

IDLE_SECONDS = 600.0
"""After its last client an engine stays for so long."""
TICK_SECONDS = 1.0
"""Between two looks at its name, its clients and its log."""
FINISH_SECONDS = 20.0
"""How long open calls may go on once it leaves; a call's own deadline is as long."""
PREAMBLE_SECONDS = 5.0
SWITCH_SECONDS = 0.0005
"""For which a thread keeps the interpreter that another one waits for. A call waits so at each lock
and each native function beside a client's consolidation: by Python's own 5 ms it takes twice as
long."""
CONNECTIONS = 256
_ALWAYS = ("status", "stop")
"""Connections that are taken beyond: who is refused a place must find out why."""


class Engine:
    """One engine, for the endpoint where it listens."""

    def __init__(
        self,
        place: Endpoint,
        make: Callable[[], Shared],
        *,
        clock: Callable[[], float] = time.monotonic,
        idle_seconds: float = IDLE_SECONDS,
        tick: Callable[[], None] = lambda: None,
        told: threading.Event | None = None,
    ) -> None:
        """*make* loads what all clients share, in a thread; *tick* is called every second.

        *told* is set once a signal or a client told the engine to leave, be it too late for that.
        """
        self._place = place
        self._make = make
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._tick = tick
        self._told = told or threading.Event()
        self._begun = self._quiet_since = clock()
        self._clients: dict[object, dict[str, Any]] = {}
        self._connections: set[ClientConnection] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, listening: Callable[[], None]) -> bool:
        """Serve until it is time to leave; *listening* is called once clients can connect.

        True when a signal or a client said so, False when nobody needs or finds this engine. Raises
        OSError or endpoint.Unsafe when the endpoint cannot be used.
        """
        self._leaving = asyncio.Event()
        sys.setswitchinterval(SWITCH_SECONDS)
        loop = asyncio.get_running_loop()
        _on_signals(self._told, lambda: loop.call_soon_threadsafe(self._leaving.set))
        if self._told.is_set():
            self._leaving.set()
        listener = self._place.listen()
        accepting = await asyncio.start_server(
            self._accept, sock=listener, limit=2 * wire.MAX_LINE, start_serving=False
        )
        await accepting.start_serving()
        listening()
        log.info("the engine begins: version %s, process %d", __version__, os.getpid())
        self._shared = asyncio.ensure_future(asyncio.to_thread(self._make))
        self._shared.add_done_callback(self._loaded)
        while not self._leaving.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), TICK_SECONDS)
            self.look()
        if self._told.is_set():
            log.info("the engine leaves: a signal or a command told it to")
        self._place.leave()
        accepting.close()
        await self._finish()
        return self._told.is_set()

    def _told_to_leave(self) -> None:
        self._told.set()
        self._leaving.set()

    def look(self) -> None:
        """Leave when nobody needs this engine, or nobody finds it."""
        self._tick()
        if not self._place.ours():
            log.info("the engine leaves: its name is gone, or another's")
            self._leaving.set()
        elif self._clients or self._page_is_open():
            self._quiet_since = self._clock()
        elif self._clock() - self._quiet_since >= self._idle_seconds:
            log.info("the engine leaves: it had no client for %g s", self._idle_seconds)
            self._leaving.set()

    def _page_is_open(self) -> bool:
        if not self._shared.done() or self._shared.cancelled() or self._shared.exception():
            return False
        return self._shared.result().site.in_use()

    def _loaded(self, loading: asyncio.Future[Shared]) -> None:
        if loading.cancelled():
            return
        if loading.exception() is not None:
            log.error("the engine cannot serve", exc_info=loading.exception())
            self._leaving.set()
        else:
            loading.result().serving = self.serving

    async def _finish(self) -> None:
        """End every connection when its open calls are answered; new ones are not accepted."""
        ending = [asyncio.ensure_future(each.finish()) for each in list(self._connections)]
        waiting = [*ending, *self._tasks]
        if waiting:
            done, late = await asyncio.wait(waiting, timeout=FINISH_SECONDS)
            del done
            for task in late:
                task.cancel()

    # Clients

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        me = object()
        try:
            preamble = await self._preamble(reader, writer)
            if preamble is not None:
                if preamble["kind"] != "status":  # to ask keeps no engine alive
                    self._clients[me] = _described(preamble, self._clock())
                await self._serve(preamble, reader, writer)
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pass  # the client is gone, or is none
        except Exception as problem:  # a connection ends here, the others go on
            log.error("a connection failed with %s", type(problem).__name__, exc_info=problem)
        finally:
            self._tasks.discard(task)
            if self._clients.pop(me, None) is not None:
                self._quiet_since = self._clock()
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _preamble(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> dict[str, Any] | None:
        """The client's preamble, answered; None when it is refused."""
        async with asyncio.timeout(PREAMBLE_SECONDS):
            problem = await self._place.admit(reader, writer)
            preamble = {} if problem else json.loads(await reader.readline())
        exit = 1
        kind = preamble.get("kind") if isinstance(preamble, dict) else None
        if not problem and kind not in wire.KINDS:
            problem = "the engine does not know this kind of connection"
        if not problem and len(self._clients) >= CONNECTIONS and kind not in _ALWAYS:
            problem = f"busy: the engine has {CONNECTIONS} clients; close one"
        if not problem and self._leaving.is_set() and kind != "status":
            return None  # no answer: the client finds or starts another
        if not problem:
            try:
                config.load({}, {name: preamble.get(name) for name in ("agent", "team")})
            except InvalidInput as wrong:
                problem, exit = str(wrong), 2
        answer = {"ok": True, "version": __version__, "pid": os.getpid()}
        writer.write(wire.encode({"problem": problem, "exit": exit} if problem else answer))
        await writer.drain()
        return None if problem else preamble

    async def _serve(
        self,
        preamble: Mapping[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        kind = preamble["kind"]
        if kind == "status":
            writer.write(wire.encode(self.status()))
            return
        if kind == "stop":
            self._told_to_leave()
            task = asyncio.current_task()
            assert task is not None
            self._tasks.discard(task)  # nobody waits for one that waits
            if others := set(self._tasks):
                await asyncio.wait(others, timeout=FINISH_SECONDS)
            return
        shared = await asyncio.shield(self._shared)
        who = Identity(preamble.get("agent") or "me", preamble.get("team") or "")
        if kind == "mcp":
            server = await asyncio.to_thread(shared.server)
            if self._leaving.is_set():
                return  # the client finds or starts another
            from server.engine.connection import ClientConnection

            connection = ClientConnection(reader, writer, server, who, shared.answered)
            self._connections.add(connection)
            try:
                await connection.serve()
            finally:
                self._connections.discard(connection)
            return
        from server import gate

        gate.source.set((who.agent, str(id(writer))))
        answer: dict[str, Any] | None
        if kind == "command":
            answer = await Talk(reader, writer).run(
                lambda talk: _answer(shared.command(who, preamble, talk), "a command")
            )
        else:
            name = str(preamble.get("operation", f"a {kind}"))
            answer = await _answer(_asked(shared, who, preamble), name)
        if answer is not None:
            writer.write(wire.encode(answer))
            await writer.drain()

    def serving(self) -> dict[str, Any]:
        """What every client may know of this engine: no other client's name."""
        told = self.status()
        shown = {name: told[name] for name in ("version", "pid", "seconds", "memory")}
        return {"shared": True, **shown, "clients": len(told["clients"])}

    def status(self) -> dict[str, Any]:
        """What this engine is, as JSON: version, process, age in seconds, bytes, its clients."""
        now = self._clock()
        clients: list[dict[str, Any]] = [
            {**about, "seconds": round(now - about["seconds"], 1)}
            for about in self._clients.values()
        ]
        return {
            "version": __version__,
            "python": platform.python_version(),
            "pid": os.getpid(),
            "socket": self._place.path,
            "seconds": round(now - self._begun, 1),
            "memory": usage.of_this_process(),
            "clients": clients,
        }


def _asked(shared: Shared, who: Identity, asked: Mapping[str, Any]) -> Coroutine[Any, Any, Any]:
    """The work that a hook or a call asks for."""
    if asked["kind"] == "hook":
        return shared.hook(who, asked.get("payload"))
    if asked["kind"] == "http":
        return asyncio.to_thread(shared.site.on_need)
    if asked["kind"] == "page":
        read_only = asked.get("read_only") is not False
        return asyncio.to_thread(lambda: shared.site.page(who, read_only=read_only))
    return shared.call(who, asked)


async def _answer(work: Coroutine[Any, Any, Any], name: str) -> dict[str, Any]:
    """The answer that *work* comes to, or the error that it ended with, which names *name*."""
    try:
        return {"answer": await work}
    except Exception as failed:  # a call ends here
        from server.gate import as_known_error

        problem = as_known_error(failed, name)
        return {"error": problem.code, "problem": problem.problem, "next": problem.next_step}


def _described(preamble: Mapping[str, Any], now: float) -> dict[str, Any]:
    client = preamble.get("client")
    pid = client.get("pid") if isinstance(client, dict) else None
    return {
        "kind": preamble["kind"],
        "agent": preamble.get("agent") or "me",
        "team": preamble.get("team") or "",
        "pid": pid if isinstance(pid, int) else 0,
        "seconds": now,
    }


def _on_signals(told: threading.Event, wake: Callable[[], object]) -> None:
    """Set *told* at SIGTERM, SIGINT and SIGHUP from now on, and call *wake*.

    The event loop's own handlers would lose a signal that arrives while the loop closes.
    """

    def end(*_: object) -> None:
        told.set()
        with suppress(RuntimeError):  # the event loop is closed
            wake()

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            with suppress(ValueError):  # not the main thread, as in a test
                signal.signal(getattr(signal, name), end)
