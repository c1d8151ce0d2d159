"""How likely two texts compete: that the later one says how what the earlier one says is now.

Most of what changes is told without a word of change ("the clinic has me on another pill now" is
rarer than "picked up the new pills today"), and words of change mostly speak of something else. So
nothing is looked for: what two texts share, and how they differ, is weighed together. Who tells
what is new tells more, begins anew and names the thing; two statements of one form ("the left door
is oak", "the right door is pine") are both true more often than not, and what happened stays so.

The weights were fitted by tests/bench/competing.py (docs/internals/evaluation.md), to the packaged
model: cosines of another one are mapped to its range by the thresholds of its profile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

from memory_core.beliefs.sentence import SELF, read_all, spelled_out
from memory_core.beliefs.shared import about_one, held
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import words

WEIGHTS = {
    "meaning": 0.82,
    "nearest": 3.49,
    "worded": 1.56,
    "one thing": 2.68,
    "another's": -1.62,
    "same order": -7.07,
    "begins alike": -3.03,
    "happened": -3.25,
    "older length": -2.45,
    "newer length": 2.96,
    "covered": 3.97,
}
"""Of each sign; see `signs`."""
FORM = frozenset(("same order", "begins alike"))
"""Those of a common form."""
BIAS = -6.34

LIKELY = 0.7
"""The likelihood from which the older text may be out of date."""

LIKELY_WORDED = 0.4
"""The same, of a newer text that says itself that something changed, or is so for a while."""

LEAST = 0.35
"""No pair with a smaller cosine is likely; of labelled corrections 19 of 20 have a greater one."""

MOST_WORDS = 60
"""A longer text is a story or a list, of which the likelihood says nothing."""

CROWD = 0.3
"""The cosine of what is nearest beside the older text, at least: a store of two memories tells no
more of their closeness than a full one."""

APART = 0.3
"""Cosines by which the older text is nearer than all others, or farther, at most."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near two stored texts are: their *cosine*, None without vectors, and beside others.

    *margin* is by how much it is greater than that of the next of what the newer text was compared
    with, negative where that is nearer. *ahead* is the same without earlier versions of the older
    text. *worded*: no other one shares as many words.
    """

    cosine: float | None
    margin: float = APART
    ahead: float = APART
    worded: bool = True


UNKNOWN = Nearness(None)
"""Of what is compared by its words alone."""


def likelihood(older: str, newer: str, near: Nearness, *, form: bool = True) -> float:
    """The likelihood, 0 to 1, that *newer* says how what *older* says is now.

    0 where nothing can be said: without vectors, of long texts, of those that share no word. The
    cosine of *near* is one of the packaged model. Without *form* it speaks against nothing that
    both have one form. Never raises.
    """
    if not weighable(older, newer, near):
        return 0.0
    found = signs(older, newer, near)
    if not found["covered"]:
        return 0.0
    weighed = WEIGHTS.keys() if form else WEIGHTS.keys() - FORM
    return 1.0 / (1.0 + math.exp(-BIAS - sum(WEIGHTS[name] * found[name] for name in weighed)))


def may_compete(older: str, newer: str, near: Nearness) -> bool:
    """False where no likelihood can reach LIKELY_WORDED, whatever both texts share; cheap."""
    if not weighable(older, newer, near):
        return False
    assert near.cosine is not None
    then, now = (min(2.0, len(words(text)) / 10) for text in (older, newer))
    margin = max(-APART, min(APART, max(near.margin, near.ahead))) / APART
    most = BIAS + WEIGHTS["meaning"] * near.cosine + WEIGHTS["nearest"] * margin
    most += WEIGHTS["worded"] * near.worded + WEIGHTS["covered"] + WEIGHTS["one thing"]
    most += WEIGHTS["older length"] * then + WEIGHTS["newer length"] * now
    return 1.0 / (1.0 + math.exp(-most)) >= LIKELY_WORDED


def weighable(older: str, newer: str, near: Nearness) -> bool:
    """False without vectors, far apart, and for a text without words or with too many."""
    if near.cosine is None or near.cosine < LEAST:
        return False
    lengths = len(words(older)), len(words(newer))
    return min(lengths) > 0 and max(lengths) <= MOST_WORDS


def signs(older: str, newer: str, near: Nearness) -> Mapping[str, float]:
    """What speaks for or against it, by the names of WEIGHTS, each between -1 and 2.

    "meaning": the cosine; "nearest": its margin, in APART; "worded": as in Nearness; "covered": the
    shares of each text's content words that the other holds, multiplied; "one thing": they share a
    word that nothing tells apart; "another's": one speaks of somebody, the other of what is theirs;
    "same order": the share of words that both have in the same order; "begins alike": the share of
    the shorter text with which both begin; "happened": the older text reports; "older length" and
    "newer length": words, in tens, at most 2.
    """
    assert near.cosine is not None
    then, now = words(older), words(newer)
    one, two = read_all(older), read_all(newer)
    mine = frozenset().union(*(each.content for each in one))
    theirs = frozenset().union(*(each.content for each in two))
    alike = len(list(takewhile(lambda both: both[0] == both[1], zip(then, now, strict=False))))
    return {
        "meaning": near.cosine,
        "nearest": max(-APART, min(APART, near.margin)) / APART,
        "worded": float(near.worded),
        "covered": held(mine, theirs) * held(theirs, mine) / max(1, len(mine) * len(theirs)),
        "one thing": float(about_one("", older, newer)),
        "another's": float(_is_anothers(older, now) or _is_anothers(newer, then)),
        "same order": SequenceMatcher(None, then, now, autojunk=False).ratio(),
        "begins alike": alike / min(len(then), len(now)),
        "happened": float(any(each.reports for each in one)),
        "older length": min(2.0, len(then) / 10),
        "newer length": min(2.0, len(now) / 10),
    }


_OWNED = lazy_pattern(
    r"\b([^\W\d_][\w-]{1,29}?)(?:['’]s?|(?<=[^\W\d_sxzß])(s)) ([\w-]{2,30})(?: ([\w-]{2,30}))?"
)
"""An owner, the s of a German genitive, and the words behind it: "Opas Stock"."""


def _is_anothers(text: str, others: Sequence[str]) -> bool:
    """True when *text* speaks of what belongs to somebody of whom the *others* speak."""
    for match in _OWNED.finditer(spelled_out(text)):
        owner, genitive, *owned = match.groups()
        if (genitive and not owner[0].isupper()) or owner.casefold() in SELF:
            continue
        thing = [word.casefold() for word in owned if word]
        if owner.casefold() in others and not held(thing, others):
            return True
    return False
