"""Turns that a client copied from an earlier conversation, told by what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from memory_core.interchange.found import Incoming

COPY = "copy of an earlier conversation"


def without_copies(found: Iterable[Incoming], left_out: Counter[str]) -> Iterator[Incoming]:
    """*found* without the turns with which a conversation begins as one before it did.

    Only turns that are marked `forked` are compared, and an answer must be among those that are
    alike: two talks may open with the same request. What goes is counted in *left_out*.
    """
    begun: dict[bytes, str] = {}
    opening: list[Incoming] = []
    session, so_far, is_alike, is_copy = "", b"", False, False
    for each in found:
        if not each.forked or each.session != session:
            yield from opening
            opening.clear()
            session, so_far, is_alike, is_copy = each.session, b"", each.forked, False
        if not each.forked:
            yield each
            continue
        said = f"{each.role}\x1f{each.text}".encode("utf-8", "replace")
        so_far = blake2b(so_far + said, digest_size=16).digest()
        is_alike = begun.setdefault(so_far, session) != session and is_alike
        if not is_alike:
            yield from opening
            opening.clear()
            yield each
            continue
        opening.append(each)
        is_copy = is_copy or each.role == "assistant"
        if is_copy:
            left_out[COPY] += len(opening)
            opening.clear()
    yield from opening
