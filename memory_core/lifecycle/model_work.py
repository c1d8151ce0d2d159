"""Which memories a language model is still to look at."""

from __future__ import annotations

from memory_core.config import GistSettings, Settings
from memory_core.records import JOBS, NEVER, MemoryRecord
from memory_core.text.importance import FILLER, NORMAL


def due(memory: MemoryRecord, *, judged: bool) -> tuple[str, ...]:
    """The jobs that a model has to do for a new *memory*; *judged*: the caller gave the importance.

    None for what is derived, and for what systems and tools print. Importance that rules are sure
    of (a correction, an instruction, a decision) stays.
    """
    if memory.derived_from or memory.role in ("system", "tool"):
        return ()
    sure = judged or memory.importance > NORMAL or memory.importance < FILLER
    return tuple(job for job in JOBS if job != "importance-judge" or not sure)


def allowed(memory: MemoryRecord, settings: GistSettings) -> bool:
    """True when *settings* and whoever wrote *memory* let a model see it."""
    return (
        memory.agent not in settings.forbid_agents
        and memory.visibility not in settings.forbid_scopes
        and memory.encoded != NEVER
    )


def due_late(memory: MemoryRecord, settings: Settings) -> tuple[str, ...]:
    """The jobs for a *memory* that leaves the ring and that no model was asked about (row A2.6)."""
    late = settings.encoder != "passthrough" and not (memory.encoded or memory.due)
    return due(memory, judged=True) if late and allowed(memory, settings.gist) else ()
