"""Gists without a model: the text itself, or its most central sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from memory_core.beliefs.claims import agree, claims
from memory_core.beliefs.importance import DECISION, NORMAL, salience
from memory_core.beliefs.oneself import says_what_lasts
from memory_core.gist.base import Encoded, Gist, InputTurn, Related, Summarised
from memory_core.text import passages
from memory_core.text.keywords import keywords
from memory_core.text.names.entities import entities
from memory_core.text.words import content_words, count_words

SHORT_WORDS = 30
"""A text of at most this many words is its own gist, and the field stays empty."""

_GIST_SENTENCES = 2
_GIST_WORDS = 40


class PassthroughEncoder:
    """Extracts sentences; takes well under a millisecond for a short text."""

    name = "passthrough"
    model = ""
    version = "passthrough"
    prices = (0.0, 0.0)

    def encode(
        self,
        turns: Sequence[InputTurn],
        context: Sequence[InputTurn] = (),  # noqa: ARG002 - the protocol's; models use it
    ) -> Encoded:
        """The gist of each turn from its own sentences; no facts. Ignores *context*."""
        return Encoded(tuple(_gist(turn) for turn in turns))

    def summarise(self, texts: Sequence[str], sentences: int) -> Summarised:
        """The most central sentences of *texts*, verbatim."""
        return Summarised(summarise(texts, sentences))

    def relate(self, older: str, newer: str) -> Related:
        """Only what rules decide: "duplicate" for the same claims in the same words, else ""."""
        a, b = claims(older), claims(newer)
        same = agree(a, b) and sorted(a.order) == sorted(b.order)
        return Related("duplicate" if same else "")


def _gist(turn: InputTurn) -> Gist:
    importance, reason = salience(turn.text, turn.role)
    return Gist(
        gist="" if count_words(turn.text) <= SHORT_WORDS else _shorten(turn.text),
        keywords=keywords(turn.text),
        entities=entities(turn.text),
        importance=importance,
        reason=reason,
    )


def _shorten(text: str) -> str:
    gist = summarise([text], _GIST_SENTENCES)
    if count_words(gist) > 2 * _GIST_WORDS:
        gist = summarise([text], 1)
    if count_words(gist) <= 2 * _GIST_WORDS and len(gist) <= 16 * _GIST_WORDS:
        return gist
    kept = " ".join(gist.split()[:_GIST_WORDS])[: 8 * _GIST_WORDS]
    return kept + "…"


def summarise(texts: Sequence[str], sentences: int) -> str:
    """An extractive summary of *texts*: at most *sentences* of their sentences, in order, verbatim.

    Sentences are ranked by how many of the other sentences share their content words (centrality
    by word overlap, damped by length) and by how much they matter, and lose rank by what they share
    with those already chosen.
    Adds nothing that is not in the sources. "" when they hold no sentence.
    """
    found = list(dict.fromkeys(sentence for text in texts for sentence in passages.sentences(text)))
    return " ".join(found[place] for place in central(found, sentences))


def central(found: Sequence[str], most: int) -> list[int]:
    """The indices, ascending, of at most *most* sentences of *found*, ranked as in `summarise`."""
    bags = [frozenset(content_words(sentence)) for sentence in found]
    shared = Counter(word for bag in bags for word in bag)
    scores = {
        place: _weight(found[place]) * _centrality(bag, shared) for place, bag in enumerate(bags)
    }
    chosen: list[int] = []
    while scores and len(chosen) < max(1, most):
        best = max(scores, key=lambda place: (scores[place], -place))
        if chosen and scores[best] <= 0:
            break
        chosen.append(best)
        del scores[best]
        for place in scores:
            scores[place] *= 1 - _overlap(bags[place], bags[best])
    return sorted(chosen)


def _weight(sentence: str) -> float:
    """How much *sentence* matters by its wording, 1 for what is plain.

    What lasts of its speaker counts as much as a decision: "I'm allergic to nuts".
    """
    lasts = DECISION if says_what_lasts(sentence) else 0.0
    return max(salience(sentence)[0], lasts) / NORMAL


def _centrality(bag: frozenset[str], shared: Counter[str]) -> float:
    """Mean sharing of the words, times a factor that grows with their number up to about twelve."""
    if not bag:
        return 0.0
    mean = math.fsum(math.log1p(shared[word]) for word in bag) / len(bag)  # in any order
    return mean * min(1.0, math.sqrt(len(bag) / 12))


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0
