"""Numbers in English text: "25", "twenty-five", "2.5 million", "half a dozen".

Each number is returned with its value in one notation, so that "three" and "3" are one number,
while "twenty-five" is neither 20 nor 5. Every token gets a letter of a small alphabet; a regular
expression over these letters finds the tokens of one number, and a walk over them adds it up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import STOPWORDS, listed

_SMALL = "(?>Tu|[utT])"
_COUNT = f"(?:{_SMALL}|d)"
_PART = "(?:&a[fq]|Q)"
_GROUP = f"(?:(?:{_COUNT}|a)?H(?:&?{_SMALL}(?!H))?|{_COUNT}){_PART}?"
_FEW = f"(?:{_GROUP}|ac=H?|fa|a)"
_SCALED = f"(?:{_FEW}?S{_PART}?)"
_NUMBER = lazy_pattern(
    rf"(?P<clock>[fq]x{_SMALL})|(?P<time>dh|Ch?)|(?P<written>[vl])|(?P<times>w)|(?P<fraction>Q)"
    rf"|(?P<aside>(?:{_COUNT}|a)\.&af)|(?P<share>(?:{_COUNT}|a)[pq](?!x)|{_COUNT}f|[au]o(?==))"
    rf"|(?P<rank>(?:{_SCALED}&?)*(?:(?:{_COUNT}|a)?H&?)?(?:T[io]|[ioO]))"
    rf"|(?P<series>{_SMALL}{_SMALL}++(?![HSK]))"
    rf"|(?P<sum>m?(?:{_SCALED}(?:&?{_SCALED})*(?:&?{_GROUP})?|{_FEW}?K|{_GROUP}|ac=H?)(?:%|rn)?)"
    r"|(?P<half>f)|(?P<quarter>q)"
)
_TOKEN = lazy_pattern(
    r"(?P<minus>(?<![^\s(=:\[])[-−](?=\d))|(?P<hyphen>(?<=\w)[-‐‑](?=\w))"
    r"|(?P<digits>\d+/\d+(?![/\d])|\d+(?:[.,:'’\u00a0\u202f]\d+)*)"
    r"(?:(?P<suffix>st|nd|rd|th|[kKM]|mn|bn)(?![^\W_]))?"
    r"|(?P<word>[apAP]\.[mM]\b\.?|[^\W\d_]+(?:['’][^\W\d_]+)*)|[^\s\d]"
)
_CLOCK = lazy_pattern(r"([01]?\d|2[0-4]):([0-5]\d)")
_VERSION = lazy_pattern(r"\d{1,3}(?:\.\d{1,2})+")
_GROUPED = lazy_pattern(r"\d{1,3}([,'’\u00a0\u202f])\d{3}(?:\1\d{3})*(?:\.\d+)?")
_DOTTED = lazy_pattern(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_DECIMAL = lazy_pattern(r"\d+(?:[.,]\d+)?")
_LONGEST = 30
"""Digits of what is calculated with; a longer row is compared as it is written."""

_POINTING = frozenset(
    listed("the this that no every each any some which another other last next only right wrong")
)
"""Words before "one" that make it a pronoun."""
_UNCOUNTED = frozenset(listed("day another time way thing else"))
_IDLE_FIRST = frozenset(listed("of name names aid class hand"))
_IDLE_SECOND = frozenset(listed("per split every each few several"))


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is *written*.

    *offers* are the values that it states, in decimals ("8500", "0.5"), as a fraction where those
    do not end ("2/3"), as a time ("6:30", or "18:30" and "06:30" where the half of the day is
    known) or as written ("3.11.4"). A text that repeats it *needs* a source that offers one of
    these; a pronoun ("the red one") needs nothing.
    """

    written: str
    offers: frozenset[str]
    needs: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Token:
    letter: str
    text: str
    value: Fraction
    start: int
    end: int
    lone: bool
    """True when it does not go on what stands before."""


def numbers(text: str) -> tuple[Number, ...]:
    """The numbers of *text*, in order. Never raises."""
    text = "".join(map(_spread, text))
    tokens = _tokens(text)
    letters = "".join(f"|{each.letter}" if each.lone else each.letter for each in tokens)
    places = [place for place, each in enumerate(tokens) for _ in range(1 + each.lone)]
    found = []
    for match in _NUMBER.finditer(letters):
        first, end = places[match.start()], places[match.end() - 1] + 1
        needed, offered = _READ[match.lastgroup or ""](tokens, first, end)
        written = text[tokens[first].start : tokens[end - 1].end]
        both = _parted(tokens[first:end])
        for part in both:
            found.append(Number(written, frozenset(needed), frozenset({*needed, part})))
        if not both and (needed or offered):
            found.append(Number(written, frozenset({*needed, *offered}), frozenset(needed)))
    return tuple(found)


def _parted(tokens: Sequence[_Token]) -> list[str]:
    """[52000, 4] for "fifty-two thousand and four", which may mean two numbers; else [].

    As a source it offers only the whole; a source of it has to offer the whole or both.
    """
    letters = "".join(token.letter for token in tokens)
    at = letters.find("S&") + 1
    if not at or letters[at + 1] == "a":
        return []
    return [_decimal(_total(tokens[:at])), _decimal(_total(tokens[at + 1 :]))]


def is_number_word(word: str) -> bool:
    """True when *word* (lower case) is a number word, or several with hyphens."""
    return all(part in COUNTING or part in ("a", "and") for part in word.split("-"))


def in_digits(text: str) -> str:
    """*text* with the numerals of other scripts in ASCII digits, apart from letters around them.

    ٣٠٠ and 三百 are 300, Ⅳ is 4. A numeral that is a common part of words stays, as in 一起,
    "together". Linear in its length; never raises.
    """
    if text.isascii():
        return text
    found = []
    for kind, chars in groupby(text, _script):
        run = "".join(chars)
        if kind == "Nd":
            found.append("".join(str(unicodedata.decimal(char)) for char in run))
        elif kind == "" or run in _PARTS_OF_WORDS:
            found.append(run)
        else:
            found.append(f" {_added(run)} ")
    return _BESIDE_IDEOGRAPHS.sub(" ", "".join(found))


_PARTS_OF_WORDS = frozenset("一十百千万萬亿億")
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_BESIDE_IDEOGRAPHS = lazy_pattern(rf"(?<=[0-9])(?=[{_IDEOGRAPHS}])|(?<=[{_IDEOGRAPHS}])(?=[0-9])")


def _script(char: str) -> str:
    """The category of a numeral that is no ASCII digit, "" of anything else."""
    if char.isascii() or unicodedata.numeric(char, None) is None:
        return ""
    category = unicodedata.category(char)
    return {"Nd": "Nd", "Nl": "Nl", "Lo": "Lo"}.get(category, "") if char != "〇" else "Lo"


def _added(run: str) -> str:
    """The digits of 三百二十 (320), of 二〇二四 (2024) and of Ⅷ (8)."""
    values = [int(unicodedata.numeric(char)) for char in run]
    if max(values) < 10:
        return "".join(map(str, values)).lstrip("0") or "0"
    whole = part = last = 0
    for value in values:
        if value < 10:
            last = value
        elif value < 10_000:
            part, last = part + (last or 1) * value, 0
        else:
            whole, part, last = whole + (part + last or 1) * value, 0, 0
    return str(whole + part + last)


# Tokens


def _spread(char: str) -> str:
    """½ as 1/2, with room around it, so that 2½ is a whole and a part."""
    if unicodedata.category(char) != "No" or "⁄" not in (
        plain := unicodedata.normalize("NFKC", char)
    ):
        return char
    return f" {plain.replace('⁄', '/')} "


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "hyphen":
            continue
        before = found[-1] if found else None
        gap = text[before.end : match.start()] if before else "\n"
        lone = gap.strip(" \t\u00a0") not in ("", "-", "‐", "‑")
        letter, value = _letter(match, before.text if before else "")
        found.append(_Token(letter, match.group(), value, match.start(), match.end(), lone))
    return found


def _letter(match: re.Match[str], before: str) -> tuple[str, Fraction]:
    """The letter of a token and its value, 0 for what has none."""
    if digits := match["digits"]:
        return _of_digits(_ascii(digits), match["suffix"] or "", before)
    word = match.group().casefold().replace("’", "'")
    if match["minus"]:
        return "m", Fraction(0)
    return LETTERS.get(word, "."), Fraction(VALUES.get(word, 0))


def _of_digits(digits: str, suffix: str, before: str) -> tuple[str, Fraction]:
    if "/" in digits and len(digits) <= _LONGEST:
        above, below = map(int, digits.split("/"))
        return ("Q", Fraction(above, below)) if below else ("l", Fraction(0))
    if _CLOCK.fullmatch(digits):
        return "C", Fraction(0)
    name = before.casefold()
    named = (before[:1].isupper() and name not in STOPWORDS) or name in ("v", "version", "release")
    amount = _amount(digits)
    if amount is not None and suffix in ("st", "nd", "rd", "th"):
        return "O", amount
    if amount is None or (named and not suffix and _VERSION.fullmatch(digits)):
        return "l", Fraction(0)
    return "d", amount * SUFFIXES.get(suffix, 1)


def _ascii(digits: str) -> str:
    return "".join(str(int(char)) if char.isdecimal() else char for char in digits)


def _amount(digits: str) -> Fraction | None:
    """The value of *digits*; None for what is no amount, such as 3.11.4."""
    if len(digits) > _LONGEST:
        return None
    if _GROUPED.fullmatch(digits):
        return Fraction(re.sub(r"[,'’\u00a0\u202f]", "", digits))
    if _DECIMAL.fullmatch(digits):
        return Fraction(digits.replace(",", "."))
    if _DOTTED.fullmatch(digits):
        return Fraction(digits.replace(".", "").replace(",", "."))
    return None


# The values that a group of tokens needs, and those that it offers besides

_Said = tuple[set[str], set[str]]


def _clock(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    """Half past six, quarter to seven."""
    hour = int(_count(tokens[first + 2 : end]))
    minutes = 60 // int(tokens[first].value)
    if not 1 <= hour <= 12 or tokens[first].text.endswith("s"):
        return set(), set()
    past = tokens[first + 1].text.casefold() == "past"
    at = (60 * hour + (minutes if past else -minutes)) % 720
    return {f"{at // 60 or 12}:{at % 60:02d}"}, set()


def _time(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    """6:30, 6:30 pm, 6 p.m."""
    clock = _CLOCK.fullmatch(_ascii(tokens[first].text))
    hour, minute = (int(clock[1]), int(clock[2])) if clock else (int(tokens[first].value), 0)
    plain = {f"{hour}:{minute:02d}"} | ({str(hour)} if minute == 0 else set())
    exact = f"{hour:02d}:{minute:02d}"
    if end - first == 1:
        return ({exact}, plain) if tokens[first].text[0] == "0" else (plain, set())
    if 1 <= hour <= 12:
        hour = hour % 12 + (12 if tokens[end - 1].text[0] in "pP" else 0)
        exact = f"{hour:02d}:{minute:02d}"
    return {exact}, plain


def _written(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    """What is compared as it is written; of a version also its first two parts."""
    written = " ".join(_ascii(token.text).casefold() for token in tokens[first:end])
    return {written}, {".".join(written.split(".")[:2])}


def _times(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    return {_decimal(tokens[end - 1].value)}, {_decimal(tokens[first].value)}


def _fraction(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    return {_decimal(tokens[first].value), _ascii(tokens[end - 1].text)}, set()


def _aside(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    """Two hours and a half."""
    return {_decimal(_count(tokens[first : end - 4]) + Fraction(1, 2))}, set()


def _share(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    """Two thirds, three quarters, a fifth of."""
    below = tokens[end - 1].value
    return {_decimal(_count(tokens[first : end - 1]) / below)}, set()


def _rank(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    value = _decimal(_total(tokens[first:end]))
    before, after = _near(tokens, first - 1), _near(tokens, end)
    idle = {
        "first": before == "at" or after in _IDLE_FIRST or after == ",",
        "second": before in _IDLE_SECOND or before.isdecimal() or after == "ago",
    }
    if end - first == 1 and idle.get(_near(tokens, first)):
        return set(), {value}
    return {value}, set()


def _series(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    """Numbers said one after the other: nineteen eighty-four, seven thirty, five five three."""
    parts: list[Fraction] = []
    tens = False
    for token in tokens[first:end]:
        if tens and token.letter == "u":
            parts[-1] += token.value
        else:
            parts.append(token.value)
        tens = token.letter == "T"
    values = {str(int("".join(map(str, parts[:_LONGEST]))))}
    if len(parts) == 2 and parts[0] <= 24 and 10 <= parts[1] < 60:
        values.add(f"{parts[0]}:{parts[1]}")
    return values, set()


def _sum(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    inside = tokens[first:end]
    value = _total(inside)
    values, only = {value}, inside[0].text
    if end - first == 1 and _DOTTED.fullmatch(_ascii(only)):
        values.add(Fraction(_ascii(only).replace(".", "").replace(",", ".")))
    if inside[-1].letter in "%n":
        values |= {value / 100 for value in values}
    said = set(map(_decimal, values))
    if end - first == 1 and inside[0].letter == "d" and inside[0].value == value:
        said.add(_ascii(only).casefold())
    if end - first == 1 and only.casefold() == "one" and _is_pronoun(tokens, first):
        return set(), said
    return said, set()


def _is_pronoun(tokens: Sequence[_Token], place: int) -> bool:
    """True for "the one", "one of them", "one day"."""
    before, after = _near(tokens, place - 1), _near(tokens, place + 1)
    counted = after[:1].isalpha() and after not in STOPWORDS and after not in _UNCOUNTED
    return before in _POINTING or not counted


def _half(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    """Half of it, half an hour; "half marathon" is no number."""
    after = _near(tokens, end)
    if after[:1].isalpha() and after not in STOPWORDS:
        return set(), {_decimal(1 / tokens[first].value)}
    hour = after == "an" and _near(tokens, end + 1) == "hour"
    return {_decimal(1 / tokens[first].value)} | ({"30"} if hour else set()), set()


def _quarter(tokens: Sequence[_Token], first: int, end: int) -> _Said:
    """Of a year, a town or a circle: no number of its own."""
    return set(), {_decimal(1 / tokens[end - 1].value), _decimal(1 / tokens[first].value)}


_READ = {
    "clock": _clock,
    "time": _time,
    "written": _written,
    "times": _times,
    "fraction": _fraction,
    "aside": _aside,
    "share": _share,
    "rank": _rank,
    "series": _series,
    "sum": _sum,
    "half": _half,
    "quarter": _quarter,
}


def _near(tokens: Sequence[_Token], place: int) -> str:
    return tokens[place].text.casefold() if 0 <= place < len(tokens) else ""


def _count(tokens: Sequence[_Token]) -> Fraction:
    """The number below a hundred that *tokens* say; "a" is one."""
    return Fraction(1) if tokens[0].letter == "a" else sum((t.value for t in tokens), Fraction(0))


def _total(tokens: Sequence[_Token]) -> Fraction:
    """What *tokens* add up to: groups of hundreds, each with its scale, and parts of them."""
    total, unit, sign = Fraction(0), Fraction(1), 1
    current: Fraction | None = None
    for token in tokens:
        if token.letter == "m":
            sign = -1
        elif token.letter == "S":
            count = 1 if current is None else current
            total, current, unit = total + count * token.value, None, token.value
        elif token.letter in "HK":
            current = (1 if current is None else current) * token.value
        elif token.letter in "fq":
            current = (current or 0) + unit / token.value
        elif token.letter in "utTdiocQO":
            current, unit = (current or 0) + token.value, Fraction(1)
    return sign * (total + (current or 0))


def _decimal(value: Fraction) -> str:
    """*value* in decimals, or as a fraction where they do not end."""
    rest, digits = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        digits = max(digits, power)
    if rest > 1:
        return str(value)
    whole, part = divmod(abs(value.numerator) * 10**digits // value.denominator, 10**digits)
    shown = f"{whole}.{part:0{digits}d}" if digits else str(whole)
    return f"-{shown}" if value < 0 else shown


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
