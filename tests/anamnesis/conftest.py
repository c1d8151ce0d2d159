"""A real server over a real memory, for what connects to one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import PATIENCE

from memory_core.memory import Memory as Facade
from memory_core.records import Identity
from server.hooks import route
from server.hooks.hooks import Hooks
from server.http import listener
from server.http.app import build_app
from server.http.tokens import Tokens
from server.protocol.server import build_server
from server.rest.mount import rest
from tests.anamnesis.stand_in import model as model


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path)


@pytest.fixture
def url(
    memory: Facade, tokens: Tokens, processes: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A server that answers hooks however long that takes on a busy machine."""
    monkeypatch.setattr(route, "SECONDS", PATIENCE)
    owner = Identity("me")
    app = build_app(
        build_server(memory, owner=owner),
        tokens=tokens,
        more=[route.route(Hooks(memory, time.time), owner), *rest(memory, owner, None)],
    )
    socket = listener.bind("127.0.0.1", 0)
    end = listener.begin(app, socket)
    yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    end()
