"""German numbers and times of day in the spelling that English ones are read in."""

from __future__ import annotations

import re

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed

_LOW = listed("null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf")
_TEENS = listed("dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn")
_TENS = listed("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_ONES = ("ein", *_LOW[2:10])


def _cardinals() -> dict[str, int]:
    found = {word: value for value, word in enumerate((*_LOW, *_TEENS))}
    for tens, word in enumerate(_TENS, start=2):
        found[word] = 10 * tens
        found |= {f"{one}und{word}": 10 * tens + n for n, one in enumerate(_ONES, start=1)}
    found |= {f"{one}hundert": 100 * n for n, one in enumerate(_ONES, start=1)}
    found |= {f"{one}tausend": 1000 * n for n, one in enumerate(_ONES, start=1)}
    return found | {"hundert": 100, "tausend": 1000, "zehntausend": 10_000}


_CARDINALS = _cardinals()
_IRREGULAR = {"erst": 1, "dritt": 3, "siebt": 7, "acht": 8}
_ORDINALS = {
    **{word + ("t" if value < 20 else "st"): value for word, value in _CARDINALS.items()},
    **_IRREGULAR,
}
_SHARES = {"hälfte": "half", "drittel": "third", "viertel": "quarter", "fünftel": "fifth"}
_WORD = lazy_pattern(r"[^\W\d_]+")
_MONTH = r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)"
_ORDINAL = lazy_pattern(rf"\b([^\W\d_]+t)e[nrsm]?(?= {_MONTH}\b)", re.IGNORECASE)
_SHARE = lazy_pattern(
    r"\b(?:(?:die|der|eine?|zur) )?(Hälfte|Drittel|Viertel|Fünftel)\b(?! (?:nach|vor))"
)
_HOUR = lazy_pattern(r"\b(\d{1,2})(?:[.:](\d\d))? Uhr(?: (\d\d)\b)?")


def in_digits(text: str) -> str:
    """*text* with "zwölf" as 12, "vierten Mai" as 4. Mai, "ein Drittel" as a third, 9 Uhr as 09:00.

    "Ein" and "eine" stay, since they are articles as well.
    """
    text = _ORDINAL.sub(_ordinal, text)
    text = _SHARE.sub(lambda match: f"a {_SHARES[match[1].casefold()]} of", text)
    text = _WORD.sub(lambda match: str(_CARDINALS.get(match[0].casefold(), match[0])), text)
    return _HOUR.sub(lambda match: f"{int(match[1]):02d}:{match[2] or match[3] or '00'}", text)


def _ordinal(match: re.Match[str]) -> str:
    value = _ORDINALS.get(match[1].casefold())
    return f"{value}." if value else match[0]
