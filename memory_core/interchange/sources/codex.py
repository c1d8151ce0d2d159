"""Transcripts of Codex: rollout files of JSON lines."""

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

_TYPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_GIVEN = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCT",
    "<skill>",
)
"""How a message begins that the program wrote in the name of the user."""
_EDITOR, _ASKED = "# Context from my IDE setup:", "## My request for Codex:"
"""How a message begins to which an editor added what is open in it, and what the user said."""


def _reads(file: File) -> bool:
    for line in file.first_lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict):
            return False
        if record.get("type") in _TYPES and "payload" in record:
            return True
        if {"id", "timestamp", "instructions"} <= record.keys():
            return True
    return False


def _read(file: File) -> Iterator[Entry]:
    session, project, number, is_named, is_subagent = PurePath(file.name).stem, "", 0, False, False
    last: float | None = None
    for entry in json_lines(file):
        if isinstance(entry, Problem):
            yield entry
            continue
        place, line = entry
        payload = line.get("payload", line)
        if not isinstance(payload, dict):
            yield Problem(place, "its payload is no object")
            continue
        is_meta = line.get("type") == "session_meta" or "instructions" in line
        if is_meta and not is_named:  # what it was forked from names itself after it
            is_named, is_subagent = True, _is_subagent(payload)
            session = string(payload.get("id")) or session
        folder = string(payload.get("cwd")).replace("\\", "/")
        project = PurePath(folder).name or project
        if payload.get("type") != "message":
            yield LeftOut("event that is no message", place)
            continue
        if is_subagent:
            yield LeftOut("message of a subagent", place)
            continue
        number += 1
        own = moment(line.get("timestamp"))
        last = last if own is None else own
        dated = FILE if last is None else CONVERSATION if own is None else OWN
        when = (file.modified if last is None else last, dated)
        yield _message(place, (session, project, number), payload, when)


def _is_subagent(payload: dict[str, Any]) -> bool:
    source = payload.get("source")
    return payload.get("thread_source") == "subagent" or (
        isinstance(source, dict) and "subagent" in source
    )


def _message(
    place: str, of: tuple[str, str, int], message: dict[str, Any], when: tuple[float, str]
) -> Entry:
    session, project, number = of
    role, text = string(message.get("role")), blocks(message.get("content"))
    if role not in ("user", "assistant"):
        return LeftOut(f"{role or 'unknown'} message", place)
    if role == "user" and text.startswith(_EDITOR):
        text = text.partition(_ASKED)[2].strip()
    if not text:
        return LeftOut("no text", place)
    if role == "user" and text.startswith(_GIVEN):
        return LeftOut("message of the program", place)
    return Incoming(
        text,
        f"{session}\x1f{string(message.get('id')) or number}",
        place,
        *when,
        role=role,
        session=f"codex:{session}",
        tags=(PROJECT + project,) if project else (),
        source="codex",
        turn=True,
        gated=True,
        forked=True,
    )


FORM = SourceForm("codex", "rollout-*.jsonl in ~/.codex/sessions", _reads, _read)
