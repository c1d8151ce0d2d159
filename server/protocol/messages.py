"""Repairs and refusals of JSON-RPC messages, before the SDK parses them.

The SDK's parser rejects a message with a lone surrogate escape, and some others, without reading
its id, so the caller would never get an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARK = "anamnesis/replaced-surrogates"

_OUTER_ID = re.compile(r'\s*\{[^{}\[\]]*?"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")')

_LAST_ID = re.compile(r'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")[^{}\[\]]*\}\s*\Z')

INVALID_REQUEST = -32600

TAIL = 1024
"""Bytes at each end of a message that is too long that are searched for its id."""


def readable(message: bytes) -> str:
    """*message* as text for the SDK's parser, with lone surrogates and bad UTF-8 as U+FFFD.

    The number of replaced surrogates is stored in the message's `_meta`; see replaced_surrogates.
    """
    text = message.decode("utf-8", "replace")
    if not _SURROGATE_ESCAPE.search(text):
        return text
    try:
        cleaned, count = _replaced(json.loads(text))
        if count and isinstance(cleaned, dict) and isinstance(cleaned.get("params"), dict):
            meta = cleaned["params"].get("_meta")
            if meta is None or isinstance(meta, dict):
                cleaned["params"]["_meta"] = {**(meta or {}), _MARK: count}
        return json.dumps(cleaned)
    except (ValueError, RecursionError):  # also of a message that is nested too deep
        return text


def replaced_surrogates(params: Mapping[str, Any] | None) -> int:
    """How many lone surrogates `readable` replaced in the request with *params*."""
    meta = (params or {}).get("_meta")
    count = meta.get(_MARK) if isinstance(meta, Mapping) else None
    return count if isinstance(count, int) and count > 0 else 0


def refusal(text: str) -> dict[str, Any] | None:
    """The error response to a message that the SDK's parser rejected; None without a known id.

    Clients do not expect a response without an id.
    """
    id = _id(text)
    if id is None:
        return None
    message = "invalid_input: the message is not a JSON-RPC request; pass params as a JSON object"
    return {"jsonrpc": "2.0", "id": id, "error": {"code": INVALID_REQUEST, "message": message}}


def too_long(message: bytes) -> dict[str, Any] | None:
    """The error response to a *message* over the length limit; None when no id is found.

    Only the two ends are read, so the middle may be missing.
    """
    head, tail = (part.decode("utf-8", "replace") for part in (message[:TAIL], message[-TAIL:]))
    found = _OUTER_ID.match(head) or _LAST_ID.search(tail)
    if found is None:
        return None
    return _too_large(json.loads(found[1]), "the message is too long")


def too_long_body(most: int) -> dict[str, Any]:
    """The error response to a body of over *most* bytes, which is not read: it has no id."""
    return _too_large(None, f"the message is over {most} bytes")


def _too_large(id: str | int | None, reason: str) -> dict[str, Any]:
    problem = f"too_large: {reason} and nothing was done; send less at a time"
    return {"jsonrpc": "2.0", "id": id, "error": {"code": INVALID_REQUEST, "message": problem}}


def _id(text: str) -> str | int | None:
    """The id of the request in *text*, also of one that is too deep or too large to parse."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        found = _OUTER_ID.match(text)
        return None if found is None else json.loads(found[1])
    id = data.get("id") if isinstance(data, dict) and "method" in data else None
    return id if isinstance(id, str) or type(id) is int else None


def _replaced(value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        return _SURROGATE.subn("\ufffd", value)
    if isinstance(value, list):
        pairs = [_replaced(item) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if isinstance(value, dict):
        total = 0
        changed = {}
        for name, item in value.items():
            new_name, in_name = _replaced(name)
            changed[new_name], in_item = _replaced(item)
            total += in_name + in_item
        return changed, total
    return value, 0
