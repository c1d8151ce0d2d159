"""A bound on streams that stay open: those of agents, and those of pages that watch for changes.

Each holds a socket and a task for as long as its client likes, so without it one token that opens
streams in a loop would take them all. What is open stays; one more is refused and told what to do.
"""

from __future__ import annotations

from collections import Counter

from starlette.types import ASGIApp, Receive, Scope, Send

from server.http import problems

AGENTS = 100
"""Open streams of one token at /mcp and /sse; it has as many sessions."""
PAGES = 16
"""Open streams of one token at /api/v1/events; each asks the memory twice a second."""
ALL = 1_000
"""Open streams of all tokens."""

_KINDS = {"/mcp": "agents", "/sse": "agents", "/api/v1/events": "pages"}


class StreamsOfEach:
    """Refuses a stream above AGENTS or PAGES of its token, or above ALL, with 503."""

    def __init__(self, app: ASGIApp) -> None:
        """*app* gets requests with their user set."""
        self._app = app
        self._open: Counter[tuple[str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a stream counts until it ends."""
        kind = _KINDS.get(scope["path"], "") if scope.get("method") == "GET" else ""
        if not kind:
            await self._app(scope, receive, send)
            return
        whose = token_of(scope), kind
        most = AGENTS if kind == "agents" else PAGES
        if self._open[whose] >= most:
            problem = f"{most} streams of this token are open at {scope['path']}"
            await _refusal(problem, "close one, then connect again")(scope, receive, send)
            return
        if self._open.total() >= ALL:
            problem = f"{ALL} streams are open"
            await _refusal(problem, "wait until another client closes one")(scope, receive, send)
            return
        self._open[whose] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[whose] -= 1
            self._open += Counter()  # forgets who has none


def token_of(scope: Scope) -> str:
    """The id of the caller's token; "" where none is required."""
    user = scope.get("user")
    return str(user.access_token.token) if user is not None else ""


def _refusal(problem: str, next_step: str) -> ASGIApp:
    return problems.problem(503, problem, next_step)
