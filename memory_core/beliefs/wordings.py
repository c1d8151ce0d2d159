"""Whether a text says the fact of another one in other words.

People and agents note a fact again and again, and tell once that it changed. What one wording of it
says of it all say: none stands beside another as something else that may be meant, and where one is
out of date, so are the others. The value tells: wordings share a word that the newer text lacks, or
names as wrong, and at least one that it has.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memory_core.beliefs import change, denied, lexicon, whose
from memory_core.beliefs.claims import NEGATIONS, claims
from memory_core.beliefs.forms import forms_among
from memory_core.beliefs.restated import tokens
from memory_core.beliefs.sentence import DAYS, read_all
from memory_core.records import normalised
from memory_core.text.lazy_pattern import lazy_pattern

_CLAUSE = lazy_pattern(
    r"[,;:!?]\s|(?<=[^\W_]{3})\.\s|\s[–—-]\s|\b(?:and|but|und|aber|sondern)\b", re.IGNORECASE
)


def of_one_fact(one: str, other: str, newer: str) -> bool:
    """True when both say the same words, or in one sentence what *newer* tells anew."""
    if normalised(one) == normalised(other):
        return True
    return _says_it_too(one, other, newer) and _says_it_too(other, one, newer)


def figures_apart(one: str, other: str) -> bool:
    """True when both texts have numbers, or days, and none in common."""
    mine, theirs = _figures(one), _figures(other)
    pairs = (mine - DAYS, theirs - DAYS), (mine & DAYS, theirs & DAYS)
    return any(a and b and not a & b for a, b in pairs)


def told_apart(one: str, other: str) -> bool:
    """True when two texts near in meaning are no wordings of one fact.

    Both have numbers, or days, and none in common; or one speaks of one more, or of somebody else.
    """
    if figures_apart(one, other):
        return True
    if any(change.adds(a, b) or change.adds(b, a) for a in read_all(one) for b in read_all(other)):
        return True
    return whose.of_another(one, other) or whose.of_another(other, one)


def out_too(other: str, older: str, newer: str) -> change.Found | None:
    """How *newer*, which puts *older* out of date, does so with *other*, a wording of that."""
    if not _says_it_too(other, older, newer) or whose.of_another(other, newer):
        return None
    found = change.change(other, newer)
    return None if found is None or found.passing or found.kind == change.ORDER else found


def gives_the_same(older: str, newer: str) -> bool:
    """True when *newer* gives numbers or days that *older* gives, and no other one."""
    now = _figures(newer)
    return bool(now) and now <= _figures(older)


def confirms(older: str, newer: str) -> bool:
    """True when *newer* says what *older* says, and that something else is not so.

    "Mara lives in Bonn", "Mara no longer lives in Kiel, she lives in Bonn now".
    """
    right, wrong = _sides(newer)
    said, told = _says(older), _says(newer)
    if not wrong or not all(forms_among(word, told) for word in said):
        return False
    kept = (word for word in said if forms_among(word, right) and not forms_among(word, wrong))
    other = any(not forms_among(word, said) for word in wrong)
    return other and any(denied.gives_as_value(older, word) for word in kept)


@lru_cache(maxsize=1_024)
def _sides(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """What the clauses of *text* say that deny nothing, and what those that do."""
    clauses = [part for part in _CLAUSE.split(text) if part.strip()]
    negated = [part for part in clauses if not NEGATIONS.isdisjoint(tokens(part))]
    right = (_says(part) for part in clauses if part not in negated)
    wrong = frozenset[str]().union(*map(_says, negated)) - lexicon.DENIES
    return frozenset[str]().union(*right), wrong


def _says_it_too(other: str, older: str, newer: str) -> bool:
    """True when *other* has a word of *newer*, and a value of *older* that *newer* replaces."""
    mine, theirs, new = (_says(text) for text in (other, older, newer))
    if mine.isdisjoint(theirs) or figures_apart(other, older):
        return False  # of most pairs, at a tenth of the cost
    if any(len(read_all(text)) > 1 for text in (other, older)):
        return False  # a turn of a talk, which says several things
    known = {word for word in mine if forms_among(word, new)}
    if not known or any(each.reports for each in read_all(other)):
        return False
    wrong = _says(denied.names_as_wrong(older, newer) or denied.names_as_over(older, newer))
    over = {word for word in known if forms_among(word, wrong)}
    value = {word for word in mine - (known - over) if forms_among(word, theirs)}
    if not known - value or not any(denied.gives_as_value(older, word) for word in value):
        return False
    return not told_apart(other, older)


@lru_cache(maxsize=4_096)
def _says(text: str) -> frozenset[str]:
    """The words of *text* that say what it is about, its numbers and its days."""
    return frozenset({word for each in read_all(text) for word in each.content} | _figures(text))


@lru_cache(maxsize=4_096)
def _figures(text: str) -> frozenset[str]:
    """The numbers and days of *text*."""
    found = claims(text, ())
    days = {word.removesuffix("s") for word in found.order}
    return found.numbers | DAYS.intersection(days)
