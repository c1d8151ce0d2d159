"""What held at an earlier time, for a question that asks of one.

"What was the rent in March?", "who had the key before?", "which bank was it at first?": of what
took one another's place, what held then goes first, and what holds since then stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from memory_core.beliefs.question import Past, Period, date_is_inside
from memory_core.storage.index.columns import Columns

Pair = tuple[int, int]
"""The places of an older and a newer row."""


def since(columns: Columns, row: int, past: Past) -> float:
    """The epoch second from which on *row* held, for a question of that *past*.

    What says itself from when on it holds did from then on. What names a day of it held then,
    whenever it was said.
    """
    start = float(columns.valid_from[row])
    if np.isfinite(start):
        return start
    if past.first < past.last:
        asked = Period(past.first, past.last, said=False)
        if any(date_is_inside(each, asked) for each in columns.dates(row)):
            return past.last
    return float(columns.occurred_at[row])


def behind(
    columns: Columns,
    past: Past,
    rows: Sequence[int],
    certain: Iterable[Pair],
    doubted: Iterable[Pair],
) -> dict[int, int]:
    """The places of *rows* that stand behind what held in the *past*, each with that of it.

    Of each chain of *certain* pairs all but one do. Of a *doubted* pair, which may be none, the
    newer one does where it did not yet hold.
    """
    at = {place: since(columns, row, past) for place, row in enumerate(rows)}
    found: dict[int, int] = {}
    for chain in _chains(certain):
        first = held(at, chain, past)
        found |= {place: first for place in chain if place != first}
    for older, newer in doubted:
        later = at[older] < at[newer]
        if later and (past.last == np.inf or past.last < at[newer]):
            found.setdefault(newer, older)
    return found


def held(at: Mapping[int, float], chain: list[int], past: Past) -> int:
    """The place of what held in *past* of a *chain*; of the first that is known, where none did."""
    chain = sorted(chain, key=lambda place: at[place])
    if past.first == np.inf:
        return chain[-2]
    return next((place for place in reversed(chain) if at[place] <= past.last), chain[0])


def _chains(pairs: Iterable[Pair]) -> list[list[int]]:
    """The places that *pairs* tie together, directly or by others, in groups."""
    groups: dict[int, list[int]] = {}
    for one, other in pairs:
        merged = groups.get(one, [one])
        if other not in merged:
            merged = merged + groups.get(other, [other])
        groups |= dict.fromkeys(merged, merged)
    return list({id(group): group for group in groups.values()}.values())
