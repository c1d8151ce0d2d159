"""Starts what serves: an engine of its own process or of a client's, and the server over HTTP."""

from __future__ import annotations

import faulthandler
import gc
import logging
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, cast

from memory_core.errors import MemoryCoreError
from memory_core.interchange import scratch
from server.cli.invocation import Invocation, open_memory, take_over
from server.engine import endpoint, launch, logfile, wanted

if TYPE_CHECKING:
    from memory_core.config import Settings
    from memory_core.memory import Memory
    from memory_core.records import Identity
    from server.engine.own import OwnEngine
    from server.engine.shared import Shared
    from server.engine.talk import Talk
    from server.protocol.lazy_memory import LazyMemory

OPEN_SECONDS = 2.0
"""An engine that nobody has asked anything for so long opens its memory all the same."""
SIGNAL_SECONDS = 0.5
CLOSE_SECONDS = 3.0
"""How long closing the memory may take."""


def serve_stdio(call: Invocation) -> int:
    """Serve MCP over stdin and stdout until stdin ends; ends the process if it can serve."""
    from server.stdio import proxy

    return proxy.serve(_flags(call), own_engine)


def own_engine(flags: Mapping[str, str]) -> OwnEngine:
    """An engine of this process with *flags*. Raises wire.Refused when the settings are wrong."""
    from server.engine.wire import Refused

    call = Invocation(flags)
    try:
        settings = call.settings
    except MemoryCoreError as problem:
        raise Refused(str(problem), 2) from None
    make = _shared_parts(settings, call.who)
    from server.engine.own import OwnEngine

    return OwnEngine(make(), call.who)


def run_launched(words: Sequence[str]) -> int:
    """Be the engine that a client starts, with settings as pairs of --name and value in *words*.

    It tells the client by lines on stdout how far it is.
    """
    if hasattr(os, "fork") and os.fork():
        os._exit(0)  # the engine is nobody's child: whoever started it collects this process
    _tell("starting")
    flags = {
        name[2:].replace("-", "_"): value for name, value in zip(*[iter(words)] * 2, strict=True)
    }
    call = Invocation(flags)
    try:
        settings = call.settings
        key = wanted.find(_flags(call), call.environment).key
        return run_engine(call, settings, lambda: _tell(f"listening {key}", last=True))
    except MemoryCoreError as problem:
        _tell(f"problem 2 {problem}".replace("\n", " "), last=True)
        return 2
    except (OSError, endpoint.Unsafe) as problem:
        _tell(f"unable to listen: {problem}".replace("\n", " "), last=True)
        return 1


def run_engine(
    call: Invocation, settings: Settings, listening: Callable[[], None], *, stay: bool = False
) -> NoReturn:
    """Be the engine for the endpoint of *call* until it is time to leave, then end the process.

    With *stay* it is not time when it has had no client for long.

    Raises OSError or endpoint.Unsafe when it cannot listen.
    """
    faulthandler.enable()
    if logging.getLogger().level > logging.INFO:  # `engine log` says when engines came and went
        logging.getLogger("server.engine.engine").setLevel(logging.INFO)
    engine = _Serving(call, settings)

    def told() -> None:
        logfile.follow(settings.data_dir)
        listening()

    asked = wanted.find(_flags(call), call.environment)
    staying = {"idle_seconds": math.inf} if stay else {}
    engine.run(asked, told, tick=lambda: logfile.follow(settings.data_dir), **staying)
    engine.leave()


class _Serving:
    """What an engine's process serves, loaded when it is first asked for, and its end."""

    def __init__(
        self,
        call: Invocation,
        settings: Settings,
        *,
        with_tokens: bool = True,
        allowed_hosts: Sequence[str] = (),
        compat: bool = False,
    ) -> None:
        settings = settings.model_copy(update={"data_dir": settings.data_dir.absolute()})
        self._make = _shared_parts(
            settings,
            call.who,
            with_tokens=with_tokens,
            allowed_hosts=allowed_hosts,
            compat=compat,
        )
        self._made: Shared | None = None

    def shared(self) -> Shared:
        """What clients share. Loading it takes a second or more."""
        if self._made is None:
            self._made = self._make()
            opening = threading.Timer(OPEN_SECONDS, self._made.answered)
            opening.daemon = True
            opening.start()
        return self._made

    def run(self, asked: wanted.WantedEngine, listening: Callable[[], None], **more: Any) -> bool:
        """Serve as the engine of *asked*; see Engine.run. Raises OSError or endpoint.Unsafe."""
        import asyncio

        from server.engine.engine import Engine

        return asyncio.run(Engine(endpoint.of(asked), self.shared, **more).run(listening))

    def leave(self) -> NoReturn:
        """Close what is open and end the process."""
        if self._made is not None:
            self._made.site.close()
        leave(self._made.memory.close if self._made is not None else lambda: None)


def _flags(call: Invocation) -> dict[str, str]:
    return {name: str(value) for name, value in call.flags.items() if value is not None}


def _tell(line: str, *, last: bool = False) -> None:
    with suppress(OSError):  # the client that started this is gone
        os.write(1, line.encode("utf-8", "replace") + b"\n")
    if last:
        os.dup2(2, 1)


def leave(close: Callable[[], None], status: int = 0) -> NoReturn:
    """Close the memory, for CLOSE_SECONDS at most, and end the process with *status*.

    It ends by os._exit, because a thread that blocks in a read would keep it alive.
    """
    closing = threading.Thread(target=close, name="close", daemon=True)
    closing.start()
    closing.join(CLOSE_SECONDS)
    scratch.remove_all()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


def _shared_parts(
    settings: Settings,
    who: Identity,
    *,
    with_tokens: bool = True,
    allowed_hosts: Sequence[str] = (),
    compat: bool = False,
) -> Callable[[], Shared]:
    """A function that loads and builds what the clients of an engine share."""
    _limit_arenas()
    gc.disable()  # nothing that is imported for the handshake is garbage: a sixth of the time
    memory = _lazy_memory(settings)
    begun: list[bool] = []

    def answered() -> None:
        if not begun:
            begun.append(True)
            gc.freeze()
            gc.enable()
            memory.start()

    def make() -> Shared:
        import time

        from server.cli.site import Site
        from server.engine.shared import Shared
        from server.gate import CallLimits, Gate
        from server.hooks.hooks import Hooks, silently
        from server.page.activity import Activity, WatchedMemory

        activity = Activity()
        watched = cast("LazyMemory", WatchedMemory(memory, activity))

        def command(
            who: Identity, asked: Mapping[str, Any], talk: Talk, engine: Mapping[str, Any]
        ) -> dict[str, Any] | None:
            from server.cli import in_engine

            there = in_engine.ClientPlace(cast("Memory", watched), asked, talk, engine)
            return in_engine.answer(there, settings, who, asked["words"])

        hooks = Hooks(cast("Memory", watched), time.time)
        gate = Gate(CallLimits().calls, CallLimits().deadline_seconds)
        site = Site(
            settings,
            watched,
            gate,
            hooks,
            engine=lambda: shared.serving(),
            activity=activity,
            with_tokens=with_tokens,
            allowed_hosts=allowed_hosts,
            compat=compat,
        )
        shared = Shared(
            watched,
            lambda who, payload: silently(lambda: hooks.answer(who, payload)),
            command,
            site,
            gate=gate,
            owner=who,
            answered=answered,
        )
        return shared

    return make


def serve_http(
    call: Invocation, *, with_tokens: bool, allowed_hosts: Sequence[str], compat: bool = False
) -> NoReturn:
    """Serve MCP and hooks over HTTP until a signal ends the process.

    It is the engine of clients over stdio too, unless there is one already. *allowed_hosts* are
    further host names under which clients reach this server; *compat* answers the paths of earlier
    memory servers too. Raises InvalidInput when the address cannot be bound, or is not loopback
    without tokens.
    """
    settings = call.settings
    asked = wanted.find(_flags(call), call.environment)
    engine = _Serving(
        call, settings, with_tokens=with_tokens, allowed_hosts=allowed_hosts, compat=compat
    )
    ended = on_signal()
    engine.shared().site.open(settings.host, settings.port)
    engine.shared().answered()
    listening = None if launch.unshared(asked) else launch.alone(asked)
    if listening is not None:
        with suppress(OSError, endpoint.Unsafe):
            engine.run(asked, listening, idle_seconds=math.inf, told=ended)
        listening()  # no engine, or no more: it still serves HTTP
    until(ended)
    engine.leave()


def serve_page(call: Invocation, show: Callable[[str], None], *, read_only: bool) -> NoReturn:
    """Serve the page from this process until a signal ends it; *show* gets its address."""
    engine = _Serving(call, call.settings)
    shared = engine.shared()
    shared.answered()
    show(shared.site.page(call.who, read_only=read_only))
    until_signal()
    engine.leave()


def until_signal() -> None:
    """Wait for SIGTERM, SIGINT or SIGHUP."""
    until(on_signal())


def until(ended: threading.Event) -> None:
    """Wait for *ended*, which a signal sets."""
    while not ended.wait(SIGNAL_SECONDS):
        pass  # Windows delivers no signal to a thread that waits for ever


def on_signal() -> threading.Event:
    """What SIGTERM, SIGINT or SIGHUP sets."""
    ended = threading.Event()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: ended.set())
    return ended


def _limit_arenas() -> None:
    from memory_core.storage import process_memory

    process_memory.limit_arenas()


def _lazy_memory(settings: Settings) -> LazyMemory:
    from server.gate import CallLimits
    from server.protocol.lazy_memory import LazyMemory

    def opened() -> Memory:
        memory = open_memory(settings)
        take_over(memory, settings)
        return memory

    return LazyMemory(opened, CallLimits().deadline_seconds)
