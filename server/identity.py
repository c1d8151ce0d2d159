"""The identity of the current caller."""

from __future__ import annotations

from contextvars import ContextVar

from mcp.server.auth.middleware.auth_context import get_access_token

from memory_core.errors import ScopeDenied
from memory_core.records import Identity

connected: ContextVar[Identity | None] = ContextVar("connected", default=None)
"""Whose connection the current call came on, where an engine serves several."""

PAGE = "page-"
"""What the id of a page's session begins with; those of tokens are hexadecimal."""


def caller(owner: Identity, right: str = "") -> Identity:
    """The identity of the current call: the token's over HTTP, the connection's at an engine.

    *owner* where there is neither. Raises ScopeDenied when it lacks *right* (read, write or admin,
    or "" for none).
    """
    token = get_access_token()
    who = connected.get() or owner
    if token is not None:
        claims = token.claims or {}
        encode = bool(claims.get("encode", True))
        who = Identity(
            token.client_id, str(claims.get("team", "")), frozenset(token.scopes), encode
        )
    if right and right not in who.rights:
        raise ScopeDenied(
            f"this token lacks the right {right}",
            f"use a token that has it (anamnesis token add --rights read,write,{right})"
            if right == "admin"
            else f"use a token that has it (anamnesis token add --rights {right})",
        )
    return who


def at_page() -> bool:
    """True for a call of the page: who opened it did so on the command line, and is the user."""
    token = get_access_token()
    return token is not None and token.token.startswith(PAGE)
