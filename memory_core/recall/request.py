"""What a caller asks of recall. Raw values: `query.checked` checks them, and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A query, and what narrows the memories that may answer it.

    `query` is text, or an id: that memory is the answer then (NotFound when there is none). `k` is
    the most memories returned, 1 to 50. `scope`, `kinds`, `tags` (all of them) and `speaker`
    narrow. `since` and `until`, ISO 8601 and inclusive, filter when it happened; `as_of` returns
    what was known at that time. `session` is the current conversation, whose last five turns are
    returned as `recent`; with `elsewhere` no memory of that conversation is an answer. `context` is
    how many neighbours of each hit are returned, 0 to 5. `explain` adds why each hit was chosen,
    and the best rejected candidates. Without `rehearse` the recall is read-only: it changes no
    access count and no working memory.
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
