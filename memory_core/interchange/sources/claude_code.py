"""Transcripts of Claude Code: JSON lines of events, one file a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from memory_core.interchange.files import File
from memory_core.interchange.found import (
    CONVERSATION,
    FILE,
    OWN,
    Entry,
    Incoming,
    LeftOut,
    Problem,
    SourceForm,
)
from memory_core.interchange.parsing import blocks, json_lines, moment, string
from memory_core.records import PROJECT


def _reads(file: File) -> bool:
    for line in file.first_lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and "sessionId" in record and "type" in record:
            return True
    return False


def _read(file: File) -> Iterator[Entry]:
    last: float | None = None
    for entry in json_lines(file):
        if isinstance(entry, Problem):
            yield entry
            continue
        place, event = entry
        own = moment(event.get("timestamp"))
        last = last if own is None else own
        dated = FILE if last is None else CONVERSATION if own is None else OWN
        yield _event(place, event, (file.modified if last is None else last, dated))


def _event(place: str, event: dict[str, Any], when: tuple[float, str]) -> Entry:
    kind, message = string(event.get("type")), event.get("message")
    if kind not in ("user", "assistant"):
        return LeftOut("event that is no message", place)
    if event.get("isSidechain"):
        return LeftOut("message of a subagent", place)
    if event.get("isMeta") or event.get("isCompactSummary"):
        return LeftOut("message of the program", place)
    if not isinstance(message, dict):
        return Problem(place, "it has no message")
    text = blocks(message.get("content"))
    if not text:
        return LeftOut("tool call, tool output or thinking", place)
    session = string(event.get("sessionId"))
    project = PurePath(string(event.get("cwd")).replace("\\", "/")).name
    return Incoming(
        text,
        string(event.get("uuid")) or f"{session}\x1f{place}",  # a resumed one repeats its events
        place,
        *when,
        role=kind,
        session=session,
        tags=(PROJECT + project,) if project else (),
        source="claude code",
        turn=True,
        gated=True,
        forked=True,
    )


FORM = SourceForm(
    "claude-code", 'JSON lines with "sessionId" and "type", in ~/.claude/projects', _reads, _read
)
