"""What a conversation is told when it begins: wishes, what is due, the last time, what is open.

Written from the store without a model, and only from what is the project's own or belongs to none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from memory_core.beliefs.importance import instructing
from memory_core.records import Identity, MemoryRecord, elapsed
from memory_core.text.passages import sentences
from memory_core.text.time.dates import resolve
from memory_core.text.time.timestamps import DAY, day_of
from memory_core.text.words import content_words
from server.protocol import rendering, schemas

if TYPE_CHECKING:
    from memory_core.brief import Brief
    from memory_core.memory import Memory

MOST_CHARS = 1_500
DAYS = 14
"""How far ahead something is due that is told."""
WISHES, PROFILE, DUE, OPEN, DOUBTFUL = 4, 3, 5, 2, 2
"""Memories of each part, at most."""
MORE = 10
"""The same of what is due, wishes, and what is known of the user, where there is room behind all
other parts."""
_CHARS = 150
"""Of one memory."""
OPEN_DAYS = 30
"""After that many days what was undecided is no longer told, nor asked which of two holds."""

_OPEN = re.compile(
    r"(?:^|\n)\W{0,6}to-?do\b(?=\W* )(?!(?: |-)(?:list|page|app|service|comment)s?\b)|\bto-?do: "
    r"|\b(?:tbd\b|(?:still|yet) (?:open|undecided|to (?:be )?decided?)|undecided"
    r"|(?:have|need|want) to (?:decide|choose|settle)|not (?:yet )?(?:decided|settled)"
    r"|haven't (?:decided|settled)|open (?:question|point|decision)"
    r"|noch (?:offen|nicht (?:entschieden|geklärt))|müssen (?:\w+ ){0,4}(?:entscheiden|klären)"
    r"|unentschieden|offene (?:frage|entscheidung))"
    r"|(?:\bnot|n't) (?:really |quite )?(?:sure|certain|clear|know) (?:yet )?(?:whether|if|which)\b"
    r"|\b(?:unsure|wondering|considering|discussing) (?:whether|if)\b|\btorn between\b"
    r"|\b(?:wissen|weiß|weiss)(?: \w+){0,3} nicht(?: \w+){0,2},? (?:ob|welche[mnrs]?)\b"
    r"|\büberlegen?(?: \w+){0,2},? ob\b|\b(?:unsicher|nicht sicher),? (?:ob|welche[mnrs]?)\b",
    re.IGNORECASE,
)


class Briefing(NamedTuple):
    """What a conversation is told: its text, the ids in it, and those of them that are in doubt."""

    text: str
    ids: list[str]
    doubtful: list[str]


def briefing(memory: Memory, who: Identity, tag: str, session: str, now: float) -> Briefing:
    """The text for a conversation *session* in the project of *tag*, and what is in it.

    At most MOST_CHARS characters; "" for nothing. *now* is in epoch seconds.
    """
    first = day_of(now)
    last = first + timedelta(days=DAYS)
    brief = memory.brief(who, tag, session, (first.isoformat(), last.isoformat()))
    lately = (pair for pair in brief.doubts if _is_lately(pair.newer, now))
    doubted, due = [pair.older for pair in lately], [each for _, each in brief.due]
    settled = [each for each in brief.profile if not _OPEN.search(each.text)]
    later = {pair.older.id: f"but later: {pair.newer.text}" for pair in reversed(brief.doubts)}
    later = _since(due, brief.recent) | later
    coming = [
        (f"[due {day}] {each.id}", [_naming(day, each)])
        for day, each in sorted(brief.due, key=lambda pair: pair[1].id in later)
    ]
    parts = [
        *_listed("wish", brief.wishes, WISHES, _wishing),
        *_listed("profile", settled, PROFILE),
        *coming[:DUE],
        *_last(brief),
        *_listed("open", _open(brief.recent, now), OPEN),
        *_listed(
            "doubtful, ask which holds", (each for each in doubted if each not in due), DOUBTFUL
        ),
        *coming[DUE:MORE],
        *_listed("wish", brief.wishes, MORE, _wishing),  # what is told already is not told again
        *_listed("profile", settled, MORE),
    ]
    text, ids = _fitting(parts, later)
    doubtful = {pair.older.id for pair in brief.doubts}
    return Briefing(text, ids, [id for id in ids if id in doubtful])


Part = tuple[str, list[str]]
"""The head of an entry, whose last word is the id of a memory, and its lines."""


def _listed(
    label: str,
    memories: Iterable[MemoryRecord],
    most: int,
    telling: Callable[[str], str] = str,
) -> Iterator[Part]:
    """At most *most* of *memories*, each text once, and of it what is *telling*."""
    told: set[str] = set()
    for each in memories:
        if len(told) == most:
            return
        if each.text not in told:
            told.add(each.text)
            yield f"[{label}] {each.id}", [telling(each.text)]


def _last(brief: Brief) -> Iterator[Part]:
    """The last conversation in two lines: its summary, else how it began and how it ended."""
    talk = brief.last
    if not talk:
        return
    day = day_of(talk[-1].occurred_at).isoformat()
    lines = [talk[0].text] if len(talk) == 1 else [talk[0].text, talk[-1].text]
    if len(talk) == 1:
        lines = sentences(talk[0].text)[:2]
    yield f"[last time, {day}] {talk[0].id}", lines


def _wishing(text: str) -> str:
    """*text*; of a long one the sentences that say what is wished, if some do."""
    return text if len(text) <= _CHARS else instructing(text) or text


def _naming(day: str, memory: MemoryRecord) -> str:
    """The text of *memory*; of a long one the sentence that names *day*, if one does."""
    if len(memory.text) <= _CHARS:
        return memory.text
    named = (s for s in sentences(memory.text) if day in resolve(s, memory.occurred_at))
    return next(named, memory.text)


def _open(recent: Sequence[MemoryRecord], now: float) -> Iterator[MemoryRecord]:
    """Those of *recent*, the newest first, that leave something open and that nothing settles."""
    later: list[frozenset[str]] = []
    for each in recent:
        if not _is_lately(each, now):
            return
        said = frozenset(content_words(each.text))
        if not _OPEN.search(each.text):
            later.append(said)
        elif not any(_settles(said, other) for other in later):
            yield each


def _since(due: Sequence[MemoryRecord], recent: Sequence[MemoryRecord]) -> dict[str, str]:
    """What was said last of each of *due* since it was noted, by its id: it may be done.

    *recent* is sorted, the newest first. Of two that are due none tells of the other one.
    """
    going = {each.id for each in due}
    others = [
        (each, frozenset(content_words(each.text))) for each in recent if each.id not in going
    ]
    found: dict[str, str] = {}
    for each in due:
        said = frozenset(content_words(each.text))
        for other, words in others:
            if other.occurred_at > each.occurred_at and _settles(said, words):
                found[each.id] = f"since then: {other.text}"
                break
    return found


def _settles(asked: frozenset[str], said: frozenset[str]) -> bool:
    """True when both share two words or more, and half of those of the shorter one."""
    shared = len(asked & said)
    return shared > 1 and 2 * shared >= min(len(asked), len(said))


def _is_lately(memory: MemoryRecord, now: float) -> bool:
    return elapsed(memory.occurred_at, now) <= OPEN_DAYS * DAY


def _fitting(parts: Iterable[Part], later: Mapping[str, str]) -> tuple[str, list[str]]:
    """Those of *parts* that fit, the first ones first, each memory once.

    With what was said *later* of a memory, by its id.
    """
    body: list[str] = []
    ids: list[str] = []
    text = ""
    for head, lines in parts:
        id = head.rsplit(" ", 1)[1]
        if id in ids:
            continue
        lines = [*lines, later[id]] if id in later else lines
        more = [head, *(f"> {_clipped(line)}" for line in lines)]
        longer = "\n".join(rendering.fenced([*body, *more], schemas.NOTICE))
        if len(longer) > MOST_CHARS:
            continue
        text = longer
        body += more
        ids.append(id)
    return text, ids


def _clipped(text: str) -> str:
    """*text* on one line of at most _CHARS characters, cut at a word."""
    line = rendering.line(text)
    if len(line) <= _CHARS:
        return line
    return line[: line.rfind(" ", 0, _CHARS) if " " in line[:_CHARS] else _CHARS] + " ..."
