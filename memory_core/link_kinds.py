"""The kinds of links by which one memory bears on another, and when a link counts."""

from __future__ import annotations

DUPLICATE = "duplicate"
UPDATES = "updates"
CONTRADICTS = "contradicts"
EXTENDS = "extends"
SIMILAR = "similar"
DUPLICATE_OF = "duplicate_of"
DOUBTS = "doubts"
"""The link from a later memory to an earlier one that it may put out of date; see change.py."""
DOUBTS_PART = "doubts_part"
"""The same of one statement among several: the rest of the earlier memory holds."""
SUSPENDS = "suspends"
"""The link from a later memory that holds for a while to the one that holds again afterwards."""
KEPT_BOTH = "kept_both"
"""The link between two memories of which somebody decided that both hold."""
UPDATES_PART = "updates_part"
"""The link from a later memory to an earlier one of which somebody decided that a part is over."""
DOUBTING = (DOUBTS, DOUBTS_PART)
"""Links of doubts that nobody has decided."""
HOLDS = 0.5
"""The weight from which a link counts; one that was undone stays with less."""
NEWER = (UPDATES, UPDATES_PART, DOUBTS, DOUBTS_PART, SUSPENDS)
"""Links by which recall ranks the later of two memories first."""
RELATIONS = frozenset({UPDATES, CONTRADICTS, EXTENDS})
"""Kinds of links from a later memory to the one that it changes."""
KNOWN = RELATIONS | {DUPLICATE_OF, DOUBTS, DOUBTS_PART, SUSPENDS, KEPT_BOTH, UPDATES_PART}
"""Links of pairs that a run need not compare again."""


def told(reason: str = "", by: str = "", part: str = "") -> dict[str, str]:
    """What a link says beside its kind, as it was found: without what is not known.

    The *reason*, the model that judged so, and the *part* of the older text that it is about.
    """
    known = {"reason": reason, "by": by, "part": part}
    return {name: value for name, value in known.items() if value}
