"""For somebody who would rather wait a moment for the model: words alone find less, and a receipt
without it does not say what a text puts out of date."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_core.memory import Memory
    from memory_core.recall.request import RecallRequest
    from memory_core.records import Identity, Receipt, Recollection
    from memory_core.remember.request import RememberRequest

MODEL_SECONDS = 5.0
"""How long a recall, and what is to be stored, wait for a model that is being loaded: every
conversation begins with that."""


def remembered(memory: Memory, who: Identity, *requests: RememberRequest) -> list[Receipt]:
    """The receipts of *requests*, with what they put out of date if the model is ready in time.

    Raises what Memory.remember raises.
    """
    memory.wait_ready(MODEL_SECONDS)
    return [memory.remember(who, each) for each in requests]


def recalled(memory: Memory, who: Identity, request: RecallRequest) -> Recollection:
    """What *memory* recalls, by meaning if the model is ready in time.

    Raises what Memory.recall raises.
    """
    memory.wait_ready(MODEL_SECONDS)
    return memory.recall(who, request)
