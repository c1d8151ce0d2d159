"""The engine of this machine as a server: finds or starts it, and calls it over loopback HTTP."""

from __future__ import annotations

import json
import logging
import os
import threading
from urllib.parse import quote

import httpx2

from anamnesis.remote import RemoteFacade
from server.engine import client, wanted, wire
from server.engine.client import CallFailed
from server.engine.launch import NoEngine
from server.engine.wanted import WantedEngine

log = logging.getLogger(__name__)


def find(flags: dict[str, str], timeout: float) -> RemoteFacade | None:
    """The memory of the engine that *flags* and the environment ask for; None without one.

    *flags* are settings by name. *timeout* is in seconds for each call.
    """
    try:
        asked = wanted.find(flags, os.environ)
        way = _ToEngine(asked)
        way.sign_in()
    except (NoEngine, CallFailed, wire.Refused, httpx2.HTTPError, OSError, ValueError) as problem:
        log.info("no engine is shared: %s", problem)
        return None
    return RemoteFacade(f"http://engine{way.root}", "", timeout, way)


class _ToEngine(httpx2.BaseTransport):
    """Sends requests to the engine, with a session of this user; to the next one after it ended.

    A session is asked for over the engine's endpoint, where both sides have checked that they are
    the same user. Only what was certainly not done is sent twice.
    """

    def __init__(self, asked: WantedEngine) -> None:
        self._asked = asked
        self.root = f"/{quote(asked.folder)}"
        """What a path begins with, so that an address names the folder; it is not sent."""
        # a connection each: on one that stays open, a request to an engine that is gone may have
        # been read, or not
        self._own = httpx2.HTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))
        self._signing = threading.Lock()
        self._session: tuple[str, str] = ("", "")

    def sign_in(self, instead: tuple[str, str] = ("", "")) -> tuple[str, str]:
        """The engine's address and a session, new when it is still the one of *instead*."""
        with self._signing:
            if self._session == instead:
                page = client.page(self._asked, read_only=False, start=True)
                url, _, code = page.partition("/ui/#")
                said = httpx2.post(f"{url}/ui/session", json={"code": code}, trust_env=False)
                said.raise_for_status()
                self._session = url, str(json.loads(said.content)["token"])
            return self._session

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer of the engine. Raises ConnectError when there is none."""
        session = self._session
        for again in (False, True):
            try:
                response = self._own.handle_request(self._to(request, *session))
            except httpx2.TransportError as problem:
                undone = isinstance(problem, httpx2.ConnectError) or request.method == "GET"
                if again or not undone:
                    raise
            else:
                if again or response.status_code != 401:
                    return response
                response.close()
            try:
                session = self.sign_in(session)
            except (NoEngine, CallFailed, wire.Refused, OSError) as problem:
                raise httpx2.ConnectError(str(problem)) from None
        raise AssertionError("one of two tries returns or raises")

    def close(self) -> None:
        """Close the connections."""
        self._own.close()

    def _to(self, request: httpx2.Request, url: str, secret: str) -> httpx2.Request:
        """*request* to the engine at *url*, in the session of *secret*."""
        place = httpx2.URL(url)
        path = request.url.raw_path.removeprefix(self.root.encode())
        headers = [pair for pair in request.headers.multi_items() if pair[0] not in _OURS]
        headers += [("host", place.netloc.decode()), ("authorization", f"Bearer {secret}")]
        return httpx2.Request(
            request.method,
            place.copy_with(raw_path=path),
            headers=headers,
            stream=request.stream,
            extensions=request.extensions,
        )


_OURS = ("host", "authorization")
