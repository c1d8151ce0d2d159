"""How a newer text may put an older one out of date, and which part of it, where both compete.

Whether they compete is weighed by meaning (`competing`): most changes are told without a word of
change, and words of change mostly speak of something else. Words only refuse here: what is asked or
only thought of, another person, one more of a kind. They also tell what holds for a while, what is
turned round ("A over B", "B over A"), and say why. No rule reads every sentence, so this is a
finding and never a decision. English and German; the words are in `lexicon`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import dropwhile, takewhile

from memory_core.beliefs import lexicon
from memory_core.beliefs.forms import same_word
from memory_core.beliefs.order import amounts, apart, turned
from memory_core.beliefs.sentence import (
    DAYS,
    ME,
    WEAK_ONLY,
    Sentence,
    read,
    read_all,
    says_what,
)
from memory_core.beliefs.shared import held, shared_words
from memory_core.text.lazy_pattern import lazy_pattern

WORDS = "words"
"""The kind of a change that the newer text names: "moved", "no longer"."""

MATTER = "matter"
"""The kind of a newer text that names a change of what one person has one of: home, work, partner.

Its words need not be those of the older one: "I live in Graz", "I moved to Linz"."""

ORDER = "order"
"""The kind of a newer text that has the same words in another order."""

PRESUMED = "presumed"
"""The kind of a newer text that has no word of change."""

SAME_FRAME = 0.5
"""Share of their words that two texts have in the same order when they differ by a few words."""

_CLAUSE = lazy_pattern(
    r"[;,]\s+(?!(?:in|at|on|near|with|by|from|to|of|im|am|bei|mit|auf|von|zu)\b)"
    r"|\b(?:and|but|while|und|aber)\b"
)
_OBLIGES = lazy_pattern(
    r"\b(?:(?:has|have|needs?|ought) to be|must be|should be|to be \w+ by|(?:muss|müssen|sollen?)\b"
    r".{1,80}\bwerden)\b"
)
"""That something is to be done, of which the same words say later that it is done."""
_PLACE = lazy_pattern(
    r"\b(?:in|at|im|bei|auf|with|mit) (?:the |der |dem |den |a |my |our )?([^\W\d_]\w+)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """That a text may be out of date, by one *kind* of change: WORDS, MATTER, ORDER or PRESUMED.

    *words* are those by which the newer text says so. *part* is what may be out of date of an older
    text that says more, which still holds; "" for all of it. *passing*: the newer text speaks of
    today or this week, after which the older one holds again. *supersedes*: the relation by
    which it leaves no doubt, "updates" or "contradicts"; else "".
    """

    kind: str
    words: tuple[str, ...] = ()
    part: str = ""
    passing: bool = False
    supersedes: str = ""

    @property
    def partial(self) -> bool:
        """True when the older text says more than what may be out of date."""
        return bool(self.part)

    @property
    def worded(self) -> bool:
        """True when the newer text says that something changed for good."""
        return self.kind in (WORDS, MATTER) and not self.passing

    @property
    def reason(self) -> str:
        """Why, as a clause about the newer text: 'the later text says "no longer"'."""
        if self.kind == PRESUMED:
            return "the later text may say how the same thing is now"
        if self.kind == ORDER:
            return "the later text says it the other way round"
        return "the later text says " + " and ".join(f'"{word}"' for word in self.words)


def change(older: str, newer: str) -> Found | None:
    """How *newer* puts *older* out of date, if both compete. None where their words refuse it.

    They do where one of them states nothing, they speak of two people, or the newer one says
    nothing else, says that all is as it was, or speaks of one more. Linear in the product of their
    sentences, which MOST_CHARS bounds; never raises.
    """
    one, two = read_all(older), read_all(newer)
    for then, now in ((then, now) for now in two for then in one):
        if turned(then, now, shared_words(then, now)):
            return Found(ORDER) if not then.reports and _competes(then, now) else None
    stated = any(each.asserts for each in one) and any(each.asserts for each in two)
    if not stated or "?" in (older.strip()[-1:], newer.strip()[-1:]):
        return None
    if {word for now in two for word in now.tokens} <= {
        word for then in one for word in then.tokens
    }:
        return None
    if any(_others(then, now) or adds(then, now) for then in one for now in two):
        return None
    about = max(two, key=lambda now: sum(held(each.content, now.content) for each in one))
    part = _touched(one, about)
    fresh = {cue for now in _about(one, two) for cue in now.cues}
    fresh -= {cue for then in one for cue in then.cues}
    if brief := next((said for now in two if (said := _brief(now))), ""):
        return Found(WORDS, (brief,), part, passing=True)
    if fresh and any(_matter(then, now) for then in one for now in two):
        return Found(MATTER, _quoted(fresh, newer), part)
    fresh -= WEAK_ONLY
    return Found(WORDS, _quoted(fresh, newer), part) if fresh else Found(PRESUMED, (), part)


def is_to_be_done(text: str) -> bool:
    """True when a sentence of *text* says that something has to be done."""
    return any(_OBLIGES.search(each.lowered) for each in read_all(text))


def _about(one: Sequence[Sentence], two: Sequence[Sentence]) -> Sequence[Sentence]:
    """Those of *two* from the first on that shares a word with *one*; all where none does.

    "Back from Porto. I want to try that on stork" says of stork nothing that is over.
    """
    said = {word for then in one for word in then.content}
    return tuple(dropwhile(lambda now: not held(now.content, said), two)) or two


def common_subject(text: str) -> frozenset[str]:
    """The words of *text* of which all its clauses speak; empty where each has its own subject."""
    return _subject_of_all(_clauses(read_all(text)))


def passes(text: str) -> bool:
    """True when a sentence of *text* holds for today or this week alone."""
    return any(_brief(each) for each in read_all(text))


def says_change(text: str) -> bool:
    """True when a sentence of *text* has a word of change."""
    return any(each.cues - WEAK_ONLY for each in read_all(text))


def repeats(a: str, b: str) -> bool:
    """False when the words of two texts set them apart, however near their vectors are.

    A word of change in only one of them, another order or direction, other words in the same
    places, another amount ("half a tablet"), or one more of the kind in only one of them ("another
    tooth").
    """
    one, two = read_all(a), read_all(b)
    if _cues(one) != _cues(two) or amounts(one) != amounts(two) or turned_round(a, b):
        return False
    return not any(
        _substituted(then, now) or apart(then, now) or adds(then, now) or adds(now, then)
        for then in one
        for now in two
    )


def adds(then: Sentence, now: Sentence) -> bool:
    """True when *now* speaks of one more beside what *then* speaks of."""
    return bool(lexicon.ADDS.search(now.lowered)) and not lexicon.ADDS.search(then.lowered)


def _cues(some: Iterable[Sentence]) -> set[str]:
    """The words of change of *some*; "has been moved" counts as "moved"."""
    cues = {cue for each in some for cue in each.cues}
    return {cue for cue in cues if not cues.intersection(cue.split()) - {cue}}


def turned_round(older: str, newer: str) -> bool:
    """True when a sentence of *newer* has the content words of one of *older* in another order."""
    return any(
        turned(then, now, shared_words(then, now))
        for now in read_all(newer)
        for then in read_all(older)
    )


# Two sentences


def _competes(then: Sentence, now: Sentence) -> bool:
    """True when both say something, and not of different people."""
    return then.asserts and now.asserts and not _others(then, now)


def _quoted(cues: Collection[str], newer: str) -> tuple[str, ...]:
    """The two most telling of *cues*, as *newer* says them, in its order."""
    said = newer.casefold().replace("’", "'")
    whole = [cue for cue in cues if not any(cue != other and cue in other for other in cues)]
    weighed = sorted(whole, key=lambda cue: (cue in lexicon.NOW, -len(cue), cue))
    return tuple(sorted(weighed[:2], key=said.find))


def _others(then: Sentence, now: Sentence) -> bool:
    """True when one speaks of the speaker and the other of somebody else, or both of two relatives.

    Of two names, one may stand in for the other.
    """
    one, two = then.owner, now.owner
    if not one or not two or same_word(one, two):
        return False
    if ME not in (one, two):
        return all(lexicon.RELATIVE.search(each.lowered) for each in (then, now))
    return not held({one}, now.tokens) and not held({two}, then.tokens)


def _touched(older: Sequence[Sentence], now: Sentence) -> str:
    """The clause of *older* that *now* is about, where *older* says something else too; else "".

    Something else is a clause of its own that shares less with *now* than that clause does; or a
    place, when all that is new in *now* are times and numbers.
    """
    clauses = _clauses(older)
    subject = _subject_of_all(clauses)
    touched = [
        held(each.content - subject, now.content) + _matter(each, now) + _counts_too(each, now)
        for each in clauses
    ]
    if touched.count(max(touched, default=0)) != 1:
        touched = [held(each.content, now.content) + _matter(each, now) for each in clauses]
    most = max(touched, default=0)
    about = clauses[touched.index(most)].text if clauses else ""
    for clause, common in zip(clauses, touched, strict=True):
        own = any(not held({word}, now.content) for word in clause.content)
        if common < most and (own or _is_number(clause)):
            return about
    places = {match[1] for clause in clauses for match in _PLACE.finditer(clause.lowered)}
    places = {place for place in places if says_what(place) and not held({place}, now.content)}
    said = {word for clause in clauses for word in clause.content}
    named = [word for word in now.content if not held({word}, said)]
    timed = any(word[0].isdigit() for word in now.tokens)
    return about if places and timed and len(named) <= 1 else ""


def may_be_a_matter(older: str, newer: str) -> bool:
    """False where *newer* tells of no change of what *older* says that somebody has one of."""
    return bool(_matters(older, 0) & _matters(newer, 1))


@lru_cache(maxsize=4_096)
def _matters(text: str, side: int) -> frozenset[int]:
    """The places in MATTERS of those that a sentence of *text* holds (0), or has changed (1)."""
    return frozenset(
        place
        for place, patterns in enumerate(lexicon.MATTERS)
        if any(patterns[side].search(each.lowered) for each in read_all(text))
    )


def _matter(then: Sentence, now: Sentence) -> bool:
    """True when both are of one person and one matter (home, work, partner), in other words.

    Of the speaker, or of who both begin with: "user's sister Carla".
    """
    one = all(lexicon.SPEAKER.search(each.lowered) for each in (then, now))
    return (one or begins_with_one(then, now)) and any(
        state.search(then.lowered) and turn.search(now.lowered) for state, turn in lexicon.MATTERS
    )


def begins_with_one(then: Sentence, now: Sentence) -> bool:
    """True when the words with which both begin name a thing, and neither goes on with its name."""
    both = zip(then.tokens, now.tokens, strict=False)
    begin = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
    named = any(word in then.content for word in then.tokens[:begin])
    after = (each.content.intersection(each.tokens[begin : begin + 1]) for each in (then, now))
    return named and not all(after)


def _clauses(some: Sequence[Sentence]) -> list[Sentence]:
    parts = (part for each in some for part in _CLAUSE.split(each.text))
    return [read(part) for part in parts if part.strip()]


def _subject_of_all(clauses: Sequence[Sentence]) -> frozenset[str]:
    """The words with which the first of *clauses* begins: mostly the subject of all.

    "The cleaner comes on Thursdays" and "charges 18 pounds": both speak of the cleaner, so that the
    word does not tell of which of them a text speaks.
    """
    if not clauses:
        return frozenset()
    first = clauses[0]
    after = dropwhile(lambda word: word not in first.content, first.tokens)
    return frozenset(takewhile(lambda word: word in first.content, after))


def _counts_too(then: Sentence, now: Sentence) -> bool:
    """True when both hold a number in figures."""
    return all(any(word[0].isdigit() for word in each.tokens) for each in (then, now))


def _is_number(clause: Sentence) -> bool:
    """True for "is 71": a number and nothing that it is a number of."""
    return not clause.content and any(word[0].isdigit() for word in clause.tokens)


def _substituted(a: Sentence, b: Sentence) -> bool:
    """True when the same frame holds other words: "top drawer" and "bottom drawer"."""
    if set(a.tokens) & DAYS != set(b.tokens) & DAYS:
        return True
    mine = any(not held({word}, b.content) for word in a.content)
    theirs = any(not held({word}, a.content) for word in b.content)
    frame = SequenceMatcher(None, a.tokens, b.tokens, autojunk=False)
    return mine and theirs and frame.ratio() >= SAME_FRAME


def _brief(now: Sentence) -> str:
    """The words by which *now* speaks of today or this week, after which all is as before; "".

    Not where they only say when something was done: "it goes up by ten, the letter came today".
    """
    found = _while(now.lowered)
    parts = [part for part in _clauses([now]) if found in part.lowered] if found else []
    when = [
        (part.done or part.reports) and not lexicon.BRIEF.search(part.lowered) for part in parts
    ]
    return "" if parts and all(when) else found


@lru_cache(maxsize=4_096)
def _while(lowered: str) -> str:
    """What names the while in a sentence; none in "from this week on"."""
    found = lexicon.TEMPORARY.search(lowered)
    return "" if found is None or lexicon.LASTING.search(lowered) else found.group()
