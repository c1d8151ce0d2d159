"""How likely a newer statement took the place of an older one, for a question that brings both.

Nobody says "now" or "instead" of most of what changes. What the words and their order show is
weighed together: no sign alone tells a correction from something else that was said of the same
thing. Two statements that begin alike say different things of one subject more often than not
("our cat is called Mop", "our cat hates rain"); who tells what is new begins anew. The weights were
fitted by tests/bench/succession.py (docs/internals/evaluation.md). Where one text is the other but
for a value, the values decide: of one sort ("on GitLab", "on Buildkite") they are rivals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from math import exp

from memory_core.beliefs import whose
from memory_core.beliefs.change import ORDER, change
from memory_core.beliefs.order import opposed
from memory_core.beliefs.question import asks_who, gives, kind_asked
from memory_core.beliefs.sentence import read, read_all
from memory_core.beliefs.shared import about_one, held, names, other_complement, share_a_word
from memory_core.recall.answering import Embed, asks_for_the_rest
from memory_core.storage.index.analyzer import query_terms
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import is_german, words

WEIGHTS = {
    "begins alike": -4.25,
    "same subject": -2.3,
    "score": 3.29,
    "near": 3.76,
    "lost": -2.38,
}
"""Of each sign; see `signs`."""
BIAS = -0.8

LIKELY = 0.4
"""The likelihood from which the newer statement goes first."""

VALUES, OTHER_VALUES = 0.3, 0.5
"""Share of the cosine of texts about one thing from which two values are of one sort, where they
have as many words, and where not. Of 19 pairs of values of one sort all but one are above, of 14
of two sorts none but four in whose place the question names another thing."""

LEAST_SHARED = 0.15
"""Share of the terms of the shorter text below which what both share is a name alone."""

PARALLEL = 0.5
"""Share of words in the same order from which one text is the other with something exchanged."""

FEW = 3
"""Words of a part that is exchanged, at most."""

_SEVERAL = lazy_pattern(
    r"[;,]\s|\b(?:and|but|while|und|aber|et|mais|y|pero|en|maar|e|ma)\b"
    r"|\b(?:in|at|on|from|im|am|um|bei|auf|von)\b.*\s(?:in|at|on|from|im|am|um|bei|auf|von)\b",
    re.IGNORECASE,
)
"""What stands between two things that a text says, or two phrases of place or time."""


_Values = tuple[list[str], list[str]]


@dataclass(frozen=True, slots=True)
class Rivals:
    """A *query*, an *older* and a *newer* text.

    *score* is the newer one's share of the older's; *near* is the cosine of both, None without the
    vector of one.
    """

    query: str
    older: str
    newer: str
    score: float
    near: float | None


def likely(pair: Rivals, embed: Embed, related: float) -> bool:
    """True when the newer text of *pair* probably says what holds of what is asked.

    *related* is the cosine from which texts are about one thing.
    """
    if says_the_opposite(pair.older, pair.newer):
        return True
    if not answers(pair) or other_complement(pair.older, pair.newer):
        return False
    values, alone = _exchanged(words(pair.older), words(pair.newer))
    if not alone and likelihood(signs(pair, related)) < LIKELY:
        return False
    if not touches(pair, embed, related):
        return False
    return not alone or _of_one_sort(values[0], embed, related)


def likelihood(found: Mapping[str, float]) -> float:
    """The likelihood, 0 to 1, that signs such as *found* are those of a successor."""
    return 1.0 / (1.0 + exp(-BIAS - sum(WEIGHTS[name] * found[name] for name in WEIGHTS)))


def says_the_opposite(older: str, newer: str) -> bool:
    """True when *newer* has the words of *older* in other roles ("A over B", "B over A")."""
    found = change(older, newer)
    if found is not None and found.kind == ORDER:
        return True
    return any(opposed(then, now) for then in read_all(older) for now in read_all(newer))


def answers(pair: Rivals) -> bool:
    """False where the newer text lacks the form of the answer, or speaks of another one of a kind.

    The question never names what was replaced: where it holds a word of the older text in whose
    place the newer one has another ("flat A", "flat B"), it asks for that one.
    """
    if whose.of_another(pair.older, pair.newer):
        return False
    if whose.leaves_as_it_is(pair.query, pair.older, pair.newer):
        return False
    if whose.only_considers(pair.older, pair.newer) or _only_supposes(pair.older, pair.newer):
        return False
    kind = kind_asked(pair.query)
    if kind and gives(kind, pair.older) and not gives(kind, pair.newer):
        return False
    if asks_who(pair.query):
        new = names(pair.newer) - set(words(pair.older))
        if not new and not pair.newer.islower() and names(pair.older) - set(words(pair.query)):
            return False
    return not _asks_for_exchanged(pair)


def touches(pair: Rivals, embed: Embed, related: float) -> bool:
    """False for a stranger, which neither shared words nor meaning tie to the older text.

    One word is little where it is all that longer texts share ("Ida's birthday is ...", "Ida is
    fine, but ..."): these are near in meaning, too. Meaning alone ties texts that share no word and
    are not German: to a model of English such texts are near whatever they say. Nor does anything
    where the older text says several things and the query asks for one that the newer text leaves
    as it is.
    """
    if _SEVERAL.search(pair.older) and asks_for_the_rest(
        pair.query, pair.older, pair.newer, embed, related
    ):
        return False
    one = about_one(pair.query, pair.older, pair.newer)
    if one and _shared(pair) >= LEAST_SHARED:
        return True
    if not one and share_a_word(pair.older, pair.newer):
        return False  # which something tells apart: "the east fence", "the west fence"
    if not one and (is_german(words(pair.older)) or is_german(words(pair.newer))):
        return False
    return one if pair.near is None else pair.near >= related


def signs(pair: Rivals, related: float) -> dict[str, float]:
    """What speaks for or against the newer text of *pair*, by the names of WEIGHTS.

    "begins alike": the share of the shorter text with which both begin, 0 to 1; "same subject":
    they share the first two words; "score": as in Rivals, at most 1; "near": where between
    *related* (0) and equal (1) the cosine is, 0 without vectors; "lost": after the same two words
    the older one has a word of the question that the newer one lacks.
    """
    then, now, asked = words(pair.older), words(pair.newer), read(pair.query).content
    alike = len(list(takewhile(lambda both: both[0] == both[1], zip(then, now, strict=False))))
    of_older, of_newer = ({w for w in asked if held([w], text)} for text in (then, now))
    same = alike > 1
    return {
        "begins alike": alike / max(1, min(len(then), len(now))),
        "same subject": float(same),
        "score": min(1.0, pair.score),
        "near": 0.0 if pair.near is None else (pair.near - related) / (1.0 - related),
        "lost": float(same and any(w in of_older - of_newer for w in then[alike:])),
    }


def _only_supposes(older: str, newer: str) -> bool:
    """True where each sentence of *newer* asks, or speaks of what may be, and *older* does not."""
    one, two = read_all(older), read_all(newer)
    return bool(two) and all(now.is_open for now in two) and not all(each.is_open for each in one)


def _shared(pair: Rivals) -> float:
    """Which share of the terms of the shorter text the other one has, 0 to 1."""
    then, now = set(query_terms(pair.older)), set(query_terms(pair.newer))
    return len(then & now) / max(1, min(len(then), len(now)))


def _asks_for_exchanged(pair: Rivals) -> bool:
    """True when the query holds a word for which the newer text has another in the same place.

    Not where it holds both: "before or after the batch job?".
    """
    then, now, asked = (words(text) for text in (pair.older, pair.newer, pair.query))
    return any(
        any(held([word], asked) and not held([word], now) for word in one)
        and not held(other, asked)
        for one, other in _exchanged(then, now)[0]
    )


def _exchanged(then: Sequence[str], now: Sequence[str]) -> tuple[list[_Values], bool]:
    """The few words of *then* for which *now* has others, each with those, where both are parallel.

    With it, whether that is all in which they differ.
    """
    matcher = SequenceMatcher(None, then, now, autojunk=False)
    if matcher.ratio() < PARALLEL:
        return [], False
    parts = [part for part in matcher.get_opcodes() if part[0] != "equal"]
    found = [
        (list(then[begin:end]), list(now[first:last]))
        for kind, begin, end, first, last in parts
        if kind == "replace" and max(end - begin, last - first) <= FEW
    ]
    return found, len(parts) == len(found) == 1


def _of_one_sort(values: _Values, embed: Embed, related: float) -> bool:
    """True when both *values* are near in meaning."""
    older, newer = values
    vectors = embed([" ".join(older), " ".join(newer)])
    if vectors is None:
        return True
    least = VALUES if len(older) == len(newer) else OTHER_VALUES
    return float(vectors[0] @ vectors[1]) >= least * related
