"""What stands around every call: a bound on calls in flight, a deadline, and an answer in any case.

The memory is synchronous, so its work runs in threads, and a thread cannot be stopped: after the
deadline the caller gets an answer that says what to do next while the work goes on, and it keeps
its place among the calls in flight until it has ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from pydantic import PrivateAttr, ValidationError

from memory_core.errors import InvalidInput, MemoryCoreError, NotFound
from server.gate import T, as_expected
from server.protocol.arguments import check, explain

_MAX_ERROR_CHARS = 2_000


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
            check(self.parameters, arguments)
            return await super().run(arguments, context, convert_result=convert_result)
        except MemoryCoreError as problem:
            return failed(problem)
        except ToolError as problem:
            cause = problem.__cause__
            if isinstance(cause, ValidationError) and not isinstance(problem, UnexpectedToolError):
                return failed(explain(self.parameters, cause))
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
