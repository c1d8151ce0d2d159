"""LongMemEval (Wu et al. 2024): a list of questions, each with a haystack of its own.

An instance: `{"question_id", "question_type", "question", "answer", "question_date",
"haystack_session_ids", "haystack_dates", "haystack_sessions": [[{"role", "content",
"has_answer"?}]], "answer_session_ids"}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import Conversation, Question, Turn
from memory_core.evaluation.readers.parsing import need, seconds, typed

ABSTENTION = "_abs"
"""Marks, in a question id, a question that the haystack does not answer."""

_WEEKDAY = re.compile(r"\s*\([A-Za-z]+\)")
_ROLES = ("user", "assistant")


def parse(data: Any, path: Path) -> list[Conversation]:
    """One conversation with one question for each instance of a file read from *path*.

    By the rules of the published evaluation, evidence is what the user said in turns marked
    `has_answer`; an instance without such a turn is skipped and counted. Questions marked `_abs`
    belong to no retrieval figure: they are kept as unanswerable ones. Turns are named
    `session_number` from 1 as there; a session that a haystack repeats is told once.
    """
    instances = typed(data, list, str(path))
    return [_instance(item, f"{path}: instance {n}") for n, item in enumerate(instances, 1)]


def _instance(item: Any, where: str) -> Conversation:
    identifier = need(item, "question_id", str, where)
    where = f"{where} ({identifier})"
    turns: list[Turn] = []
    marked: list[str] = []
    for session, when, raw in _sessions(item, where):
        for n, record in enumerate(raw, 1):
            place = f"{where}, session {session}, turn {n}"
            turn = _turn(record, f"{session}_{n}", session, when, place)
            turns.append(turn)
            if turn.role == "user" and record.get("has_answer"):
                marked.append(turn.id)
    unanswerable = ABSTENTION in identifier
    evidence = () if unanswerable else tuple(marked)
    question = Question(
        need(item, "question", str, where),
        evidence,
        need(item, "question_type", str, where),
        str(item.get("answer", "")),
    )
    kept = (question,) if evidence or unanswerable else ()
    return Conversation(identifier, tuple(turns), kept, skipped=1 - len(kept))


def _sessions(item: Any, where: str) -> Iterator[tuple[str, float, list[Any]]]:
    """(session id, its time, raw turns), oldest first; sessions of one time keep their order."""
    names = need(item, "haystack_session_ids", list, where)
    dates = need(item, "haystack_dates", list, where)
    sessions = need(item, "haystack_sessions", list, where)
    if not len(names) == len(dates) == len(sessions):
        raise InvalidInput(f"{where} has haystack lists of unequal length", "repair the file")
    found: dict[str, tuple[float, list[Any]]] = {}
    for name, date, raw in zip(names, dates, sessions, strict=True):
        place = f"{where}, session {typed(name, str, where)}"
        plain = _WEEKDAY.sub("", typed(date, str, place))
        when = seconds(plain, "%Y/%m/%d %H:%M", place, "2023/05/20 (Sat) 02:21")
        found.setdefault(name, (when, typed(raw, list, place)))
    for name, (when, raw) in sorted(found.items(), key=lambda entry: entry[1][0]):
        yield name, when, raw


def _turn(record: Any, identifier: str, session: str, when: float, where: str) -> Turn:
    role = need(record, "role", str, where)
    if role not in _ROLES:
        raise InvalidInput(f"{where} has the role {role!r}", "use user or assistant")
    return Turn(identifier, need(record, "content", str, where).strip(), "", role, when, session)
