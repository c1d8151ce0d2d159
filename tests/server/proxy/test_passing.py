"""What the proxy passes on: other paths, refusals, streams that break off, and bodies too long."""

from __future__ import annotations

import gzip
import json
import socket as sockets
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2
import openai
import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from server.http import listener
from server.proxy.app import MOST_BODY, build_proxy
from tests.anamnesis.stand_in import SAID, Model, message, message_events
from tests.anamnesis.test_transport import PROMPT, user

ANN = Identity("ann", "north")
LINES = [
    f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
    for name, data in message_events(message({}, None, Model()))
]
REFUSAL = gzip.compress(b'{"error": {"type": "overloaded", "message": "later"}}')
ASKED = {"model": "m", "max_tokens": 9, "stream": True, "messages": [user(PROMPT)]}


class Upstream:
    """A model API that answers a stream in two halves, the second when it is told to."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str], int]] = []
        self.go_on = threading.Event()
        self.half = 4
        """Lines of the first half."""
        self.until_left = False
        """The first half is all, and then it waits until nobody listens any more."""
        self.ended = threading.Event()
        """The handler of a stream has ended."""
        self.url = ""


@pytest.fixture
def upstream(processes: Any) -> Iterator[Upstream]:
    one = Upstream()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body are two writes

        def do_GET(self) -> None:
            self.note(b"")
            models = b'{"object": "list", "data": [{"id": "m"}]}'
            about = {"x-request-id": "r1", "set-cookie": "who=ann; Path=/"}
            self.reply(200, {"content-type": "application/json", **about}, models)

        def do_DELETE(self) -> None:
            self.note(b"")
            self.reply(204, {}, b"")

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            self.note(content)
            if self.path != "/v1/messages":
                kind = {"content-type": "application/json", "content-encoding": "gzip"}
                self.reply(529, {**kind, "retry-after": "7", "request-id": "r2"}, REFUSAL)
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            try:
                self.wfile.write(b"".join(LINES[: one.half]))
                self.wfile.flush()
                if one.until_left:
                    self.connection.settimeout(20)
                    assert self.connection.recv(1) == b""
                    return
                one.go_on.wait(20)
                self.wfile.write(b"".join(LINES[one.half :]))
            except OSError:
                pass
            finally:
                self.close_connection = True
                one.ended.set()

        def note(self, content: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            one.seen.append((self.command, self.path, headers, len(content)))

        def reply(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield one
    one.go_on.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def proxy(
    memory: Memory, upstream: Upstream, processes: Any
) -> Iterator[tuple[str, Callable[[], None]]]:
    socket = listener.bind("127.0.0.1", 0)
    end = listener.begin(build_proxy(memory, ANN, upstream.url, None), socket)
    ended = threading.Event()

    def once() -> None:
        if not ended.is_set():
            ended.set()
            end()

    yield f"http://127.0.0.1:{socket.getsockname()[1]}", once
    once()


def roles(memory: Memory) -> list[str]:
    return sorted(each.role for each in memory.listing(ANN, limit=50))


def test_other_paths_pass_as_they_are(proxy: Any, upstream: Upstream, memory: Memory) -> None:
    url, _ = proxy
    with httpx2.Client(headers={"authorization": "Bearer sk-1"}) as client:
        answer = client.get(f"{url}/v1/models?limit=2&after=a%2Fb")
        gone = client.delete(f"{url}/v1/files/f%2F1")
    assert (answer.status_code, answer.headers["x-request-id"]) == (200, "r1")
    assert answer.content == b'{"object": "list", "data": [{"id": "m"}]}'
    assert gone.status_code == 204
    assert [(method, path) for method, path, _, _ in upstream.seen] == [
        ("GET", "/v1/models?limit=2&after=a%2Fb"),
        ("DELETE", "/v1/files/f%2F1"),
    ]
    assert {headers["authorization"] for _, _, headers, _ in upstream.seen} == {"Bearer sk-1"}
    assert roles(memory) == []


def test_a_cookie_goes_to_the_program_that_it_was_set_for_alone(
    proxy: Any, upstream: Upstream
) -> None:
    url, _ = proxy
    with httpx2.Client() as ann, httpx2.Client() as ben:
        first = ann.get(f"{url}/v1/models")
        ben.get(f"{url}/v1/models")
        ann.get(f"{url}/v1/models")
    assert first.headers["set-cookie"] == "who=ann; Path=/"
    assert [headers.get("cookie", "") for _, _, headers, _ in upstream.seen] == ["", "", "who=ann"]


@pytest.mark.parametrize("path", ["/api/chat", "/", "/v2/models"])
def test_what_is_not_under_v1_is_refused_with_what_to_do(
    proxy: Any, upstream: Upstream, path: str
) -> None:
    url, _ = proxy
    answer = httpx2.post(f"{url}{path}", json=ASKED)
    assert (answer.status_code, upstream.seen) == (404, [])
    assert "ends with /v1" in answer.json()["error"]["message"]


def test_a_header_passes_in_its_bytes(proxy: Any, upstream: Upstream) -> None:
    url, _ = proxy
    name = "Jürgen".encode()
    httpx2.get(f"{url}/v1/models", headers=[(b"x-name", name)])
    assert upstream.seen[0][2]["x-name"].encode("latin-1") == name


def test_a_refusal_of_the_proxy_is_read_by_the_clients_of_model_apis(
    proxy: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: Any, **__: Any) -> None:
        raise httpx2.ConnectError("refused")

    monkeypatch.setattr(httpx2.AsyncClient, "send", gone)
    url, _ = proxy
    with (
        openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client,
        pytest.raises(openai.APIStatusError) as raised,
    ):
        client.models.list()
    assert raised.value.status_code == 502
    assert "the model API cannot be reached; check --upstream" in raised.value.message
    with (
        anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as other,
        pytest.raises(anthropic.APIStatusError, match="the model API cannot be reached"),
    ):
        other.models.list()


def test_nothing_is_asked_for_that_the_program_did_not_ask_for(
    proxy: Any, upstream: Upstream
) -> None:
    """An answer in an encoding that the program does not know would be noise to it."""
    place = urlsplit(proxy[0])
    connection = HTTPConnection(str(place.hostname), place.port, timeout=20)
    connection.putrequest("GET", "/v1/models", skip_accept_encoding=True)
    connection.endheaders()
    assert connection.getresponse().status == 200
    connection.close()
    ((_, _, headers, _),) = upstream.seen
    assert set(headers) == {"host"}


@pytest.mark.parametrize("path", ["/v1/../admin", "/v1/x/%2e%2e/../../admin", "/v1/./models"])
def test_no_path_leads_out_of_the_api(proxy: Any, upstream: Upstream, path: str) -> None:
    place = urlsplit(proxy[0])
    connection = HTTPConnection(str(place.hostname), place.port, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    assert (answer.status, upstream.seen) == (404, [])
    answer.read()
    connection.close()


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/chat/completions"])
def test_refusals_pass_byte_for_byte(proxy: Any, path: str, memory: Memory) -> None:
    url, end = proxy
    body = {"model": "m", "messages": [user(PROMPT)]}
    with httpx2.stream("POST", f"{url}{path}", json=body) as answer:
        content = b"".join(answer.iter_raw())
    assert (answer.status_code, content) == (529, REFUSAL)
    assert (answer.headers["retry-after"], answer.headers["request-id"]) == ("7", "r2")
    assert answer.headers["content-encoding"] == "gzip"
    end()
    assert "assistant" not in roles(memory)


def test_a_stream_reaches_the_program_while_it_comes(
    proxy: Any, upstream: Upstream, memory: Memory
) -> None:
    url, end = proxy
    with httpx2.stream("POST", f"{url}/v1/messages", json=ASKED) as answer:
        parts = answer.iter_raw()
        first = next(parts)
        assert first.startswith(b"event: message_start")
        assert not upstream.ended.is_set()
        upstream.go_on.set()
        whole = first + b"".join(parts)
    assert whole == b"".join(LINES)
    end()
    assert roles(memory) == ["assistant", "user"]
    assert SAID in [each.text.strip() for each in memory.listing(ANN, limit=9)]


def test_of_a_program_that_leaves_nothing_half_is_kept(
    proxy: Any, upstream: Upstream, memory: Memory
) -> None:
    url, end = proxy
    upstream.until_left = True
    with httpx2.stream("POST", f"{url}/v1/messages", json=ASKED) as answer:
        assert b"message_start" in next(answer.iter_raw())
    assert upstream.ended.wait(20)
    end()
    assert roles(memory) == ["user"]
    assert [each.text for each in memory.listing(ANN, limit=9)] == [PROMPT]


def test_a_program_may_leave_when_it_has_seen_the_end(
    proxy: Any, upstream: Upstream, memory: Memory
) -> None:
    """Clients close a stream at its last event, before the connection says that it was the last."""
    url, end = proxy
    upstream.until_left, upstream.half = True, len(LINES)
    with httpx2.stream("POST", f"{url}/v1/messages", json=ASKED) as answer:
        for line in answer.iter_lines():
            if line == "event: message_stop":
                break
    assert upstream.ended.wait(20)
    end()
    assert roles(memory) == ["assistant", "user"]


def test_a_body_that_is_too_long_is_not_read(proxy: Any, upstream: Upstream) -> None:
    url, _ = proxy
    place = urlsplit(url)
    with sockets.create_connection((place.hostname, place.port), 20) as connection:
        head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {MOST_BODY + 1}"
        connection.sendall(f"{head}\r\n\r\n".encode())
        answer = connection.recv(65_536).decode()
        while not answer.endswith("}"):
            answer += connection.recv(65_536).decode()
    assert answer.startswith("HTTP/1.1 413 ")
    assert "64 MiB" in answer
    assert "send less" in answer
    assert upstream.seen == []


def test_a_body_without_a_length_is_bounded_too(
    proxy: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.proxy.app.MOST_BODY", 2**20)
    url, _ = proxy

    def parts(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield b"x" * 2**16

    kept = httpx2.post(f"{url}/v1/embeddings", content=parts(16))
    refused = httpx2.post(f"{url}/v1/embeddings", content=parts(17))
    assert (kept.status_code, refused.status_code) == (529, 413)
    assert refused.json()["code"] == "too_large"
    assert [size for _, _, _, size in upstream.seen] == [2**20]
