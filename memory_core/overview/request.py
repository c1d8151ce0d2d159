"""What a caller asks of a listing. Raw values: `pages.page` checks them, and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

STATES = ("current", "doubtful", "superseded", "retired")
"""What a memory is at this moment; of several the last one counts."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which memories a page lists. Raw values.

    "" and None filter nothing. `state` is one of STATES, `tier` one of TIERS, `kind` one of KINDS,
    `scope` private, team or shared, `trust` one of TRUSTS. A memory has all of `tags` and names
    `entity`; case does not matter in these, nor in `topic` and `speaker`. `importance` is the least
    one, 0 to 1. `since` and `until`, ISO 8601 and inclusive, filter when it happened. `cursor` is
    `next` of the page before; `limit` is 1 to 1,000.
    """

    _: KW_ONLY
    cursor: str = ""
    limit: int = 50
    state: str = ""
    kind: str = ""
    tier: str = ""
    scope: str = ""
    trust: str = ""
    agent: str = ""
    tags: Sequence[str] = ()
    topic: str = ""
    entity: str = ""
    session: str = ""
    speaker: str = ""
    importance: float = 0.0
    since: str = ""
    until: str = ""
