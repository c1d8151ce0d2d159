"""Every failure of a tool, a prompt or a completion as an answer with a code and a next step."""

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
from server.gate import T, as_known_error
from server.protocol.arguments import check, explain
from server.protocol.rendering import visible

_MAX_ERROR_CHARS = 2_000


class GuardedTool(Tool):
    """A tool that checks its arguments and answers every failure with a code and the next step.

    Its output schema is built when the tools are first listed, so it does not delay the handshake.
    """

    _published: Callable[[], dict[str, Any]] | None = PrivateAttr(default=None)

    def publish(self, schema: Callable[[], dict[str, Any]]) -> None:
        """Build the output schema with *schema* when it is first needed."""
        self._published = schema

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema of the structured answer."""
        return self._published() if self._published else None

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """The tool's result for *arguments*, or an error result for what it raises."""
        try:
            check(self.parameters, arguments)
            return await super().run(arguments, context, convert_result=convert_result)
        except MemoryCoreError as problem:
            return failed(problem)
        except ToolError as problem:
            cause = problem.__cause__
            if isinstance(cause, ValidationError) and not isinstance(problem, UnexpectedToolError):
                return failed(explain(self.parameters, cause))
            return failed(as_known_error(cause or problem, self.name))


async def or_protocol_error(answer: Awaitable[T], call: str) -> T:
    """The result of *answer*. Raises MCPError for a failure; its message begins with the code.

    For prompts, completions and subscriptions, whose results cannot carry an error.
    """
    try:
        return await answer
    except (InvalidInput, NotFound) as problem:
        raise MCPError(code=INVALID_PARAMS, message=visible(str(problem))) from None
    except Exception as problem:  # a call ends here
        told = visible(str(as_known_error(problem, call)))
        raise MCPError(code=INTERNAL_ERROR, message=told) from None


def failed(problem: MemoryCoreError) -> CallToolResult:
    """The error result with the text of *problem*, at most 2,000 characters."""
    text = visible(str(problem))[:_MAX_ERROR_CHARS]
    return CallToolResult(is_error=True, content=[TextContent(text=text)])
