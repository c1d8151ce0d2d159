"""The identity of the current caller."""

from __future__ import annotations

from mcp.server.auth.middleware.auth_context import get_access_token

from memory_core.errors import ScopeDenied
from memory_core.records import Identity


def caller(owner: Identity, right: str) -> Identity:
    """The identity of the current call: the token's over HTTP, *owner* without a token.

    Raises ScopeDenied when it lacks *right* (read, write or admin).
    """
    token = get_access_token()
    who = owner
    if token is not None:
        claims = token.claims or {}
        encode = bool(claims.get("encode", True))
        who = Identity(
            token.client_id, str(claims.get("team", "")), frozenset(token.scopes), encode
        )
    if right not in who.rights:
        raise ScopeDenied(
            f"this token lacks the right {right}",
            f"use a token that has it (anamnesis token add --rights read,write,{right})"
            if right == "admin"
            else f"use a token that has it (anamnesis token add --rights {right})",
        )
    return who
