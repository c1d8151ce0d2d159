"""Two prompts for the user: a briefing on stored memories, and a review of what to keep.

Each is one message in the user's role. Recalled text is in a fenced block that is marked as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.types import INVALID_PARAMS, GetPromptResult, InputRequiredResult
from pydantic import AnyUrl, Field

from memory_core.errors import InvalidInput
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, MemoryRecord, Recollection
from server.gate import Gate
from server.identity import caller
from server.protocol import rendering, structure
from server.protocol.arguments import check, shown
from server.protocol.guard import or_protocol_error
from server.protocol.icon import ICONS

if TYPE_CHECKING:
    from memory_core.memory import Memory

HITS = 12
TOKENS = 1_800
_LATE = "ask for the prompt again in a few seconds"


class Server(MCPServer[Any]):
    """The SDK's server with errors that explain an unknown prompt or argument.

    The SDK answers both with an internal error that has no reason.
    """

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """What *uri* holds. Raises ResourceNotFoundError, which shows no hidden character."""
        try:
            return await super().read_resource(uri, context)
        except ResourceNotFoundError as problem:
            raise ResourceNotFoundError(rendering.visible(str(problem))) from None

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """The messages of the prompt *name*. Raises MCPError -32602 for unknown names."""
        known = {prompt.name: prompt.arguments or [] for prompt in await self.list_prompts()}
        try:
            if name not in known:
                raise InvalidInput(f"there is no prompt {shown(name)}", f"use {', '.join(known)}")
            properties: dict[str, Any] = {argument.name: {} for argument in known[name]}
            check({"properties": properties}, arguments or {})
        except InvalidInput as problem:
            raise MCPError(code=INVALID_PARAMS, message=rendering.visible(str(problem))) from None
        return await super().get_prompt(name, arguments, context)


def _tagged(memory: MemoryRecord, tag: str) -> bool:
    """True when *memory* has this *tag*; case does not matter, as to recall."""
    return tag.casefold() in map(str.casefold, memory.tags)


def add_prompts(
    server: MCPServer[Any],
    memory: Memory,
    owner: Identity,
    gate: Gate,
    clock: Callable[[], float],
) -> None:
    """Register briefing and reflect."""

    async def remembered(about: str, tag: str, session: str) -> str:
        def work(who: Identity) -> Recollection:
            if about.strip():
                tags = (tag,) if tag else ()
                return memory.recall(who, RecallRequest(about, k=HITS, tags=tags, session=session))
            newest = memory.listing(who, limit=HITS * 4 if tag else HITS, session=session)
            fitting = [each for each in newest if not tag or _tagged(each, tag)][:HITS]
            doubted = memory.doubted(who, [record.id for record in fitting])
            return structure.unranked(fitting, doubted)

        async def answered() -> Recollection:
            who = caller(owner, "read")
            return await gate.run(lambda: work(who), late=_LATE)

        found = await or_protocol_error(answered(), "a prompt")
        return rendering.recall(structure.recollection(found, clock(), TOKENS))

    @server.prompt(
        title="Briefing",
        description="What is stored about a topic, a tag or a conversation.",
        icons=ICONS,
    )
    async def briefing(
        about: Annotated[str, Field(description="topic or question; empty: the newest")] = "",
        tag: Annotated[str, Field(description="only memories with this tag")] = "",
        session: Annotated[str, Field(description="a conversation")] = "",
    ) -> list[Message]:
        task = (
            "Brief me from the memories below: what matters now, what changed, what is open, and "
            "where memories disagree. Name the date of each point. Say so if they are not enough."
        )
        return [UserMessage(f"{task}\n\n{await remembered(about, tag, session)}")]

    @server.prompt(
        title="Reflect",
        description="Review recent memories and decide what to store for good.",
        icons=ICONS,
    )
    async def reflect(
        session: Annotated[str, Field(description="a conversation; empty: the newest")] = "",
    ) -> list[Message]:
        task = (
            "Review the memories below. Name lasting facts, preferences and decisions that no "
            "memory states plainly yet, and pairs that contradict each other. After I agree, store "
            "the first with remember, correct the second with replaces, then call consolidate."
        )
        return [UserMessage(f"{task}\n\n{await remembered('', '', session)}")]
