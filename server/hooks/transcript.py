"""What the assistant said last, from the transcript that Claude Code names in its hooks.

A compaction may come in the middle of a turn: what was said until then is in no hook. Only the
command reads it, as the user that it runs for; a server opens no file that a request names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TAIL_BYTES = 256 * 1024
"""How much of the end of a transcript is looked at."""


def with_last_turn(payload: bytes) -> bytes:
    """*payload* with last_assistant_message; as it is when it is no PreCompact or nothing is found.

    The transcript has a JSON object a line; those of type "assistant" hold blocks of content.
    """
    try:
        given = json.loads(payload)
        if given["hook_event_name"] != "PreCompact" or "last_assistant_message" in given:
            return payload
        said = _last(Path(given["transcript_path"]))
    except (OSError, ValueError, LookupError, TypeError):
        return payload
    return json.dumps({**given, "last_assistant_message": said}).encode() if said else payload


def _last(transcript: Path) -> str:
    with transcript.open("rb") as stream:
        stream.seek(max(0, transcript.stat().st_size - TAIL_BYTES))
        lines = stream.read(TAIL_BYTES).splitlines()
    for line in reversed(lines):
        if b'"assistant"' in line and (said := _said(line)):
            return said
    return ""


def _said(line: bytes) -> str:
    """The words of an assistant's *line*; "" for a subagent's, and for one without words."""
    try:
        entry: Any = json.loads(line)
        if entry["type"] != "assistant" or entry.get("isSidechain"):
            return ""
        blocks = entry["message"]["content"]
        return "\n".join(block["text"] for block in blocks if block["type"] == "text").strip()
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""  # the first line of the tail may be half a line
