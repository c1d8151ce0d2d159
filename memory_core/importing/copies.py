"""Turns that a client copied from another conversation, told by what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from memory_core import browse
from memory_core.interchange.found import Incoming
from memory_core.records import Identity, MemoryRecord, content_hash
from memory_core.storage.store import MemoryStore

COPY = "copy of an earlier conversation"


class Conversations:
    """Which conversations say a turn: those of the caller in the store, and those added."""

    def __init__(self, store: MemoryStore, who: Identity) -> None:
        """Read *store* once for each client, at the first question about it."""
        self._store = store
        self._who = who
        self._sessions: dict[str, dict[tuple[str, str], set[str]]] = {}
        self._answered: set[str] = set()

    def elsewhere(self, turn: MemoryRecord) -> set[str]:
        """The other conversations of the same client in which the same side says the same."""
        return self._of(turn) - {turn.session}

    def hold(self, turn: MemoryRecord) -> bool:
        """True when *turn* is new and a conversation with answers, maybe its own, says the same."""
        new = not self._store.may_read(self._who, turn.id)
        return new and not self._of(turn).isdisjoint(self._answered)

    def add(self, turn: MemoryRecord) -> None:
        """Note *turn*, of a conversation of which both sides are there."""
        self._of(turn).add(turn.session)
        self._answered.add(turn.session)

    def _of(self, turn: MemoryRecord) -> set[str]:
        if turn.source not in self._sessions:
            self._read(turn.source)
        return self._sessions[turn.source].setdefault(_words(turn), set())

    def _read(self, source: str) -> None:
        sessions = self._sessions[source] = {}
        for memory in browse.readable(self._store, self._who):
            if memory.agent == self._who.agent and memory.source == source:
                sessions.setdefault(_words(memory), set()).add(memory.session)
                if memory.role == "assistant":
                    self._answered.add(memory.session)


def _words(turn: MemoryRecord) -> tuple[str, str]:
    return turn.role, content_hash(turn.text)


def without_copies(
    found: Iterable[Incoming],
    told: Conversations,
    as_stored: Callable[[Incoming], MemoryRecord],
    left_out: Counter[str],
) -> Iterator[Incoming]:
    """*found* without the turns with which a conversation begins as another one did.

    Only turns that are marked `forked` are compared, and the others must have an answer among them,
    in a conversation that has all before it, too: two talks may open with the same request. Of a
    `typed` log goes what a conversation holds. What goes is counted in *left_out*.
    """
    opening: list[Incoming] = []
    session, is_alike, is_copy = "", False, False
    in_all: set[str] = set()
    for each in found:
        if not each.forked or each.session != session:
            yield from opening
            opening.clear()
            session, is_alike, is_copy = each.session, each.forked, False
        if each.typed and told.hold(as_stored(each)):
            left_out[COPY] += 1
            continue
        if not each.forked:
            yield each
            continue
        turn = as_stored(each)
        there = told.elsewhere(turn)
        told.add(turn)
        if not is_copy:
            there = in_all = in_all & there if opening else there
        is_alike = is_alike and bool(there)
        if not is_alike:
            yield from opening
            opening.clear()
            yield each
            continue
        opening.append(each)
        is_copy = is_copy or each.role == "assistant"
        if is_copy:
            left_out[COPY] += len(opening)
            opening.clear()
    yield from opening
