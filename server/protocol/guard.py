"""What stands around every call: a bound on calls in flight, a deadline, and an answer in any case.

The engine is synchronous, so its work runs in threads, and a thread cannot be stopped: after the
deadline the caller gets an answer that says what to do next while the work goes on, and it keeps
its place among the calls in flight until it has ended.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

import anyio
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from pydantic import PrivateAttr, ValidationError

from memory_core.errors import Busy, InvalidInput, MemoryCoreError, NotFound, StorageError
from server.protocol import arguments as checks

T = TypeVar("T")

log = logging.getLogger(__name__)

_MAX_ERROR_CHARS = 2_000


class Gate:
    """At most *calls* pieces of work at a time; each is waited for *seconds* at most."""

    def __init__(self, calls: int, seconds: float) -> None:
        """Nothing runs yet; threads start with the first work."""
        self._calls = calls
        self._seconds = seconds
        self._running = 0
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(max_workers=calls, thread_name_prefix="call")

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Start *work* in a thread, in the caller's context. Raises Busy when no place is free."""
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
        """What *work* returns or raises; after the deadline Busy whose next step is *late*."""
        future = self.submit(work)
        with anyio.move_on_after(self._seconds):
            return await asyncio.wrap_future(future)
        future.add_done_callback(_log_late)
        raise Busy(f"the call was not finished after {self._seconds:g} s and goes on", late)

    def _ended(self, _: Future[Any]) -> None:
        with self._lock:
            self._running -= 1


class GuardedTool(Tool):
    """A tool whose every failure is an answer that begins with a code and says the next step.

    Its output schema is made when the list of tools is first asked for, not before the handshake.
    """

    _published: Callable[[], dict[str, Any]] | None = PrivateAttr(default=None)

    def publish(self, schema: Callable[[], dict[str, Any]]) -> None:
        """Let *schema* make the output schema."""
        self._published = schema

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The schema of the structured answer."""
        return self._published() if self._published else None

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Check *arguments*, run the tool, and turn what it raises into an error result."""
        try:
            checks.check(self.parameters, arguments)
            return await super().run(arguments, context, convert_result=convert_result)
        except MemoryCoreError as problem:
            return failed(problem)
        except ToolError as problem:
            cause = problem.__cause__
            if isinstance(cause, ValidationError) and not isinstance(problem, UnexpectedToolError):
                return failed(checks.explain(self.parameters, cause))
            return failed(as_expected(cause or problem, self.name))


async def or_protocol_error(answer: Awaitable[T], call: str) -> T:
    """What *answer* gives; a failure is a protocol error whose message begins with its code.

    For prompts and completions, which have no result that could carry an error.
    """
    try:
        return await answer
    except (InvalidInput, NotFound) as problem:
        raise MCPError(code=INVALID_PARAMS, message=str(problem)) from None
    except Exception as problem:  # a call ends here
        raise MCPError(code=INTERNAL_ERROR, message=str(as_expected(problem, call))) from None


def failed(problem: MemoryCoreError) -> CallToolResult:
    """The error result whose text is *problem*'s."""
    text = str(problem)[:_MAX_ERROR_CHARS]
    return CallToolResult(is_error=True, content=[TextContent(text=text)])


def as_expected(problem: BaseException, call: str) -> MemoryCoreError:
    """*problem* if it was raised on purpose; else a StorageError without its text, which is logged.

    The log gets the type and the places in the code, not the message: that may quote a memory.
    """
    if isinstance(problem, MemoryCoreError):
        return problem
    places = "".join(traceback.format_tb(problem.__traceback__))
    log.error("%s failed with %s at\n%s", call, type(problem).__name__, places)
    return StorageError(
        f"internal error ({type(problem).__name__})", "see the server's log, then call health"
    )


def _log_late(future: Future[Any]) -> None:
    if not future.cancelled() and (problem := future.exception()) is not None:
        as_expected(problem, "a call after its deadline")
