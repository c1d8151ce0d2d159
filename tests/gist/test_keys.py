"""Keys go to the service that they are for, and nowhere else: no log, no health, no file."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.gist import http_client
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import invocation

ME = Identity("me")
PORT = "Tomasz keeps a sticky note with the number 5433 at the staging screen."
KEY = "very-plain-key-0815"
"""It looks like no key, so that only its value gives it away."""

TURN = {"turn": 1, "gist": "", "tags": [], "topic": "", "entities": [], "importance": 0.5}
GOOD = {"turns": [TURN], "facts": []}
TROUBLES: dict[str, dict[str, Any]] = {
    "good": {},
    "401": {"status": 401},
    "429": {"status": 429, "headers": {"retry-after": "3"}},
    "500": {"status": 500},
    "400": {"status": 400},
    "invalid JSON": {"text": f"Bearer {KEY}"},
    "closed half-way": {"close_after": 30},
}


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """The log as the command line sets it up, at DEBUG; afterwards as it was."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    names = ("anthropic", "ollama", "httpx", "httpx2", "httpcore", "httpcore2")
    levels = {name: logging.getLogger(name).level for name in names}
    invocation.configure("DEBUG")
    written = io.StringIO()
    for handler in root.handlers:
        assert isinstance(handler, logging.StreamHandler)
        handler.setStream(written)
    yield written
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_key_is_nowhere_but_in_the_request(
    open_memory: Callable[..., Memory],
    chosen: Callable[..., dict[str, Any]],
    server: Any,
    spoken: Any,
    backend: str,
    trouble: str,
    tmp_path: Path,
    log: io.StringIO,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server gives back the key that it got, as some do in their errors."""
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)  # read by its client itself

    def say(data: dict[str, Any]) -> Any:
        told = dict(TROUBLES[trouble])
        if not told:
            return GOOD
        if told.get("status"):
            echo = f"the key {KEY} is not known here"
            told["raw"] = json.dumps({"error": {"message": echo} if backend != "ollama" else echo})
            told["raw"] = told["raw"].encode()
        return spoken(**told)

    server.say = say
    settings = chosen(backend)
    settings["vendors"] = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    memory = open_memory("store", **settings)
    memory.remember(ME, RememberRequest(PORT))
    done = memory.encode(ME)
    assert done.left == (0 if trouble == "good" else 1)
    assert KEY in json.dumps(server.asked[-1].headers)  # it was sent
    health = memory.health(ME)
    memory.close()
    logged = log.getvalue()
    assert trouble == "good" or "memory_core.enrichment.budget" in logged
    assert KEY not in repr((done, health, logged, capfd.readouterr()))
    assert "sticky note" not in logged  # and no text either
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ann:secret@models.example/v1?key=secret", "https://models.example/v1"),
        ("ann:secret@models.example:11434", "models.example:11434"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1", "http://[::1"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert http_client.address(url) == shown


def test_no_error_shows_the_password_of_a_url(
    open_memory: Callable[..., Memory], chosen: Callable[..., dict[str, Any]], backend: str
) -> None:
    url = "http://ann:secret@127.0.0.1:9/x?key=secret"
    memory = open_memory("store", **(chosen(backend) | {"encoder_url": url}))
    memory.remember(ME, RememberRequest(PORT))
    assert memory.encode(ME).left == 1
    assert "does not answer" in str(memory.health(ME).checks)
    assert "secret" not in repr(memory.health(ME))
