"""What a newer text names as wrong beside what is right: "on the 14th, not the 12th".

It names the old value itself, which is surer than any likelihood: where the older text says that
value of the same thing, it is out of date. English and German, by closed classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from memory_core.beliefs.claims import NEGATIONS, SPELLED
from memory_core.beliefs.forms import forms_among, same_word
from memory_core.beliefs.restated import is_behind_a_verb, tokens
from memory_core.beliefs.sentence import DAYS, Sentence, read_all, says_what
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed

MOST_WORDS = 4
"""Words of a value that is named as wrong, at most."""

_VALUE = r"((?:[^,;:!?()\n]|:(?=\d)){1,60}?)(?=[,;!?()\n]|:(?!\d)|$)"
_RIGHT = lazy_pattern(
    r"(?:(?:^|[,;:.!?()–—]|(?<=\s)-)\s{0,3}(?:(?:and|und|so|also|but|aber|doch) )?|\b(?:and|und) )"
    rf"(?:not|nicht|kein\w{{0,2}}) {_VALUE}"
    r"|\b(?:not|nicht|kein\w{0,2}) ([^,;:!?()\n]{1,60}?),? (?:but|sondern)\b"
    r"|\b(?:instead of|rather than|in place of|statt|anstatt|anstelle von|anstelle) "
    rf"{_VALUE}"
)
"""A value that is named as wrong beside the right one."""
_ONLY = lazy_pattern(
    rf"\b(?:(?:is|are|was|ist|sind|war) (?:not|nicht|kein\w{{0,2}})|(?:is|are|was)n't) {_VALUE}"
)
"""One that is named as wrong alone."""
_ENDS = lazy_pattern(
    r"(?<=[^\W_]{3})\.(?:\s|$)|\s[–—-]\s|\b(?:but|and|so|as|because|since|for|when|if|that|which|who|like|sondern"
    r"|und|aber|weil|da|denn|wie|wenn|dass|anymore|any ?more|any longer|mehr|at all)\b"
)
_OPENS = frozenset(
    listed(
        """sure yet only just even so too very because to if when until unless before after always
        all every much many enough really going gonna doing able allowed nur erst mal so sehr
        sicher weil wenn bis immer alle alles ganz viel mehr zu dass ob allein einmal"""
    )
)
"""Words with which no value begins: they say how or when it is not so."""

_Contrast = tuple[Sentence, tuple[str, ...], str, bool]
"""A sentence, the words of a value that it names as wrong, how it says so, and whether the right
one stands beside it."""


def names_as_wrong(older: str, newer: str) -> str:
    """The words by which *newer* names as wrong what *older* says of the same thing; "" for none.

    Linear in the product of their sentences; never raises.
    """
    found = _found(older, newer)
    return found[0] if found else ""


def is_sure(older: str, newer: str) -> bool:
    """True where *newer* says nothing else but the right value in place of that one."""
    found = _found(older, newer)
    return found is not None and found[1]


@lru_cache(maxsize=1_024)
def _found(older: str, newer: str) -> tuple[str, bool] | None:
    contrasts = _contrasts(newer)
    if not contrasts:
        return None
    for then in read_all(older):
        if not then.asserts or not NEGATIONS.isdisjoint(then.tokens):
            continue
        said = tokens(then.text)
        for now, wrong, words, both in contrasts:
            place = _place(said, wrong)
            if place < 0 or all(_among(w, wrong) or not _among(w, said) for w in now.content):
                continue
            if not _is_behind_its_subject(said[:place]) and not _says_all(now, said, wrong):
                continue
            fresh = [w for w in tokens(now.text) if _tells(w) and not _among(w, (*said, *wrong))]
            return words, both and len(fresh) <= len(wrong)
    return None


@lru_cache(maxsize=1_024)
def _contrasts(text: str) -> tuple[_Contrast, ...]:
    """The values that *text* names as wrong."""
    return tuple(
        (now, value, said, pattern is _RIGHT)
        for now in read_all(text)
        if now.asserts
        for pattern in (_RIGHT, _ONLY)
        for value, said in _values(pattern, now.lowered)
    )


def _values(pattern: re.Pattern[str], lowered: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each value that *pattern* finds, and the words by which it is named as wrong."""
    for match in pattern.finditer(lowered):
        begin = match.start(match.lastindex or 0)
        phrase = _ENDS.split(lowered[begin : match.end(match.lastindex or 0)], maxsplit=1)[0]
        said = tokens(phrase)
        if not said or said[0] in _OPENS or len(said) > 2 * MOST_WORDS:
            continue
        value = tuple(_plain(word) for word in said if _tells(word))
        if value and len(value) <= MOST_WORDS:
            yield value, lowered[match.start() : begin + len(phrase)].strip(" ,;:.!?()–—-")


def _tells(word: str) -> bool:
    """True for a number, a day or a word that can name a thing."""
    return word[0].isdigit() or word in SPELLED or word.removesuffix("s") in DAYS or says_what(word)


def _plain(word: str) -> str:
    """*word* without the ending of an ordinal number, and numerals in digits."""
    if word[0].isdigit():
        return word.removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
    return SPELLED.get(word, word)


def _among(word: str, some: Sequence[str]) -> bool:
    word = _plain(word)
    return any(word == _plain(other) for other in some) or bool(forms_among(word, frozenset(some)))


def _place(said: Sequence[str], wrong: Sequence[str]) -> int:
    """Where in *said* the words of the value *wrong* begin, together; -1 for nowhere."""
    plain = [_plain(word) for word in said]
    places = [
        next((at for at, word in enumerate(plain) if word == each or same_word(word, each)), -1)
        for each in wrong
    ]
    return -1 if max(places) - min(places) >= 2 * MOST_WORDS else min(places)


def _is_behind_its_subject(before: Sequence[str]) -> bool:
    return is_behind_a_verb(before) or any(_tells(word) for word in before)


def _says_all(now: Sentence, said: Sequence[str], wrong: Sequence[str]) -> bool:
    """True when *now* speaks of all that is *said* of *wrong*: "Ann, not Ben, coaches us"."""
    told = [word for word in said if _tells(word) and not _among(word, wrong)]
    return all(_among(word, now.tokens) for word in told)
