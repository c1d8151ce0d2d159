"""The sentiment of a text, from its words alone: valence, arousal, emotions.

Valence comes from the VADER lexicon (MIT; third_party/vader-lexicon.txt) with rules of our own for
negation and degree; emotions and arousal come from the word lists below. English; texts in other
languages are neutral. Sentiment is stored and shown when strong; it changes no ranking.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import is_german, listed, words

LEXICON = Path(__file__).parent / "data" / "vader.txt"
"""A word and its mean rating from -4 to 4 a line."""

HEAD_CHARS = 2000
"""Characters of a longer text that are read, so that long pastes stay cheap."""

SOFTENED = 15.0
"""valence = x / sqrt(x^2 + 15) for the sum x of the ratings (Hutto and Gilbert 2014)."""

NEGATED = -0.74
"""The factor for a rating after a negation (the same source)."""

LABELS_MOST = 3

UNRATED = 2.0
"""The rating of a word that names an emotion and is not in the lexicon, such as afraid."""

_NEGATIONS = frozenset(
    listed(
        """not no never none nobody nothing neither nor without hardly barely cannot can't don't
        doesn't didn't isn't aren't wasn't weren't won't wouldn't couldn't shouldn't haven't hasn't
        ain't"""
    )
)
_REACH = 3
"""Words that a negation reaches."""

_MORE = frozenset(listed("very really so extremely totally absolutely incredibly too truly deeply"))
_LESS = frozenset(listed("slightly somewhat kinda rather fairly barely hardly almost partly bit"))
_DEGREE = 0.3

_STEMS: Mapping[str, str] = {
    "joy": """happ joy delight cheer glad enjoy fun funny laugh smil celebrat thrill excit ecstat
        yay wonderful awesome""",
    "love": "love loving lovely adore ador affection cherish fond darling sweetheart",
    "gratitude": "thank grateful gratitude appreciat thankful",
    "pride": "proud pride accomplish achiev triumph",
    "hope": "hope hopeful hoping optimis confident look-forward",
    "surprise": "surpris astonish amaz shock unexpected stunned wow startl",
    "sadness": """sad unhapp cry cried tears grief griev mourn lonel miser depress heartbr
        disappoint miss lost regret sorrow""",
    "fear": "afraid fear scare scary anxi worr nervous terrif panic frighten dread",
    "anger": "angr anger furious annoy hate mad rage irritat outrag resent frustrat",
    "disgust": "disgust gross revolt nasty repuls yuck sicken",
    "shame": "asham shame guilt embarrass humiliat",
}
_UNPLEASANT = frozenset(listed("sadness fear anger disgust shame"))
_CALM = frozenset(
    listed(
        """calm calmly relaxed relaxing peaceful quiet tired sleepy bored boring sad lonely
        depressed gentle content comfortable serene"""
    )
)
_SHOUT = lazy_pattern(r"\b[A-Z]{3,}\b")


@dataclass(frozen=True, slots=True)
class Sentiment:
    """`valence` -1 (unpleasant) to 1, `arousal` 0 (calm) to 1, `emotions` strongest first."""

    valence: float = 0.0
    arousal: float = 0.0
    emotions: tuple[str, ...] = ()


def sentiment(text: str) -> Sentiment:
    """The sentiment of *text*; zeros and no emotions for a plain one."""
    head = text[:HEAD_CHARS]
    spoken = words(head)
    rated = [] if is_german(spoken) else _rated(spoken)  # "die" and "war" are no English words
    if not rated:
        return Sentiment()
    total = sum(rating for _, rating in rated)
    found: Counter[str] = Counter()
    for word, rating in rated:
        turned = (rating > 0) != (_rating(word) > 0)
        found.update(() if turned else _labels(word))
    emotions = [label for label, _ in found.most_common(LABELS_MOST)]
    return Sentiment(
        round(total / math.sqrt(total * total + SOFTENED), 3),
        round(_arousal(head, rated), 3),
        tuple(emotions),
    )


def _rated(found: list[str]) -> list[tuple[str, float]]:
    """Each word that has a rating, and the rating after the words before it are counted."""
    rated = []
    for place, word in enumerate(found):
        rating = _rating(word)
        if not rating or word in _NEGATIONS:
            continue
        before = found[max(0, place - _REACH) : place]
        if before and before[-1] in _MORE:
            rating += math.copysign(_DEGREE, rating)
        elif before and before[-1] in _LESS:
            rating -= math.copysign(_DEGREE, rating)
        if not _NEGATIONS.isdisjoint(before):
            rating *= NEGATED
        rated.append((word, rating))
    return rated


def _rating(word: str) -> float:
    """The rating of *word*; a word that is not in the lexicon but names an emotion has UNRATED."""
    known = _lexicon().get(word)
    if known is not None:
        return known
    labels = _labels(word)
    return 0.0 if not labels else -UNRATED if labels[0] in _UNPLEASANT else UNRATED


def _arousal(text: str, rated: list[tuple[str, float]]) -> float:
    """Arousal from 0 to 1, by strong words that are not calm, exclamation marks, capitals."""
    strong = sum(abs(rating) / 4 for word, rating in rated if word not in _CALM)
    marks = min(3, text.count("!")) + min(3, len(_SHOUT.findall(text)))
    return 1.0 - math.exp(-0.6 * strong - 0.25 * marks)


@functools.cache
def _lexicon() -> Mapping[str, float]:
    lines = LEXICON.read_text(encoding="utf-8").splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines)
    return {word: float(rating) for word, rating in pairs}


@functools.lru_cache(maxsize=4096)
def _labels(word: str) -> tuple[str, ...]:
    """The emotions that *word* names; a stem counts for rated words, so that "made" is not mad."""
    known = word in _lexicon()
    return tuple(
        label
        for label, stems in _BY_STEM.items()
        if any(word == stem or (known and word.startswith(stem)) for stem in stems)
    )


_BY_STEM = {label: listed(stems) for label, stems in _STEMS.items()}
