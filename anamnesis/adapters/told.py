"""What a model is told of a recall, and of an error: the words that the MCP tools use."""

from __future__ import annotations

import time
from collections.abc import Callable

from memory_core.errors import MemoryCoreError
from memory_core.records import Recollection
from server.protocol import rendering, structure


def recollection(found: Recollection, tokens: int) -> str:
    """*found* as a fenced block of about *tokens* tokens at most, with the ids."""
    return rendering.recall(structure.recollection(found, time.time(), tokens))


def done(work: Callable[[], str]) -> str:
    """What *work* returns, or the words of the MemoryCoreError that it raises."""
    try:
        return work()
    except MemoryCoreError as problem:
        return str(problem)
