"""Sealed places in the journal: their holder can go on from one, and cannot count by it."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from hashlib import blake2s

from memory_core.errors import InvalidInput
from memory_core.records import Change
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore

SECRET = "place_key"
"""The meta key of the secret that places are sealed with."""

_NONCE, _SEQ, _MARK = 12, 8, 8
"""Bytes of the parts of a place."""


def secret(store: MemoryStore) -> bytes:
    """The key that seals the places of *store*, which the first one who asks makes."""
    known = store.journal.meta(SECRET)
    if known is None:

        def make(tx: Transaction) -> str:
            there = tx.meta(SECRET)
            if there is None:
                there = secrets.token_hex(32)
                tx.append(Change("meta", SECRET, {"value": there}, source="events"))
            return str(there)

        known = store.commit(make)
    return bytes.fromhex(known)


def sealed(key: bytes, agent: str, seq: int) -> str:
    """The sequence *seq* as a word that only *key* opens, for *agent*; never the same twice."""
    nonce = os.urandom(_NONCE)
    hidden = _mixed(key, nonce, agent, seq.to_bytes(_SEQ, "big"))
    whole = nonce + hidden + _mark(key, nonce + hidden, agent)
    return base64.urlsafe_b64encode(whole).decode().rstrip("=")


def opened(key: bytes, agent: str, place: str) -> int:
    """The sequence in *place*. Raises InvalidInput for what was not sealed so for *agent*."""
    try:
        whole = base64.b64decode(place + "=" * (-len(place) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        whole = b""
    body, mark = whole[: _NONCE + _SEQ], whole[_NONCE + _SEQ :]
    if len(whole) != _NONCE + _SEQ + _MARK or not secrets.compare_digest(
        mark, _mark(key, body, agent)
    ):
        raise InvalidInput(
            "after: it is no id of an event of this agent", "pass one as it came, or leave it out"
        )
    return int.from_bytes(_mixed(key, body[:_NONCE], agent, body[_NONCE:]), "big")


def _mixed(key: bytes, nonce: bytes, agent: str, data: bytes) -> bytes:
    pad = blake2s(nonce + agent.encode(), key=key, digest_size=_SEQ, person=b"pad").digest()
    return bytes(a ^ b for a, b in zip(data, pad, strict=True))


def _mark(key: bytes, data: bytes, agent: str) -> bytes:
    return blake2s(data + agent.encode(), key=key, digest_size=_MARK, person=b"mark").digest()
