"""One-time codes that `anamnesis ui` gets, and the sessions of pages that exchanged them.

Both live in this process only, so a session ends with the engine.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from memory_core.records import Identity
from server.http.app import PAGE_SECRET
from server.http.tokens import Grant
from server.identity import PAGE

CODE_SECONDS = 60.0
"""Within which a code must be exchanged."""
OPEN_SECONDS = 30.0
"""A page that is open asks more often; its engine stays for it."""
MOST = 64
"""Sessions, and codes that wait; the oldest makes room."""


class Logins:
    """The codes and sessions of one process."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """*clock* measures seconds; *now* returns epoch seconds."""
        self._clock = clock
        self._now = now
        self._lock = threading.Lock()
        self._codes: dict[str, tuple[float, Grant]] = {}
        self._sessions: dict[str, Grant] = {}
        self._seen: float | None = None

    def code(self, who: Identity, rights: Collection[str]) -> str:
        """A new code, to be exchanged once, for a session of *who* with *rights*."""
        code = secrets.token_urlsafe(24)
        grant = Grant(
            f"{PAGE}{secrets.token_hex(4)}",
            who.agent,
            who.team,
            tuple(sorted(rights)),
            "",
            self._now(),
            who.encode,
        )
        with self._lock:
            self._codes[_hash(code)] = (self._clock() + CODE_SECONDS, grant)
            _bound(self._codes)
        return code

    def exchange(self, code: str) -> str | None:
        """The secret of a new session; None for a code that is unknown, used or too old."""
        with self._lock:
            until, grant = self._codes.pop(_hash(code), (0.0, None))
            if grant is None or self._clock() > until:
                return None
            secret = PAGE_SECRET + secrets.token_urlsafe(32)
            self._sessions[_hash(secret)] = replace(grant, hash=_hash(secret))
            _bound(self._sessions)
            self._seen = self._clock()
        return secret

    def find(self, secret: str) -> Grant | None:
        """The grant of the session of *secret*; None for an unknown one."""
        presented, found = _hash(secret), None
        with self._lock:
            for hashed, grant in self._sessions.items():
                if hmac.compare_digest(hashed, presented):
                    found = grant
            if found is not None:
                self._seen = self._clock()
        return found

    def granted(self, grant: Grant) -> bool:
        """True while the session of *grant* is open; an open stream asks for it."""
        with self._lock:
            held = self._sessions.get(grant.hash) == grant
            if held:
                self._seen = self._clock()
        return held

    def end(self, secret: str) -> None:
        """End the session of *secret*, if there is one."""
        with self._lock:
            self._sessions.pop(_hash(secret), None)

    def in_use(self) -> bool:
        """True while a page is open."""
        with self._lock:
            return self._seen is not None and self._clock() - self._seen < OPEN_SECONDS


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _bound(held: dict[str, Any]) -> None:
    while len(held) > MOST:
        del held[next(iter(held))]
