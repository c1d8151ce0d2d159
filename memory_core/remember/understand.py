"""From the text of a memory to what it says: gist, names, importance, sentiment, dates, validity.

Rules alone, and no store: a model that was chosen reads the text later, in the background.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memory_core.beliefs import quoted
from memory_core.beliefs.importance import NORMAL
from memory_core.beliefs.sentence import day_of_what_happened
from memory_core.config import Settings
from memory_core.gist.base import InputTurn
from memory_core.gist.passthrough import PassthroughEncoder
from memory_core.lifecycle import model_work
from memory_core.records import NEVER, MemoryRecord, content_hash
from memory_core.text.names.entities import MOST
from memory_core.text.sentiment import sentiment
from memory_core.text.time import dates, validity

UNDERSTOOD = frozenset(
    (
        *("gist", "keywords", "topic", "entities", "dates", "valid_from", "valid_until"),
        *("importance", "valence", "arousal", "emotions", "due"),
    )
)
"""The fields that are read from a text."""

_rules = PassthroughEncoder()


def understand(
    memory: MemoryRecord,
    names: Iterable[str],
    settings: Settings,
    *,
    judged: bool,
    encode: bool,
    now: float,
) -> MemoryRecord:
    """*memory* with what its text says; what the caller gave stays.

    *names* are in the text and known by other means than the rules. *judged*: the caller gave the
    importance; without it the importance is that of the wording alone. *encode* False: no model
    may see the memory. What happened on another day than *now*, outside of a conversation, names
    that day.
    """
    role = "tool" if memory.trust in quoted.UNTRUSTED else memory.role  # content instructs nobody
    (gist,) = _rules.encode([InputTurn(memory.text, memory.speaker, role)]).gists
    wording = NORMAL if gist.importance is None else gist.importance
    feeling = sentiment(memory.text)
    start, end = memory.valid_from, memory.valid_until
    if start is None and end is None:
        start, end = validity.bounds(memory.text, memory.occurred_at)
    days = memory.dates or dates.resolve(memory.text, memory.occurred_at)
    if not days and not memory.session:
        days = day_of_what_happened(memory.text, memory.occurred_at, now)
    understood = replace(
        memory,
        gist=memory.gist or gist.gist,
        keywords=() if memory.tags else gist.keywords,
        topic=memory.topic or gist.topic,
        entities=_joined(memory.entities or gist.entities, names),
        importance=memory.importance if judged else wording,
        valence=feeling.valence,
        arousal=feeling.arousal,
        emotions=feeling.emotions,
        valid_from=start,
        valid_until=end,
        dates=days,
        content_hash=content_hash(memory.text),
    )
    return _with_model_work(understood, settings, judged=judged, encode=encode)


def _joined(names: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    """*names* and what *more* adds, compared without case; at most MOST."""
    known = {name.casefold() for name in names}
    added = {name.casefold(): name for name in more if name.casefold() not in known}
    return (*names, *added.values())[:MOST]


def _with_model_work(
    memory: MemoryRecord, settings: Settings, *, judged: bool, encode: bool
) -> MemoryRecord:
    """*memory* with the jobs that a model has for it, if one was chosen and may see it."""
    if not encode:
        return replace(memory, encoded=NEVER)
    if not settings.writes_gists or not model_work.allowed(memory, settings.gist):
        return memory
    return replace(memory, due=model_work.due(memory, judged=judged))
