"""Mounts the REST applications, which are imported and built with the first request to them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_core.records import Identity
from server.gate import Gate
from server.protocol import structure

if TYPE_CHECKING:
    from memory_core.memory import Memory


ROOT_PATHS = ("/ingest_and_recall", "/consolidate", "/contradictions", "/stats")
"""Paths at the root that an earlier server had."""


class LazyApp:
    """An application that *make* builds when it is first called, in a thread."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        """Builds nothing."""
        self._make = make
        self._app: ASGIApp | None = None
        self._building = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request."""
        app = self._app
        if app is None:
            app = await anyio.to_thread.run_sync(self._built)
        await app(scope, receive, send)

    def _built(self) -> ASGIApp:
        with self._building:
            app = self._app or self._make()
            self._app = app
        return app


async def _to_page(_: Request) -> Response:
    return RedirectResponse("/ui/")


def rest(
    memory: Memory,
    owner: Identity,
    gate: Gate | None,
    *,
    compat: bool = False,
    engine: structure.Serving = structure.unshared,
) -> list[BaseRoute]:
    """The mount of the operations under /api/v1, with *compat* also paths of earlier servers.

    *engine* says for a health report what process this is.
    """

    def operations() -> ASGIApp:
        from server.rest.app import build_rest

        return build_rest(memory, owner, gate, engine=engine)

    def earlier(where: str) -> Callable[[], ASGIApp]:
        def make() -> ASGIApp:
            from server.rest import app, compat

            add = compat.at_root if where == "root" else compat.under_api
            return app.build_compat(app.shared_calls(memory, owner, gate), add)

        return make

    routes: list[BaseRoute] = [Mount("/api/v1", LazyApp(operations))]
    if compat:
        root = LazyApp(earlier("root"))
        routes += [Mount("/api", LazyApp(earlier("api")))]
        routes += [Route(path, root) for path in ROOT_PATHS]
        routes += [Route("/", _to_page, methods=["GET"])]
    return routes
