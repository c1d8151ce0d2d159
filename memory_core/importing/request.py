"""What an import is asked for, and what it answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from memory_core.records import Identity, MemoryRecord

PROBLEMS_MOST = 200
"""Problems that a report names; the others are counted."""

SAMPLES, SAMPLE_CHARS = 10, 200


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What to import: a file, a folder or a zip archive.

    `form` is one of registry.NAMES, "" to recognise it; `columns` names the columns of a table by
    what they hold. `dry_run` only says what would come; `strict` stores nothing when anything
    cannot be read. Of a path that says nothing, such as one of an upload, `called` names what lies
    there, and `origin` stands for it in sources and ids.
    """

    path: str
    form: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    dry_run: bool = False
    strict: bool = False
    called: str = ""
    origin: str = ""


@dataclass(slots=True)
class ImportReport:
    """What an import did, or would do.

    `status` is completed, preview, refused (strict, and there were problems) or stopped (by an
    undo); `run` is "" when nothing was written. `counts` are memories by status: stored, replaced,
    changed (set later there), reinforced (known), refused (forgotten before); in a
    preview `new` and `changed` for those that would be written. `forms` are entries by form,
    `left_out` those not taken by reason, `dated` memories by where their date is from. `first` and
    `last` are the span of what was new, in epoch seconds.
    """

    status: str = "completed"
    run: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    dated: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    unknown: list[str] = field(default_factory=list)
    unknown_count: int = 0
    doubts: int = 0
    elsewhere: Counter[str] = field(default_factory=Counter)
    """Memories, also known ones, that the importer does not see, by whose they are: "team home"."""
    gone: int = 0
    """Texts that a source held at an earlier import and holds no more; their memories stay."""
    samples: list[str] = field(default_factory=list)
    """How the first SAMPLES texts of a preview begin, without secrets."""
    first: float | None = None
    last: float | None = None

    def problem(self, place: str, what: str) -> None:
        """Note what is wrong at *place*."""
        self.problem_count += 1
        if len(self.problems) < PROBLEMS_MOST:
            self.problems.append(f"{place}: {what}")

    def not_known(self, name: str) -> None:
        """Note a file of no known form."""
        self.unknown_count += 1
        if len(self.unknown) < PROBLEMS_MOST:
            self.unknown.append(name)

    def hidden(self, who: Identity, memory: MemoryRecord) -> None:
        """Note a *memory* that *who* does not see: of another team, or another agent's own."""
        owned = {"private": "agent", "team": "team"}.get(memory.visibility, "")
        if owned and getattr(memory, owned) != getattr(who, owned):
            self.elsewhere[f"{owned} {getattr(memory, owned)}"] += 1

    def took(self, status: str, when: float, dated: str) -> None:
        """Note a memory and its date."""
        self.counts[status] += 1
        if status not in ("reinforced", "refused"):
            self.dated[dated] += 1
            self.first = when if self.first is None else min(self.first, when)
            self.last = when if self.last is None else max(self.last, when)
