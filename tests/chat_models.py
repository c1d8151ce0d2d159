"""A stand-in for the services of language models that stream: Ollama, OpenAI's form, Anthropic."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATHS = {"/api/chat": "ollama", "/v1/chat/completions": "openai", "/v1/messages": "claude"}
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-test-0001", "OPENAI_API_KEY": "sk-test-0002"}


class Model:
    """Says *words* to everything; keeps what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.words = ["The key ", "is under ", "the flowerpot."]
        self.status = 200
        self.cut_after: int | None = None
        """Pieces after which the connection breaks."""
        self.says_length = False
        """Whether the client can tell by the length that it broke."""
        self.asked: list[dict[str, Any]] = []

    def pieces(self, service: str) -> list[bytes]:
        """The answer as *service* streams it, a piece of text each; then its end."""
        if service == "ollama":
            said = [
                {"message": {"role": "assistant", "content": w}, "done": False} for w in self.words
            ]
            end = {
                "message": {"role": "assistant", "content": ""},
                "done": True,
                "done_reason": "stop",
            }
            return [json.dumps({"model": "m", **each}).encode() + b"\n" for each in [*said, end]]
        if service == "openai":
            chunks = [{"choices": [{"index": 0, "delta": {"content": w}}]} for w in self.words]
            chunks.append({"choices": []})
            told = [json.dumps(each, ensure_ascii=False) for each in chunks]
            return [*(f"data: {each}\n\n".encode() for each in told), b"data: [DONE]\n\n"]
        usage = {"input_tokens": 1, "output_tokens": 1}
        message: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant"}
        message |= {"model": "m", "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
        block = {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        }
        start = _event({"type": "message_start", "message": message}) + _event(block)
        texts = [
            _event(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "text_delta", "text": w},
                }
            )
            for w in self.words
        ]
        stop = {"stop_reason": "end_turn", "stop_sequence": None}
        last = _event({"type": "content_block_stop", "index": 0})
        last += _event({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}})
        return [start + texts[0], *texts[1:], last + _event({"type": "message_stop"})]


def _event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    """Serve *model* over a real socket."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.asked.append(body)
            pieces = model.pieces(PATHS[self.path])
            self.send_response(model.status)
            self.send_header("Connection", "close")
            if model.status == 200:
                kind = "x-ndjson" if self.path == "/api/chat" else "event-stream"
                self.send_header(
                    "Content-Type", f"application/{kind}".replace("application/e", "text/e")
                )
                if model.cut_after is not None:
                    self.send_header("Content-Length", "100000")
            self.end_headers()
            for piece in pieces[: model.cut_after] if model.status == 200 else []:
                self.wfile.write(piece)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        model.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield model
        finally:
            http.shutdown()
            thread.join()


def settings(service: str, model: Model) -> dict[str, Any]:
    """The settings of a memory whose encoder is *service* at *model*."""
    return {
        "encoder": service,
        "encoder_model": "small",
        "encoder_url": model.url,
        "vendors": KEYS,
    }
