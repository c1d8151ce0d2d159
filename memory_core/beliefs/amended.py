"""Whether a text only sets right what its speaker said just before: "no wait, 17:30".

It names nothing that a question could find it by, and takes its subject from the text before it.
What tells is how it begins, that it says hardly anything new but a value, and that the text before
has a value of that kind. English and German, by closed classes.
"""

from __future__ import annotations

import re

from memory_core.beliefs.change import WORDS, Found
from memory_core.beliefs.forms import forms_among
from memory_core.beliefs.restated import tokens
from memory_core.beliefs.sentence import DAYS, says_what
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed

WITHIN_S = 900.0
"""Seconds after which "no wait, 17:30" no longer speaks of what was said before it."""

MOST_WORDS = 12

_BEGINS = lazy_pattern(
    r"\W{0,3}(?:(?:oh|ah|ach|hm+|ok|okay|well|but|aber|no|nope|nah|nein|nee|oops|ups|sorry|wait"
    r"|entschuldigung)\b[\s,.!:;–—-]{1,3}){0,4}"
    r"(?P<words>no|nope|nah|nein|nee|wait|sorry|oops|ups|correction|korrektur|scratch that|wrong"
    r"|i (?:actually )?mean?t?|that(?:['’]s| was| is) wrong|i misread|i misspoke|it['’]s actually"
    r"|actually|falsch|quatsch|das war falsch|ich meinte?|verlesen|vertan|eigentlich|halt"
    r"|moment)\b",
    re.IGNORECASE,
)
_TIME = lazy_pattern(
    r"\b[0-9]{1,2}[:.][0-9]{2}\b|\b[0-9]{1,2} ?(?:[ap]m|uhr|h|o['’]?clock)\b", re.IGNORECASE
)
_BESIDE = frozenset(
    listed(
        """no nope nah nein nee wait sorry oops ups correction korrektur scratch wrong mean meant
        misread misspoke actually falsch quatsch meine meinte verlesen vertan eigentlich halt moment
        oh ah ach hm ok okay well entschuldigung habe hab"""
    )
)


def begins_as_one(text: str) -> bool:
    """True where *text* is short, and begins as what sets something right does."""
    return len(tokens(text[:_MOST_CHARS])) <= MOST_WORDS and _BEGINS.match(text) is not None


_MOST_CHARS = 200


def amends(before: str, text: str) -> Found | None:
    """How *text* puts *before*, said by the same speaker just before it, out of date; else None.

    Linear in both; never raises.
    """
    begins = _BEGINS.match(text)
    if begins is None or not begins_as_one(text):
        return None
    kinds = _kinds(text)
    if not kinds or not kinds <= _kinds(before):
        return None
    known = frozenset(tokens(before[:_LONGEST]))
    named = (word for word in tokens(text) if says_what(word) and word not in _BESIDE)
    if any(not forms_among(word, known) for word in named):
        return None  # it speaks of something else
    return Found(WORDS, (" ".join(begins["words"].casefold().split()),))


_LONGEST = 600


def _kinds(text: str) -> set[str]:
    """The kinds of the values in *text*: a time, a day, another number."""
    plain = text[:_LONGEST]
    rest = _TIME.sub(" ", plain)
    kinds = {"time"} if rest != plain else set[str]()
    words = tokens(rest)
    if any(word.removesuffix("s") in DAYS for word in words):
        kinds.add("day")
    elif any(word[0].isdigit() for word in words):
        kinds.add("number")
    return kinds
