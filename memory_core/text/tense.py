"""Tense: whether the clause around a word speaks of the past or of the future."""

from __future__ import annotations

import re

_FUTURE = re.compile(
    r"\b(?:will|shall|won't|gonna|going to|plan(?:s|ning|ned)?|hop(?:e|ing)|due|by|until|till"
    r"|deadline"
    r"|upcoming|scheduled|let's|let us|looking forward|can't wait|wird|werden?|wollen|bis"
    r"|(?:am|is|are) \w{2,20}ing)\b|['’](?:ll|(?:re|m|s) \w{2,20}ing)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:\w{2,20}ed|was|were|did|had|has|went|took|got|made|ran|met|saw|came|bought|gave|began"
    r"|been"
    r"|left|told|won|lost|found|felt|read|wrote|spent|back|since|born|war|waren|hatte|habe|haben"
    r"|hat"
    r"|ging|wurde|seit)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.!?;\n]")


def tense(text: str, place: int) -> int:
    """-1 when the clause around *place* tells of the past, 1 of the future, 0 when none can say."""
    before = _CLAUSE_END.split(text[max(0, place - 80) : place])[-1]
    after = _CLAUSE_END.split(text[place : place + 80])[0]
    for clause in (before, after):
        if _FUTURE.search(clause):
            return 1
        if _PAST.search(clause):
            return -1
    return 0


def tells_of_past(text: str, place: int) -> bool:
    """True when the clause up to *place* speaks of the past and not of the future."""
    before = _CLAUSE_END.split(text[max(0, place - 80) : place])[-1]
    return _PAST.search(before) is not None and _FUTURE.search(before) is None
