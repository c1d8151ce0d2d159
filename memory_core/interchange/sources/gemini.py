"""Gemini CLI: recorded chats, saved checkpoints and the log of what the user typed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
from memory_core.interchange.parsing import blocks, elements, json_lines, moment, string

_ROLES = {"user": "user", "gemini": "assistant", "model": "assistant"}

_GIVEN = (
    "This is the Gemini CLI. We are setting up",
    "Got it. Thanks for the context",
    "<session_",
)
"""How a message begins that the program wrote in the name of either side."""


def _reads(file: File) -> bool:
    start = file.beginning
    chat = '"sessionId"' in start and ('"messages"' in start or '"projectHash"' in start)
    log = '"sessionId"' in start and '"messageId"' in start
    saved = '"parts"' in start and '"role"' in start and '"mapping"' not in start
    return start.lstrip()[:1] in "[{" and (chat or log or saved)


def _read(file: File) -> Iterator[Entry]:
    if _is_lines(file):
        yield from _messages(file, json_lines(file), {})
        return
    if file.beginning.lstrip()[:1] == "[":
        yield from _messages(file, elements(file), {})
        return
    for entry in elements(file):
        if isinstance(entry, Problem):
            yield entry
            continue
        place, chat = entry
        listed = chat.get("messages", chat.get("history")) if isinstance(chat, dict) else None
        if not isinstance(listed, list):
            yield Problem(place, "it has no messages")
            continue
        named = ((f"{file.name} message {n}", each) for n, each in enumerate(listed, 1))
        yield from _messages(file, named, chat)


def _is_lines(file: File) -> bool:
    first = file.beginning.lstrip().split("\n", 1)[0]
    try:
        return file.suffix == ".jsonl" and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _messages(
    file: File, entries: Iterator[tuple[str, Any] | Problem], chat: Mapping[str, Any]
) -> Iterator[Entry]:
    session = string(chat.get("sessionId")) or PurePath(file.name).stem
    began = moment(chat.get("startTime"))
    last, dated = (file.modified, FILE) if began is None else (began, CONVERSATION)
    number = 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        place, each = entry
        if not isinstance(each, dict):
            yield Problem(place, "it is no message")
            continue
        session = string(each.get("sessionId")) or session
        number += 1
        own = moment(each.get("timestamp"))
        last = last if own is None else own
        role = _ROLES.get(string(each.get("type")) or string(each.get("role")), "")
        said = each.get("content", each.get("parts", each.get("message")))
        text = blocks(said)
        if not role or not text:
            yield LeftOut("no text" if role else "event that is no message", place)
            continue
        if text.startswith(_GIVEN):
            yield LeftOut("message of the program", place)
            continue
        id = string(each.get("id")) or each.get("messageId", number)
        typed = "messageId" in each
        yield Incoming(
            text,
            f"{session}\x1f{id}",
            place,
            last,
            dated if own is None else OWN,
            role=role,
            session=f"gemini:{session}",
            source="gemini cli",
            turn=True,
            gated=True,
            forked=not typed,
            typed=typed,
        )


FORM = SourceForm("gemini", "chats, checkpoints and logs.json in ~/.gemini/tmp", _reads, _read)
