"""A memory for adapters, in this process and over REST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from anamnesis import Identity, Memory
from memory_core.memory import Memory as Facade
from server.http.tokens import Tokens
from tests.anamnesis.conftest import tokens as tokens
from tests.anamnesis.conftest import url as url
from tests.anamnesis.stand_in import model as model


@pytest.fixture(params=["here", "over REST"])
def own(request: pytest.FixtureRequest, memory: Facade, processes: Any) -> Iterator[Memory]:
    if request.param == "here":
        yield Memory.of(memory, Identity("ann"))
        return
    tokens: Tokens = request.getfixturevalue("tokens")
    secret = tokens.add("ann", "", ("read", "write"))
    with Memory.connect(request.getfixturevalue("url"), secret) as one:
        yield one
