"""Tombstones: keyed hashes that recognise a forgotten text without storing it."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from memory_core.text import normalise

SECRET = "tombstone_key"
"""The meta key of the secret that the hashes are keyed with."""


def forms(text: str) -> tuple[str, ...]:
    """The forms of *text* that are hashed: the whole and each telling sentence, normalised."""
    parts = (text, *normalise.telling_sentences(text))
    return tuple(dict.fromkeys(filter(None, map(normalise.forgetting_form, parts))))


def sealed(secret: str, owner: str, forms: Iterable[str]) -> list[str]:
    """The keyed hashes of *forms* for one *owner*; microseconds each."""
    key = bytes.fromhex(secret)
    return [
        hmac.new(key, f"{owner}\x1f{form}".encode(), "sha256").hexdigest()[:32] for form in forms
    ]


def digests(secret: str, owner: str, text: str) -> list[str]:
    """The keyed hashes that recognise *text*, or a telling sentence of it, once it is forgotten."""
    return sealed(secret, owner, forms(text))
