"""A session of the OpenAI Agents SDK that keeps what is said as memories, too."""

from __future__ import annotations

import functools
import logging
from typing import Any

import anyio.to_thread
from agents import FunctionTool, TResponseInputItem, function_tool
from agents.memory import Session, SessionSettings

from anamnesis.adapters import told
from anamnesis.memory import Memory

log = logging.getLogger(__name__)


class RememberingSession:
    """A session around another one: `Runner.run(..., session=RememberingSession(inner, memory))`.

    The history is that of *inner*, unchanged. What the user and the agent say is also observed, as
    turns of the conversation `inner.session_id`; calls of tools are not. A failure of the memory is
    logged and fails no run. `pop_item` and `clear_session` change the history alone.
    """

    def __init__(self, inner: Session, memory: Memory) -> None:
        """Keep what is added to *inner* in *memory*, too; of an AsyncMemory its `blocking`."""
        self._inner = inner
        self._memory = memory

    @property
    def session_id(self) -> str:
        """The name of the conversation."""
        return self._inner.session_id

    @property
    def session_settings(self) -> SessionSettings | None:
        """Those of the session inside."""
        return self._inner.session_settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The history, oldest first, or its last *limit* items."""
        return await self._inner.get_items(limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add *items* to the history, and observe what was said in them."""
        await self._inner.add_items(items)
        for item in items:
            role, text = _said(item)
            if text.strip():
                observe = functools.partial(
                    self._memory.observe, text, role=role, session=self.session_id
                )
                try:
                    await anyio.to_thread.run_sync(observe)
                except Exception as problem:  # the history is kept without
                    log.warning("a turn was not remembered: %s", type(problem).__name__)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item off the history."""
        return await self._inner.pop_item()

    async def clear_session(self) -> None:
        """Empty the history."""
        await self._inner.clear_session()


def recall_tool(memory: Memory, *, tokens: int = 1_000) -> FunctionTool:
    """A tool that recalls from *memory*: `Agent(..., tools=[recall_tool(memory)])`.

    *tokens* is about the most that it returns. It returns the words of an error.
    """

    async def recall(query: str, k: int = 5) -> str:
        """Find what was said and remembered before, by meaning, words, names and dates.

        Args:
            query: A question or keywords.
            k: How many memories at most, 1 to 50.
        """
        work = functools.partial(
            told.done, lambda: told.recollection(memory.recall(query, k=k), tokens)
        )
        return await anyio.to_thread.run_sync(work)

    return function_tool(recall)


def _said(item: Any) -> tuple[str, str]:
    """The role and the text of a message of the user or the agent; "" for other items."""
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant"):
        return "", ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.get("type") in ("text", "input_text", "output_text")
    ]
    return role, "\n".join(texts)
