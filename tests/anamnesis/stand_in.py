"""A stand-in for a model: it speaks three APIs on loopback and keeps what it was sent."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

SAID = "It waits by the weir."


class Model:
    """What was sent, and how the next answers are."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.tools = 0
        """So many of the next answers are calls of the tool look."""
        self.calls: list[tuple[str, dict[str, Any]]] = []
        """The tools, with their arguments, that the next answers call, before they say anything."""
        self.said = SAID
        self.searches = False
        """A response says first that the service has searched the web."""
        self.breaks = False
        """Streams end in the middle."""
        self.status = 200

    @property
    def last(self) -> dict[str, Any]:
        return dict(json.loads(self.bodies[-1]))


Call = tuple[str, dict[str, Any]] | None
_NUMBERS = itertools.count(1)


def chat(body: dict[str, Any], tool: Call, model: Model) -> dict[str, Any]:
    name, given = tool or ("", {})
    function = {"name": name, "arguments": json.dumps(given)}
    call = {"id": "c1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None if tool else model.said}
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{
            "index": 0, "finish_reason": "tool_calls" if tool else "stop",
            "message": {**message, "tool_calls": [call]} if tool else message,
        }],
    }  # fmt: skip


def response(body: dict[str, Any], tool: Call, model: Model) -> dict[str, Any]:
    text = {"type": "output_text", "text": model.said, "annotations": []}
    item: dict[str, Any] = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
    }
    item["content"] = [text]
    if tool:
        item = {
            "type": "function_call",
            "id": "f",
            "call_id": f"c{len(body.get('input', ()))}",
            "name": tool[0],
            "arguments": json.dumps(tool[1]),
        }
    query = {"type": "search", "query": "herons"}
    search = {"type": "web_search_call", "id": "w", "status": "completed", "action": query}
    return {
        "id": f"resp_{next(_NUMBERS)}", "object": "response", "created_at": 1, "model": "m",
        "status": "completed", "output": [search, item] if model.searches else [item],
        "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def message(body: dict[str, Any], tool: Call, model: Model) -> dict[str, Any]:
    id = f"t{len(body.get('messages', ()))}"
    said = {"type": "tool_use", "id": id, "name": tool[0], "input": tool[1]} if tool else None
    return {
        "id": f"msg_{next(_NUMBERS)}", "type": "message", "role": "assistant", "model": "m",
        "content": [said or {"type": "text", "text": model.said}],
        "stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


Events = Iterator[tuple[str, dict[str, Any]]]


def chat_events(whole: dict[str, Any]) -> Events:
    about = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    (choice,) = whole["choices"]
    said = choice["message"]
    for word in (said["content"] or "").split(" "):
        delta = {"role": "assistant", "content": word + " "}
        yield "", {**about, "choices": [{"index": 0, "delta": delta}]}
    for call in said.get("tool_calls", ()):
        delta = {"tool_calls": [{**call, "index": 0}]}
        yield "", {**about, "choices": [{"index": 0, "delta": delta}]}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield "", {**about, "choices": [end]}


def response_events(whole: dict[str, Any]) -> Events:
    begun = {**whole, "output": [], "status": "in_progress"}
    yield "", {"type": "response.created", "sequence_number": 0, "response": begun}
    yield "", {"type": "response.completed", "sequence_number": 1, "response": whole}


def message_events(whole: dict[str, Any]) -> Events:
    yield "message_start", {"message": {**whole, "content": [], "stop_reason": None}}
    (part,) = whole["content"]
    empty = {"text": ""} if part["type"] == "text" else {"input": {}}
    yield "content_block_start", {"index": 0, "content_block": {**part, **empty}}
    for word in part.get("text", "").split(" "):
        delta = {"type": "text_delta", "text": word + " "}
        if part["type"] != "text":
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    end = {"stop_reason": whole["stop_reason"]}
    yield "message_delta", {"delta": end, "usage": {"output_tokens": 5}}
    yield "message_stop", {}


ANSWERS = {
    "/v1/chat/completions": (chat, chat_events),
    "/v1/responses": (response, response_events),
    "/v1/messages": (message, message_events),
}


@pytest.fixture
def model(processes: Any) -> Iterator[Model]:
    one = Model()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body are two writes

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            one.bodies.append(content)
            one.paths.append(self.path)
            one.headers.append({name.lower(): value for name, value in self.headers.items()})
            body = json.loads(content)
            whole, events = ANSWERS[self.path.partition("?")[0]]
            if one.status != 200:
                self.reply("application/json", b'{"error": {"message": "no"}}', one.status)
            else:
                tool: Call = ("look", {}) if one.tools else None
                one.tools = max(0, one.tools - 1)
                if one.calls:
                    tool = one.calls.pop(0)
                said = whole(body, tool, one)
                if body.get("stream"):
                    self.stream(list(events(said)))
                else:
                    self.reply("application/json", json.dumps(said).encode())

        def stream(self, events: list[tuple[str, dict[str, Any]]]) -> None:
            lines = []
            for name, data in events[: len(events) // 2] if one.breaks else events:
                data = {**({"type": name} if name else {}), **data}
                said = json.dumps(data, ensure_ascii=False)
                lines.append((f"event: {name}\n" if name else "") + f"data: {said}\n\n")
            if not one.breaks:
                lines.append("data: [DONE]\n\n" if self.path == "/v1/chat/completions" else "")
            self.reply("text/event-stream", "".join(lines).encode())

        def reply(self, kind: str, content: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield one
    server.shutdown()
    thread.join()
    server.server_close()
