"""Checks that a model's text is grounded: its sources hold every number, date, name and address.

Cheap and strict on purpose: a fact that is dropped costs little, since the text it was made of is
stored; an invented fact would be believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

from memory_core.text.names.entities import entities
from memory_core.text.names.lexicon import NOT_NAMES
from memory_core.text.numerals import is_number_word, numbers
from memory_core.text.time import dates, timestamps
from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.time.rules import undated
from memory_core.text.words import STOPWORDS, words

Said = tuple[str, str, float]
"""A source: speaker, text, when it was said (epoch seconds)."""

_WEEK = 7
_WEEKDAY = re.compile(r"\b[A-Z][a-z]+day,? (?=\d)")
"""A weekday before a written date, which adds nothing to it."""
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+)[\"“‘(]*([^\W\d_][\w'’-]*)")
_WRITTEN = re.compile(r"(?<![\w])([^\W\d_a-z][\w'’-]*)")
_BETWEEN = re.compile(r"[\s\"'“”‘’()<>]+")
_ADDRESS = re.compile(r"://|@|[^\W_]\.[^\W\d_]{2}")
_SHARED = 4
"""Least common prefix of two forms of one name: Boston, Bostonians."""


def ungrounded(text: str, sources: Sequence[Said]) -> str:
    """The first number, date, name or address of *text* that no source holds; "" if all are held.

    A number may be in digits or in words; a date is held when a source names that day or was said
    on it. A name is what is written like one, or opens the sentence and is no ordinary word. An
    address (of a page, of mail, a handle) has to occur literally.
    """
    days, last = _days(sources), sources[-1][2]
    said = "\n".join(f"{speaker}\n{spoken}" for speaker, spoken, _ in sources)
    bare = _WEEKDAY.sub("", text)
    named = dates.resolve(bare, last)
    for day in named:
        if not _named(day, text, days) and not _meant(day, sources):
            return day
    if len(named) == dates.MOST_DATES:
        return named[-1]  # dates beyond the limit were not examined
    rest = undated(bare, timestamps.day_of(last))
    return (
        _foreign_address(text, said)
        or _foreign_number(rest, said, {*days, *named})
        or _foreign_name(text, said)
    )


def _named(day: str, text: str, days: set[str]) -> bool:
    skip = 0 if day[:4] in text else 4  # an unwritten year depends on the tense
    return any(known[skip:].startswith(day[skip:]) for known in days)


def _meant(day: str, sources: Sequence[Said]) -> bool:
    """True for "the tenth of May" where a source names May and ten, and for "on Friday".

    A year alone may be any number of a source: "nineteen eighty-four".
    """
    if len(day) < 10:
        return any(day in number.offers for _, spoken, _ in sources for number in numbers(spoken))
    at = date.fromisoformat(day)
    for _, spoken, said_at in sources:
        near = abs((at - timestamps.day_of(said_at)).days) <= _WEEK
        weekday = any(WEEKDAYS.get(word) == at.weekday() for word in words(spoken))
        month = any(MONTHS.get(word) == at.month for word in words(spoken))
        named = any(str(at.day) in number.offers for number in numbers(spoken))
        if (near and weekday) or (month and named):
            return True
    return False


def _days(sources: Sequence[Said]) -> set[str]:
    """Every day, month and year that the sources name, and the days on which they were said."""
    named = {day for _, spoken, at in sources for day in dates.resolve(spoken, at)}
    return named | {timestamps.day_of(at).isoformat() for _, _, at in sources}


def _foreign_address(text: str, said: str) -> str:
    known = said.casefold()
    pieces = (piece.strip(".,;:!?") for piece in _BETWEEN.split(text))
    found = (piece for piece in pieces if _ADDRESS.search(piece))
    return next((address for address in found if address.casefold() not in known), "")


def _foreign_number(text: str, said: str, days: Iterable[str]) -> str:
    known = {value for number in numbers(said) for value in number.offers}
    known |= {day[:4] for day in days}
    for number in numbers(text):
        if number.needs and known.isdisjoint(number.needs):
            return number.written
    return ""


def _foreign_name(text: str, said: str) -> str:
    known = {word.removesuffix("'s") for word in words(said)}
    opening = {match.start(1) for match in _SENTENCE_START.finditer(text)}
    for match in _WRITTEN.finditer(text):
        word = match.group(1).replace("’", "'").casefold().removesuffix("'s")
        ordinary = word in NOT_NAMES or word in STOPWORDS or is_number_word(word)
        if not word[0].isalpha() or (match.start(1) in opening and ordinary):
            continue
        if not ordinary and not _known(word, known):
            return match.group(1)
    for name in entities(text):
        for word in words(name):
            if not (word in NOT_NAMES or is_number_word(word)) and not _known(
                word.removesuffix("'s"), known
            ):
                return name
    return ""


def _known(word: str, known: set[str]) -> bool:
    if word in known or all(part in known for part in re.split(r"[-']", word)):
        return True
    stem = word[: max(_SHARED, len(word) - 2)]
    return len(word) >= _SHARED and any(other.startswith(stem) for other in known)
