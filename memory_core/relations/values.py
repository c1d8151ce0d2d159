"""What value a sentence gives its subject, and whether a newer one gives the subject another."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

from memory_core.relations import lexicon
from memory_core.relations.claims import SPELLED
from memory_core.relations.forms import same_word
from memory_core.relations.sentence import DAYS, Sentence, says_what
from memory_core.relations.shared import Pairs, different_things, held, modifiers
from memory_core.text.words import words

OFTEN = "often"
"""The unit of how often something is done."""


def revalued(then: Sentence, now: Sentence, shared: Pairs) -> tuple[str, str] | None:
    """The values, newer first, when *now* gives what *then* is about another one."""
    return (
        _revalued(then, now)
        or _remeasured(then, now, shared)
        or _readdressed(then, now)
        or _reassigned(then, now)
    )


def adds(then: Sentence, now: Sentence) -> bool:
    """True when *now* speaks of one more beside what *then* speaks of."""
    return bool(lexicon.ADDS.search(now.lowered)) and not lexicon.ADDS.search(then.lowered)


def _revalued(then: Sentence, now: Sentence) -> tuple[str, str] | None:
    """The values, newer first, of the subject of *then* when *now* gives it another one.

    The subject of a name may be the name itself: "the app is called Pip", "Pip goes by Kim now".
    """
    one, two = then.value, now.value
    if one is None or two is None or one.attribute != two.attribute:
        return None
    named = one.attribute == "name" and one.word in two.subject
    if not named and (not one.subject or one.subject != two.subject):
        return None
    if same_word(one.word, two.word) or adds(then, now) or lexicon.PAST.search(then.lowered):
        return None
    return two.word, one.word


def _reassigned(then: Sentence, now: Sentence) -> tuple[str, str] | None:
    """What has a role of which the speaker has one in *then* and, by *now*, something else has."""
    found = lexicon.ROLE.search(now.lowered)
    if found is None or lexicon.SEVERAL.search(found["role"]) or adds(then, now):
        return None
    role = rf"(?:my|our|mein\w?|unser\w?) {re.escape(found['role'])} (?:is|are|ist|sind|heißt) (.+)"
    had = re.match(role, then.lowered)
    if had is None or held(set(filter(says_what, words(had[1]))), now.tokens):
        return None
    return found["role"], had[1].strip(" .!")


def _readdressed(then: Sentence, now: Sentence) -> tuple[str, str] | None:
    """The German forms of address, newer first, when both sentences choose one."""
    one, two = form_of_address(then.lowered), form_of_address(now.lowered)
    return (two, one) if one and two and one != two else None


@lru_cache(maxsize=4_096)
def form_of_address(lowered: str) -> str:
    """The form of address that a sentence chooses; "" for none, and for one that it denies."""
    if "nicht" in words(lowered):
        return ""
    forms = lexicon.FORMS_OF_ADDRESS.items()
    return next((form for form, said in forms if said.search(lowered)), "")


def _remeasured(then: Sentence, now: Sentence, shared: Pairs) -> tuple[str, str] | None:
    """The numbers, newer first, when *now* repeats *then* with another number of one unit."""
    if len({word for word, _ in shared}) < len(then.content) or then.reports or adds(then, now):
        return None
    if _days(then) != _days(now) or different_things(then, now, shared):
        return None
    told_apart = {before for _, word in shared for before in modifiers(now, word)}
    if any(not held({before}, then.content) for before in told_apart):
        return None  # another of the kind: "the neighbouring team"
    one, two = measures(then), measures(now)
    if len(_digits(then) - _digits(now)) > 1 < len(_digits(now) - _digits(then)):
        return None  # one more of a series: "on the 2nd: 88 km", "on the 9th: 90 km"
    for unit, number in one.items():
        if two.get(unit, number) != number:
            return _amount(two[unit], unit), _amount(number, unit)
    return None


def _digits(sentence: Sentence) -> set[str]:
    return {word for word in sentence.tokens if word[0].isdigit()}


def _amount(number: str, unit: str) -> str:
    return number if unit == OFTEN else f"{number} {unit}"


def measures(sentence: Sentence) -> dict[str, str]:
    """The numbers of a sentence, by the word that follows each."""
    found = {
        unit: SPELLED.get(number, number)
        for number, unit in itertools.pairwise(sentence.tokens)
        if is_number_word(number) and unit[0].isalpha() and unit not in lexicon.STOP | DAYS
    }
    if often := lexicon.OFTEN.search(sentence.lowered):
        found.pop("times", None)
        found[OFTEN] = f"{_times(often)} x {often['span'] or often['each']}"
    return found


def _times(often: re.Match[str]) -> str:
    """How many times: "3" of "three times", "1" of "once" and "every"."""
    if often["each"] or often["word"] in ("once", "einmal"):
        return "1"
    if often["word"] == "twice":
        return "2"
    number = often["times"] or often["word"].removesuffix("mal")
    return SPELLED.get(number, number)


def _days(sentence: Sentence) -> set[str]:
    return {word.rstrip("s") for word in sentence.tokens} & DAYS


def is_number_word(word: str) -> bool:
    """True for "7", "seven" and what names a part of an hour."""
    return word[0].isdigit() or word in SPELLED or word in _PARTS_OF_HOURS


_PARTS_OF_HOURS = frozenset(("half", "quarter", "halb", "viertel", "noon", "midnight"))
