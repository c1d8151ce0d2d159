"""A server that speaks for a model in the three wire protocols, and memories that use it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memory_core.config import GistSettings, Settings
from memory_core.enrichment.queue import EnrichmentTuning
from memory_core.gist.base import GistEncoder
from memory_core.gist.encoder import choose
from memory_core.memory import Memory
from memory_core.runtime import Tuning

BACKENDS = ("claude", "ollama", "openai")
PATHS = {"/v1/messages": "claude", "/api/chat": "ollama", "/v1/chat/completions": "openai"}
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-test-0001", "OPENAI_API_KEY": "sk-test-0002"}


@dataclass
class Trouble:
    """Something else than a good answer: an HTTP status, a broken body, a model that refuses."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    text: str | None = None
    """What the model says instead of the asked structure."""
    refuses: bool = False
    cut_off: bool = False
    close_after: int | None = None
    """Bytes of the body after which the connection is closed."""
    waits: bool = False
    """Answers only when the test is over."""


@dataclass(frozen=True)
class Asked:
    """One request: protocol, fixed part, quoted data, the whole body and the headers."""

    protocol: str
    system: str
    data: dict[str, Any]
    body: dict[str, Any]
    headers: dict[str, str]


def plain_answer(data: dict[str, Any]) -> dict[str, Any]:
    """What an obedient model without any wit answers: a gist for each turn, no facts."""
    if "notes" in data:
        return {"summary": data["notes"][0]}
    if "older" in data:
        return {"relation": "updates", "detail": "the number"}
    turns = [
        {
            "turn": turn["turn"],
            "gist": "",
            "tags": ["talk"],
            "topic": "",
            "entities": [],
            "importance": 0.6,
        }
        for turn in data["turns"]
    ]
    return {"turns": turns, "facts": []}


class ModelServer:
    """Answers with what `say(data)` gives: the model's structure, or a Trouble.

    Unless it *judges*, two memories are "new" to each other, and what asks so is kept in *pairs*.
    """

    def __init__(self, url: str, judges: bool = False) -> None:
        self.url = url
        self.judges = judges
        self.pairs: list[Asked] = []
        self.say: Callable[[dict[str, Any]], dict[str, Any] | Trouble] = plain_answer
        self.asked: list[Asked] = []
        self.over = threading.Event()

    def reply(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[Trouble, bytes]:
        protocol, request = PATHS[path], json.loads(body)
        if protocol == "claude":
            system, data = request["system"][0]["text"], request["messages"][0]["content"]
        else:
            system, data = (message["content"] for message in request["messages"])
        asked = Asked(protocol, system, json.loads(data), request, headers)
        if "older" in asked.data and not self.judges:
            self.pairs.append(asked)
            said: dict[str, Any] | Trouble = {"relation": "new", "detail": ""}
        else:
            self.asked.append(asked)
            said = self.say(asked.data)
        trouble = said if isinstance(said, Trouble) else Trouble()
        if trouble.waits:
            self.over.wait(20)
        if trouble.raw is not None:
            return trouble, trouble.raw
        if trouble.status != 200:
            return trouble, json.dumps(_error(protocol, trouble.status)).encode()
        content = said if isinstance(said, dict) else trouble.text
        return trouble, json.dumps(_wrapped(asked, content, trouble)).encode()


def _error(protocol: str, status: int) -> dict[str, Any]:
    if protocol == "ollama":
        return {"error": f"status {status}"}
    detail = {"type": "some_error", "message": f"status {status}"}
    return {"type": "error", "error": detail} if protocol == "claude" else {"error": detail}


def _wrapped(asked: Asked, content: dict[str, Any] | str | None, trouble: Trouble) -> Any:
    """The answer as the vendor sends it."""
    text = content if isinstance(content, str) else json.dumps(content)
    if asked.protocol == "claude":
        block: dict[str, Any] = {"type": "text", "text": text}
        if isinstance(content, dict) or trouble.cut_off:
            name = asked.body["tools"][0]["name"]
            filled = content if isinstance(content, dict) else {}
            block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": filled}
        reason = "refusal" if trouble.refuses else "max_tokens" if trouble.cut_off else "tool_use"
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": asked.body["model"],
            "content": [] if trouble.refuses else [block],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 11},
        }
    if asked.protocol == "ollama":
        return {
            "model": asked.body["model"],
            "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": "I cannot." if trouble.refuses else text},
            "done": True,
            "done_reason": "length" if trouble.cut_off else "stop",
            "prompt_eval_count": 111,
            "eval_count": 20,
        }
    message = {"role": "assistant", "content": text, "refusal": None}
    if trouble.refuses:
        message |= {"content": None, "refusal": "I cannot help with that."}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "length" if trouble.cut_off else "stop",
    }
    usage = {"prompt_tokens": 111, "completion_tokens": 20, "total_tokens": 131}
    return {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}


@pytest.fixture
def server(processes: Any) -> Iterator[ModelServer]:
    """A server of this test alone, over a real socket."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            trouble, answer = model.reply(self.path, body, dict(self.headers))
            with contextlib.suppress(OSError):  # the client gave up
                self._send(trouble, answer)
            self.close_connection = True

        def _send(self, trouble: Trouble, answer: bytes) -> None:
            self.send_response(trouble.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.send_header("Connection", "close")  # no socket outlives its answer
            for name, value in trouble.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer[: trouble.close_after])

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        model = ModelServer(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield model
        model.over.set()
        http.shutdown()
        thread.join()


@pytest.fixture
def spoken() -> type[Trouble]:
    """The class of troubles."""
    return Trouble


@pytest.fixture
def chosen(server: ModelServer) -> Callable[..., dict[str, Any]]:
    """Settings of a memory whose encoder asks the server: chosen(backend, **gist settings)."""

    def choose_one(backend: str, **gist: Any) -> dict[str, Any]:
        return {
            "encoder": backend,
            "encoder_model": "small",
            "encoder_url": server.url,
            "vendors": KEYS,
            "gist": GistSettings(**gist),
        }

    return choose_one


SIZES = {field.name for field in fields(EnrichmentTuning)}


@pytest.fixture
def opened(
    open_memory: Callable[..., Memory], chosen: Callable[..., dict[str, Any]]
) -> Callable[..., Memory]:
    """Opens a memory whose encoder asks the server: (backend, name, gist settings and sizes)."""

    def open_one(backend: str = "openai", name: str = "store", **given: Any) -> Memory:
        sizes = {key: given.pop(key) for key in SIZES & given.keys()}
        tuning = Tuning(enrichment=EnrichmentTuning(**sizes))
        return open_memory(name, tuning=tuning, **chosen(backend, **given))

    return open_one


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def encoder(backend: str, chosen: Callable[..., dict[str, Any]]) -> GistEncoder:
    return choose(Settings(**chosen(backend)))
