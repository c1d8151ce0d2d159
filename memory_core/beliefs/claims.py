"""Claims: the numbers, names, polarity and values of a text, which tell an update from a duplicate.

Vectors cannot. Cosines measured with MiniLM: "port 5432" and "port 5433" 0.973, "likes" and "does
not like" 0.920, true paraphrases 0.941. So two close texts agree only when their claims do.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from memory_core.link_kinds import CONTRADICTS, DUPLICATE, SIMILAR, UPDATES
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.entities import entities
from memory_core.text.names.lexicon import NOT_NAMES
from memory_core.text.numerals import in_digits
from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.words import listed, words

_NUMBER = lazy_pattern(
    r"(?<![\w.])(?:(?<=[\s(=:,])[-−]|^[-−]"
    r"|minus )?[^\W_]*[0-9][^\W_]*(?:[.,:/’'-](?=[^\W_]*[0-9])[^\W_]+"
    r"|[./-][^\W\d_]\b)*"
    r"(?:\s?[ap]\.?m\b)?",
    re.IGNORECASE,
)
SPELLED = dict(
    zip(
        listed(
            """two three four five six seven eight nine ten eleven twelve twenty thirty forty
            fifty zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig"""
        ),
        listed("2 3 4 5 6 7 8 9 10 11 12 20 30 40 50 2 3 4 5 6 7 8 9 10 11 12 20 30"),
        strict=True,
    )
)
"""Numerals of English and German -> their digits."""

NEGATIONS = frozenset(
    listed(
        """not no never nobody nothing none neither nor without cannot nowhere unable hardly
        dislike dislikes disliked dont doesnt didnt isnt wasnt wont cant couldnt wouldnt
        shouldnt nicht nichts nie niemals niemand kein keine keinen keinem keiner keines ohne
        pas jamais rien sans aucun aucune nunca jamás tampoco nada ningún ninguna não sem niet
        geen nooit inte ingen aldrig ikke не нет никогда без değil nie"""
    )
)
_FORMER = lazy_pattern(
    r"\b(?:stopped|quit|gave up|given up|no longer|ceased|former(?:ly)?)\b"
    r"|\b(?!(?:am|is|are|was|were|be|get|got|being)\b)\w{1,30} used to\b",
    re.IGNORECASE,
)
_UNSPACED_NEGATION = lazy_pattern("[不没沒無无未]|ない|ません|않|없|아니")
_NO_NEGATION = lazy_pattern(
    r"\bno (?:problem|worries|doubt|matter|wonder)\b|\bnot only\b|\bcan['’]?t wait\b"
    r"|\bcannot wait\b"
    r"|\bdon['’]?t forget\b|\bnever mind\b|\bcouldn['’]?t agree more\b|\bno\. ?(?=[0-9])"
    r"|\b(?:isn|aren|don|doesn|didn|wasn|weren|won|can|couldn)['’]t (?:it|you|they|he|she|we"
    r"|i)\s?\?"
    r"|\bwhy (?:not|don['’]t)\b|\bnot sure\b|\bwhether or not\b|\bpas mal\b",
    re.IGNORECASE,
)
_SPANISH = lazy_pattern(
    r"\b(?:que|el|ella|los|las|es|está|con|para|por|una|muy|su|sus|mi|yo|se)\b", re.IGNORECASE
)
_COLOURS = listed("black white red green blue yellow orange purple pink brown grey gray")
_KINDS: dict[str, str] = {
    **{
        name: f"month {number}"
        for name, number in MONTHS.items()
        if name not in ("may", "mar", "march")
    },
    **{name: f"day {number}" for name, number in WEEKDAYS.items() if len(name) > 5},
    **{name + "s": f"day {number}" for name, number in WEEKDAYS.items()},
    **{name: "colour " + name.replace("gray", "grey") for name in _COLOURS},
    **{name: "part " + name for name in ("morning", "afternoon", "evening", "night")},
    "yesterday": "relative -1",
    "today": "relative 0",
    "tomorrow": "relative 1",
}
_OPPOSITE_PAIRS = """
    like likes liked love loves loved enjoy enjoys enjoyed
        | hate hates hated dislike dislikes disliked loathe loathes
    open opens opened | close closes closed shut
    enable enables enabled | disable disables disabled
    on | off
    before | after
    left | right
    up | down
    increase increases increased raise raised rose
        | decrease decreases decreased reduce reduced lowered fell
    start starts started begin begins began | stop stops stopped end ends ended
    true | false
    yes | no
    always | never
    allow allows allowed permitted | forbid forbids forbidden prohibited banned
    married | divorced single
    alive | dead
    hot | cold
    north | south
    east | west
    first | last
    minimum min | maximum max
    cheap cheaper cheapest | expensive
    accept accepts accepted | reject rejects rejected declined
    passed succeeded | failed
    tabs | spaces
    private | public
    buy buys bought | sell sells sold
    win wins won | lose loses lost
    vegetarian vegan | carnivore
    indoor indoors | outdoor outdoors
    easy | hard difficult
    more | less fewer
"""


def _by_word(pairs: str) -> dict[str, str]:
    """Each word of *pairs* -> the number of its pair and its side; indented lines continue one."""
    sides: dict[str, str] = {}
    for number, pair in enumerate(pairs.replace("\n        |", " |").strip().split("\n")):
        for side, group in enumerate(pair.split("|")):
            sides |= dict.fromkeys(group.split(), f"pair{number} {side}")
    return sides


_OPPOSITES = _by_word(_OPPOSITE_PAIRS)


@dataclass(frozen=True, slots=True)
class Claims:
    """What two texts must have in common to say the same.

    *numbers* with sign and decimals, "3pm" with its half of the day; *names* casefolded; *negated*
    True when the text denies or ends something; *values* words of a class that exclude each other
    (weekday, month, colour, part of the day, opposites); *order* the words in order.
    """

    numbers: frozenset[str]
    names: frozenset[str]
    negated: bool
    values: frozenset[str]
    order: tuple[str, ...]


def claims(text: str, names: Collection[str] | None = None) -> Claims:
    """The claims of *text*. Linear in its length; never raises.

    *names* are its entities, if the caller knows them.
    """
    order = tuple(words(text))
    values = {_KINDS[word] for word in order if word in _KINDS}
    values |= {_OPPOSITES[word] for word in order if word in _OPPOSITES}
    return Claims(
        numbers=frozenset(_numbers(text)) | {SPELLED[word] for word in order if word in SPELLED},
        names=frozenset(_names(text, entities(text) if names is None else names)),
        negated=_is_negated(text, order),
        values=frozenset(values),
        order=order,
    )


def agree(a: Claims, b: Claims) -> bool:
    """True when no rule keeps *a* and *b* from saying the same."""
    return not opposed(a, b)


def opposed(a: Claims, b: Claims) -> str:
    """Why *a* and *b* do not say the same: "numbers", "polarity", "names", "values", "order" or "".

    The first that applies. A name is shared when the other text holds all its words.
    """
    if a.numbers != b.numbers:
        return "numbers"
    if a.negated != b.negated:
        return "polarity"
    if not (_holds(b, a.names) and _holds(a, b.names)):
        return "names"
    if _exclude(a.values, b.values):
        return "values"
    if a.order != b.order and sorted(a.order) == sorted(b.order) and _swapped(a, b):
        return "order"
    return ""


def _holds(text: Claims, names: frozenset[str]) -> bool:
    present = {word.removesuffix("'s") for word in text.order}
    return all(
        name in text.names or all(word.removesuffix("'s") in present for word in words(name))
        for name in names
    )


def _exclude(a: frozenset[str], b: frozenset[str]) -> bool:
    """True when both name values of one class, and *a* lacks those of *b*."""
    for value in a - b:
        kind = value.rsplit(" ", 1)[0]
        others = {other for other in b if other.rsplit(" ", 1)[0] == kind}
        if others and not others <= a:
            return True
    return False


def _swapped(a: Claims, b: Claims) -> bool:
    """True when names (or, without names, any words) change places: Ann owes Ben, Ben owes Ann."""
    if not a.names:
        return True
    first = [word for word in a.order if word.removesuffix("'s") in a.names]
    return first != [word for word in b.order if word.removesuffix("'s") in a.names]


def _names(text: str, names: Collection[str]) -> set[str]:
    found = {name.casefold() for name in names}
    first = words(text[:60])[:1]
    opening = text.lstrip(" \"'“‘(*-")[:1]
    if first and opening.isupper():
        word = first[0].removesuffix("'s")
        if word not in NOT_NAMES and not word[0].isdigit():
            found.add(word)
    return found


def _numbers(text: str) -> set[str]:
    return {_normal(match.group()) for match in _NUMBER.finditer(in_digits(text))}


_THOUSANDS = lazy_pattern(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DECIMAL_COMMA = lazy_pattern(r"-?[0-9]+,[0-9]{1,2}")
_ORDINAL = lazy_pattern(r"([0-9]{1,4})(?:st|nd|rd|th)")
_HALF_DAY = lazy_pattern(r"([0-9]{1,2}(?::[0-9]{2})?) ?([ap])\.?m")


def _normal(number: str) -> str:
    plain = " ".join(number.casefold().replace("−", "-").replace("minus ", "-").split())
    if _THOUSANDS.fullmatch(plain):
        return plain.replace(",", "")
    if _DECIMAL_COMMA.fullmatch(plain):
        return plain.replace(",", ".")
    if match := _ORDINAL.fullmatch(plain):
        return match[1]
    if match := _HALF_DAY.fullmatch(plain):
        return f"{match[1].removesuffix(':00')}{match[2]}m"
    return plain


def _is_negated(text: str, order: tuple[str, ...]) -> bool:
    if _FORMER.search(text):
        return True
    if not text.isascii() and _UNSPACED_NEGATION.search(text):
        return True
    hit = any(word in NEGATIONS or word.endswith("n't") for word in order)
    if hit and _NO_NEGATION.search(text):
        rest = words(_NO_NEGATION.sub(" ", text))
        return any(word in NEGATIONS or word.endswith("n't") for word in rest)
    return hit or ("sin" in order and _SPANISH.search(text) is not None)


_RELATIONS = {"": DUPLICATE, "numbers": UPDATES, "values": UPDATES, "polarity": CONTRADICTS}


def relation(difference: str) -> str:
    """The relation of a near-duplicate pair from what sets their claims apart.

    *difference* is that of opposed(); "" when they agree. Another number or value ("numbers",
    "values") updates the same attribute, another polarity contradicts. Another name or word order
    ("names", "order") is only similar: it is usually about something else.
    """
    return _RELATIONS.get(difference, SIMILAR)


def extends(less: Collection[str], more: Collection[str]) -> bool:
    """True when the content words *more* hold every one of *less*, and at least two others."""
    return bool(less) and set(less) < set(more) and len(set(more) - set(less)) >= 2
