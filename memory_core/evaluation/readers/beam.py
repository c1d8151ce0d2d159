"""BEAM (Tavakoli et al. 2025): a folder of chat_N.json and q_N.json pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import Conversation, Question, Turn
from memory_core.evaluation.readers.parsing import load_json, need, seconds, typed, unique

UNANSWERABLE = "abstention"

_CHAT = re.compile(r"chat_(\d+)\.json")
_MARKER = re.compile(r"\s*->->[^\n]*\s*\Z")
_ROLES = ("user", "assistant")


def read_folder(folder: Path) -> list[Conversation]:
    """One conversation for each chat of *folder*, in the order of their numbers.

    A message is a turn; the whole chat is one session, because its batches go on where the last
    one stopped. A time anchor holds until the next one. The questions of the ability `abstention`
    have no evidence: they are the unanswerable ones. Other questions without evidence are skipped.
    """
    numbers = sorted(int(m[1]) for m in (_CHAT.fullmatch(p.name) for p in folder.iterdir()) if m)
    if not numbers:
        raise InvalidInput(f"{folder} has no chat_N.json", "give the folder of chats and questions")
    return [_chat(folder, number) for number in numbers]


def _chat(folder: Path, number: int) -> Conversation:
    path = folder / f"chat_{number}.json"
    turns = tuple(_turns(load_json(path), path.stem, str(path)))
    path = folder / f"q_{number}.json"
    known = {turn.id for turn in turns}
    asked = list(_questions(load_json(path), known, str(path)))
    kept = tuple(q for q in asked if q.evidence or q.category == UNANSWERABLE)
    return Conversation(f"chat_{number}", turns, kept, skipped=len(asked) - len(kept))


def _turns(data: Any, session: str, file: str) -> Iterator[Turn]:
    seen: set[str] = set()
    when: float | None = None
    for n, batch in enumerate(typed(data, list, file), 1):
        where = f"{file}: batch {n}"
        for exchange in need(batch, "turns", list, where):
            for message in typed(exchange, list, f"{where}, a turn"):
                identifier = unique(str(need(message, "id", int, where)), seen, where)
                place = f"{where}, message {identifier}"
                when = _anchor(message, when, place)
                role = need(message, "role", str, place)
                if role not in _ROLES:
                    raise InvalidInput(f"{place} has the role {role!r}", "use user or assistant")
                text = need(message, "content", str, place)
                if role == "user":
                    text = _MARKER.sub("", text)
                yield Turn(identifier, text.strip(), "", role, when, session)


def _anchor(message: dict[str, Any], last: float | None, where: str) -> float | None:
    anchor = message.get("time_anchor")
    return seconds(anchor, "%B-%d-%Y", where, "March-15-2024") if anchor else last


def _questions(data: Any, known: set[str], file: str) -> Iterator[Question]:
    for ability, records in typed(data, dict, file).items():
        for n, record in enumerate(typed(records, list, f"{file}: {ability}"), 1):
            where = f"{file}: {ability}, question {n}"
            named = (str(number) for number in _numbers(record.get("source_chat_ids", []), where))
            evidence = tuple(dict.fromkeys(i for i in named if i in known))
            text = need(record, "question", str, where)
            yield Question(text, evidence, ability, str(record.get("answer", "")))


def _numbers(value: Any, where: str) -> Iterator[int]:
    """Every message number in nested lists and objects, in order."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item, where)
    elif isinstance(value, dict):
        yield from _numbers(list(value.values()), where)
    else:
        raise InvalidInput(f"{where} has the message id {value!r}", "use whole numbers")
