"""Which of several a question asks for: the latest or the first."""

from __future__ import annotations

import re

_LATEST = re.compile(
    r"\b(latest|newest|(most|more) recent(ly)?|recently|lately|last time|currently|these days|now"
    r"|zuletzt|neueste[nrs]?|kürzlich|derzeit)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"\b(first|earliest|originally|initially|zuerst|anfangs|ursprünglich)\b", re.IGNORECASE
)


def order_asked(query: str) -> int:
    """1 when *query* asks for the latest, -1 for the first, 0 for neither or both."""
    return bool(_LATEST.search(query)) - bool(_FIRST.search(query))
