"""Which memory may put another out of date, by whose words they are. No model, no I/O."""

from __future__ import annotations

from dataclasses import replace

from memory_core.beliefs import quoted
from memory_core.beliefs.speech_acts import REQUEST, acts
from memory_core.records import TRUSTS, MemoryRecord, projects_of


def may_change(older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when *newer* is trusted as much as *older*, so that it can put it out of date.

    What an assistant or a tool says changes nothing that a user said, and the other way round. What
    is said in one project changes nothing that was said in others, or in none.
    """
    same = projects_of(older.tags) == projects_of(newer.tags)
    return same and is_trusted_as(older, newer)


def in_other_projects(older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when both were said in projects, and not in the same: each has a port of its own."""
    one, other = projects_of(older.tags), projects_of(newer.tags)
    return bool(one and other) and one.isdisjoint(other)


def is_trusted_as(older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when *newer* is trusted as much as *older*, wherever they were said."""
    one, other = (memory.role in quoted.SPEAKING for memory in (older, newer))
    return one == other and TRUSTS.index(newer.trust) <= TRUSTS.index(older.trust)


def may_doubt(older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when *newer* is trusted as much as *older*, imported, or passed on by an assistant.

    An import changes nothing itself. What an assistant was told, without a source, is the owner's
    word at second hand: it supersedes nothing that the owner said to another one. Nothing that was
    said in another project is in doubt.
    """
    if in_other_projects(older, newer):
        return False
    passed_on = newer.trust == "agent" and not newer.source
    trusted = replace(newer, trust=older.trust) if newer.trust == "import" else newer
    if passed_on and older.trust == "user":
        trusted = replace(newer, trust="user")
    return is_trusted_as(older, trusted)


def requests(memory: MemoryRecord) -> bool:
    """True when a sentence of *memory* asks for something to be done."""
    return REQUEST in acts(memory.text, memory.role)
