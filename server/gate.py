"""A bound on the calls in flight and a deadline for each; errors a caller may see."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio

from memory_core.errors import Busy, MemoryCoreError, StorageError

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What a face allows its callers; the values are the contract's."""

    calls: int = 32
    """In flight at a time; one more raises Busy."""
    deadline_seconds: float = 20.0
    """Of every call but consolidate."""
    consolidate_seconds: float = 45.0
    """After these a run goes on, and the answer is its id."""


class Gate:
    """Runs at most *calls* pieces of work at a time and waits *seconds* at most for each.

    The work runs in threads, which cannot be stopped: after its deadline a call goes on and keeps
    its place among the calls in flight until it ends.
    """

    def __init__(self, calls: int, seconds: float) -> None:
        """Starts no thread; the first work does."""
        self._calls = calls
        self._seconds = seconds
        self._running = 0
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(max_workers=calls, thread_name_prefix="call")

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Start *work* in a thread, in the caller's context. Raises Busy at *calls* in flight."""
        with self._lock:
            if self._running >= self._calls:
                raise Busy(
                    f"{self._calls} calls are in flight",
                    "nothing was done; repeat the call shortly",
                )
            self._running += 1
        future = self._threads.submit(contextvars.copy_context().run, work)
        future.add_done_callback(self._ended)
        return future

    async def run(self, work: Callable[[], T], *, late: str) -> T:
        """The result of *work*; Busy with the next step *late* is raised after the deadline."""
        future = self.submit(work)
        with anyio.move_on_after(self._seconds):
            return await asyncio.wrap_future(future)
        future.add_done_callback(_log_late)
        raise Busy(f"the call was not finished after {self._seconds:g} s and continues", late)

    def _ended(self, _: Future[Any]) -> None:
        with self._lock:
            self._running -= 1


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
