"""The project's own dialogue: dated sessions of turns, and labelled questions in the same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import Conversation, Question, Turn
from memory_core.evaluation.readers.parsing import need, seconds, typed, unique


def parse(data: Any, path: Path) -> list[Conversation]:
    """The one conversation of a dialogue file that was read from *path*.

    Unlike the public sets, whose labels are as they are, evidence that names no turn is an error
    here, and a question without evidence is an unanswerable one on purpose.
    """
    title = need(data, "title", str, str(path))
    seen: set[str] = set()
    turns: list[Turn] = []
    for n, session in enumerate(need(data, "sessions", list, str(path)), 1):
        where = f"{path}: session {n}"
        identifier = need(session, "id", str, where)
        date = need(session, "date", str, where)
        when = seconds(date, "%Y-%m-%dT%H:%M:%SZ", where, "2024-03-04T18:30:00Z")
        for turn in need(session, "turns", list, where):
            turns.append(_turn(turn, identifier, when, seen, where))
    questions = tuple(
        _question(record, seen, f"{path}: question {n}")
        for n, record in enumerate(need(data, "questions", list, str(path)), 1)
    )
    return [Conversation(title, tuple(turns), questions)]


def _turn(record: Any, session: str, when: float, seen: set[str], where: str) -> Turn:
    identifier = unique(need(record, "id", str, where), seen, where)
    where = f"{where}, turn {identifier}"
    text = need(record, "text", str, where)
    speaker, role = need(record, "speaker", str, where), need(record, "role", str, where)
    return Turn(identifier, text, speaker, role, when, session)


def _question(record: Any, known: set[str], where: str) -> Question:
    evidence = tuple(typed(i, str, where) for i in need(record, "evidence", list, where))
    strangers = [i for i in evidence if i not in known]
    if strangers:
        raise InvalidInput(f"{where} names the turn {strangers[0]!r}", "name turns of the file")
    return Question(
        need(record, "question", str, where),
        evidence,
        need(record, "category", str, where),
        need(record, "answer", str, where),
    )
