"""Checks that a model's text is grounded: its sources hold every number, date, name and address.

Cheap and strict on purpose: a fact that is dropped costs little, since the text it was made of is
stored; an invented fact would be believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

from memory_core.enrichment import measures
from memory_core.enrichment.turned import turned
from memory_core.text.german_numbers import in_digits
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.entities import entities
from memory_core.text.names.lexicon import NOT_NAMES
from memory_core.text.numerals import is_number_word, numbers
from memory_core.text.passages import sentences
from memory_core.text.time import dates, timestamps
from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.time.rules import undated
from memory_core.text.words import STOPWORDS, content_words, listed, words

Said = tuple[str, str, float]
"""A source: speaker, text, when it was said (epoch seconds)."""

_WEEK = 7
_WEEKDAY = lazy_pattern(r"\b[A-Z][a-z]+day,? (?=\d)")
"""A weekday before a written date, which adds nothing to it."""
_SENTENCE_START = lazy_pattern(r"(?:^|[.!?:]\s+)[\"“‘(]*([^\W\d_][\w'’-]*)")
_WRITTEN = lazy_pattern(r"(?<![\w])([^\W\d_a-z][\w'’-]*)")
_BETWEEN = lazy_pattern(r"[\s\"'“”‘’()<>]+")
_ADDRESS = lazy_pattern(r"://|@|[^\W_]\.[^\W\d_]{2}")
_REPORTING = lazy_pattern(
    r"\b(?:said|says|told|tells|mention|report|ask|wrote|announce|confirm|sagte|erzählte|schrieb|fragte)"
)
_ARTICLES = frozenset(
    listed(
        """der die das den dem des ein eine einen einem einer eines kein keine keinen mein meine
        meinen meiner sein seine seinen seiner ihr ihre ihren ihrer"""
    )
)
_PLACED = lazy_pattern(r"(?:straße|strasse|weg|platz|gasse|allee|ufer|berg|burg|dorf|stadt|tal)$")
_SHORT = frozenset(listed("ram cpu gpu tv pdf pdfs url app id os ui api pc wifi usb ai it hr uhr"))
"""Abbreviations that are words: they name no one."""
_COUNTED_FROM = lazy_pattern(
    r"(?<!\s)\s{1,9}(before|prior to|after|from|vor|nach)\s{1,9}", re.IGNORECASE
)
_BACK = frozenset(("before", "prior to", "vor"))
_DATE_CHARS = 24
"""Longest written date: "Wednesday, 30 September 2024" without its weekday, and a little more."""
_LOOSE = 0.04
"""Share of a distance by which it may miss: a month is 28 to 31 days."""
_SHARED = 4
"""Least common prefix of two forms of one name: Boston, Bostonians."""


def ungrounded(text: str, sources: Sequence[Said]) -> str:
    """The first number, date, name or address of *text* that no source holds; "" if all are held.

    A number may be in digits or in words; a date is held when a source names that day or was said
    on it. A name is what is written like one, or opens the sentence and is no ordinary word. An
    address (of a page, of mail, a handle) has to occur literally. An amount may be in another unit
    or vaguer. Besides named: a denial that is dropped or added, names that change places, and the
    day of saying for what the source dates otherwise.
    """
    spelled = text
    text = in_digits(text)
    sources = [(speaker, in_digits(spoken), at) for speaker, spoken, at in sources]
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
    spoken = "\n".join(spoken for _, spoken, _ in sources)
    rest, denied = measures.checked(rest, spoken)
    return (
        denied
        or _foreign_address(text, said)
        or _foreign_number(rest, said, {*days, *named})
        or _foreign_name(spelled, said)
        or turned(spelled, spoken)
        or _foreign_distance(text, sources)
        or next((day for day in named if _only_said(day, text, sources)), "")
    )


def _foreign_distance(text: str, sources: Sequence[Said]) -> str:
    """The first "two weeks before 14 March" of *text* that leads to no day of the sources."""
    reached = [day for _, spoken, at in sources for day in dates.resolve(spoken, at)]
    reached += [
        day.isoformat() for _, spoken, at in sources for _, day, _ in _distances(spoken, at)
    ]
    for anchor, day, days in _distances(text, sources[-1][2]):
        if not any(_is_near(day, other, days) for other in reached):
            return anchor
    return ""


def _distances(text: str, at: float) -> Iterator[tuple[str, date, float]]:
    """The day that a time is counted from, the day that it leads to, and the days between."""
    for match in _COUNTED_FROM.finditer(text):
        days = measures.days_at_end(text[: match.start()])
        anchor = next(iter(dates.resolve(text[match.end() : match.end() + _DATE_CHARS], at)), "")
        if days is not None and len(anchor) == 10:
            away = timedelta(-days if match[1].casefold() in _BACK else days)
            yield anchor, date.fromisoformat(anchor) + away, days


def _is_near(day: date, other: str, days: float) -> bool:
    """True where *other*, a date, a month or a year, is *day* as closely as *days* are meant."""
    if len(other) < 10:
        return day.isoformat().startswith(other)
    return abs((date.fromisoformat(other) - day).days) <= days * _LOOSE


def _only_said(day: str, text: str, sources: Sequence[Said]) -> bool:
    """True for the day of saying where the sentences about it name others.

    Not where *text* reports the saying, or counts from that day.
    """
    counted = any(anchor == day for anchor, *_ in _distances(text, sources[-1][2]))
    if len(day) < 10 or counted or _REPORTING.search(text):
        return False
    about = set(content_words(text))
    told = [
        [each for each in dates.resolve(sentence, at) if len(each) == 10]
        for _, spoken, at in sources
        if timestamps.day_of(at).isoformat() == day
        for sentence in sentences(spoken)
        if not about.isdisjoint(content_words(sentence))
    ]
    return bool(told) and all(found and day not in found for found in told)


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
        if _is_common(word) or _is_german_noun(text[: match.start(1)], word):
            continue
        if not word[0].isalpha() or (match.start(1) in opening and ordinary):
            continue
        if not ordinary and not _known(word, known) and not _derived(match.group(1), known):
            return match.group(1)
    for name in entities(text):
        for word in words(name):
            ordinary = word in NOT_NAMES or _is_common(word) or is_number_word(word)
            if not ordinary and not _known(word.removesuffix("'s"), known):
                return name
    return ""


def _is_common(word: str) -> bool:
    return word in _SHORT or measures.is_unit(word)


def _is_german_noun(before: str, word: str) -> bool:
    """True behind a German article, where a name seldom stands, but for streets and towns."""
    last = words(before[-20:])[-1:]
    return bool(last) and last[0] in _ARTICLES - STOPWORDS and not _PLACED.search(word)


def _derived(written: str, known: set[str]) -> bool:
    """True for a known name with an ordinary word behind a hyphen: "Python-based"."""
    name, _, rest = written.partition("-")
    return bool(rest) and rest.islower() and rest.isalpha() and _known(name.casefold(), known)


def _known(word: str, known: set[str]) -> bool:
    if word in known or all(part in known for part in re.split(r"[-']", word)):
        return True
    stem = word[: max(_SHARED, len(word) - 2)]
    return len(word) >= _SHARED and any(other.startswith(stem) for other in known)
