"""A bound on the calls in flight, a queue and a deadline; errors a caller may see."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio

from memory_core.errors import Busy, MemoryCoreError, StorageError, abandoned

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What a face allows its callers; the values are the contract's."""

    calls: int = 32
    """In flight at a time; more wait their turn."""
    deadline_seconds: float = 20.0
    """Of every call but consolidate."""
    consolidate_seconds: float = 45.0
    """After these a run goes on, and the answer is its id."""


Source = tuple[str, str]
"""Where a call comes from: an agent, and one of its clients."""

source: ContextVar[Source] = ContextVar("source", default=("", ""))
"""Where the current call comes from; set by whoever accepts connections."""

WAITING = 256
"""Calls that wait for a place; beyond, the last of whoever waits for most is refused."""
WAIT_SECONDS = 10.0
"""Longest wait for a place; a call's deadline may be shorter."""
EACH = 4
"""Calls of one client that run at a time, so that its number does not slow down the others."""
AGENT = 8
"""Calls of one agent that run at a time, whatever the number of its clients."""
BESIDE = 1
"""And while another client calls: calls share one interpreter, so two would take twice its time."""
BESIDE_AGENT = 4
"""Calls of one agent that run at a time while another agent calls."""
BRIEF_SECONDS = 0.5
"""A call that has run for longer is not counted there: it mostly waits, as for a disk or a lock."""
NEAR_SECONDS = 2.0
"""A client calls, in this sense, until so long after its last call."""


class _Call:
    """A call from its arrival on: it waits, runs, or has ended without being done."""

    def __init__(self, work: Callable[[], Any], flag: threading.Event | None) -> None:
        self.source = source.get()
        context = contextvars.copy_context()
        context.run(abandoned.set, flag)
        self.work: Callable[[], Any] = lambda: context.run(work)
        self.future: Future[Any] = Future()
        self.started = 0.0


class Gate:
    """Runs at most *calls* pieces of work at a time and waits *seconds* at most for each.

    Work that finds no place waits its turn: agents in turn, and the clients of an agent in turn.
    The work runs in threads, which cannot be stopped from outside: after its deadline a call is
    told that nobody waits (errors.abandoned), and keeps its place among the calls in flight until
    it looks there, or ends.
    """

    def __init__(
        self, calls: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Starts no thread; the first work does."""
        self._calls = calls
        self._seconds = seconds
        self._clock = clock
        self._running: list[_Call] = []
        self._heard: OrderedDict[Source, float] = OrderedDict()
        """When each client called last, the latest at the end."""
        self._queue = _Turns()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(max_workers=calls, thread_name_prefix="call")

    def submit(
        self,
        work: Callable[[], T],
        seconds: float = WAIT_SECONDS,
        flag: threading.Event | None = None,
    ) -> Future[T]:
        """Run *work* in a thread, in the caller's context, as soon as there is a place.

        The result is Busy when there is none within *seconds*, or too many calls wait; then nothing
        was done. *flag* is set when nobody waits for it any more. Call it in an event loop.
        """
        call = _Call(work, flag)
        with self._lock:
            self._hear(call.source)
            if self._has_place(call.source):
                self._start(call)
                return call.future
            refused = self._queue.put(call)
        if refused is not None:
            self._refuse(refused)
        if refused is not call:
            loop = asyncio.get_running_loop()
            loop.call_later(BRIEF_SECONDS, self._fill)  # what runs now may not count any more
            expiry = loop.call_later(min(seconds, WAIT_SECONDS), self._expire, call)
            call.future.add_done_callback(lambda _: self._withdraw(call, loop, expiry))
        return call.future

    async def run(self, work: Callable[[], T], *, late: str, seconds: float = 0.0) -> T:
        """The result of *work*; Busy with the next step *late* is raised after the deadline.

        That is *seconds*, or the gate's own. Busy says so when nothing was done.
        """
        seconds = seconds or self._seconds
        flag = threading.Event()
        future = self.submit(work, seconds, flag)
        try:
            with anyio.move_on_after(seconds):
                return await asyncio.wrap_future(future)
        finally:  # the deadline passed, or the client took the call back
            if not future.done():
                flag.set()
        if future.cancel():
            raise self._busy()
        if future.done():  # at the last moment, or refused
            return future.result()
        future.add_done_callback(_log_late)
        raise Busy(f"the call was not finished after {seconds:g} s and continues", late)

    def _hear(self, source: Source) -> None:
        """Keep in mind that *source* calls now, and forget who has not for long."""
        now = self._clock()
        self._heard[source] = now
        self._heard.move_to_end(source)
        while next(iter(self._heard.values())) < now - NEAR_SECONDS:
            self._heard.popitem(last=False)

    def _has_place(self, source: Source) -> bool:
        if len(self._running) >= self._calls:
            return False
        now, mine = self._clock(), [call for call in self._running if call.source == source]
        late = now - NEAR_SECONDS
        near = [other for other, at in self._heard.items() if at >= late and other != source]
        most = BESIDE_AGENT if any(agent != source[0] for agent, _ in near) else AGENT
        if sum(call.source[0] == source[0] for call in self._running) >= most:
            return False
        if not near:
            return len(mine) < EACH
        brief = sum(call.started > now - BRIEF_SECONDS for call in mine)
        return brief < BESIDE and len(mine) < EACH

    def _start(self, call: _Call) -> None:
        call.started = self._clock()
        self._running.append(call)
        self._threads.submit(self._do, call)

    def _do(self, call: _Call) -> None:
        """Do the work of *call*, if it still waits; its place is free before it is answered."""
        if not call.future.set_running_or_notify_cancel():
            self._ended(call)
            return
        try:
            result = call.work()
        except BaseException as problem:  # the caller raises it
            self._ended(call)
            call.future.set_exception(problem)
        else:
            self._ended(call)
            call.future.set_result(result)

    def _ended(self, call: _Call) -> None:
        with self._lock:
            self._running.remove(call)
        self._fill()

    def _fill(self) -> None:
        """Start what waits and has a place now."""
        with self._lock:
            while len(self._running) < self._calls:
                call = self._queue.take(self._has_place)
                if call is None:
                    return
                self._start(call)

    def _expire(self, call: _Call) -> None:
        """Refuse *call* when it still waits."""
        with self._lock:
            waited = self._queue.remove(call)
        if waited:
            self._refuse(call)

    def _refuse(self, call: _Call) -> None:
        """Answer a call that waits no longer, unless its client took it back."""
        if call.future.set_running_or_notify_cancel():
            call.future.set_exception(self._busy())

    def _withdraw(
        self, call: _Call, loop: asyncio.AbstractEventLoop, expiry: asyncio.TimerHandle
    ) -> None:
        """Forget a call that has ended, one way or another."""
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(expiry.cancel)
        if call.future.cancelled():
            with self._lock:
                self._queue.remove(call)

    def _busy(self) -> Busy:
        running = len(self._running)
        return Busy(f"{running} calls are in flight", "nothing was done; repeat the call shortly")


class _Turns:
    """Calls that wait, by agent and by client, each in turn. Not safe among threads."""

    def __init__(self) -> None:
        self._agents: OrderedDict[str, OrderedDict[str, deque[_Call]]] = OrderedDict()
        self._count = 0

    def put(self, call: _Call) -> _Call | None:
        """Let *call* wait. When too many do, the one that is refused for it; that may be *call*.

        That is the last of whoever waits for most.
        """
        refused = None
        if self._count >= WAITING:
            agent, client = call.source
            mine = self._agents.get(agent, OrderedDict())
            greedy = max(self._agents, key=self._waiting)
            if greedy != agent and self._waiting(greedy) <= self._waiting(agent) + 1:
                return call
            clients = self._agents[greedy]
            greediest = max(clients, key=lambda name: len(clients[name]))
            if greedy == agent and len(clients[greediest]) <= len(mine.get(client, ())) + 1:
                return call
            refused = clients[greediest][-1]
            self.remove(refused)
        agent, client = call.source
        self._agents.setdefault(agent, OrderedDict()).setdefault(client, deque()).append(call)
        self._count += 1
        return refused

    def take(self, allowed: Callable[[Source], bool]) -> _Call | None:
        """The next call whose source is *allowed*; None when there is none."""
        for agent, clients in self._agents.items():
            for client, calls in clients.items():
                if allowed((agent, client)):
                    call = calls[0]
                    self.remove(call)
                    for turns, name in ((clients, client), (self._agents, agent)):
                        if name in turns:
                            turns.move_to_end(name)
                    return call
        return None

    def remove(self, call: _Call) -> bool:
        """Let *call* wait no longer; False when it does not."""
        agent, client = call.source
        clients = self._agents.get(agent, OrderedDict())
        calls = clients.get(client, deque())
        if call not in calls:
            return False
        calls.remove(call)
        self._count -= 1
        if not calls:
            del clients[client]
        if not clients:
            del self._agents[agent]
        return True

    def _waiting(self, agent: str) -> int:
        return sum(map(len, self._agents.get(agent, {}).values()))


def _log_late(future: Future[Any]) -> None:
    if not future.cancelled() and (problem := future.exception()) is not None:
        as_known_error(problem, "a call after its deadline")


def as_known_error(problem: BaseException, call: str) -> MemoryCoreError:
    """*problem* when it is a MemoryCoreError; else a StorageError that names only its type.

    The log gets the type and the stack, not the message, which may quote a memory.
    """
    if isinstance(problem, MemoryCoreError):
        return problem
    places = "".join(traceback.format_tb(problem.__traceback__))
    log.error("%s failed with %s at\n%s", call, type(problem).__name__, places)
    return StorageError(
        f"internal error ({type(problem).__name__})", "read the server's log, then call health"
    )
