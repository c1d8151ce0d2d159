"""Sentences turned round: a denial that is dropped or added, and two names that change places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences
from memory_core.text.words import is_plain, listed, words

_DENYING = frozenset(
    listed(
        """not never no without cannot against neither nor none
        nicht nie niemals kein keine keinen keinem keiner keines ohne gegen weder"""
    )
)
_REFUSING = _DENYING | frozenset(
    listed(
        """avoid avoids avoided avoiding allergic stop stops stopped quit quits refuse refuses
        refused rather instead unable fail fails failed lack lacks lost missing replaced gave
        dropped rejected banned forbidden declined abandoned free
        statt anstatt allergisch vermeidet meidet verzichtet aufgehört weigert verboten abgelehnt"""
    )
)
_BOUND = lazy_pattern(
    r"\b(?:no|not|nicht) (?:more|less|fewer|longer|mehr|weniger|länger) (?:than|als)\b",
    re.IGNORECASE,
)
"""Bounds of amounts, which deny nothing."""
_REACH = 4
"""Content words behind a denial that it is taken to deny."""
_STEM = 4
_PASSIVE = frozenset(
    listed("by from was were been got von vom wurde wurden worden and und or oder with mit")
)
_WITHIN = lazy_pattern(r"[^\W_]+(?:['’][^\W_]+)*")
_CLAUSE = lazy_pattern(r"[,;:.!?]\s+|\s(?=(?:and|but|because|since|so|und|aber|weil|denn)\s)")


def turned(text: str, said: str) -> str:
    """The words of *text* that say the reverse of *said*; "" when none do.

    In doubt they do: a denial that no source makes, and one of a source that is not repeated.
    """
    return _denial(_BOUND.sub(" ", text), _BOUND.sub(" ", said)) or _swapped(text, said)


def _denies(word: str) -> bool:
    return word in _DENYING or word.endswith("n't")


def _denial(text: str, said: str) -> str:
    spoken = words(said)
    if not any(_denies(word) or word in _REFUSING for word in spoken):
        return next((word for word in words(text) if _denies(word)), "")
    for denied in _denied(said):
        for clause in _CLAUSE.split(text):
            own = words(clause)
            if any(_denies(word) or word in _REFUSING for word in own):
                continue
            common = [word for word in own if any(_alike(word, other) for other in denied)]
            if len(common) >= min(2, len(denied)):
                return " ".join(common)
    return ""


def _denied(said: str) -> Iterator[list[str]]:
    """The content words that each denial of *said* is about."""
    for clause in _CLAUSE.split(said):
        found = words(clause)
        for place, word in enumerate(found):
            if not _denies(word):
                continue
            after = [each for each in found[place + 1 :] if not is_plain(each)][:_REACH]
            before = [each for each in found[:place] if not is_plain(each)][-2:]
            if word == "nicht" or word.startswith("kein"):
                after = (before + after)[-_REACH:]
            if after:
                yield after


def _alike(word: str, other: str) -> bool:
    return word == other or (
        min(len(word), len(other)) >= 3
        and word[: max(3, min(len(word), len(other), _STEM + 1))]
        == other[: max(3, min(len(word), len(other), _STEM + 1))]
    )


def _swapped(text: str, said: str) -> str:
    """The first two names of *text* that stand the other way round about the same word."""
    sources = [_tokens(sentence) for sentence in sentences(said)]
    for own in map(_tokens, sentences(text)):
        for one, link, other in _pairs(own):
            for source in sources:
                same = any(
                    (a, b) == (other, one) and any(_alike(x, y) for x in link for y in between)
                    for a, between, b in _pairs(source)
                )
                straight = any((a, b) == (one, other) for a, _, b in _pairs(source))
                if same and not straight:
                    return f"{one} {' '.join(link)} {other}"
    return ""


def _tokens(sentence: str) -> list[str]:
    return [match.replace("’", "'").removesuffix("'s") for match in _WITHIN.findall(sentence)]


def _pairs(tokens: Sequence[str]) -> Iterator[tuple[str, list[str], str]]:
    """Names and what stands between them, where that is active and short."""
    named = [place for place, word in enumerate(tokens) if word[:1].isupper()]
    for at, first in enumerate(named):
        for second in named[at + 1 : at + 4]:
            between = [word.casefold() for word in tokens[first + 1 : second]]
            if 0 < len(between) <= 8 and _PASSIVE.isdisjoint(between):
                yield tokens[first].casefold(), between, tokens[second].casefold()
