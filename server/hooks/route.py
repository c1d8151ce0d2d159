"""POST /hook: hooks of clients that call over HTTP, and those that `anamnesis hook` forwards."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memory_core.errors import MemoryCoreError
from memory_core.records import Identity
from server.gate import CallLimits, Gate
from server.hooks.hooks import Answer, Hooks, silently
from server.hooks.settings import PATH
from server.identity import caller

SECONDS = 5.0
"""Deadline after which the answer is empty; capturing goes on."""


def route(hooks: Hooks, owner: Identity) -> Route:
    """The route of *hooks*, which may answer clients on other ways too.

    A hook captures and recalls, so its token needs the rights read and write. It answers 200
    whatever fails: a hook must not block its client.
    """
    gate = Gate(CallLimits().calls, SECONDS)  # its own: what one is refused is captured nowhere

    async def hook(request: Request) -> Response:
        answer: Answer = {}
        try:
            payload = json.loads(await request.body())
            if isinstance(payload, dict):
                caller(owner, "read")
                who = caller(owner, "write")
                work = lambda: silently(lambda: hooks.answer(who, payload))  # noqa: E731
                answer = await gate.run(work, late="the turn is still captured")
        except (ValueError, RecursionError, MemoryCoreError):
            answer = {}
        return JSONResponse(answer)

    return Route(PATH, hook, methods=["POST"])
