"""The operations that a command of the command line may ask of an engine.

Each takes the arguments of the memory's method of its name, and returns JSON: the answer that the
tools give where there is a tool of that name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memory_core.errors import InvalidInput
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from server.protocol import patience, structure

if TYPE_CHECKING:
    from memory_core.memory import Memory

READY_SECONDS = 60.0
"""Longest wait for the model, for a caller that wants no answer without it."""


def remember(memory: Memory, who: Identity, now: float, *, request: dict[str, Any]) -> Any:
    """Store a memory; *request* has the fields of RememberRequest."""
    del now
    (done,) = patience.remembered(memory, who, _made(RememberRequest, request))
    return structure.receipt(done)


def observe(memory: Memory, who: Identity, now: float, *, turn: dict[str, Any]) -> Any:
    """Capture a turn if it is worth keeping; *turn* has the fields of ConversationTurn."""
    del now
    return asdict(memory.observe(who, _made(ConversationTurn, turn)))


def recall(
    memory: Memory, who: Identity, now: float, *, request: dict[str, Any], max_tokens: int = 2_000
) -> Any:
    """Find memories; *request* has the fields of RecallRequest."""
    found = patience.recalled(memory, who, _made(RecallRequest, request))
    return structure.recollection(found, now, max_tokens)


def consolidate(memory: Memory, who: Identity, now: float, **given: Any) -> Any:
    """Run, preview or undo a consolidation."""
    del now
    return structure.run_report(memory.consolidate(who, **given), structure.says(memory, who))


def forget(memory: Memory, who: Identity, now: float, **given: Any) -> Any:
    """Preview what would be forgotten, or delete it."""
    del now
    return structure.forget_report(memory.forget(who, **given))


def stats(memory: Memory, who: Identity, now: float) -> Any:
    """Count memories."""
    del now
    return memory.stats(who)


def history(memory: Memory, who: Identity, now: float, *, id: str) -> Any:
    """Every change of one memory, with the fields of Change."""
    del now
    return [asdict(change) for change in memory.history(who, id)]


def undo_change(memory: Memory, who: Identity, now: float, *, id: str, change: int) -> Any:
    """Undo one change; what was done, in words."""
    del now
    undone, done = memory.undo_change(who, id, change)
    return {"change": asdict(undone), "done": done}


def doubts(memory: Memory, who: Identity, now: float) -> Any:
    """Pairs of which the later memory may put the earlier one out of date."""
    return structure.doubtful_pairs(memory.doubts(who), now)


def resolve(
    memory: Memory, who: Identity, now: float, *, older: str, newer: str, decision: str
) -> Any:
    """Decide such a pair; what was done, in words."""
    del now
    return memory.resolve(who, older, newer, decision)


def wait_ready(memory: Memory, who: Identity, now: float, *, seconds: float) -> Any:
    """Whether store and model are ready within *seconds*."""
    del who, now
    return memory.wait_ready(min(float(seconds), READY_SECONDS))


Operation = Callable[..., Any]

OPERATIONS: dict[str, Operation] = {
    run.__name__: run
    for run in (
        remember,
        observe,
        recall,
        consolidate,
        forget,
        stats,
        history,
        undo_change,
        doubts,
        resolve,
        wait_ready,
    )
}


def arguments(run: Operation, given: object) -> dict[str, Any]:
    """*given* as arguments of *run*. Raises InvalidInput for one that it does not take."""
    if not isinstance(given, Mapping):
        raise InvalidInput("the arguments are no JSON object", "send a JSON object")
    try:
        inspect.signature(run).bind(None, None, None, **given)
    except TypeError as problem:
        raise InvalidInput(f"{run.__name__}: {problem}", "correct the arguments") from None
    return dict(given)


def _made(kind: Callable[..., Any], fields: object) -> Any:
    if not isinstance(fields, dict):
        raise InvalidInput("the request is no JSON object", "send a JSON object")
    try:
        return kind(**fields)
    except TypeError as problem:
        raise InvalidInput(str(problem), "correct the arguments") from None
