"""Request and answer bodies of the model APIs: whose words are the user's, and what was answered.

Three dialects, told apart by the end of the path: chat completions and responses of OpenAI, and the
messages of Anthropic. Bodies are JSON as these APIs document it; the rest is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memory_core.text.lines import lines

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API: where the turns stand, what a part of text is called, and how an answer reads."""

    turns: str
    part: str
    answer: Callable[[Mapping[str, Any]], str]
    """The text of a whole answer, "" for one that did not end as an answer, such as a tool call."""
    streamed: Callable[[list[Body]], str]
    """The same of the events of a stream."""


def dialect_of(path: str) -> Dialect | None:
    """The dialect of requests to *path*; None for everything else."""
    return next(
        (dialect for end, dialect in DIALECTS.items() if path.rstrip("/").endswith(end)), None
    )


def user_turns(dialect: Dialect, body: Mapping[str, Any]) -> list[tuple[int, str]]:
    """The place and the text of each turn in *body* that the user worded, oldest first.

    Not those that only return what a tool did. The text of a plain input stands at place -1.
    """
    turns = body.get(dialect.turns)
    if isinstance(turns, str):
        return [(-1, turns)] if turns.strip() else []
    found = []
    for place, turn in enumerate(turns if isinstance(turns, list) else ()):
        if isinstance(turn, dict) and turn.get("role") == "user":
            text = _words(turn.get("content"), (dialect.part,))
            if text.strip():
                found.append((place, text))
    return found


def first_answer(dialect: Dialect, body: Mapping[str, Any], turns: list[tuple[int, str]]) -> str:
    """The text that answered the first of the *turns* of the user in *body*, "" before a second."""
    if len(turns) < 2:
        return ""
    answer = body[dialect.turns][turns[1][0] - 1]
    is_one = isinstance(answer, dict) and answer.get("role") == "assistant"
    return _words(answer.get("content"), ("text", "output_text")) if is_one else ""


def with_block(dialect: Dialect, body: Mapping[str, Any], blocks: Mapping[int, str]) -> Body:
    """*body* with each of *blocks* after the user's own words in the turn at its place."""
    turns = body[dialect.turns]
    if isinstance(turns, str):
        return {**body, dialect.turns: _after(turns, blocks[-1])} if blocks.get(-1) else dict(body)
    changed = list(turns)
    for place, block in blocks.items():
        if block:
            content = changed[place]["content"]
            if isinstance(content, str):
                content = _after(content, block)
            else:
                content = [*content, {"type": dialect.part, "text": block}]
            changed[place] = {**changed[place], "content": content}
    return {**body, dialect.turns: changed}


def before(body: Mapping[str, Any]) -> tuple[str, bool]:
    """What the service has kept that *body* goes on from, "" for nothing.

    The id of an answer, or that of a conversation, which stays the same (then True).
    """
    held, thread = body.get("conversation"), body.get("thread")
    stays = held.get("id") if isinstance(held, dict) else held
    if isinstance(stays, str) and stays:
        return stays, True
    answer = thread.get("previous_message_id") if isinstance(thread, dict) else None
    answer = answer or body.get("previous_response_id")
    return (answer if isinstance(answer, str) else ""), False


def answered(dialect: Dialect, kind: str, content: bytes) -> tuple[str, str]:
    """The text and the id of the answer *content* of media type *kind*, a call of a tool too.

    The text is "" when it did not come to its end; the id is "" when there is none.
    """
    try:
        if kind.startswith("text/event-stream"):
            events = list(_events(content))
            wholes = (event.get("response") or event.get("message") for event in events)
            whole: Mapping[str, Any] = next(filter(None, wholes), {})
            said = dialect.streamed(events)
        else:
            whole = json.loads(content)
            said = dialect.answer(whole)
        return said, str(whole.get("id") or "")
    except (ValueError, LookupError, TypeError, AttributeError):
        return "", ""


def _after(text: str, block: str) -> str:
    return f"{text}\n\n{block}"


def _words(content: Any, kinds: tuple[str, ...]) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.get("type") in kinds and "text" in part
    )


def _events(content: bytes) -> Iterator[Body]:
    for line in lines([content]):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            event = json.loads(data)
            if isinstance(event, dict):
                yield event


def _chat(body: Mapping[str, Any]) -> str:
    choices = body["choices"]
    if len(choices) != 1 or choices[0]["finish_reason"] not in ("stop", "length"):
        return ""
    return choices[0]["message"].get("content") or ""


def _chat_streamed(events: list[Body]) -> str:
    parts, ended = [], False
    for event in events:
        for choice in event.get("choices", ()):
            if choice["index"]:
                return ""  # several answers at once are none that was given
            parts.append(choice["delta"].get("content") or "")
            ended = ended or choice.get("finish_reason") in ("stop", "length")
    return "".join(parts) if ended else ""


_ASKING = frozenset({
    "function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call",
    "apply_patch_call", "mcp_approval_request",
})  # fmt: skip
"""Items of a response after which the program has to do something; other tools ran at the service.
"""


def _response(body: Mapping[str, Any]) -> str:
    items = body["output"]
    if body["status"] != "completed" or any(item["type"] in _ASKING for item in items):
        return ""
    texts = (
        part["text"]
        for item in items
        if item["type"] == "message"
        for part in item["content"]
        if part["type"] == "output_text"
    )
    return "\n".join(texts)


def _response_streamed(events: list[Body]) -> str:
    whole = [event["response"] for event in events if event.get("type") == "response.completed"]
    return _response(whole[-1]) if whole else ""


def _message(body: Mapping[str, Any]) -> str:
    if body["stop_reason"] not in ("end_turn", "stop_sequence", "max_tokens"):
        return ""
    return "\n".join(part["text"] for part in body["content"] if part["type"] == "text")


def _message_streamed(events: list[Body]) -> str:
    parts, reason, ended = [], "", False
    for event in events:
        delta = event.get("delta", {})
        if event["type"] == "content_block_delta" and delta.get("type") == "text_delta":
            parts.append(delta["text"])
        elif event["type"] == "message_delta":
            reason = delta.get("stop_reason") or reason
        ended = ended or event["type"] == "message_stop"
    said = [{"type": "text", "text": "".join(parts)}]
    return _message({"stop_reason": reason, "content": said}) if ended else ""


DIALECTS = {
    "/chat/completions": Dialect("messages", "text", _chat, _chat_streamed),
    "/responses": Dialect("input", "input_text", _response, _response_streamed),
    "/messages": Dialect("messages", "text", _message, _message_streamed),
}
"""By the end of the path."""
