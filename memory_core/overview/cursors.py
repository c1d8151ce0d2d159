"""Cursors: where the next page of a listing begins, as one opaque word."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from memory_core import validation

MOST = 1_000
"""Entries of a page."""


def encode(key: tuple[Any, ...]) -> str:
    """The cursor after an entry with the sort key *key*, of texts and finite numbers."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decode(cursor: str, *kinds: type | tuple[type, ...]) -> tuple[Any, ...] | None:
    """The sort key in *cursor*, its parts of *kinds*; None for "".

    Raises InvalidInput for what is no cursor of this listing.
    """
    cursor = validation.text(cursor, "cursor", validation.QUERY_CHARS)
    if not cursor:
        return None
    try:
        key = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        key = None
    if (
        not isinstance(key, list)
        or len(key) != len(kinds)
        or not all(_fits(part, kind) for part, kind in zip(key, kinds, strict=True))
    ):
        raise validation.invalid(
            "cursor",
            "it is none of this listing",
            "pass `next` of a page as it is, or leave it out",
        )
    return tuple(key)


def _fits(part: Any, kind: type | tuple[type, ...]) -> bool:
    """Whether *part* is of *kind*; a number is finite, and not one that no array can hold."""
    is_number = isinstance(part, int | float)
    held = not is_number or (not isinstance(part, bool) and -_LARGE < part < _LARGE)
    return held and isinstance(part, kind)


_LARGE = 2**62
