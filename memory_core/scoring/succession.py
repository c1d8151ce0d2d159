"""What is out of date is recalled after what supersedes it (design, section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def behind(order: Sequence[int], newer: Mapping[int, int]) -> list[int]:
    """*order* with each index moved behind the one that *newer* names for it, if that is in it.

    What is newer moves up to just before what it supersedes; the rest keeps its order. An update
    that supersedes itself by a detour is left where it is.
    """
    known = set(order)
    placed: dict[int, None] = {}
    for index in order:
        chain = [index]
        while (following := newer.get(chain[-1], -1)) in known and following not in chain:
            chain.append(following)
        placed |= dict.fromkeys(each for each in reversed(chain) if each not in placed)
    return list(placed)
