"""Recalls for somebody who would rather wait a moment than hear that words alone find nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_core.memory import Memory
    from memory_core.recall.request import RecallRequest
    from memory_core.records import Identity, Recollection

MODEL_SECONDS = 5.0
"""How long a recall that found nothing waits for a model that is being loaded."""


def recalled(memory: Memory, who: Identity, request: RecallRequest) -> Recollection:
    """What *memory* recalls; where words find nothing, by meaning if the model is ready in time.

    Raises what Memory.recall raises.
    """
    from memory_core.recall.answer import LEXICAL_ONLY  # which imports numpy and the store

    found = memory.recall(who, request)
    if found.found or found.note != LEXICAL_ONLY or not memory.wait_ready(MODEL_SECONDS):
        return found
    return memory.recall(who, request)
