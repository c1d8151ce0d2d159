"""The plan of a consolidation run: actions with their before-images, and the memories after them.

Planning writes nothing, so a preview is the plan itself. Each decision is applied to the plan's
memories at once, so that later steps see what earlier steps decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.records import (
    Change,
    Contradiction,
    Identity,
    MemoryRecord,
    RunReport,
    Step,
    Summary,
    to_fields,
)

SOURCE = "consolidate: "
"""The source of a run's changes, followed by the step, in the history of a memory."""


@dataclass(slots=True)
class Action:
    """Changes that are written together, or not at all if their basis changed meanwhile.

    *based_on* are memories whose text was read for it; they must still exist. The access counts of
    *accesses_from* are added to those of *accesses_to*; the absolute counts are known only when the
    change is written.
    """

    step: str
    based_on: tuple[str, ...] = ()
    changes: list[Change] = field(default_factory=list)
    created: MemoryRecord | None = None
    parts: list[int] = field(default_factory=list)
    vectors: NDArray[np.float16] | None = None
    fingerprint: str = ""
    accesses_from: str = ""
    accesses_to: str = ""
    contradiction: Contradiction | None = None
    retired: str = ""


class Plan:
    """The actions of one run, in order, and the memories as they will be after them."""

    def __init__(
        self,
        run: str,
        who: Identity,
        memories: Iterable[MemoryRecord],
        now: float,
        scope_of: Callable[[MemoryRecord], str],
    ) -> None:
        """Plan the run *run* of *who* over *memories*, which keep their order.

        *run* is "" in a preview. *scope_of* names the scope of a change.
        """
        self.run = run
        self.who = who
        self.now = now
        self.memories = {memory.id: memory for memory in memories}
        self.actions: list[Action] = []
        self.details: dict[str, str] = {}
        """By step, one line about what was skipped and why; "" when nothing was."""
        self._scope_of = scope_of

    def active(self) -> list[MemoryRecord]:
        """Memories that are neither retired nor superseded."""
        return [m for m in self.memories.values() if m.retired_at is None and not m.superseded_by]

    def begin(self, step: str, based_on: Iterable[str] = ()) -> Action:
        """A new, empty action of *step*."""
        action = Action(step, tuple(based_on))
        self.actions.append(action)
        return action

    def put(self, action: Action, id: str, **fields: Any) -> None:
        """Set *fields* of records.MemoryRecord in the memory *id*."""
        current = self.memories[id]
        before = {name: plain(getattr(current, name)) for name in fields}
        body = {name: plain(value) for name, value in fields.items()}
        action.changes.append(self._change(action, "put", id, body, current, before))
        self.memories[id] = replace(current, **fields)

    def retire(self, action: Action, id: str) -> None:
        """Retire the memory *id* and report it: recall searches it in its second pass only."""
        self.put(action, id, retired_at=self.now)
        action.retired = id

    def create(self, action: Action, memory: MemoryRecord) -> None:
        """Add a new memory."""
        action.created = memory
        fields = to_fields(memory)
        action.changes.append(self._change(action, "put", memory.id, fields, memory, {}))
        self.memories[memory.id] = memory

    def link(
        self,
        action: Action,
        a: str,
        b: str,
        kind: str,
        weight: float,
        told: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Link *a* to *b*, which has no such link yet; what it says beside is *told*."""
        body = {"b": b, "kind": kind, "weight": round(weight, 4), **told}
        before = {**body, "weight": 0.0}
        action.changes.append(self._change(action, "link", a, body, self.memories[a], before))

    def transfer_access_counts(self, action: Action, giver: str, taker: str) -> None:
        """Add the accesses of *giver* to those of *taker*."""
        action.accesses_from, action.accesses_to = giver, taker
        both = self.memories[taker].access_count + self.memories[giver].access_count
        self.memories[taker] = replace(self.memories[taker], access_count=both)

    def _change(
        self,
        action: Action,
        kind: str,
        target: str,
        body: dict[str, Any],
        memory: MemoryRecord,
        before: dict[str, Any],
    ) -> Change:
        return Change(
            kind,
            target,
            body,
            run=self.run,
            before=before,
            actor=self.who.agent,
            source=SOURCE + action.step,
            scope=self._scope_of(memory),
        )

    def report(self, status: str, done: Iterable[Action], steps: Iterable[str]) -> RunReport:
        """What the actions in *done* change, by step; in a preview, summaries have no ids."""
        actions = list(done)
        made = [action.created for action in actions if action.created is not None]
        return RunReport(
            run=self.run,
            status=status,
            steps=tuple(self._step(name, actions) for name in steps),
            summaries=tuple(
                Summary(memory.id if self.run else "", memory.text, memory.derived_from)
                for memory in made
            ),
            contradictions=tuple(a.contradiction for a in actions if a.contradiction is not None),
            retired=tuple(action.retired for action in actions if action.retired),
        )

    def _step(self, name: str, actions: list[Action]) -> Step:
        changed = sum(1 for action in actions if action.step == name and action.changes)
        return Step(name, changed, self.details.get(name, ""))


def plain(value: Any) -> Any:
    """A field of a memory as the journal holds it."""
    return list(value) if isinstance(value, tuple) else value
