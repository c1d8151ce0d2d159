"""A stand-in for the model that Claude Code talks to: it answers each request with a few words.

Asked in a prompt to use a tool, it calls that tool once and ends when it has the result. So the
real client runs whole conversations, with its hooks and its MCP servers, without an account.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "The harbour office of Tromsø opens at 8 on weekdays."
USE = re.compile(r"Use (mcp__\w+) with (\{[^}]*\})")
"""How a prompt asks for a tool: its name and its arguments as JSON."""


class Model(ThreadingHTTPServer):
    """The endpoint; *asked* holds the body of each request for an answer."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def last(self) -> str:
        """The last request as text, its strings as they were."""
        return json.dumps(self.asked[-1], ensure_ascii=False) if self.asked else ""


@contextmanager
def model() -> Iterator[Model]:
    """A model that listens."""
    with Model() as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        try:
            yield listening
        finally:
            listening.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes
    server: Model

    def do_POST(self) -> None:
        """Answer a request for a message as a stream of events; nothing else is here."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if not self.path.startswith("/v1/messages?"):
            self._answer(404, "application/json", b"{}")
            return
        self.server.asked.append(body)
        events = "".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(body)
        )
        self._answer(200, "text/event-stream", events.encode())

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""

    def _answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _events(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of an answer: the call that the newest prompt asks for, or ANSWER."""
    (newest,) = [m for m in body["messages"] if m["role"] == "user"][-1:]
    said = json.dumps(newest["content"], ensure_ascii=False)
    wanted = USE.search(newest["content"] if isinstance(newest["content"], str) else _text(newest))
    if wanted and '"tool_result"' not in said:
        block = {"type": "tool_use", "id": "toolu_1", "name": wanted[1], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": wanted[2]}
        stop = "tool_use"
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": ANSWER}
        stop = "end_turn"
    message = {
        **{"id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in"},
        **{"content": [], "stop_reason": None, "stop_sequence": None},
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    ended = {"stop_reason": stop, "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _text(message: dict[str, Any]) -> str:
    return "\n".join(part.get("text", "") for part in message["content"])
