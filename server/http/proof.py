"""Proof to a local hook that this process wrote http.json, and not a later one on its port.

The key lies in that file, which only this user can read; another process that was given the port
cannot know it, and gets neither the token nor the prompt.
"""

from __future__ import annotations

import secrets
from hashlib import blake2s

KEY = secrets.token_hex(32)
"""Of this process, in hexadecimal."""


def proof(port: int, nonce: str) -> str:
    """The keyed hash of *nonce* and of the *port* that the asking process called, hexadecimal."""
    return blake2s(f"{port} {nonce}".encode(), key=bytes.fromhex(KEY)).hexdigest()
