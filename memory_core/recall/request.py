"""What a caller asks of recall. Raw values: `query.checked` checks them, and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """What besides the evidence counts in one recall.

    `recency` and `importance` are shares of the score, 0 to 1; the rest is evidence. Above 1
    together they count in proportion, and evidence does not. Recency halves every `half_life_days`
    since a memory happened. `variety`, 0 to 1, trades score for answers that are unlike one
    another. The defaults are what was measured to recall best.
    """

    recency: float = 0.0
    importance: float = 0.0
    half_life_days: float = 30.0
    variety: float = 0.0


EVIDENCE = Weights()
"""Nothing but the evidence."""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A query, and what narrows the memories that may answer it.

    `query` is text, or an id: that memory is the answer then (NotFound when there is none). `k` is
    the most memories returned, 1 to 50. `scope`, `kinds`, `tags` (all of them) and `speaker`
    narrow, and so do `topic`, `entity` and the least `importance`, 0 to 1. `since` and `until`, ISO
    8601 and inclusive, filter when it happened; `as_of` returns what was known at that time.
    `session` is the current conversation, whose last five turns are returned as `recent`; with
    `elsewhere` no memory of that conversation is an answer. `context` is how many neighbours of
    each hit are returned, 0 to 5. `explain` adds why each hit was chosen, and the best rejected
    candidates. With `project`, a name, no memory that is tagged as another project's is an answer.
    Without `rehearse` the recall is read-only: it changes no access count and no working memory.
    With `cut` what is far behind the best is no answer; see `selection.SHARE`. `weights` are what
    else counts than the evidence.
    """

    query: str
    _: KW_ONLY
    k: int = 8
    scope: str = ""
    kinds: Sequence[str] = ()
    tags: Sequence[str] = ()
    speaker: str = ""
    session: str = ""
    since: str = ""
    until: str = ""
    as_of: str = ""
    context: int = 1
    explain: bool = False
    rehearse: bool = True
    elsewhere: bool = False
    project: str = ""
    cut: bool = False
    topic: str = ""
    entity: str = ""
    importance: float = 0.0
    weights: Weights = EVIDENCE
