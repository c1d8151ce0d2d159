"""ChatGPT's export: conversations.json, a list of conversations as trees of messages."""

from __future__ import annotations

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
from memory_core.interchange.parsing import elements, moment, string


def _reads(file: File) -> bool:
    start = file.beginning
    return start.lstrip()[:1] in "[{" and '"mapping"' in start and '"message"' in start


def _read(file: File) -> Iterator[Entry]:
    for entry in elements(file):
        if isinstance(entry, Problem):
            yield entry
        else:
            place, talk = entry
            mapping = talk.get("mapping") if isinstance(talk, dict) else None
            if isinstance(mapping, dict):
                yield from _conversation(file, place, talk, mapping)
            else:
                yield Problem(place, "it is no conversation: it has no mapping")


def _conversation(
    file: File, place: str, talk: Mapping[str, Any], mapping: Mapping[str, Any]
) -> Iterator[Entry]:
    """The messages from the root to the current one; other branches were discarded."""
    id = string(talk.get("id")) or string(talk.get("conversation_id"))
    place = f"{place} ({string(talk.get('title'))[:40] or id or 'untitled'})"
    path, circle = _walked(mapping, talk.get("current_node"))
    if circle:
        yield Problem(place, "its messages lead in a circle; those before it are taken")
    on_path = set(path)
    for node in mapping:
        if node not in on_path and isinstance(mapping[node], dict) and mapping[node].get("message"):
            yield LeftOut("discarded branch", f"{place} {node}")
    if not id:
        id = path[0] if path else ""
    began = moment(talk.get("create_time"))
    last, dated = (file.modified, FILE) if began is None else (began, CONVERSATION)
    for node in path:
        message = mapping[node].get("message")
        if not isinstance(message, dict):
            continue
        where = f"{place} {node}"
        author = message.get("author")
        role = string(author.get("role")) if isinstance(author, dict) else ""
        own = moment(message.get("create_time"))
        if own is not None:
            last = own
        if reason := _left_out(message, role):
            yield LeftOut(reason, where)
            continue
        text = _text(message.get("content"))
        if not text:
            yield LeftOut("no text", where)
            continue
        yield Incoming(
            text,
            f"{id}\x1f{string(message.get('id')) or node}",
            where,
            last,
            dated if own is None else OWN,
            role=role,
            session=f"chatgpt:{id}",
            source=f"chatgpt: {string(talk.get('title')) or id}",
            turn=True,
        )


def _walked(mapping: Mapping[str, Any], current: Any) -> tuple[list[str], bool]:
    """The nodes from the root to *current*, and whether the way to it is a circle.

    Without a current node: to the last leaf of the mapping.
    """
    if not isinstance(current, str) or current not in mapping:
        parents = {each.get("parent") for each in mapping.values() if isinstance(each, dict)}
        leaves = [node for node in mapping if node not in parents]
        current = leaves[-1] if leaves else next(iter(mapping), "")
    path: list[str] = []
    seen: set[str] = set()
    while isinstance(current, str) and isinstance(mapping.get(current), dict):
        if current in seen:
            return path[::-1], True
        seen.add(current)
        path.append(current)
        current = mapping[current].get("parent")
    return path[::-1], False


def _left_out(message: Mapping[str, Any], role: str) -> str:
    """Why a *message* is not taken; "" for one that is."""
    metadata, content = message.get("metadata"), message.get("content")
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return "hidden message"
    if role not in ("user", "assistant"):
        return f"{role or 'unknown'} message"
    if role == "assistant" and message.get("recipient", "all") != "all":
        return "tool message"
    kind = content.get("content_type") if isinstance(content, dict) else ""
    return "" if kind in ("text", "multimodal_text") else f"{kind or 'empty'} message"


def _text(content: Any) -> str:
    """The words of a message; what is attached is named."""
    parts = content.get("parts")
    said = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, str):
            said.append(part)
        elif isinstance(part, dict) and part.get("content_type") == "audio_transcription":
            said.append(string(part.get("text")))
    return "\n\n".join(text for text in said if text.strip()).strip()


FORM = SourceForm(
    "chatgpt", 'conversations.json with a "mapping" in each conversation', _reads, _read
)
