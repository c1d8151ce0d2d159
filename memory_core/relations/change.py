"""Whether a newer text puts an older one in doubt: words of change about the same thing.

No rule reads every sentence, so this is a finding and never a decision: the older text *may* be out
of date. Two sentences are compared. The newer one may turn the words of the older one round ("A
over B", "B over A"), or give the same subject another place, time, number or name. Otherwise all of
this comes together: a word of change that the older sentence does not have; a content word that
both share and that is rare in the store, or one matter of the speaker (home, work, partner);
nothing that tells the two things apart (another number or another modifier of the shared word); a
change of just that thing ("changed the strings of my guitar" leaves the guitar); an older sentence
that states something rather than reports what happened; a newer one that speaks of more than today.

Measured on labelled pairs (docs/internals/evaluation.md): English and German, no model. The words
are in `lexicon`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import dropwhile, takewhile

from memory_core.relations import german, lexicon
from memory_core.relations.forms import same_word
from memory_core.relations.order import opposed, turned
from memory_core.relations.sentence import (
    DAYS,
    ME,
    SELF,
    WEAK_ONLY,
    Sentence,
    read,
    read_all,
    says_what,
)
from memory_core.relations.shared import (
    Pairs,
    different_things,
    held,
    is_name,
    is_unit,
    only_modifies,
    only_says_where,
    parted_with,
    share_a_name_alone,
    shared_words,
    stands_behind,
    subject,
)
from memory_core.relations.values import adds, is_number_word, revalued
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed, words

WORDS = "words"
"""The kind of a change that the newer sentence names: "moved", "no longer"."""

ORDER = "order"
"""The kind of a newer sentence that has the same words in another order."""

VALUE = "value"
"""The kind of a newer sentence that gives the same subject another place, time, number, name."""

MEANING = "meaning"
"""The kind of a newer sentence with a turn ("switched to", "now") that is near in meaning alone."""

PRESUMED = "presumed"
"""The kind of a newer text that competes with the older one by all that it shares with it."""

NEAR = 0.48
"""The cosine from which a turn of the speaker is about what the older text says, without a word in
common. Chosen on 96 corrections and their 9,120 false pairings: 7 more found, none wrong."""

FEW_PAIRS = 4
"""Pairs of sentences that are compared easily; of more, one fits by chance."""

COVER, WEAK_COVER = 0.25, 0.5
"""Share of the content words of one of the sentences that the other must hold; more is asked for
where all words of change are weak ones, or the texts long. Chosen on labelled pairs so that hardly
a true pair is doubted, and 1 % of 788 turns of free conversation."""

FAR = 0.4
"""The cosine below which two texts share a word by chance, but for names. Of all doubts among the
cases of five files, each in one store, 62 % are right with 0.15 and 77 % with 0.4."""

SAME_AGAIN = 0.8
"""Share of its content words that say once more, with "again", what an older sentence says."""

SAME_FRAME = 0.5
"""Share of their words that two texts have in the same order when they differ by a few words."""

_EVENTS = WEAK_ONLY & lexicon.REPORTS
"""Words of change that tell what happened: "went", "found"."""

_COMPLETE = frozenset(
    word
    for word in (*lexicon.STRONG, "left", "quit", "started", "dropped", "joined", "stopped")
    if re.search(r"(?:ed|en|old|ied|it|eft|ote|gt|gen|elt|cht|rt|det|ickt|zt)$", word)
)
"""Words of a change that is complete: "today" beside them is when it happened, not how long."""

_CLAUSE = lazy_pattern(
    r"[;,]\s+(?!(?:in|at|on|near|with|by|from|to|of|im|am|bei|mit|auf|von|zu)\b)"
    r"|\b(?:and|but|while|und|aber)\b"
)
_PLACE = lazy_pattern(
    r"\b(?:in|at|im|bei|auf|with|mit) (?:the |der |dem |den |a |my |our )?([^\W\d_]\w+)"
)

_PRONOUNS = frozenset(listed("i you he she it we they ich du er sie es wir ihr"))
_BEFORE_NOUN = frozenset(
    listed(
        """the a an my our your his her its their this that der die das ein eine mein meine unser
        unsere dein deine sein seine ihr ihre"""
    )
)

Rare = Callable[[str], bool]
"""True for a word that few memories hold: only such a one says what a sentence is about."""


RARE_SHARE, RARE_LEAST = 0.02, 3
"""A word that more of the texts hold than this share, or this number, names no one thing."""


def rare_in(
    frequency: Callable[[str], int], texts: int, terms: Callable[[str], Iterable[str]]
) -> Rare:
    """True for words of which each term is in few of a store's *texts*, by its *frequency*."""
    most = max(RARE_LEAST, RARE_SHARE * texts)
    return lambda word: all(frequency(term) <= most for term in terms(word))


@dataclass(frozen=True, slots=True)
class Found:
    """That a text may be out of date, by one *kind* of change: WORDS, ORDER, VALUE and so on.

    *words* are the words of change; of VALUE the newer value and the older one. *part* is what may
    be out of date of an older text that says more, which still holds; "" for all of it. *worded*:
    the newer text says that something changed, it does not only say something else. *passing*: the
    newer text speaks of today or this week, after which the older one holds again.
    """

    kind: str
    words: tuple[str, ...]
    part: str = ""
    worded: bool = True
    passing: bool = False

    @property
    def partial(self) -> bool:
        """True when the older text says more than what may be out of date."""
        return bool(self.part)

    @property
    def reason(self) -> str:
        """Why, as a clause about the newer text: 'it says "10:15", not "9:30"'."""
        if self.kind == VALUE:
            return 'it says "{}", not "{}"'.format(*self.words)
        return self.told

    @property
    def told(self) -> str:
        """The reason without a word of the older text: 'it says "10:15"'."""
        if self.kind == PRESUMED:
            return "it may say how the same thing is now"
        if self.kind == ORDER:
            return "it says it the other way round"
        if self.kind == VALUE:
            return f'it says "{self.words[0]}"'
        says = "it says " + " and ".join(f'"{word}"' for word in self.words)
        return f"{says} of something alike" if self.kind == MEANING else says


def change(older: str, newer: str, rare: Rare, cosine: float | None = None) -> Found | None:
    """How *newer* may put *older* out of date; None when it does not.

    *cosine* is that of their vectors, where it is known. The first pair of sentences decides.
    Linear in the product of their numbers, which MOST_CHARS bounds; never raises.
    """
    one, two = read_all(older), read_all(newer)
    long = len(one) * len(two) > FEW_PAIRS
    far = cosine is not None and cosine < FAR
    for now in two:
        for then in one:
            if found := _compared(then, now, rare, long=long, far=far):
                part = _touched(one, now)
                if not part and found.kind == VALUE and _says_when_too(then, now):
                    part = found.words[1]
                return replace(found, part=part)
    near = cosine is not None and cosine >= NEAR and len(one) == len(two) == 1
    return _turn(one[0], two[0]) if near else None


def presumed(older: str, newer: str) -> Found | None:
    """That *newer*, which probably competes with *older*, may put it out of date.

    None where their words refuse it: one of them states nothing, they speak of two people, the
    newer one says that all is as it was or speaks of one more, or of today alone.
    """
    one, two = read_all(older), read_all(newer)
    stated = any(each.asserts or each.plans for each in one) and any(each.asserts for each in two)
    if not stated or "?" in (older.strip()[-1:], newer.strip()[-1:]):
        return None
    if any(_is_brief(now) or lexicon.UNCHANGED.search(now.lowered) for now in two):
        return None
    if any(_others(then, now) or adds(then, now) for then in one for now in two):
        return None
    about = max(two, key=lambda now: sum(held(each.content, now.content) for each in one))
    return Found(PRESUMED, (), part=_touched(one, about), worded=False)


def common_subject(text: str) -> frozenset[str]:
    """The words of *text* of which all its clauses speak; empty where each has its own subject."""
    return _subject_of_all(_clauses(read_all(text)))


def passes(text: str) -> bool:
    """True when a sentence of *text* holds for today or this week alone."""
    return any(_for_a_while(each, each.cues) for each in read_all(text))


def repeats(a: str, b: str) -> bool:
    """False when the words of two texts set them apart, however near their vectors are.

    A word of change in only one of them, another order or direction, other words in the same
    places, or one more of the kind in only one of them ("another tooth").
    """
    one, two = read_all(a), read_all(b)
    if _cues(one) != _cues(two) or turned_round(a, b):
        return False
    return not any(
        _substituted(then, now) or opposed(then, now) or adds(then, now) or adds(now, then)
        for then in one
        for now in two
    )


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


def _compared(then: Sentence, now: Sentence, rare: Rare, *, long: bool, far: bool) -> Found | None:
    """How *now* may put *then* out of date; None when it does not.

    Sentences that are *far* apart in meaning share their words by chance, but for names. What tells
    most pairs apart is asked first.
    """
    shared = shared_words(then, now)
    if turned(then, now, shared):
        return Found(ORDER, ()) if not then.reports and _competes(then, now) else None
    fresh = (now.cues | _denied(then, now)) - then.cues - _EVENTS
    if long:
        fresh -= WEAK_ONLY
    passing = _for_a_while(now, fresh)
    if passing:
        fresh |= {_brief(now)}
    values = revalued(then, now, shared)
    if not fresh and not values:
        return None
    telling = [pair for pair in shared if not is_unit(then, now, *pair)]
    if far:
        telling = [pair for pair in telling if is_name(then, now, *pair)]
    known = [pair for pair in telling if rare(pair[0]) and rare(pair[1])]
    if not (values or _matter(then, now) or _is_changed(then, now, fresh, known, long=long)):
        return None
    if lexicon.UNCHANGED.search(now.lowered) or not _competes(then, now):
        return None
    if not fresh:
        told = tuple(value.rstrip(".") for value in values or ())  # "9:30." at a sentence's end
        return Found(VALUE, told, worded=False)
    return Found(WORDS, _quoted(fresh, now), worded=bool(now.cues - then.cues), passing=passing)


def _competes(then: Sentence, now: Sentence) -> bool:
    """True when both say something, and not of different people."""
    return (then.asserts or then.plans) and now.asserts and not _others(then, now)


def _quoted(cues: Collection[str], now: Sentence) -> tuple[str, ...]:
    """The two most telling of *cues*, as *now* says them, in its order."""
    whole = [cue for cue in cues if not any(cue != other and cue in other for other in cues)]
    weighed = sorted(whole, key=lambda cue: (cue in WEAK_ONLY, cue in lexicon.NOW, -len(cue), cue))
    return tuple(sorted(weighed[:2], key=now.lowered.find))


def _turn(then: Sentence, now: Sentence) -> Found | None:
    """The turn of *now* that may end what *then* says of the speaker in other words.

    Of English only: the packaged model tells German sentences of one form hardly apart.
    """
    turn = _turn_word(now.lowered)
    if not turn or not (then.asserts and now.asserts) or then.reports or _others(then, now):
        return None
    if not (SELF.intersection(now.tokens) or lexicon.WISHES.search(now.lowered)):
        return None
    if lexicon.UNCHANGED.search(now.lowered) or _for_a_while(now, now.cues):
        return None
    if _german(then, now) or adds(then, now):
        return None
    shared = shared_words(then, now)
    apart = different_things(then, now, shared) if shared else turn in lexicon.NOW
    return None if apart else Found(MEANING, (turn,))


@lru_cache(maxsize=4_096)
def _turn_word(lowered: str) -> str:
    """The words of a sentence that tell of a turn ("switched to"); "" for none."""
    found = lexicon.TURN.search(lowered)
    return found.group() if found else ""


def _german(then: Sentence, now: Sentence) -> bool:
    """True when one of them is German, of which the packaged model knows little."""
    return german.is_german(then.lowered) or german.is_german(now.lowered)


def _is_brief(now: Sentence) -> bool:
    """True when *now* speaks of today or this week, whatever its words of change."""
    return _for_a_while(now, frozenset())


def _brief(now: Sentence) -> str:
    """The words by which it does: "this week"."""
    found = lexicon.TEMPORARY.search(now.lowered)
    return found.group() if found else ""


def _is_changed(
    then: Sentence, now: Sentence, fresh: Collection[str], shared: Pairs, *, long: bool
) -> bool:
    """True when a word of *fresh* is about what the sentences share, and that is one thing."""
    if not shared or adds(then, now) or different_things(then, now, shared):
        return False
    if only_says_where(then, now, shared):
        return False
    if then.reports and not parted_with(then, now):
        return False
    if _repeats_itself(then, now, fresh, shared):
        return False
    here = len({word for word, _ in shared}) / len(then.content)
    there = len({word for _, word in shared}) / len(now.content)
    least = WEAK_COVER if long or WEAK_ONLY.issuperset(fresh) else COVER
    return max(here, there) >= least and any(_is_about(cue, then, now, shared) for cue in fresh)


def _repeats_itself(then: Sentence, now: Sentence, fresh: Collection[str], shared: Pairs) -> bool:
    """True for "the cat opened the drawer again": what was said of it happened once more."""
    if not lexicon.ONCE_MORE.issuperset(fresh) or then.denied or now.denied:
        return False
    return len({word for word, _ in shared}) >= max(3, SAME_AGAIN * len(then.content))


def _others(then: Sentence, now: Sentence) -> bool:
    """True when one speaks of the speaker and the other of somebody else, or both of two relatives.

    Somebody who takes over does what the other did; of two names, one may stand in for the other.
    """
    one, two = then.owner, now.owner
    if not one or not two or same_word(one, two) or lexicon.TAKES_OVER.search(now.lowered):
        return False
    if ME not in (one, two):
        return all(lexicon.RELATIVE.search(each.lowered) for each in (then, now))
    return not held({one}, now.tokens) and not held({two}, then.tokens)


def _denied(then: Sentence, now: Sentence) -> set[str]:
    """The words of *then* that *now* denies or calls past: "not miles", "the shed was too damp".

    None when each says something else beside: allergic to nuts, and not allergic to cats.
    """
    if then.denied or not now.denied:
        return set()
    beside = (
        sum(not held({word}, b.content) for word in a.content)
        for a, b in ((then, now), (now, then))
    )
    if all(beside):
        return set()
    return {f"not {word}" for word in now.denied if held({word}, then.tokens)}


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


def _clauses(some: Sequence[Sentence]) -> list[Sentence]:
    parts = (part for each in some for part in _CLAUSE.split(each.text))
    return [read(part) for part in parts if part.strip()]


def _subject_of_all(clauses: Sequence[Sentence]) -> frozenset[str]:
    """The words with which the first of *clauses* begins, where another one leaves its subject out.

    "The cleaner comes on Thursdays" and "charges 18 pounds": both speak of the cleaner, so that the
    word does not tell of which of them a text speaks.
    """
    if all(_names_its_subject(each) for each in clauses):
        return frozenset()
    first = clauses[0]
    if _PRONOUNS.intersection(first.tokens[:1]):
        return frozenset()
    after = dropwhile(lambda word: word not in first.content, first.tokens)
    return frozenset(takewhile(lambda word: word in first.content, after))


def _names_its_subject(clause: Sentence) -> bool:
    """True for a clause that begins with who or what it speaks of."""
    first = clause.tokens[0] if clause.tokens else ""
    return clause.text.strip()[:1].isupper() or first in _PRONOUNS or first in _BEFORE_NOUN


def _counts_too(then: Sentence, now: Sentence) -> bool:
    """True when both hold a number in figures."""
    return all(any(word[0].isdigit() for word in each.tokens) for each in (then, now))


def _says_when_too(then: Sentence, now: Sentence) -> bool:
    """True when *then* holds a day or a number, and *now* none."""
    timed = [any(_is_time(word) for word in each.tokens) for each in (then, now)]
    return timed == [True, False]


def _is_time(word: str) -> bool:
    return word[0].isdigit() or word in DAYS


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


def _for_a_while(now: Sentence, fresh: frozenset[str]) -> bool:
    """True when *now* speaks of today or this week, after which *then* holds again."""
    if not _names_a_while(now.lowered):
        return False
    return not fresh & _COMPLETE or lexicon.BRIEF.search(now.lowered) is not None


@lru_cache(maxsize=4_096)
def _names_a_while(lowered: str) -> bool:
    """True for a sentence with "this week" that does not say "from this week on"."""
    said = lexicon.NOT_UNTIL.sub(" ", lowered)
    return bool(lexicon.TEMPORARY.search(said)) and not lexicon.LASTING.search(lowered)


def _matter(then: Sentence, now: Sentence) -> bool:
    """True when both are of the speaker and of one matter (home, work, partner), in other words."""
    spoken = lexicon.SPEAKER.search(then.lowered) and lexicon.SPEAKER.search(now.lowered)
    return bool(spoken) and any(
        state.search(then.lowered) and turn.search(now.lowered) for state, turn in lexicon.MATTERS
    )


def _is_about(cue: str, then: Sentence, now: Sentence, shared: Pairs) -> bool:
    """True when the word of change *cue* is about what the sentences share.

    A verb of change has an object ("changed the strings") or none ("was changed"): the last word of
    an object must be shared. A word of time says nothing of the kind: there more than the name of a
    thing, the verb or a value of the same sort must be common to both.
    """
    replaced = lexicon.INSTEAD_OF.search(now.lowered)
    if replaced and says_what(replaced[1]) and not held({replaced[1]}, then.tokens):
        return False
    if lexicon.OUTRIGHT.search(cue):
        return True
    known = {word for _, word in shared}
    if all(stands_behind(now, word, known) or _is_another(now, word) for word in known):
        return False
    if _same_sort(then, now):
        return True
    if all(only_modifies(now, word, known) for word in known):
        return False
    if cue in lexicon.NOW or lexicon.SINCE.search(cue):
        if cue in lexicon.AGAIN_SO and (_one_subject(then, now) or held(then.denied, now.content)):
            return True
        several = len(known) > 1 and not share_a_name_alone(then, now, shared)
        return several or _same_verb(then, now)
    if " " in cue and held(set(words(cue)), known):
        return True
    after = now.lowered[now.lowered.find(cue) + len(cue) :]
    if after.startswith(":"):
        return False  # a heading of what follows, which says itself what changed
    if any(held({match[1]}, known) for match in lexicon.LEAVING.finditer(after)):
        return True
    phrase = lexicon.OBJECT_END.split(after, maxsplit=1)[0]
    nouns = [word.removesuffix("'s") for word in words(phrase) if says_what(word)]
    object = [word for word in nouns if word not in lexicon.CARRIERS][-1:]
    return not object or held(object, known) > 0


def _is_another(now: Sentence, word: str) -> bool:
    """True for "finished a book", which says nothing of another book."""
    tokens = ("", *now.tokens)
    return any(
        b == word
        and (a in lexicon.ONE_MORE or (before in lexicon.ONE_MORE and a not in lexicon.ANY_OF_ONE))
        for before, a, b in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )


def _one_subject(then: Sentence, now: Sentence) -> bool:
    """True when the subjects of both are the same thing."""
    one, two = subject(then), subject(now)
    return bool(one and two) and same_word(one[-1], two[-1])


def _same_verb(then: Sentence, now: Sentence) -> bool:
    """True when both say "is", or what the speaker does in *then* is in *now* too."""
    if set(then.tokens) & lexicon.BE and set(now.tokens) & lexicon.BE:
        return True
    first, verb = (*then.tokens, "", "")[:2]
    return first in SELF and verb in then.content and held({verb}, now.content) > 0


def _same_sort(then: Sentence, now: Sentence) -> bool:
    """True when both hold a day, a part of the day, a number or a place, and not the same."""
    there, here = (
        {place for place in _PLACE.findall(each.lowered) if says_what(place)}
        for each in (then, now)
    )
    if there and here and not held(there, now.tokens) and not held(here, then.tokens):
        return True
    for sort in (DAYS, lexicon.DAY_PARTS):
        one, two = ({word.rstrip("s") for word in each.tokens} & sort for each in (then, now))
        if one and two and one != two:
            return True
    one, two = ({word for word in each.tokens if is_number_word(word)} for each in (then, now))
    return bool(one and two and one != two)
