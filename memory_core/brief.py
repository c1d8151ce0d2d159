"""What the start of a conversation may need to know: a brief, written without a model.

The wishes of the user, what is due, what they said of themselves, the last conversation, and what
is in doubt. Most wishes and most that is said of oneself is stored as a plain memory, so its words
decide (`beliefs.wishes`, `beliefs.oneself`); of a memory that is past its day, and of an errand, no
conversation has to be told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from memory_core.beliefs import oneself, wishes
from memory_core.beliefs.importance import INSTRUCTION, instructing, salience
from memory_core.beliefs.quoted import SPEAKING, UNTRUSTED
from memory_core.browse import current, in_doubt, pairs_of
from memory_core.records import (
    DERIVED,
    KINDS,
    PROJECT,
    ROLES,
    TRUSTS,
    DoubtfulPair,
    Identity,
    MemoryRecord,
    projects_of,
)
from memory_core.scoring.arrays import Mask, Rows
from memory_core.storage.index.columns import Columns
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.time import dates

_DERIVED = [KINDS.index(kind) for kind in DERIVED]
_SUMMARY = KINDS.index("summary")
FACTS = ("fact", "relationship")
GIVEN = (*FACTS, "preference")
"""Kinds that somebody gave: what is said there of the user need not be said by the user."""
_HEARD = [place for place, role in enumerate(ROLES) if role not in SPEAKING]
_IMPORT = TRUSTS.index("import")
_CONTENT = [TRUSTS.index(trust) for trust in UNTRUSTED]
_OF_ONESELF = lazy_pattern(
    r"(?:the )?(?:user|i|i'm|my|we|our|ich|mein\w*|wir|unser\w*)\b", re.IGNORECASE
)
BRIEFED = 12
"""Memories of each part of a brief, at most."""
LOOKED_AT = 400
"""Newest memories of which a brief gives the texts."""


@dataclass(frozen=True, slots=True)
class Brief:
    """What the start of a conversation may need to know; see `brief`."""

    wishes: tuple[MemoryRecord, ...] = ()
    """Standing instructions and preferences of the user, the surest first."""
    profile: tuple[MemoryRecord, ...] = ()
    """What lasts of what the user said of themselves, outside of projects, the weightiest first."""
    due: tuple[tuple[str, MemoryRecord], ...] = ()
    """What names a day of the span, with the first such day, the nearest first."""
    last: tuple[MemoryRecord, ...] = ()
    """The last conversation of the project: its summary, or its two weightiest turns."""
    recent: tuple[MemoryRecord, ...] = ()
    """What the user stated lately, the newest first."""
    doubts: tuple[DoubtfulPair, ...] = ()
    """Pairs in doubt: those of what is due, then the first others, that said last first."""


def brief(
    store: MemoryStore, who: Identity, tag: str, session: str, days: tuple[str, str]
) -> Brief:
    """What a conversation *session* in the project of *tag* may need to know when it begins.

    Only what is the project's own or belongs to no project, by its tags or by how its text begins;
    nothing of the conversation itself.
    *days* are the first and the last day of the span in which something is due, ISO 8601.
    """
    store.catch_up()
    with store.reading() as view:
        columns, mask = view.columns, _briefed(view, who, tag, session)
        own = columns.tagged(tag) if tag else np.zeros(len(columns), np.bool_)
        source = mask & ~np.isin(columns.kind, _DERIVED)
        stated = source & ~(np.isin(columns.role, _HEARD) | np.isin(columns.trust, _CONTENT))
        weighed = _weighed(columns, stated)
        newest = np.flatnonzero(stated)
        newest = newest[np.argsort(-columns.occurred_at[newest], kind="stable")][:LOOKED_AT]
        last = [columns.id(row) for row in _last(view, mask & own if tag else mask)]
        recent = [columns.id(row) for row in newest.tolist()]
        looked_at = dict.fromkeys([columns.id(row) for row in weighed.tolist()] + recent)
        due = [(day, columns.id(row)) for day, row in _due(columns, source, days)]
        soon, doubtful = {id for _, id in due}, in_doubt(store, view, mask)
        doubtful = [
            *(pair for pair in doubtful if pair[1] in soon),
            *[pair for pair in doubtful if pair[1] not in soon][:BRIEFED],
        ]
        owner = _owner(columns, stated)
        others = projects_of(columns.names("tags", view.readable(who))) - {tag.casefold()}
    held = {
        id: each
        for id, each in store.indexed([*looked_at, *last, *soon]).items()
        if projects_of(each.tags) or not _names_one_of(others, each.text)
    }
    said = [held[id] for id in looked_at if id in held]
    said = [each for each in said if each.speaker in ("", owner) or each.kind in GIVEN]
    wanted = {each.id: how for each in said if (how := _wanted(each)) > 0}
    in_question = {older for _, older, _ in doubtful}
    wished = sorted(
        (each for each in said if each.id in wanted),
        key=lambda each: (
            each.id in in_question,
            -wanted[each.id],
            tag not in each.tags,
            -each.occurred_at,
        ),
    )
    profile = [
        each
        for each in said
        if each.id not in wanted and each.id not in in_question and not (tag and tag in each.tags)
        if _is_of_oneself(each)
    ]
    profile.sort(key=lambda each: not oneself.must_not(each.text))
    return Brief(
        tuple(wished[:BRIEFED]),
        tuple(profile[:BRIEFED]),
        tuple((day, held[id]) for day, id in due if id in held),
        tuple(held[id] for id in last if id in held),
        tuple(held[id] for id in recent if id in held),
        tuple(
            pair for pair in pairs_of(store, doubtful) if not _names_one_of(others, pair.older.text)
        ),
    )


def _names_one_of(projects: Iterable[str], text: str) -> bool:
    """True where *text* begins by naming one of *projects*, by their tags: "billing: ...".

    Or says "in the billing repo", or has a name that no word of a language is ("tern-fw").
    """
    begin = text[:_NAMED_CHARS].casefold()
    for name in (tag.removeprefix(PROJECT) for tag in projects):
        if not name or name not in begin:
            continue
        end = len(name)
        if begin.startswith(name) and begin[end : end + 1] in (":", "'", "’"):
            return True
        if begin.startswith(f"{name} ") and not name.isalpha():
            return True
        if re.search(rf"\b(?:in|of|for) (?:the )?{re.escape(name)} {_A_PROJECT}", begin):
            return True
    return False


_NAMED_CHARS = 100
"""Of a text, among which a project is named whose text it is."""
_A_PROJECT = r"(?:repo|repository|project|codebase|service|app)\b"


def _owner(columns: Columns, stated: Mask) -> str:
    """The name under which most is said that is no import; "" where that is none.

    Beside it the user may speak without a name; whoever else is named speaks for themselves.
    """
    said = columns.speaker[stated & (columns.trust != _IMPORT)]
    if not said.size:
        return ""
    return columns.name(int(np.bincount(said).argmax()), "speaker")


def _wanted(memory: MemoryRecord) -> float:
    """How sure *memory* is a standing wish: 0 for none; from 1 on what was given as one, or is one
    by a rule.

    What corrects, what is only to be remembered, and what is asked for on a day is none. A note is
    likelier one than what is said in a talk, where most that is asked for is asked for once.
    """
    likely = wishes.likelihood(memory.text, note=not memory.role)
    given = memory.importance >= INSTRUCTION or memory.kind == "preference"
    if wishes.is_errand(memory.text) or not (given or likely >= wishes.LIKELY):
        return 0.0
    rule = salience(memory.text, memory.role)[1]
    if rule == "correction" or (memory.kind != "preference" and _is_for_a_day(memory)):
        return 0.0
    if rule == "instruction":
        return (
            0.0 if likely < wishes.LIKELY and wishes.is_to_remember(memory.text) else 1.0 + likely
        )
    if given and (memory.kind == "preference" or not oneself.says_what_lasts(memory.text)):
        return 1.0 + likely
    return likely if likely >= wishes.LIKELY else 0.0


def _is_for_a_day(memory: MemoryRecord) -> bool:
    """True where what *memory* asks for names a date, or all of it does that asks for nothing."""
    wish = instructing(memory.text) or memory.text
    return bool(memory.dates) and bool(dates.resolve(wish, memory.occurred_at))


def _is_of_oneself(memory: MemoryRecord) -> bool:
    """True for a fact about the user, and for what lasts of what the user says."""
    if memory.kind in FACTS and _OF_ONESELF.match(memory.text) is not None:
        return True
    text = memory.text
    return not memory.dates and (oneself.says_what_lasts(text) or oneself.must_not(text))


def _briefed(view: View, who: Identity, tag: str, session: str) -> Mask:
    """What *who* may be told of at the start of *session* in the project of *tag*."""
    columns, mask = view.columns, current(view, who)
    code = columns.code(session, "session") if session else -1
    mask &= columns.session != code
    mask &= columns.tagged(tag) | ~columns.tagged_as(lambda each: each.startswith(PROJECT))
    if code > 0:
        for row in np.flatnonzero(mask & np.isin(columns.kind, _DERIVED)).tolist():
            sources = view.graph.targets(row, DERIVED_FROM)
            mask[row] = not any(columns.session[source] == code for source in sources)
    return mask


def _weighed(columns: Columns, mask: Mask) -> Rows:
    """The rows of *mask*, the weightiest first; of equal ones the newest."""
    rows = np.flatnonzero(mask)
    order = np.lexsort((-columns.occurred_at[rows], -columns.importance[rows]))
    first: Rows = rows[order][:LOOKED_AT]
    return first


def _due(columns: Columns, mask: Mask, days: tuple[str, str]) -> list[tuple[str, int]]:
    """The first day within *days* that each row of *mask* names, the nearest ones first."""
    first, last = days

    def inside(day: str) -> bool:
        return len(day) == 10 and first <= day <= last

    rows = np.flatnonzero(mask & columns.dated(inside)).tolist()
    return sorted((min(filter(inside, columns.dates(row))), row) for row in rows)[:BRIEFED]


def _last(view: View, mask: Mask) -> Rows:
    """The last conversation of *mask*: its summary, else its two weightiest turns in order."""
    columns = view.columns
    talks = np.flatnonzero(mask & (columns.session > 0))
    if not len(talks):
        return talks
    newest = talks[np.argmax(columns.occurred_at[talks])]
    turns = talks[columns.session[talks] == columns.session[newest]]
    turns = turns[np.lexsort((columns.position[turns], columns.occurred_at[turns]))]
    made = [o for turn in turns.tolist() for o in view.graph.origins(turn, DERIVED_FROM) if mask[o]]
    made = [
        row
        for row in made
        if columns.kind[row] == _SUMMARY
        and all(
            columns.session[source] == columns.session[newest]
            for source in view.graph.targets(row, DERIVED_FROM)
        )
    ]
    if made:
        return np.array([max(made, key=made.count)], np.int64)
    # of equal ones how it began and how it ended
    ends = np.abs(np.arange(len(turns)) - (len(turns) - 1) / 2)
    first = np.lexsort((-ends, -columns.importance[turns]))[:2]
    return np.asarray(turns[np.sort(first)], np.int64)
