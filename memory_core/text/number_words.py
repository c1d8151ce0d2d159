"""The words of numbers, what they are worth, and the letter of each in the grammar of numerals."""

from __future__ import annotations

from collections.abc import Mapping

from memory_core.text.words import listed

_LOW = listed("zero one two three four five six seven eight nine")
_TEENS = listed("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
_ROUND = listed("twenty thirty forty fifty sixty seventy eighty ninety")
_RANKS = listed(
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"""
)
_ROUND_RANKS = tuple(f"{word[:-1]}ieth" for word in _ROUND)
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SUFFIXES = {"k": 10**3, "K": 10**3, "M": 10**6, "mn": 10**6, "bn": 10**9}
"""Letters right behind digits that multiply them."""

VALUES: Mapping[str, int] = {
    **{word: value for value, word in enumerate((*_LOW, *_TEENS))},
    **{word: 10 * place for place, word in enumerate(_ROUND, start=2)},
    **{word: 10 * place for place, word in enumerate(_ROUND_RANKS, start=2)},
    **{word: value for value, word in enumerate(_RANKS, start=1)},
    **{f"{word}s": value for value, word in enumerate(_RANKS, start=1)},
    **_SCALES,
    **{"hundred": 100, "dozen": 12, "couple": 2, "pair": 2, "twice": 2, "thrice": 3},
    **{"half": 2, "halves": 2, "quarter": 4, "quarters": 4},
}
COUNTING: Mapping[str, str] = {
    **dict.fromkeys(_LOW[1:], "u"),
    **dict.fromkeys((_LOW[0], *_TEENS), "t"),
    **dict.fromkeys(_ROUND, "T"),
    **dict.fromkeys(_RANKS[:2], "i"),
    **dict.fromkeys(_RANKS[2:9], "o"),
    **dict.fromkeys((*_RANKS[9:], *_ROUND_RANKS), "O"),
    **dict.fromkeys((f"{word}s" for word in _RANKS[2:]), "p"),
    **dict.fromkeys(_SCALES, "S"),
    **dict.fromkeys((*(f"{scale}s" for scale in _SCALES), "dozens", "hundreds"), "v"),
    **dict.fromkeys(("twice", "thrice"), "w"),
    **dict.fromkeys(("half", "halves"), "f"),
    **dict.fromkeys(("quarter", "quarters"), "q"),
    **{"hundred": "H", "dozen": "K"},
}
LETTERS: Mapping[str, str] = {
    **COUNTING,
    **dict.fromkeys(("a", "an"), "a"),
    **dict.fromkeys(("couple", "pair"), "c"),
    **dict.fromkeys(("past", "to"), "x"),
    **dict.fromkeys(("percent", "pct", "%"), "%"),
    **dict.fromkeys(("am", "pm", "a.m", "p.m", "a.m.", "p.m."), "h"),
    **{"and": "&", "of": "=", "per": "r", "cent": "n", "minus": "m"},
}
"""And of digits: "d" amounts, "C" times, "Q" fractions, "l" what is compared as it is written.
"." is any other token; "|" parts tokens that are not of one number."""
