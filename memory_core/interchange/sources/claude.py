"""Claude's export: conversations.json, projects.json, memories.json."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
from memory_core.interchange.parsing import blocks, elements, moment, string

_HEADING = re.compile(r"\*\*[^*\n]+\*\*:?|#{1,6} [^\n]+")
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def _reads(file: File) -> bool:
    start = file.beginning
    if start.lstrip()[:1] not in "[{":
        return False
    project = '"prompt_template"' in start and '"docs"' in start
    memory = '"conversations_memory"' in start or '"project_memories"' in start
    return '"chat_messages"' in start or project or memory


def _read(file: File) -> Iterator[Entry]:
    for entry in elements(file):
        if isinstance(entry, Problem):
            yield entry
            continue
        place, each = entry
        if not isinstance(each, dict):
            yield Problem(place, "it is no conversation")
        elif isinstance(each.get("chat_messages"), list):
            yield from _conversation(file, place, each)
        elif "docs" in each or "prompt_template" in each:
            yield from _project(file, place, each)
        elif "conversations_memory" in each or "project_memories" in each:
            yield from _memories(file, place, each)
        else:
            yield Problem(place, "it is neither a conversation nor a project nor memories")


def _conversation(file: File, place: str, talk: Mapping[str, Any]) -> Iterator[Entry]:
    id = string(talk.get("uuid"))
    place = f"{place} ({string(talk.get('name'))[:40] or id})"
    began = moment(talk.get("created_at"))
    last, dated = (file.modified, FILE) if began is None else (began, CONVERSATION)
    for number, message in enumerate(talk["chat_messages"], 1):
        where = f"{place} message {number}"
        if not isinstance(message, dict):
            yield Problem(where, "it is no message")
            continue
        own = moment(message.get("created_at"))
        last = last if own is None else own
        role = _ROLES.get(string(message.get("sender")), "")
        text = blocks(message.get("content")) or string(message.get("text"))
        if not role or not text:
            yield LeftOut("no text" if role else "message of another sender", where)
            continue
        yield Incoming(
            text,
            f"{id}\x1f{string(message.get('uuid')) or number}",
            where,
            last,
            dated if own is None else OWN,
            role=role,
            session=f"claude:{id}",
            source=f"claude: {string(talk.get('name')) or id}",
            turn=True,
        )
        for name in ("attachments", "files"):
            if message.get(name):
                yield LeftOut("attachment", where)


def _project(file: File, place: str, project: Mapping[str, Any]) -> Iterator[Entry]:
    id, name = string(project.get("uuid")), string(project.get("name"))
    own = moment(project.get("updated_at")) or moment(project.get("created_at"))
    texts = [("prompt", name, string(project.get("prompt_template")))]
    docs = project.get("docs")
    for doc in docs if isinstance(docs, list) else ():
        if isinstance(doc, dict):
            called = string(doc.get("filename"))
            texts.append((string(doc.get("uuid")) or called, called, string(doc.get("content"))))
    for key, title, text in texts:
        if text:
            yield _text(file, place, f"claude project {id} {key}", f"{name}: {title}", text, own)


def _memories(file: File, place: str, each: Mapping[str, Any]) -> Iterator[Entry]:
    own = moment(each.get("updated_at"))
    account = string(each.get("account_uuid"))
    held = {"": each.get("conversations_memory")}
    projects = each.get("project_memories")
    held |= projects if isinstance(projects, dict) else {}
    for project, text in held.items():
        for number, part in enumerate(_paragraphs(string(text))):
            slot = f"claude memory {account} {project}".strip()
            yield _text(file, place, slot, f"{slot} {number}", part, own)


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of *text*; a heading that stands alone belongs to the one after it."""
    found, heading = list[str](), ""
    for part in filter(None, map(str.strip, text.split("\n\n"))):
        if _HEADING.fullmatch(part):
            heading = f"{part}\n"
        else:
            found.append(heading + part)
            heading = ""
    return found


def _text(file: File, place: str, slot: str, title: str, text: str, own: float | None) -> Incoming:
    when, dated = (file.modified, FILE) if own is None else (own, OWN)
    return Incoming(
        text, f"{slot}\x1f{title}", place, when, dated, "fact", source=slot, slot=slot, many=True
    )


FORM = SourceForm(
    "claude", 'JSON with "chat_messages", or projects.json, memories.json', _reads, _read
)
