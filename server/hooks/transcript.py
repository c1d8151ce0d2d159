"""The assistant's last message, from the transcript that Claude Code names in its hooks.

A compaction may interrupt a turn, whose text so far is in no other hook. Only the command reads the
transcript, with the rights of its user; a server opens no file that a request names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TAIL_BYTES = 256 * 1024
"""Bytes at the end of a transcript that are searched."""


def with_last_turn(payload: bytes) -> bytes:
    """*payload* with last_assistant_message; unchanged unless it is a PreCompact with a transcript.

    The transcript has one JSON object a line; those of type "assistant" hold blocks of content.
    """
    try:
        given = json.loads(payload)
        if given["hook_event_name"] != "PreCompact" or "last_assistant_message" in given:
            return payload
        message = _last_message(Path(given["transcript_path"]))
    except (OSError, ValueError, LookupError, TypeError):
        return payload
    if not message:
        return payload
    return json.dumps({**given, "last_assistant_message": message}).encode()


def _last_message(transcript: Path) -> str:
    with transcript.open("rb") as stream:
        stream.seek(max(0, transcript.stat().st_size - TAIL_BYTES))
        lines = stream.read(TAIL_BYTES).splitlines()
    for line in reversed(lines):
        if b'"assistant"' in line and (message := _message(line)):
            return message
    return ""


def _message(line: bytes) -> str:
    """The text of an assistant's *line*; "" for a subagent's, and for one without text."""
    try:
        entry: Any = json.loads(line)
        if entry["type"] != "assistant" or entry.get("isSidechain"):
            return ""
        blocks = entry["message"]["content"]
        return "\n".join(block["text"] for block in blocks if block["type"] == "text").strip()
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""  # the first line of the tail may be half a line
