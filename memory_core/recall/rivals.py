"""The newer of two statements that answer a question of how things are about equally well.

No rule tells all corrections from their words ("the council waved it through"). Where somebody asks
how something is, and two statements of one speaker about one thing fit, the newer one is asked for:
it comes first, and nothing is marked. What held for a day or a week that is over stands behind what
held before, which holds again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from memory_core.beliefs import authority, overview, quoted, wordings
from memory_core.beliefs.change import passes
from memory_core.beliefs.question import Past
from memory_core.beliefs.sentence import read, read_all, says_what
from memory_core.beliefs.shared import about_one, held
from memory_core.recall import as_it_was, succession
from memory_core.recall.answering import Embed, answers_as_well
from memory_core.recall.candidates import Candidates
from memory_core.recall.query import Cues
from memory_core.recall.succession import Rivals
from memory_core.records import DERIVED, MemoryRecord, normalised
from memory_core.scoring.arrays import Rows
from memory_core.storage.view import View
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.time import dates, validity
from memory_core.text.time.mentions import asks_what_was
from memory_core.text.time.timestamps import DAY
from memory_core.text.words import words

NAME = "newer"
"""Of the column."""

LOOKED_AT, FIRST = 5, 3
"""The best places, among which a newer statement may come first; behind the first three only one
that says as much of what was asked. Other wordings of the best one are not counted."""

MOST = 8
"""Places that are looked at, those wordings included."""

WORDING = 0.5
"""Of the way from the cosine of texts about one thing to that of equal texts, from where on two may
be wordings of one fact. Of pairs of wordings in tests/evals/data/wordings.json 16 % are nearer, of
a wording and what only shares words with it 2 %."""

_NUMBER = lazy_pattern(r"[0-9]+(?:\.[0-9]+)*")

WEEK = 7 * DAY
"""After it is over what holds for today or this week alone."""

FEW_SENTENCES = 2
"""A text of more sentences is a turn of a talk."""

EQUAL = 0.45
"""Share of the best score from which a statement answers about as well."""

AHEAD = 0.001
"""By how much the score of the newer one is the higher one then."""


def newest_first(view: View, cues: Cues, found: Candidates, embed: Embed) -> Candidates:
    """*found* with the newest statement that answers about as well as the best one right before it.

    Asked for an earlier time, it is what held then. Its column is "newer", which there is only
    then. *embed* gives vectors of parts of two texts.
    """
    weights, past = cues.query.weights, cues.past
    if weights.recency + weights.importance > 0:
        return found  # the caller says what comes first
    if past is None and asks_what_was(cues.query.text):
        return found
    close = _Close.of(view, cues, found, embed)
    if len(close.places) < 2:
        return found
    path = close.path()
    if past is not None:
        path = close.held(path[-1], past)
    elif len(path) == 1:
        path += close.holds_again()
    if path[-1] == close.places[0]:
        return found
    column, best = np.zeros_like(found.score), found.score[close.places[0]]
    for number, place in enumerate(path[1:], 1):
        column[place] = best - found.score[place] + number * AHEAD
    return found.plus(NAME, column)


@dataclass(frozen=True, slots=True)
class _Close:
    """The *places* that answer about as well as the best one, which is the first of them."""

    view: View
    cues: Cues
    found: Candidates
    embed: Embed
    places: list[int]
    memories: Mapping[int, MemoryRecord]
    """By their rows."""

    @classmethod
    def of(cls, view: View, cues: Cues, found: Candidates, embed: Embed) -> _Close:
        best, *others = np.argsort(-found.score, kind="stable")[:MOST].tolist()
        least = EQUAL * float(found.score[best])
        close = [best, *(place for place in others if found.score[place] >= least > 0)]
        memories = view.memories(found.rows[close]) if len(close) > 1 else {}
        known = [place for place in close if int(found.rows[place]) in memories]
        return cls(view, cues, found, embed, known, memories)

    def path(self) -> list[int]:
        """The best place, then the newest that took its place, and so on to the one that holds."""
        path = self.places[:1]
        while (after := self._after(path)) is not None:
            path.append(after)
        return path

    def holds_again(self) -> list[int]:
        """The newest place of what holds again, now that the best one is over."""
        best, *others = self.places[:LOOKED_AT]
        older = (place for place in self._newest(others) if self._said(place, best))
        again = (
            place
            for place in older
            if _holds_again(self.cues, self._memory(place), self._memory(best), self.embed)
        )
        return list(islice(again, 1))

    def held(self, newest: int, past: Past) -> list[int]:
        """The best place, and that of what held in the *past* instead, where there is one.

        It is one whose place the *newest* took, or that itself.
        """
        columns, rows = self.view.columns, self.found.rows
        since = {place: as_it_was.since(columns, int(rows[place]), past) for place in self.places}
        before = [
            place
            for place in self.places[:LOOKED_AT]
            if since[place] < since[newest] and self._took(place, newest)
        ]
        before = [place for place in before if self._covers([newest], place)] or before
        best = self.places[0]
        if not before or since[newest] <= past.last < np.inf:
            return [best] if newest == best else [best, newest]
        held = as_it_was.held(since, [*before, newest], past)
        return [best] if held == best else [best, held]

    def _after(self, path: Sequence[int]) -> int | None:
        """The newest place that took that of all on the *path*; None where none did.

        Where something is known to put the last in doubt, another one is a guess, and has to be
        near in meaning, too.
        """
        last = path[-1]
        known = _known(self.view, self.cues, self.found.rows, last)
        for other in self._newest(self.places):
            if not self._said(last, other) or (rank := self._rank(path[0], other)) >= LOOKED_AT:
                continue
            if other not in path and self._puts_a_wording_in_doubt(other, last):
                return other
            if known not in (None, other) and not self._is_near(last, other):
                continue
            if self._denies_another(path, other):
                continue
            sure = len(path) == 1 and rank < FIRST
            if (sure or self._covers(path, other)) and all(
                self._took(each, other) for each in path
            ):
                return other
        return None

    def _puts_a_wording_in_doubt(self, other: int, place: int) -> bool:
        """True when *other* is known to put another wording of what *place* says in doubt."""
        return _comparable(self.cues, self._memory(place), self._memory(other)) and any(
            _known(self.view, self.cues, self.found.rows, each) == other
            and self._is_wording(each, place)
            for each in self.places
            if each != place
        )

    def _is_wording(self, one: int, other: int) -> bool:
        """True when both probably say one fact in two wordings."""
        near, profile = _near(self.view, self.found.rows[[one, other]]), self.cues.profile
        least = profile.related + WORDING * (profile.near_duplicate - profile.related)
        both = self._memory(one).text, self._memory(other).text
        return near is not None and near >= least and not wordings.told_apart(*both)

    def _rank(self, best: int, place: int) -> int:
        """How many are before *place*, other wordings of what the *best* one says not counted."""
        text, newer = self._memory(best).text, self._memory(place).text
        ahead = self.places[1 : self.places.index(place)]
        return 1 + sum(
            not wordings.of_one_fact(text, self._memory(each).text, newer) for each in ahead
        )

    def _denies_another(self, path: Sequence[int], place: int) -> bool:
        """True when *place* says that something is not so which none on the *path* says is."""
        said = read_all(self._memory(place).text)
        denied = {word for each in said for word in each.denied if says_what(word)}
        others = (words(self._memory(each).text) for each in path)
        return bool(denied) and not any(held(denied, other) for other in others)

    def _covers(self, path: Sequence[int], place: int) -> bool:
        """True when *place* has as many words of the query as each on the *path*.

        One word is little: where it is all, it has to be near one of them in meaning, too.
        """
        asked = read(self.cues.query.text).content

        def covered(at: int) -> int:
            return held(asked, words(self._memory(at).text))

        here = covered(place)
        if here < max(map(covered, path)):
            return False
        return here > 1 or (here == 1 and any(self._is_near(each, place) for each in path))

    def _newest(self, places: Sequence[int]) -> list[int]:
        said = self.view.columns.occurred_at[self.found.rows]
        return sorted(places, key=lambda place: -said[place])

    def _said(self, one: int, other: int) -> bool:
        """True when *other* was said a day after *one*, or later."""
        said = self.view.columns.occurred_at[self.found.rows]
        return bool(said[other] - said[one] >= DAY)

    def _is_near(self, one: int, other: int) -> bool:
        near = _near(self.view, self.found.rows[[one, other]])
        return near is None or near >= self.cues.profile.related

    def _took(self, older: int, newer: int) -> bool:
        score = float(self.found.score[newer] / self.found.score[older])
        near = _near(self.view, self.found.rows[[older, newer]])
        both = self._memory(older), self._memory(newer)
        return _took_its_place(self.cues, *both, score, near, self.embed)

    def _memory(self, place: int) -> MemoryRecord:
        return self.memories[int(self.found.rows[place])]


def _known(view: View, cues: Cues, rows: Rows, best: int) -> int | None:
    """The place among *rows* of what puts the *best* one in doubt; None where nothing does."""
    by = cues.doubts.newest(int(rows[best]), cues.readable)
    places = [] if by is None else np.flatnonzero(rows == view.columns.row(by.by)).tolist()
    return places[0] if places else None


def _near(view: View, rows: Rows) -> float | None:
    """The cosine of the whole texts of two *rows*; None without the vector of one."""
    if view.vectors is None:
        return None
    older, newer = view.vectors.wholes(rows)
    cosine = float(older @ newer)
    return None if np.isnan(cosine) else cosine


def _took_its_place(
    cues: Cues,
    older: MemoryRecord,
    newer: MemoryRecord,
    score: float,
    near: float | None,
    embed: Embed,
) -> bool:
    """True when *newer* says something lasting that probably holds in place of *older*.

    *score* is its share of the score of the older one, *near* the cosine of both.
    """
    if newer.valid_until is not None or passes(newer.text):
        return False
    if _is_over(newer, cues) and not _is_over(older, cues) and not older.dates:
        return False  # what names a day itself is no rule that holds again
    if not _comparable(cues, older, newer):
        return False
    pair = Rivals(cues.query.text, *_claims(cues.query.text, older, newer), score, near)
    return succession.likely(pair, embed, cues.profile.related)


def _holds_again(cues: Cues, rule: MemoryRecord, exception: MemoryRecord, embed: Embed) -> bool:
    """True when *exception* is over and says of another time what *rule* says of every time."""
    if not _is_over(exception, cues) or rule.dates or rule.valid_until is not None:
        return False
    if not _comparable(cues, rule, exception):
        return False
    query, (then, now) = cues.query.text, _claims(cues.query.text, rule, exception)
    return about_one(query, then, now) and answers_as_well(
        query, then, now, embed, cues.profile.related
    )


def _is_over(memory: MemoryRecord, cues: Cues) -> bool:
    """True when *memory* holds for single days, or until a day, and all of them are over."""
    if memory.superseded_by or cues.dates:
        return False
    if memory.valid_until is not None:
        return memory.valid_until < cues.now
    if dates.reach_to(memory.dates, cues.now):
        return False
    if passes(memory.text):
        return memory.occurred_at + WEEK < cues.now
    return validity.of_days(memory.text, memory.dates)


def _comparable(cues: Cues, older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when both state how something is, in one voice.

    What one turn of a talk says among other things is no such statement.
    """
    query = cues.query.text
    if any(each.kind in DERIVED or each.replaced or each.retired_at for each in (older, newer)):
        return False
    if normalised(older.text) == normalised(query):
        return False  # asked for word for word
    if not _one_voice(older, newer):
        return False
    if _asks_for_a_number(query, older, newer):
        return False  # it is asked for another one of a series
    if overview.asks_for_another(query, older.text, newer.text):
        return False
    both = _claims(query, older, newer)
    return all(0 < len(read_all(text)) <= FEW_SENTENCES for text in both)


def _claims(query: str, older: MemoryRecord, newer: MemoryRecord) -> tuple[str, str]:
    """What their speaker claims; all that they say where both claim the same ("she said: ...").

    Of an overview, what it says of what the *query* asks for.
    """
    then, now = quoted.claimed(older), quoted.claimed(newer)
    then, now = (older.text, newer.text) if then == now else (then, now)
    return overview.item(then, query), now


def _asks_for_a_number(query: str, older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True where the *query* has a number of *older* for which *newer* may have another.

    A version is none for a day or an amount.
    """
    asked, then, now = (
        frozenset(_NUMBER.findall(text)) for text in (query, older.text, newer.text)
    )
    missing = (asked & then) - now
    return any("." not in each or any("." in other for other in now) for each in missing)


def _one_voice(older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when one speaker says both, whichever client heard it, and *newer* may doubt *older*.

    Who is not named is the owner, in a turn as in a note.
    """
    if (older.agent, older.visibility) != (newer.agent, newer.visibility):
        return False
    owner = older.role in quoted.SPEAKING and newer.role in quoted.SPEAKING
    unnamed = owner and not (older.speaker and newer.speaker)
    one = older.speaker == newer.speaker and older.role == newer.role
    return (one or unnamed) and authority.may_doubt(older, newer)
