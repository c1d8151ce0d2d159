"""Numbers written as words: "thirty-eight" is 38, "eight and a half thousand" is 8500 (English)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.text.words import listed

_UNITS = listed(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen"""
)
_RANKS = listed(
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"""
)
_ROUND = listed("twenty thirty forty fifty sixty seventy eighty ninety")
_SMALL = {word: value for value, word in enumerate(_UNITS)}
_TENS = {word: 10 * place for place, word in enumerate(_ROUND, start=2)}
_ORDINALS = {word: value for value, word in enumerate(_RANKS, start=1)}
_ORDINALS |= {word[:-1] + "ieth": value for word, value in _TENS.items()}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_WORD = re.compile(r"[a-z]+")
_KNOWN = {**_SMALL, **_TENS, **_ORDINALS, **_SCALES}


def spelled(text: str) -> frozenset[str]:
    """The numbers that *text* spells in words, in digits; parts of a longer one count as well."""
    words = _WORD.findall(text.casefold())
    found = {_written(_KNOWN[word]) for word in words if word in _KNOWN}
    for run in _runs(words):
        for start in range(len(run)):
            for end in range(start + 2, len(run) + 1):
                found.add(_written(_value(run[start:end])))
    return frozenset(found)


def _runs(words: list[str]) -> Iterator[list[str]]:
    """Stretches of number words, "and a half" and "and" within them."""
    run: list[str] = []
    for word in [*words, ""]:
        if word in _KNOWN or (run and word in ("and", "a", "half")):
            run.append(word)
        elif run:
            yield run[:12]
            run = []


def _value(run: list[str]) -> float:
    total = current = 0.0
    for word in run:
        if word == "half":
            current += 0.5
        elif word in ("dozen", "hundred"):
            current = (current or 1) * _SCALES[word]
        elif word in _SCALES:
            total += (current or 1) * _SCALES[word]
            current = 0.0
        else:
            current += _KNOWN.get(word, 0)
    return total + current


def _written(value: float) -> str:
    return f"{value:g}" if value < 10**6 or value % 1 else str(int(value))
