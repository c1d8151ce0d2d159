"""What a walk finds out about a memory before it is written; `commit` decides by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.beliefs import change
from memory_core.records import Identity, MemoryRecord, Similar


@dataclass(frozen=True, slots=True)
class Doubt:
    """That two memories may not both hold, and what was *found* that says so.

    *id* is the stored one: the older one, or of Overtaken.doubted_by the newer one.
    """

    id: str
    found: change.Found


@dataclass(frozen=True, slots=True)
class Overtaken:
    """What stored memories that were said after the one that is written change of it.

    *doubted_by* are those that put it out of date or may, the earliest first; *withdrawn* are
    doubts (newer, older) between others that no longer hold with it.
    """

    doubted_by: Sequence[Doubt] = ()
    withdrawn: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A memory that is ready to be written, and what its writer found out about it.

    `vectors` is (n, d) float32, a row for each of `parts`, None without a model (`fingerprint`).
    `replaces` is an id as the caller gave it; `readable` is True when the caller may read the
    memory of that id (of an import: the memory's own id). `similar` are near memories; `twin` is
    the one of them that is reinforced in place of this one, "" for none; `doubts` are those that
    it puts out of date, or may; `overtaken` is what those say that were said after it; `overcome`
    are memories out of date that this one says again, each with those that put them so; `derived`
    is what is derived from each memory that this one
    may supersede. `leaving` are the ids that leave the ring of the conversation when this one
    enters it, each with the jobs that a model then has. `forms` are those of tombstones.forms when
    they were made before the lock was taken: long texts have many. `key` is an idempotency key, and
    `asked` a hash of the request that it stands for. `seen` is how many changes the memory to
    replace must have, 0 for any. `edit` says that the memory is that one put right. `judged` says
    that the caller gave the importance. `marks` are stored beside the fields.
    """

    who: Identity
    memory: MemoryRecord
    fingerprint: str = ""
    parts: Sequence[int] = ()
    vectors: NDArray[np.float32] | None = None
    replaces: str = ""
    readable: bool = False
    similar: tuple[Similar, ...] = ()
    twin: str = ""
    doubts: Sequence[Doubt] = ()
    overtaken: Overtaken = Overtaken()
    overcome: Mapping[str, Sequence[str]] = field(default_factory=dict)
    derived: Mapping[str, Sequence[str]] = field(default_factory=dict)
    leaving: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    key: str = ""
    asked: str = ""
    seen: int = 0
    edit: bool = False
    judged: bool = False
    warnings: tuple[str, ...] = ()
    marks: Mapping[str, Any] = field(default_factory=dict)
