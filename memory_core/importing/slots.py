"""What the places of a source that may change hold now, and which new text takes whose place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from memory_core import browse
from memory_core.records import Identity, MemoryRecord, content_hash, repeat_key
from memory_core.storage.store import MemoryStore

ALIKE = 0.6
"""The least ratio of equal characters of a text and its changed self; difflib names 0.6 for close
matches."""

PAIRS_MOST = 10_000
"""Pairs of old and new texts that are compared in one place."""


@dataclass(frozen=True, slots=True)
class Holding:
    """A memory that stands for a text of a source."""

    id: str
    text: str
    when: float


class Slots:
    """The memories of one caller by their source, without those that were replaced; their texts."""

    def __init__(self, store: MemoryStore, who: Identity) -> None:
        """Read *store* once, at the first question."""
        self._store = store
        self._who = who
        self._held: dict[str, dict[str, Holding]] | None = None
        self._texts: set[str] = set()
        self._keys: set[str] = set()

    def held(self, slot: str) -> dict[str, Holding]:
        """What *slot* holds, by id."""
        return self._read().get(slot, {})

    def says(self, text: str) -> bool:
        """True when a memory of the caller, replaced or not, says *text* word for word."""
        self._read()
        return content_hash(text) in self._texts

    def repeats(self, memory: MemoryRecord) -> bool:
        """True when *memory* repeats a memory of the caller that holds."""
        self._read()
        return repeat_key(memory) in self._keys

    def put(self, slot: str, id: str, memory: MemoryRecord, replaces: str) -> None:
        """Note that the *memory* under *id* is in *slot* now, in the place of *replaces*."""
        self._read().setdefault(slot, {}).pop(replaces, None)
        self._add(slot, id, memory)

    def _read(self) -> dict[str, dict[str, Holding]]:
        if self._held is None:
            self._held = {}
            for memory in browse.readable(self._store, self._who):
                if memory.agent == self._who.agent:
                    self._texts.add(memory.content_hash)
                    if not memory.replaced and (key := repeat_key(memory)):
                        self._keys.add(key)
                    if memory.source and not memory.replaced:
                        self._add(memory.source, memory.id, memory)
        return self._held

    def _add(self, slot: str, id: str, memory: MemoryRecord) -> None:
        new = Holding(id, memory.text, memory.occurred_at)
        self._read().setdefault(slot, {})[id] = new


def matched(new: Sequence[str], old: Sequence[Holding]) -> dict[int, Holding]:
    """For the places of *new* texts those of the *old* that they are like, the most alike first."""
    if len(new) * len(old) > PAIRS_MOST:
        return {}
    pairs = []
    for place, text in enumerate(new):
        for number, held in enumerate(old):
            matcher = SequenceMatcher(None, text, held.text, autojunk=False)
            if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE:
                pairs.append((-matcher.ratio(), place, number))
    found: dict[int, Holding] = {}
    taken: set[int] = set()
    for ratio, place, number in sorted(pairs):
        if -ratio >= ALIKE and place not in found and number not in taken:
            found[place] = old[number]
            taken.add(number)
    return found
