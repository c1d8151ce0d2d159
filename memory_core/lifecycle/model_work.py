"""Which jobs a language model still has to do for a memory."""

from __future__ import annotations

from memory_core.beliefs.importance import FILLER, NORMAL
from memory_core.config import GistSettings, Settings
from memory_core.records import JOBS, NEVER, MemoryRecord


def due(memory: MemoryRecord, *, judged: bool) -> tuple[str, ...]:
    """The jobs of a model for a new *memory*; *judged* True when the caller gave the importance.

    () for derived memories and for the output of systems and tools. The importance is not judged
    again where a rule is sure of it (a correction, an instruction, a decision, filler).
    """
    if memory.derived_from or memory.role in ("system", "tool"):
        return ()
    sure = judged or memory.importance > NORMAL or memory.importance < FILLER
    return tuple(job for job in JOBS if job != "importance-judge" or not sure)


def allowed(memory: MemoryRecord, settings: GistSettings) -> bool:
    """True when *settings* and the writer of *memory* allow a model to see it."""
    return (
        memory.agent not in settings.forbid_agents
        and memory.visibility not in settings.forbid_scopes
        and memory.encoded != NEVER
    )


def due_late(memory: MemoryRecord, settings: Settings) -> tuple[str, ...]:
    """The jobs for a *memory* that leaves the ring and had none before."""
    late = settings.writes_gists and not (memory.encoded or memory.due)
    return due(memory, judged=True) if late and allowed(memory, settings.gist) else ()
