"""Whether a newer text is an older one with another value, as agents note what they are told.

"The build takes 12 minutes.", "The build takes 7 minutes.": nothing says that it changed, and by
likelihood two statements of one form are both true (see `competing`). They are not where the place
holds one value at a time: a number behind the verb, a name behind "is" of what somebody has or
behind "lives in", one of the words that exclude each other behind "is". Two other words there may
both be true: "speaks French", "speaks Italian".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, takewhile

from memory_core.beliefs import lexicon
from memory_core.beliefs.claims import SPELLED, claims, opposed
from memory_core.beliefs.forms import same_word
from memory_core.beliefs.sentence import DAYS, read_all, says_what
from memory_core.link_kinds import CONTRADICTS, UPDATES
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed

MOST_WORDS = 4
"""Words of a value, at most."""

_TOKEN = lazy_pattern(r"[0-9](?:[\w.,:/-]*\w)?|[^\W_][\w'’-]*")
"""A number with all that belongs to it ("2026-12-01", "9:15"), or a word."""
_CLAUSE = lazy_pattern(r"[.;,:!]\s|\b(?:and|but|und|aber|sondern)\b")
_DO = frozenset(listed("do does did"))
_SAYS_SO = lexicon.CORRECTION | frozenset(
    listed("actually eigentlich now nowadays jetzt nun inzwischen mittlerweile")
)
_BESIDE = _SAYS_SO | lexicon.NOW
"""What stands beside a statement and is no part of it."""
_AFTER_ALL = frozenset(listed("after all doch"))
_WHERE = frozenset(listed("in at for bei"))
_TITLES = lexicon.TITLES | {"dr", "prof"}
_OWNERS = frozenset(listed("my our mein meine unser unsere"))


def restated(older: str, newer: str) -> bool:
    """True when *newer* says what *older* says, with another value in a place that holds one.

    False for what happened, which comes again with other values, and for a value that tells two
    things apart: a number of the subject ("flat 12"), the year of "the papers of 2023".
    """
    then, plain = ([w for w in tokens(text) if w not in lexicon.NOW] for text in (older, newer))
    since = len(plain) < len(tokens(newer))
    before, one, two, end = _difference(then, plain)
    if not one or any(each.reports for each in read_all(older)):
        return False
    if since:
        return is_behind_a_verb(before)
    if _is_measure(one) and _is_measure(two):
        labelled = _is_labelled(older, one) and _is_labelled(newer, two)
        return labelled or _holds_a_number(before, one, two)
    if end:
        return False
    excluded = opposed(claims(older), claims(newer)) == "values"
    if excluded and len(before) > 1 and before[-1] in lexicon.BE:
        return True
    return _is_name(older, one) and _is_name(newer, two) and _holds_a_name(before, older)


def taken_back(older: str, newer: str) -> str:
    """How *newer* takes *older* back: a clause of it is *older* once more, with another value
    ("updates"), no longer ("updates") or denied ("contradicts"), and *newer* says so; else "".

    "I no longer have a dog", "correction: the bank opens at 9", "actually Mara lives in Linz now".
    Of "my boss is" no word but "correction" tells a name from what else a boss can be.
    """
    if not _takes_back(newer) or any(each.reports for each in read_all(older)):
        return ""
    then = [word for word in tokens(older) if word not in _BESIDE]
    corrects = not lexicon.CORRECTION.isdisjoint(tokens(newer))
    for clause in _CLAUSE.split(newer):
        said = tokens(clause)
        now = [word for word in said if word not in _BESIDE]
        after_all = lexicon.AFTER_ALL.search(clause.casefold()) is not None
        now = [word for word in now if not (after_all and word in _AFTER_ALL)]
        says_so = corrects or after_all or not _SAYS_SO.isdisjoint(said)
        held = [word for word in now if word not in lexicon.DENIES]
        if len(held) < len(now):
            over = lexicon.OVER.search(clause.casefold()) is not None
            if (over or says_so) and _same(then, held):
                return UPDATES if over else CONTRADICTS
            continue
        before, one, two, _ = _difference(then, now)
        if not one or not says_so:
            continue
        if _figures(one) == _figures(two) != set() and is_behind_a_verb(before):
            return UPDATES
        if not (_is_name(older, one) and _is_name(newer, two)):
            continue
        one_holds = _holds_a_name(before, older) and lexicon.BE.isdisjoint(before)
        if one_holds or (corrects and is_behind_a_verb(before)):
            return UPDATES
    return ""


@lru_cache(maxsize=1_024)
def _takes_back(text: str) -> bool:
    """True when *text* has words that say that something is so no longer, or otherwise."""
    said = text.casefold()
    ends = lexicon.OVER.search(said) or lexicon.AFTER_ALL.search(said)
    return ends is not None or not _SAYS_SO.isdisjoint(tokens(text))


def tokens(text: str) -> list[str]:
    """The words and numbers of *text* in small letters, in order; "n't" is "not"."""
    return _TOKEN.findall(text.casefold().replace("’", "'").replace("n't", " not"))


def _difference(
    then: Sequence[str], now: Sequence[str]
) -> tuple[Sequence[str], Sequence[str], Sequence[str], int]:
    """What two texts begin with, the words of each in between, and how many end both.

    No words in between where they begin with none, or differ by too many.
    """
    begin, end = _alike(then, now), _alike(then[::-1], now[::-1])
    while begin and _is_number(then[begin - 1]):
        begin -= 1  # "31 May", "31 July"
    one, two = then[begin : len(then) - end], now[begin : len(now) - end]
    if not begin or not (0 < len(one) <= MOST_WORDS and 0 < len(two) <= MOST_WORDS):
        return (), (), (), 0
    return then[:begin], one, two, end


def _same(then: Sequence[str], now: Sequence[str]) -> bool:
    """True when both say the same, but for articles and endings."""
    one, two = ([w for w in some if w not in lexicon.DETERMINERS | _DO] for some in (then, now))
    return len(one) == len(two) and all(map(same_word, one, two))


def _figures(value: Sequence[str]) -> set[str]:
    """The kinds of what *value* holds, numbers and dates; none where it holds anything else."""
    kinds = [
        "number" if _is_number(word) else "date" if word.removesuffix("s") in DAYS else word
        for word in value
        if word not in lexicon.PREPOSITIONS
    ]
    return set(kinds) if {"number", "date"}.issuperset(kinds) else set()


def _alike(then: Sequence[str], now: Sequence[str]) -> int:
    """How many words both begin with."""
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(then, now, strict=False)))


def _holds_a_number(before: Sequence[str], *values: Sequence[str]) -> bool:
    """True behind a verb, unless the *values* are years that tell two things apart."""
    years = any(len(word) == 4 and word[:2] in ("19", "20") for value in values for word in value)
    if years and before[-1:] and before[-1] in lexicon.COMPLEMENTS:
        return False
    return is_behind_a_verb(before)


def is_behind_a_verb(before: Sequence[str]) -> bool:
    """True when a finite verb is among the words *before* a value, behind the first of them."""
    closed = lexicon.DETERMINERS | lexicon.PREPOSITIONS
    return any(
        word in lexicon.VERBS or (_is_inflected(word) and says_what(word) and behind not in closed)
        for behind, word in pairwise(before)
    )


def _is_inflected(word: str) -> bool:
    """True for "listens" and "beträgt"; also for a plural, which stands behind no noun."""
    return word.endswith("s") or (word.endswith("t") and len(word) > 4)


def _holds_a_name(before: Sequence[str], text: str) -> bool:
    """True behind "my manager is" and "the user lives in", but not behind "has friends in"."""
    while before[-1:] and before[-1] in _TITLES:
        before = before[:-1]
    if before[-1:] and before[-1] in lexicon.BE:
        return any(word in _OWNERS or word.endswith("'s") for word in before[:-1])
    subject = [word for word in before[:-2] if word not in lexicon.DETERMINERS]
    named = len(subject) == 1 or (subject and all(_is_name(text, [word]) for word in subject))
    return bool(named) and before[-1] in _WHERE and before[-2] not in lexicon.BE


def _is_measure(value: Sequence[str]) -> bool:
    """True for numbers, alone or one with a month or a weekday: "14 March", "Tuesday at 9:15"."""
    numbers = sum(map(_is_number, value))
    dates = sum(word.removesuffix("s") in DAYS for word in value)
    between = sum(word in lexicon.PREPOSITIONS for word in value[1:])
    return numbers + dates + between == len(value) and 0 < numbers <= (1 if dates else 3)


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in SPELLED


def _is_labelled(text: str, value: Sequence[str]) -> bool:
    """True when *value* stands behind a colon: "deadline: 14 March"."""
    return re.search(rf"[:=]\s*{re.escape(value[0])}", text.casefold()) is not None


def _is_name(text: str, value: Sequence[str]) -> bool:
    """True when *value* begins with a capital."""
    found = re.search(rf"(?<!\w){re.escape(value[0])}", text.casefold())
    return found is not None and text[found.start() : found.start() + 1].isupper()
