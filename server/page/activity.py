"""What clients of this process just recalled or were told, and what was not stored and why.

The journal holds only what changed, so this is kept in memory alone: the last acts, shown to the
identity that did them and gone with the process.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Recollection
from memory_core.remember.request import ConversationTurn
from server.protocol import rendering
from server.protocol.calling import program

if TYPE_CHECKING:
    from memory_core.remember.capture import Observation

MOST = 200
CHARS = 300
"""Of a question or a turn that is kept."""
IDS = 8


class Activity:
    """The last acts of all callers."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """*clock* returns epoch seconds."""
        self._acts: deque[tuple[Identity, dict[str, Any]]] = deque(maxlen=MOST)
        self._clock = clock
        self._lock = threading.Lock()
        self._number = 0

    def note(
        self,
        who: Identity,
        kind: str,
        text: str,
        reason: str,
        ids: list[str],
        client: str = "",
    ) -> None:
        """Keep one act of *who*: recalled, briefed or skipped.

        *client* is whose words they are; without it, whoever makes the current call.
        """
        act = {
            "kind": kind,
            "at": rendering.iso(self._clock()),
            "text": text[:CHARS],
            "reason": reason,
            "ids": ids[:IDS],
            "agent": who.agent,
            "client": client or program.get(),
        }
        with self._lock:
            self._number += 1
            self._acts.append((who, {"number": self._number, **act}))

    def of(self, who: Identity) -> list[dict[str, Any]]:
        """The acts of *who*'s agent in its team, the newest first."""
        with self._lock:
            held = list(self._acts)
        return [act for by, act in reversed(held) if (by.agent, by.team) == (who.agent, who.team)]


class WatchedMemory:
    """A memory whose recalls, briefings and captures are noted; all else passes through."""

    def __init__(self, memory: Any, activity: Activity) -> None:
        """*memory* has the methods of Memory."""
        self._memory = memory
        self._activity = activity

    def __getattr__(self, name: str) -> Any:
        """The memory's own attribute *name*."""
        return getattr(self._memory, name)

    def recall(self, who: Identity, request: RecallRequest) -> Recollection:
        """Memory.recall; one that changes nothing is a look, and is not noted."""
        found: Recollection = self._memory.recall(who, request)
        if request.rehearse:
            self._recalled(who, request.query, found)
        return found

    def observe(self, who: Identity, turn: ConversationTurn) -> Observation:
        """Memory.observe."""
        seen: Observation = self._memory.observe(who, turn)
        self._skipped(who, seen, turn.client)
        return seen

    def observe_and_recall(
        self, who: Identity, turn: ConversationTurn, **more: Any
    ) -> tuple[Observation, Recollection]:
        """Memory.observe_and_recall."""
        seen, found = self._memory.observe_and_recall(who, turn, **more)
        self._skipped(who, seen, turn.client)
        self._recalled(who, turn.content, found, turn.client)
        return seen, found

    def shown(self, who: Identity, ids: Sequence[str]) -> None:
        """Memory.shown: what a conversation was told when it began."""
        self._memory.shown(who, ids)
        if ids:
            self._activity.note(who, "briefed", "", "", list(ids))

    def _recalled(self, who: Identity, query: str, found: Recollection, client: str = "") -> None:
        ids = [hit.memory.id for hit in found.hits]
        self._activity.note(who, "recalled", query, "", ids, client)

    def _skipped(self, who: Identity, seen: Observation, client: str) -> None:
        for each in seen.skipped:
            of = [each.of] if each.of else []
            self._activity.note(who, "skipped", each.text, each.reason, of, client)
