"""Corrections: how a later memory changes an earlier one, by their texts. No model, no I/O.

Five shapes: another value in place of the first, the opposite, an end without a new value, a change
of a part, and another value for a while only. `remember` uses them for a correction that it notices
in a text, consolidation for all memories.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

from memory_core.records import TRUSTS, MemoryRecord
from memory_core.relations import duplicates
from memory_core.relations.change import passes
from memory_core.relations.english import SELF, Statement, corrects, statements, verdict
from memory_core.text import quoted
from memory_core.text.speech_acts import REQUEST, acts
from memory_core.text.time import validity
from memory_core.text.time.timestamps import iso

__all__ = [
    "Correction",
    "Said",
    "correction",
    "decides",
    "extends",
    "may_change",
    "may_doubt",
    "requests",
    "said",
]

_THINGS = frozenset({"number", "day", "date", "name"})
"""Attributes of things: "the meeting" of May need not be that of June."""


@dataclass(frozen=True, slots=True)
class Correction:
    """How the newer memory changes the older one: *relation* is "updates" or "contradicts".

    *partial*: the older one says more, which still holds. *until*: when the newer one ends and the
    older one holds again (epoch seconds); None for good. *clear* False: to be reported only.
    """

    relation: str
    detail: str
    partial: bool = False
    until: float | None = None
    clear: bool = True

    @property
    def extent(self) -> str:
        """How far it goes, without a word of either: " in part", " until 2026-05-07" or ""."""
        if self.until is not None:
            return f" until {iso(self.until)[:10]}"
        return " in part" if self.partial else ""


@dataclass(frozen=True, slots=True)
class Said:
    """A memory with the statements of its text and the number of its clauses."""

    memory: MemoryRecord
    statements: tuple[Statement, ...]
    clauses: int


def said(memory: MemoryRecord) -> Said:
    """*memory* with its statements; what it quotes, or an assistant says, states nothing."""
    return Said(memory, *_parsed(quoted.claimed(memory), memory.speaker))


def may_change(older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when *newer* is trusted as much as *older*, so that it can put it out of date.

    What an assistant or a tool says changes nothing that a user said, and the other way round.
    """
    one, other = (memory.role in quoted.SPEAKING for memory in (older, newer))
    return one == other and TRUSTS.index(newer.trust) <= TRUSTS.index(older.trust)


def may_doubt(older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when *newer* is trusted as much as *older*, imported, or passed on by an assistant.

    An import changes nothing itself. What an assistant was told, without a source, is the owner's
    word at second hand: it supersedes nothing that the owner said to another one.
    """
    passed_on = newer.trust == "agent" and not newer.source
    trusted = replace(newer, trust=older.trust) if newer.trust == "import" else newer
    if passed_on and older.trust == "user":
        trusted = replace(newer, trust="user")
    return may_change(older, trusted)


def decides(newer: MemoryRecord) -> bool:
    """True when *newer* says itself that something changed, so that it may supersede.

    Another value alone ("my boss is Karen", "my boss is Canadian") decides nothing, and neither
    does what is said beside a request: it may be what the request is about.
    """
    return corrects(quoted.claimed(newer)) and not requests(newer)


def requests(memory: MemoryRecord) -> bool:
    """True when a sentence of *memory* asks for something to be done."""
    return REQUEST in acts(memory.text, memory.role)


def clear_cache() -> None:
    """Empty the cache of parsed texts: a run over 10,000 memories leaves tens of megabytes."""
    _parsed.cache_clear()


@lru_cache(maxsize=20_000)
def _parsed(text: str, speaker: str) -> tuple[tuple[Statement, ...], int]:
    return statements(text, speaker)


def correction(older: Said, newer: Said) -> Correction | None:
    """How *newer* changes *older* by their statements; None when it does not, or may not."""
    if not may_change(older.memory, newer.memory):
        return None
    before = {statement.key: statement for statement in older.statements}
    found = [
        (before[now.key], now, what)
        for now in newer.statements
        if now.key in before and (what := verdict(before[now.key], now))
    ]
    if not found:
        return None
    old, new, what = found[0]
    until = _until(newer.memory) if _until(older.memory) is None else None
    detail = _detail(old, new, what)
    partial = len({each.place for each, _, _ in found}) < older.clauses
    if until is not None:
        detail = f"until {iso(until)[:10]}: {detail}"
    elif partial:
        detail = f"in part: {detail}"
    relation = duplicates.CONTRADICTS if what == "flips" else duplicates.UPDATES
    if until is not None:
        clear = _is_clear(old, newer.memory)
    else:
        says_so = decides(newer.memory) or (what == "ends" and not requests(newer.memory))
        clear = says_so and not passes(newer.memory.text)
    return Correction(relation, detail, partial, until, clear)


def extends(less: Collection[str], more: Collection[str]) -> bool:
    """True when the content words *more* hold every one of *less*, and at least two others."""
    return bool(less) and set(less) < set(more) and len(set(more) - set(less)) >= 2


def _until(memory: MemoryRecord) -> float | None:
    if memory.valid_until is not None:
        return memory.valid_until
    return validity.bounds(memory.text, memory.occurred_at)[1]


def _is_clear(statement: Statement, newer: MemoryRecord) -> bool:
    """False for a thing named by one bare word, unless the newer text says that it corrects."""
    subject = [word for word in statement.subject.split() if word != SELF]
    bare = len(subject) == 1 and SELF not in statement.subject
    return not (bare and statement.attribute in _THINGS) or corrects(newer.text)


def _detail(old: Statement, new: Statement, what: str) -> str:
    if what == "flips":
        return f"one affirms what the other denies: {new.value}"
    if what == "ends":
        return f"{old.value} -> no longer"
    return f"{old.value} -> {new.then or new.value}"
