"""Whether a newer statement answers a question as well as an older one.

Two statements about one thing need not speak of the same of it: what says how the dentist is with
children does not answer on which floor the dentist is. So the newer one has to hold what the older
one answers with: something of the kind that is asked for, by its form and by its meaning, and the
words of the question. The cosines were fitted with tests/evals/data and a set of cases of daily
notes (docs/internals/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_core.beliefs import overview
from memory_core.beliefs.change import change, common_subject
from memory_core.beliefs.denied import names_as_over, names_as_wrong
from memory_core.beliefs.question import gives, kind_asked, noun_asked
from memory_core.beliefs.sentence import read
from memory_core.beliefs.shared import held
from memory_core.text.words import words

Embed = Callable[[Sequence[str]], NDArray[np.float32] | None]
"""One vector of unit length a text, in document space; None while the model does not answer."""

FURTHER = 0.65
"""By how much further from the question the newer one may be, where it lacks a word of it.

Of the distance between texts that are about the same thing and equal texts (`related` of a model's
profile), as MISSES.
"""

MISSES = 0.18
"""By how much further from the noun asked for ("which airline") the best word of the newer one may
be."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A question and two texts, each without what both texts share with the other."""

    noun: str
    lacks: bool
    """The newer text lacks a word of the question that the older one has."""
    question: str
    older: tuple[str, ...]
    newer: tuple[str, ...]


def answers_as_well(query: str, older: str, newer: str, embed: Embed, related: float) -> bool:
    """True when *newer* holds an answer to *query* where *older* does, by form and by meaning.

    Without vectors by form alone. *related* is the cosine from which texts are about one thing.
    """
    kind = kind_asked(query)
    if kind and gives(kind, older) and not gives(kind, newer):
        return False
    found = _read(query, older, newer)
    if not found.older or not found.newer or not (found.noun or found.lacks):
        return True
    texts = [found.question, " ".join(found.older), " ".join(found.newer)]
    named = [found.noun, *found.older, *found.newer] if found.noun else []
    vectors = embed([*texts, *named])
    if vectors is None:
        return not found.lacks
    unit = 1.0 - related
    if found.lacks:
        asked, then, now = vectors[:3]
        if float(asked @ now - asked @ then) < -FURTHER * unit:
            return False
    if named:
        near = vectors[4:] @ vectors[3]
        then, now = near[: len(found.older)], near[len(found.older) :]
        return float(now.max() - then.max()) >= -MISSES * unit
    return True


def asks_for_the_rest(query: str, older: str, newer: str, embed: Embed, related: float) -> bool:
    """True when *query* asks for what *older* says beside the part that *newer* changes.

    It does where it holds more words of the rest than of that part, but for those of which both
    texts speak; where that does not tell, where the newer text does not answer as well, unless it
    names a value as wrong. It does not where the newer text speaks of the rest, too.
    """
    if overview.asks_for_another(query, older, newer):
        return True
    found = change(older, newer)
    if found and found.part and _speaks_of_the_rest(found.part, older, newer):
        return False
    part = words(found.part) if found else []
    about = [word for word in common_subject(older) if held([word], words(newer))]
    asked = [word for word in read(query).content if not held([word], about)]
    rest = [word for word in words(older) if word not in part]
    changed, kept = held(asked, part), held(asked, rest)
    if found and part and (kept > changed or (rest and changed > kept and found.worded)):
        return kept > changed
    if names_as_wrong(older, newer) or names_as_over(older, newer):
        return False
    return not answers_as_well(query, older, newer, embed, related)


def _speaks_of_the_rest(part: str, older: str, newer: str) -> bool:
    """True where *newer* names what *older* says beside the *part*, or gives a value of its form.

    That is a time or a number, where the part has none.
    """
    rest = " ".join(older.split(part, 1))
    own, changed, now = (each.content | each.done for each in map(read, (rest, part, newer)))
    if held(own - changed - common_subject(older), now):
        return True
    return any(
        gives(form, rest) and gives(form, newer) and not gives(form, part)
        for form in ("time", "number")
    )


def _read(query: str, older: str, newer: str) -> _Read:
    """What of the three is compared by meaning."""
    asked, then, now = words(query), words(older), words(newer)
    shared = [word for word in asked if held([word], then) and held([word], now)]
    return _Read(
        noun_asked(query),
        any(held([word], then) and not held([word], now) for word in read(query).content),
        " ".join(word for word in asked if word not in shared),
        tuple(word for word in then if not held([word], now)),
        tuple(word for word in now if not held([word], then)),
    )
