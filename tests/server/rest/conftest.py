"""The REST application behind the real door, over a real memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from server.http.app import build_app
from server.http.tokens import Tokens
from server.protocol.server import build_server
from server.rest.mount import rest
from tests.gist.conftest import server as server

BASE = "http://127.0.0.1:7832"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path)


@pytest.fixture
def app(memory: Memory, tokens: Tokens) -> Any:
    return application(memory, tokens)


def application(memory: Memory, tokens: Tokens) -> Any:
    owner = Identity("me")
    return build_app(
        build_server(memory, owner=owner), tokens=tokens, more=rest(memory, owner, None)
    )


def client_of(app: Any, secret: str, **headers: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app),
        base_url=f"{BASE}/api/v1",
        headers={"authorization": f"Bearer {secret}", **headers},
    )


@pytest.fixture
def http(app: Any, tokens: Tokens) -> Callable[..., httpx2.AsyncClient]:
    """A client with a token: (agent, team, rights) -> client on /api/v1."""

    def client(
        agent: str = "ana", team: str = "north", rights: Any = ("read", "write"), **headers: str
    ) -> httpx2.AsyncClient:
        return client_of(app, tokens.add(agent, team, rights), **headers)

    return client


@pytest.fixture
def serving(tokens: Tokens) -> Callable[..., httpx2.AsyncClient]:
    """A client of ana over another memory: (memory, rights)."""

    def client(memory: Memory, rights: Any) -> httpx2.AsyncClient:
        return client_of(application(memory, tokens), tokens.add("ana", "north", rights))

    return client


@pytest.fixture
async def ana(http: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with http("ana") as client:
        yield client


@pytest.fixture
async def ben(http: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with http("ben") as client:
        yield client


@pytest.fixture
async def chief(http: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with http("chief", "north", ("read", "write", "admin")) as client:
        yield client
