"""Standing wishes: what the user always wants, however the question is put.

"Always show units when I ask about physics" shares no word with "How can I tell how fast a stone
falls?", and little meaning. So where help is asked for, those nearest in meaning are among the
candidates, before others. Call inside store.reading().
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memory_core.records import ROLES
from memory_core.scoring.arrays import Mask, Rows
from memory_core.storage.store import MemoryStore
from memory_core.text.importance import INSTRUCTION
from memory_core.text.question import asks_for_help

if TYPE_CHECKING:
    from memory_core.recall.query import Question


MOST = 10
"""Wishes that join the candidates."""

PREFERS = ("prefer", "bevorzug")
"""Terms, as the index has them, by which a preference is known."""

_HEARD = [ROLES.index(role) for role in ("assistant", "system", "tool")]


def wishes(store: MemoryStore, query: str, shown: Mask) -> Mask | None:
    """Those of the rows *shown* that instruct or say what is preferred; None unless help is asked
    for.

    An instruction is known by its importance, a preference by its word. What an assistant or a tool
    says is neither.
    """
    if not asks_for_help(query):
        return None
    columns = store.columns
    wanted = columns.importance >= INSTRUCTION
    for term in PREFERS:
        wanted[store.lexical.holders(term)] = True
    found: Mask = shown & wanted & ~np.isin(columns.role, _HEARD)
    return found


def reached(store: MemoryStore, asked: Question, mask: Mask) -> Rows:
    """The wishes of *mask* that are nearest to the question in meaning."""
    if asked.standing is None or asked.vector is None or store.vectors is None:
        return np.zeros(0, np.int64)
    allowed = asked.standing & mask
    return store.vectors.search(asked.vector, MOST, part="whole", allowed=allowed)[0]
