"""LoCoMo (Maharana et al. 2024), in its original layout and as a list of sessions.

Original: `{"sample_id", "conversation": {"speaker_a", "session_1": [turn, ...],
"session_1_date_time": ...}, "qa": [...]}`. List of sessions: `{"sample_id", "sessions":
[{"session", "date", "turns"}], "qa"}`. A turn has no time of its own, so all
turns of a session share its date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory_core.evaluation.conversation import Conversation, Question, Turn
from memory_core.evaluation.readers.parsing import need, seconds, typed, unique

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_DATE = "%I:%M %p on %d %B, %Y"
_EVIDENCE = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)")


def parse(data: Any, path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file that was read from *path*.

    Text is `text [shares caption]` where a photo was shared. Evidence is every `D<n>:<n>` that
    names a turn; a question without any is skipped and counted. An adversarial question keeps its
    evidence, for that turn is still what should be found.
    """
    samples = typed(data, list, str(path))
    return [_sample(sample, f"{path}: sample {n}") for n, sample in enumerate(samples, 1)]


def _sample(sample: Any, where: str) -> Conversation:
    identifier = need(sample, "sample_id", str, where)
    where = f"{where} ({identifier})"
    seen: set[str] = set()
    turns = tuple(
        _turn(turn, session, when, seen, f"{where}, session {session}")
        for session, when, raw in _sessions(sample, where)
        for turn in raw
    )
    asked = [
        _question(record, seen, f"{where}, question {n}")
        for n, record in enumerate(need(sample, "qa", list, where), 1)
    ]
    kept = tuple(question for question in asked if question.evidence)
    return Conversation(identifier, turns, kept, skipped=len(asked) - len(kept))


def _sessions(sample: dict[str, Any], where: str) -> Iterator[tuple[str, float, list[Any]]]:
    """(session number, its time, raw turns) in order, from either layout."""
    if "sessions" in sample:
        for record in need(sample, "sessions", list, where):
            number = str(need(record, "session", int, f"{where}, a session"))
            place = f"{where}, session {number}"
            when = _time(need(record, "date", str, place), place)
            yield number, when, need(record, "turns", list, place)
        return
    conversation = need(sample, "conversation", dict, where)
    numbers = sorted(int(m[1]) for m in map(_SESSION.fullmatch, conversation) if m)
    for n in numbers:
        place = f"{where}, session {n}"
        when = _time(need(conversation, f"session_{n}_date_time", str, place), place)
        yield str(n), when, need(conversation, f"session_{n}", list, place)


def _time(date: str, where: str) -> float:
    return seconds(date, _DATE, where, "1:56 pm on 8 May, 2023")


def _turn(record: Any, session: str, when: float, seen: set[str], where: str) -> Turn:
    identifier = unique(need(record, "dia_id", str, where), seen, where)
    where = f"{where}, turn {identifier}"
    text = need(record, "text", str, where).strip()
    caption = record.get("caption", record.get("blip_caption"))
    if caption:
        text = f"{text} [shares {typed(caption, str, where)}]".strip()
    return Turn(identifier, text, need(record, "speaker", str, where), "user", when, session)


def _question(record: Any, known: set[str], where: str) -> Question:
    text = need(record, "question", str, where)
    category = need(record, "category", int, where)
    named = _EVIDENCE.findall(" ".join(map(str, need(record, "evidence", list, where))))
    evidence = tuple(dict.fromkeys(i for i in named if i in known))
    answer = str(record.get("answer", ""))
    return Question(text, evidence, CATEGORIES.get(category, str(category)), answer)
