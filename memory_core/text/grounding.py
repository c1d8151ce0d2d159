"""Whether what a model says stands in its sources: every number, date and name of it.

Cheap and strict on purpose: a fact that is lost costs little, since the text it was made of is
there; a fact that was made up would be believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

from memory_core.text import dates, moments
from memory_core.text.calendar_words import MONTHS, WEEKDAYS
from memory_core.text.entities import entities
from memory_core.text.names_lexicon import NOT_NAMES
from memory_core.text.numerals import spelled
from memory_core.text.words import STOPWORDS, words

Said = tuple[str, str, float]
"""A source: speaker, text, when it was said (epoch seconds)."""

_WEEK = 7
_WEEKDAY = re.compile(r"\b[A-Z][a-z]+day,? (?=\d)")
"""A weekday before a written date says nothing of its own."""
_NUMBER = re.compile(r"\d[\d.,:]*(?<=\d)")
_PIECE = re.compile(r"\d+")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+)[\"“‘(]*([^\W\d_][\w'’-]*)")
_WRITTEN = re.compile(r"(?<![\w])([^\W\d_a-z][\w'’-]*)")
_ARTICLES = frozenset({"0", "1"})
"""Spelled, these are hardly ever a number: "one of them", "the first harvest"."""
_SHARED = 4
"""Letters in which two forms of one name agree at least: Boston, Bostonians."""


def ungrounded(text: str, sources: Sequence[Said]) -> str:
    """The first number, date or name of *text* that stands in none of *sources*; "" if all do.

    A number counts as said in digits or in words; a date when a source names that day or was said
    on it. A name is what is written like one, or opens the sentence and is no ordinary word.
    """
    days = _days(sources)
    said = " ".join(f"{speaker} {told}" for speaker, told, _ in sources)
    for day in dates.resolve(_WEEKDAY.sub("", text), sources[-1][2]):
        if not _named(day, text, days) and not _meant(day, sources):
            return day
        days.add(day)
    return _foreign_number(text, said, days) or _foreign_name(text, said)


def _named(day: str, text: str, days: set[str]) -> bool:
    skip = 0 if day[:4] in text else 4  # a year that is not written depends on the tense
    return any(known[skip:].startswith(day[skip:]) for known in days)


def _meant(day: str, sources: Sequence[Said]) -> bool:
    """True for "the tenth of May" where a source names May and ten, and for "on Friday"."""
    if len(day) < 10:
        return False
    at = date.fromisoformat(day)
    for _, told, said_at in sources:
        near = abs((at - moments.day_of(said_at)).days) <= _WEEK
        weekday = any(WEEKDAYS.get(word) == at.weekday() for word in words(told))
        month = any(MONTHS.get(word) == at.month for word in words(told))
        if (near and weekday) or (month and str(at.day) in spelled(told)):
            return True
    return False


def _days(sources: Sequence[Said]) -> set[str]:
    """Every day, month and year that the sources name, and the days on which they were said."""
    named = {day for _, told, at in sources for day in dates.resolve(told, at)}
    return named | {moments.day_of(at).isoformat() for _, _, at in sources}


def _foreign_number(text: str, said: str, days: Iterable[str]) -> str:
    known = {_plain(match.group()) for match in _NUMBER.finditer(said)} | spelled(said)
    known |= {piece for match in _NUMBER.finditer(said) for piece in _PIECE.findall(match.group())}
    known |= {str(int(part)) for day in days for part in day.split("-")}
    known |= set(days)
    for match in _NUMBER.finditer(text):
        number = _plain(match.group())
        if number not in known and number.lstrip("0") not in known:
            return match.group()
    return min(spelled(text) - known - _ARTICLES, default="")


def _plain(number: str) -> str:
    """Without thousands separators and closing zeros: 1,200.50 and 1200.5 are one number."""
    bare = re.sub(r",(?=\d{3}(?:\D|$))", "", number).replace(",", ".")
    if bare.count(".") == 1:
        bare = bare.rstrip("0").rstrip(".")
    return bare


def _foreign_name(text: str, said: str) -> str:
    known = {word.removesuffix("'s") for word in words(said)}
    opening = {match.start(1) for match in _SENTENCE_START.finditer(text)}
    for match in _WRITTEN.finditer(text):
        word = match.group(1).replace("’", "'").casefold().removesuffix("'s")
        ordinary = word in NOT_NAMES or word in STOPWORDS
        if match.start(1) in opening and ordinary:
            continue
        if not ordinary and not _known(word, known):
            return match.group(1)
    for name in entities(text):
        for word in words(name):
            if word not in NOT_NAMES and not _known(word.removesuffix("'s"), known):
                return name
    return ""


def _known(word: str, known: set[str]) -> bool:
    if word in known or all(part in known for part in re.split(r"[-']", word)):
        return True
    stem = word[: max(_SHARED, len(word) - 2)]
    return len(word) >= _SHARED and any(other.startswith(stem) for other in known)
