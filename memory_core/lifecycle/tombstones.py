"""Tombstones: keyed hashes by which a forgotten text is recognised without being kept."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from memory_core.text import normalise

SECRET = "tombstone_key"
"""The meta key that holds the key of the tombstones' keyed hashes."""


def forms(text: str) -> tuple[str, ...]:
    """What is hashed of *text*: its whole and each telling sentence, in the form that forgets."""
    parts = (text, *normalise.telling_sentences(text))
    return tuple(dict.fromkeys(filter(None, map(normalise.forgetting_form, parts))))


def sealed(secret: str, owner: str, forms: Iterable[str]) -> list[str]:
    """The keyed hashes of *forms* for one *owner*; microseconds each."""
    key = bytes.fromhex(secret)
    return [
        hmac.new(key, f"{owner}\x1f{form}".encode(), "sha256").hexdigest()[:32] for form in forms
    ]


def digests(secret: str, owner: str, text: str) -> list[str]:
    """Keyed hashes by which a forgotten text, or a telling sentence of it, is recognised."""
    return sealed(secret, owner, forms(text))
