"""What the page alone asks: the briefing of a conversation, what clients just did, and tokens.

Each needs a token and its right, as the operations under /api/v1 do.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from memory_core.errors import MemoryCoreError
from memory_core.records import Identity
from server.gate import CallLimits, Gate, as_known_error
from server.hooks.briefing import briefing
from server.http.problems import of_error
from server.http.tokens import Grant, Tokens
from server.identity import caller
from server.page.activity import Activity
from server.protocol import rendering

if TYPE_CHECKING:
    from memory_core.memory import Memory

Answering = Callable[[Request], Awaitable[Response]]


class UsedTokens:
    """Tokens that note when each was last used in this process."""

    def __init__(self, tokens: Tokens, clock: Callable[[], float] = time.time) -> None:
        """*clock* returns epoch seconds."""
        self.tokens = tokens
        self.last: dict[str, float] = {}
        self._clock = clock

    def find(self, secret: str) -> Grant | None:
        """The grant of *secret*; None for an unknown one."""
        grant = self.tokens.find(secret)
        if grant is not None:
            self.last[grant.id] = self._clock()
        return grant

    def granted(self, grant: Grant) -> bool:
        """True while *grant* is neither revoked nor changed."""
        return self.tokens.granted(grant)


def routes(
    memory: Memory,
    owner: Identity,
    gate: Gate | None,
    activity: Activity,
    tokens: UsedTokens | None,
    clock: Callable[[], float] = time.time,
) -> list[BaseRoute]:
    """The routes. *owner* is the caller where no token is required; then *tokens* is None."""
    gate = gate or Gate(CallLimits().calls, CallLimits().deadline_seconds)

    async def brief(_: Request) -> Response:
        who = caller(owner, "read")
        work = lambda: briefing(memory, who, "", "", clock())  # noqa: E731
        told = await gate.run(work, late="repeat the call")
        return JSONResponse({"text": told.text, "ids": told.ids, "doubtful": told.doubtful})

    async def activities(_: Request) -> Response:
        who = caller(owner, "read")
        return JSONResponse({"acts": activity.of(who)})

    async def listed(_: Request) -> Response:
        caller(owner, "admin")
        grants = tokens.tokens.all() if tokens is not None else ()
        last = tokens.last if tokens is not None else {}
        return JSONResponse({"tokens": [_shown(each, last.get(each.id)) for each in grants]})

    async def revoked(request: Request) -> Response:
        caller(owner, "admin")
        if tokens is not None:
            tokens.tokens.revoke(request.path_params["id"])
        return JSONResponse({"revoked": request.path_params["id"]})

    return [
        Route("/page/brief", _refusing(brief), methods=["GET"]),
        Route("/page/activity", _refusing(activities), methods=["GET"]),
        Route("/page/tokens", _refusing(listed), methods=["GET"]),
        Route("/page/tokens/{id}", _refusing(revoked), methods=["DELETE"]),
    ]


def _shown(grant: Grant, last: float | None) -> dict[str, Any]:
    return {
        "id": grant.id,
        "agent": grant.agent,
        "team": grant.team,
        "rights": list(grant.rights),
        "created": rendering.iso(grant.created),
        "last_use": None if last is None else rendering.iso(last),
    }


def _refusing(answering: Answering) -> Answering:
    async def answered(request: Request) -> Response:
        try:
            return await answering(request)
        except Exception as problem:  # a call ends here
            known = problem if isinstance(problem, MemoryCoreError) else None
            return of_error(known or as_known_error(problem, "an operation of the page"))

    return answered
