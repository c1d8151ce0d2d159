"""What every reader gives: conversations of turns, and questions with their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. *id* is unique in its conversation; *when*: seconds since 1970, None if unknown."""

    id: str
    text: str
    speaker: str = ""
    role: str = "user"
    when: float | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of all turns that are evidence for it.

    No evidence means that the conversation never says it: the right answer is to find nothing.
    *answer* is for people who read a report; no metric looks at it.
    """

    text: str
    evidence: tuple[str, ...]
    category: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in the order in which they were said, and questions about them.

    *skipped* counts questions of the file that were left out because none of their evidence names
    a turn.
    """

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    skipped: int = 0


def pooled(conversations: Sequence[Conversation]) -> Conversation:
    """All *conversations* as one, so that one store holds them.

    Turns and sessions are named after their conversation, `conv-26/D1:1`; nothing else in
    the store marks where one ends.
    """
    turns = (
        replace(turn, id=f"{c.id}/{turn.id}", session=f"{c.id}/{turn.session}" * bool(turn.session))
        for c in conversations
        for turn in c.turns
    )
    questions = (
        replace(question, evidence=tuple(f"{c.id}/{turn}" for turn in question.evidence))
        for c in conversations
        for question in c.questions
    )
    skipped = sum(c.skipped for c in conversations)
    return Conversation("pooled", tuple(turns), tuple(questions), skipped)


def labelled_text(turn: Turn) -> str:
    """`speaker: text`, or `role: text` where nobody has a name: what the baselines embed."""
    label = turn.speaker or turn.role
    return f"{label}: {turn.text}" if label else turn.text


def dated_text(turn: Turn) -> str:
    """`8 May 2023 speaker text`: what the lexical baseline indexes."""
    parts = (day_text(turn.when), turn.speaker, turn.text)
    return " ".join(part for part in parts if part)


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def day_text(when: float | None) -> str:
    """The UTC day of *when* as `8 May 2023`, whatever the locale; "" when unknown."""
    if when is None:
        return ""
    day = datetime.fromtimestamp(when, UTC)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
