"""Amounts with their units, and vaguer ones: whether a text's are those of its sources.

"14 days" is two weeks, "almost 200" is 189, and "2 GB" is not 2 TB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.numerals import is_number_word, numbers

_SIZES: dict[str, tuple[str, Fraction]] = {
    word: (kind, Fraction(size))
    for kind, units in {
        "time": {
            "second seconds sec sekunde sekunden": "1",
            "minute minutes min mins minuten": "60",
            "hour hours hrs stunde stunden": "3600",
            "day days tag tage tagen": "86400",
            "week weeks woche wochen": "604800",
            "month months monat monate monaten": "2629800",
            "year years jahr jahre jahren": "31557600",
        },
        "bytes": {
            "kb kilobyte kilobytes": "1e3",
            "mb megabyte megabytes": "1e6",
            "gb gigabyte gigabytes": "1e9",
            "tb terabyte terabytes": "1e12",
        },
        "length": {
            "mm millimetre millimetres millimeter millimeters": "1/1000",
            "cm centimetre centimetres centimeter centimeters zentimeter": "1/100",
            "metre metres meter meters metern": "1",
            "km kilometre kilometres kilometer kilometers": "1000",
            "mile miles meile meilen": "1609",
        },
        "mass": {
            "g gram grams gramm": "1",
            "kg kilo kilos kilogram kilograms kilogramm": "1000",
            "tonne tonnes tonnen": "1000000",
        },
    }.items()
    for names, size in units.items()
    for word in names.split()
}
_SIZES |= {
    word: (kind, Fraction(1))
    for kind, names in {
        "euros": "euro euros eur €",
        "dollars": "dollar dollars usd $",
        "pounds": "pound pounds gbp £",
        "francs": "franc francs franken chf",
    }.items()
    for word in names.split()
}
_MONEY = frozenset(("euros", "dollars", "pounds", "francs"))

_WORD = lazy_pattern(r"\d+(?:[.,:'’]\d+)*(?:[kKM](?![^\W_]))?|[^\W\d_]+|[€$£%]")
_PERCENT = frozenset(("%", "percent", "prozent", "Prozent"))
_GROUPED = lazy_pattern(r"\d{1,3}(?:\.\d{3})+")
_BEFORE = 4
"""Words before an amount that may bound it: "in no more than"."""
_BOUNDS = [
    (lazy_pattern(rf"(?:{words})\W*$", re.IGNORECASE), bound)
    for words, bound in (
        (r"\b(?:no|not|nicht|never) (?:more|longer|mehr|länger) (?:than|als)", "<="),
        (r"\b(?:no|not|nicht|never) (?:less|fewer|weniger) (?:than|als)", ">="),
        (r"\b(?:within|at (?:the )?most|up to|maximum of|inside of)", "<="),
        (r"\b(?:innerhalb(?: von)?|binnen|höchstens|maximal|bis zu)", "<="),
        (r"\b(?:at (?:the very )?least|minimum of|mindestens|wenigstens)", ">="),
        (r"\b(?:under|below|less than|fewer than|shorter than|unter|weniger als)", "<"),
        (r"\b(?:over|above|exceeding|(?:more|longer) than|über|(?:mehr|länger) als)", ">"),
        (r"\b(?:almost|nearly|fast|knapp|beinahe)", "<~"),
        (r"\b(?:about|around|roughly|approximately|circa|ca|rund|etwa|ungefähr)", "~"),
    )
]
_OPEN = lazy_pattern(
    r"\W{0,9}(?:or|oder) (?:(more|longer|mehr|länger)|less|fewer|weniger)\b", re.IGNORECASE
)
_RANGE = lazy_pattern(r"\b(?:between|zwischen) (\S+) (?:and|und) (?=\S+)", re.IGNORECASE)
_WIDEST = Fraction(3, 2)
"""Farthest that an honest bound lies from what it bounds: "under 300" says nothing of 20."""
_HALF_MORE = lazy_pattern(r"\b(\w+) (\w+) and a half\b", re.IGNORECASE)
_HALF = lazy_pattern(r"\bhalf an? (\w+)", re.IGNORECASE)
_EACH = lazy_pattern(r"\b(?:every|jede[nrs]?|alle) (?=([^\W\d_]+))", re.IGNORECASE)

Amount = tuple[str, Fraction, str, int, int]
"""Kind of unit ("" for none), value in its base unit, vague word before it, first and last char."""


def checked(text: str, said: str) -> tuple[str, str]:
    """*text* without the amounts that *said* holds in other words, and the first that it denies.

    An amount is denied where *said* has amounts of its kind and none is equal, or as large as the
    words before it say; "" when there is none. Amounts of a kind that *said* has not are left in.
    """
    written, text, said = text, _plain(text), _plain(said)
    known = list(_amounts(said))
    clocks = {_clock(value) for kind, value, *_ in known if kind == "time"}
    held: list[tuple[int, int]] = []
    for kind, value, bound, start, end in _amounts(text):
        same = [each for each in known if kind in ("", each[0])]
        if any(_follows(bound, value, other_bound, other) for _, other, other_bound, *_ in same):
            if kind or bound:
                held.append((start, end))
        elif any(_one_kind(kind, each[0]) if kind else value == each[1] for each in known):
            return text, text[start:end].strip()
    for match in re.finditer(r"\b\d{1,2}:\d\d\b", text):
        if match.group() in clocks:
            held.append(match.span())
    if not held:
        return written, ""
    for start, end in sorted(held, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text, ""


def _one_kind(kind: str, other: str) -> bool:
    return kind == other or (kind in _MONEY and other in _MONEY)


def _plain(text: str) -> str:
    text = _RANGE.sub(r"\1 to ", text)
    text = _HALF_MORE.sub(_half_more, text)
    text = _HALF.sub(lambda match: f"0.5 {match[1]}" if _unit(match[1]) else match[0], text)
    return _EACH.sub(lambda match: f"{match[0]}1 " if _unit(match[1]) else match[0], text)


def _half_more(match: re.Match[str]) -> str:
    """A year and a half, two hours and a half: the half before the unit."""
    if not _unit(match[2]):
        return match[0]
    one = match[1].casefold() in ("a", "an", "one")
    return f"{'1.5' if one else match[1] + ' and a half'} {match[2]}"


def days_at_end(text: str) -> float | None:
    """The days of the amount of time that *text* ends with; None for another end."""
    text = _plain(text).rstrip()
    last = next((each for each in reversed(list(_amounts(text))) if each[4] == len(text)), None)
    return float(last[1] / 86_400) if last and last[0] == "time" else None


def is_unit(word: str) -> bool:
    """True for a unit that amounts are compared in."""
    return _unit(word) is not None


def _unit(word: str) -> tuple[str, Fraction] | None:
    return _SIZES.get(word.casefold())


def _amounts(text: str) -> Iterator[Amount]:
    tokens = list(_WORD.finditer(text))
    place = 0
    open_: Amount | None = None
    while place < len(tokens):
        end = place
        while end < len(tokens) and _counts(tokens[end].group(), end > place):
            end += 1
        if end == place:
            place += 1
            continue
        phrase = text[tokens[place].start() : tokens[end - 1].end()]
        value = _value(phrase)
        after = _unit(tokens[end].group()) if end < len(tokens) else None
        sign = _unit(tokens[place - 1].group()) if place else None
        last = end
        kind, size = "", Fraction(1)
        if value is not None and end < len(tokens) and tokens[end].group() in _PERCENT:
            value, last = value / 100, end + 1
        elif after:
            (kind, size), last = after, end + 1
        elif sign and sign[0] in _MONEY and not tokens[place - 1].group().isalpha():
            kind, size = sign
        if value is not None:
            start = tokens[place].start()
            stop = tokens[last - 1].end()
            bound = _bound(text[tokens[max(0, place - _BEFORE)].start() : start], text[stop:])
            found = (kind, value * size, bound, start, stop)
            joined = open_ and kind == "time" == open_[0] and start - open_[4] <= 5
            if open_ and joined and value * size < open_[1]:
                open_ = (kind, open_[1] + value * size, open_[2], open_[3], found[4])
            else:
                if open_:
                    yield open_
                open_ = found
        place = last
    if open_:
        yield open_


def _counts(word: str, inside: bool) -> bool:
    lowered = word.casefold()
    if lowered in ("a", "an", "and"):
        return lowered != "and" if not inside else lowered in ("a", "and")
    return word[0].isdigit() or is_number_word(lowered)


def _value(phrase: str) -> Fraction | None:
    if phrase.casefold() in ("a", "an", "one"):
        return Fraction(1)
    if _GROUPED.fullmatch(phrase):
        return Fraction(phrase.replace(".", ""))
    found = numbers(f"{phrase.removesuffix(' a').removesuffix(' and')} of")
    for number in found[:1]:
        for offered in sorted(number.needs or number.offers, key=lambda text: -len(text)):
            if ":" not in offered and offered.count(".") < 2:
                try:
                    return Fraction(offered)
                except (ValueError, ZeroDivisionError):
                    continue
    return None


def _bound(before: str, after: str) -> str:
    """How an amount between *before* and *after* is bounded or blurred, "" when it is exact."""
    if match := _OPEN.match(after):
        return ">=" if match[1] else "<="
    return next((bound for words, bound in _BOUNDS if words.search(before)), "")


def _follows(bound: str, value: Fraction, other_bound: str, other: Fraction) -> bool:
    """True where *bound* *value* follows from *other_bound* *other*, or only leaves the bound out.

    A bound follows from one on the same side that is as narrow, and from an amount inside of it.
    """
    if not value or not other:
        return value == other
    ratio = other / value
    slack = Fraction(1, 50) if value > 2_000_000 else Fraction(0)  # 12 months, a year
    if bound[:1] in ("<", ">") and bound != "<~":
        if other_bound[:1] in ("<", ">") and other_bound[0] != bound[0]:
            return False
        inside = ratio if bound[0] == ">" else 1 / ratio
        touching = abs(ratio - 1) <= slack
        loose = bound[1:] == "=" or (other_bound[:1] == bound[0] and other_bound[1:] != "=")
        return loose if touching else 1 < inside <= _WIDEST
    if bound == "<~":
        return Fraction(17, 20) <= ratio <= 1
    return abs(ratio - 1) <= (Fraction(1, 10) if bound else slack)


def _clock(seconds: Fraction) -> str:
    minutes = int(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02d}"
