"""Whether the same words mean something else: "A over B" and "B over A", "to A" and "from A"."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from memory_core.beliefs.forms import same_word
from memory_core.beliefs.sentence import Sentence
from memory_core.beliefs.shared import Pairs
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed, words


def turned(then: Sentence, now: Sentence, shared: Pairs) -> bool:
    """True when both hold the same content words, two at least, in another order.

    Not where each says something else besides, or another figure: "Silas sold Ingvild a sledge"
    and "Ingvild sold Silas a trailer" are both true.
    """
    if len(shared) < 2:
        return False
    mine, theirs = ({pair[side] for pair in shared} for side in (0, 1))
    codes = _codes(then, now)
    one = [word for word in then.tokens if word in then.content | codes]
    two = [word for word in now.tokens if word in now.content | codes]
    kept = [word for word in one if word in mine | codes]
    same = [word for word in two if word in theirs | codes]
    if len(kept) < 2 or len(kept) != len(same) or kept == same:
        return False
    more = len(one) - len(kept), len(two) - len(same)
    if all(more) or sum(more) > max(1, len(kept) // 2):
        return False
    figures = [sorted(word for word in each.tokens if word[0].isdigit()) for each in (then, now)]
    if all(figures) and figures[0] != figures[1]:
        return False
    if _names(then, now) or _names(now, then):
        return False
    if len(kept) == 2 and _adjacent(then, kept) != _adjacent(now, same):
        return False
    if len(kept) > 2 and _is_rotated(kept, same):
        return False
    return any(not same_word(a, b) for a, b in zip(kept, same, strict=True))


_NAMED = lazy_pattern(r"^(?:my|our|mein\w?|unser\w?) (.{2,60}?) (?:is|are|ist|sind) (.{2,80})$")


def _names(a: Sentence, b: Sentence) -> bool:
    """True for "my dentist is Dr. Ost" and "Dr. Ost is my dentist"."""
    named = _NAMED.match(a.lowered)
    if named is None:
        return False
    role, name = (words(part) for part in named.groups())
    said = words(b.lowered)
    return said[: len(name)] == name and said[len(said) - len(role) :] == role


def _codes(then: Sentence, now: Sentence) -> set[str]:
    """The numbers of two sentences that hold the same ones: "port 1 feeds port 2"."""
    one, two = (sorted(filter(str.isdigit, each.tokens)) for each in (then, now))
    return set(one) if one == two else set()


def _adjacent(sentence: Sentence, pair: Sequence[str]) -> bool:
    """True for "the Kahoot account", which is no reversal of "the account at Kahoot"."""
    return tuple(pair) in set(itertools.pairwise(sentence.tokens))


def _is_rotated(a: Sequence[str], b: Sequence[str]) -> bool:
    """True when a phrase only moved to the other end: "in May Ann left", "Ann left in May"."""
    return any(
        all(same_word(x, y) for x, y in zip((*a[at:], *a[:at]), b, strict=True))
        for at in range(1, len(a))
    )


_OPPOSED = [
    tuple(pair.split("/"))
    for pair in listed(
        """to/from into/from in/out on/off up/down with/without for/against inside/outside
        over/under above/below above/under over/below before/after more/less before/since until/from
        von/nach von/zu von/an vom/zum vor/nach mit/ohne für/gegen über/unter ein/aus
        an/ab mehr/weniger bis/ab unter/ab oberhalb/unterhalb"""
    )
]
_SMALL = frozenset(word for pair in _OPPOSED for word in pair)
"""Words of which the one sets a sentence apart from the same one with the other."""


def opposed(a: Sentence, b: Sentence) -> bool:
    """True for "sent to Oslo" and "sent from Oslo": they differ in words that are opposed."""
    if (a.content ^ b.content) - a.denied - b.denied - _SMALL:
        return False
    return apart(a, b)


def apart(a: Sentence, b: Sentence) -> bool:
    """True where one holds a word and the other its opposite: "under 4 kg", "over 4 kg"."""
    mine, theirs = set(a.tokens) - set(b.tokens), set(b.tokens) - set(a.tokens)
    return any(
        (one in mine and other in theirs) or (other in mine and one in theirs)
        for one, other in _OPPOSED
    )


_AMOUNTS = frozenset(
    listed(
        """half quarter third double twice once triple thrice both whole halb halbe halber halbes
        halben viertel drittel doppelt doppelte einmal zweimal dreimal beide ganze ganzen"""
    )
)


def amounts(sentences: Iterable[Sentence]) -> frozenset[str]:
    """The words of *sentences* that tell how much: "half a tablet"."""
    return frozenset(word for each in sentences for word in each.tokens if word in _AMOUNTS)
