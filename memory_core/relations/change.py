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

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from memory_core.relations import lexicon
from memory_core.relations.claims import same_word
from memory_core.text.passages import sentences
from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.words import words

ORDER = "order"
"""The reason of a newer sentence that has the same words in another order."""

VALUE = "value"
"""The reason of a newer sentence that gives the same subject another place, time, number, name."""

MOST_WORDS = 30
"""A longer sentence is a story or a list: what it changes cannot be told from its words."""

MOST_CHARS = 2_000
"""Of a text that is compared; what stands behind that is not looked at."""

FEW_PAIRS = 4
"""Pairs of sentences that are compared easily; of more, one fits by chance."""

COVER, WEAK_COVER = 0.25, 0.4
"""Share of the content words of one of the sentences that the other must hold; more is asked for
where all words of change are weak ones, or the texts long. Chosen on labelled pairs so that hardly
a true pair is doubted, and 1 % of 788 turns of free conversation."""

SAME_FRAME = 0.5
"""Share of their words that two texts have in the same order when they differ by a few words."""

_DAYS = frozenset(MONTHS) | frozenset(WEEKDAYS)
_SELF = frozenset(("i", "we", "ich", "wir", "user"))
_CHANGE = frozenset({*lexicon.STRONG, *lexicon.WEAK})
_WEAK_ONLY = frozenset(lexicon.WEAK) - frozenset(lexicon.STRONG)
_COMPLETE = frozenset(
    word
    for word in (*lexicon.STRONG, "left", "quit", "started", "dropped", "joined", "stopped")
    if re.search(r"(?:ed|en|old|ied|it|eft|ote|gt|gen|elt|cht|rt|det|ickt|zt)$", word)
)
"""Words of a change that is complete: "today" beside them is when it happened, not how long."""

_BY = re.compile(r"\b(?:was|were|is|are|been|wurden?|wird|werden)\b.* (?:by|von|durch) ")
_PART = re.compile(r";\s")
_CLAUSE = re.compile(
    r"[;,]\s+(?!(?:in|at|on|near|with|by|from|to|of|im|am|bei|mit|auf|von|zu)\b)"
    r"|\b(?:and|but|while|und|aber)\b"
)
_VERSION = re.compile(r"\b[0-9]+(?:\.[0-9]+)+\b")
_PLACE = re.compile(
    r"\b(?:in|at|im|bei|auf|with|mit) (?:the |der |dem |den |a |my |our )?([^\W\d_]\w+)"
)

Pairs = Sequence[tuple[str, str]]
"""Words of two sentences that are forms of one."""

Rare = Callable[[str], bool]
"""True for a word that few memories hold: only such a one says what a sentence is about."""


@dataclass(frozen=True, slots=True)
class Value:
    """That *subject*, its words, has a value, of which *word* is the first, of one *attribute*."""

    subject: frozenset[str]
    attribute: str
    word: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as it is compared.

    *tokens* in order, the words that say of what it is (*content*), its words of change (*cues*)
    and the words that it denies; *asserts* is False for a courtesy and for what is asked or only
    thought of, *reports* True for what happened; *value* is what `_value` returns.
    """

    lowered: str
    tokens: tuple[str, ...]
    content: frozenset[str]
    cues: frozenset[str]
    denied: frozenset[str]
    asserts: bool
    reports: bool
    value: Value | None


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
    """That a text may be out of date: *reason* is the words of change, ORDER or VALUE.

    *partial*: the older text says more than what the newer one touches, and that still holds.
    *worded*: the newer text says that something changed, it does not only say something else.
    """

    reason: str
    partial: bool
    worded: bool


def signals_change(text: str) -> bool:
    """True when *text* holds a word of change or a value; the rest need not be compared."""
    return any(
        each.cues or each.denied or each.value or _measures(each) for each in _sentences(text)
    )


def change(older: str, newer: str, rare: Rare) -> Found | None:
    """How *newer* may put *older* out of date; None when it does not.

    The first pair of sentences decides. Linear in the product of their numbers, which MOST_CHARS
    bounds; never raises.
    """
    one, two = _sentences(older), _sentences(newer)
    long = len(one) * len(two) > FEW_PAIRS
    for now in two:
        for then in one:
            if reason := _compared(then, now, rare, long=long):
                partial = _says_more(older, now) or (reason == VALUE and _says_when_too(then, now))
                worded = reason == ORDER or bool(now.cues - then.cues)
                return Found(reason, partial, worded)
    return None


def passes(text: str) -> bool:
    """True when a sentence of *text* holds for today or this week alone."""
    return any(_for_a_while(each, each.cues) for each in _sentences(text))


def repeats(a: str, b: str) -> bool:
    """False when the words of two texts set them apart, however near their vectors are.

    A word of change in only one of them, another order, or other words in the same places.
    """
    one, two = _sentences(a), _sentences(b)
    if _cues(one) != _cues(two) or turned_round(a, b):
        return False
    return not any(_substituted(then, now) for then in one for now in two)


def _cues(some: Iterable[Sentence]) -> set[str]:
    """The words of change of *some*; "has been moved" counts as "moved"."""
    cues = {cue for each in some for cue in each.cues}
    return {cue for cue in cues if not cues.intersection(cue.split()) - {cue}}


def turned_round(older: str, newer: str) -> bool:
    """True when a sentence of *newer* has the content words of one of *older* in another order."""
    return any(
        _turned(then, now, _shared(then, now))
        for now in _sentences(newer)
        for then in _sentences(older)
    )


# One sentence


@lru_cache(maxsize=4_096)
def _sentences(text: str) -> tuple[Sentence, ...]:
    pieces = (part for each in sentences(text[:MOST_CHARS]) for part in _PART.split(each))
    found = (_read(piece) for piece in pieces if piece.strip())
    return tuple(each for each in found if each.content and len(each.tokens) <= MOST_WORDS)


def _read(text: str) -> Sentence:
    lowered = text.casefold().replace("’", "'").strip()
    tokens = tuple(word.removesuffix("'s") for word in words(lowered))
    cues = {word for word in tokens if word in _CHANGE or _is_again(word)}
    cues |= {match.group() for match in lexicon.PHRASES.finditer(lowered)}
    content = {word for word in tokens if _says_what(word)} | {*_VERSION.findall(lowered)}
    return Sentence(
        lowered,
        tokens,
        frozenset(content),
        frozenset(cues),
        frozenset(match[1] or match[2] for match in lexicon.NEGATED.finditer(lowered)),
        asserts=not (lexicon.COURTESY.search(lowered) or lexicon.UNSURE.search(lowered)),
        reports=cues <= lexicon.REPORTS and _reports(lowered, tokens),
        value=_value(lowered),
    )


def _is_again(word: str) -> bool:
    """True for "relicensed" and "umgestellt", which no list holds all of."""
    return lexicon.AGAIN.fullmatch(word) is not None and word not in lexicon.NOT_AGAIN


def _says_what(word: str) -> bool:
    """True for a word that can name a thing: no function word, no time, no plain number."""
    if len(word) < 2 or word in lexicon.STOP or word in _CHANGE or word in lexicon.NO_SUBJECT:
        return False
    if _is_again(word):
        return False
    return not word[0].isdigit() or "." in word or any(char.isalpha() for char in word)


def _reports(lowered: str, tokens: Sequence[str]) -> bool:
    """True for what happened, or was: "lent 50 euros", but not "is called"."""
    told = any(
        word in lexicon.REPORTS and before not in lexicon.BE
        for before, word in itertools.pairwise(("", *tokens[:5]))
    )
    return told or lexicon.PAST.search(lowered) is not None


def _value(lowered: str) -> Value | None:
    """The value that a sentence gives its subject ("is in", "starts at", "costs", "is called")."""
    for attribute, pattern in lexicon.VALUES.items():
        if match := pattern.search(lowered):
            before = (word.removesuffix("'s") for word in words(lowered[: match.start()]))
            return Value(frozenset(before) - lexicon.STOP, attribute, match["value"])
    return None


# Two sentences


def _compared(then: Sentence, now: Sentence, rare: Rare, *, long: bool) -> str:
    """The reason why *now* may put *then* out of date; "" when it does not."""
    if not (then.asserts and now.asserts):
        return ""
    shared = _shared(then, now)
    if _turned(then, now, shared):
        return "" if then.reports else ORDER
    fresh = (now.cues | _denied(then, now)) - then.cues
    if long:
        fresh -= _WEAK_ONLY
    revalued = _revalued(then, now) or _remeasured(then, now, shared)
    if not fresh and not revalued:
        return ""
    known = [pair for pair in shared if rare(pair[0]) and rare(pair[1])]
    if not (revalued or _matter(then, now) or _is_changed(then, now, fresh, known, long=long)):
        return ""
    if lexicon.UNCHANGED.search(now.lowered) or _for_a_while(now, fresh):
        return ""
    return ", ".join(sorted(fresh)) or VALUE


def _is_changed(
    then: Sentence, now: Sentence, fresh: Collection[str], shared: Pairs, *, long: bool
) -> bool:
    """True when a word of *fresh* is about what the sentences share, and that is one thing."""
    if not shared or then.reports or _adds(then, now) or _different_things(then, now, shared):
        return False
    here = len({word for word, _ in shared}) / len(then.content)
    there = len({word for _, word in shared}) / len(now.content)
    least = WEAK_COVER if long or _WEAK_ONLY.issuperset(fresh) else COVER
    return max(here, there) >= least and any(_is_about(cue, then, now, shared) for cue in fresh)


def _denied(then: Sentence, now: Sentence) -> set[str]:
    """The words of *then* that *now* denies or calls past: "not miles", "the shed was too damp"."""
    if then.denied:
        return set()
    return {f"not {word}" for word in now.denied if _held({word}, then.tokens)}


def _adds(then: Sentence, now: Sentence) -> bool:
    """True when *now* speaks of one more beside what *then* speaks of."""
    return bool(lexicon.ADDS.search(now.lowered)) and not lexicon.ADDS.search(then.lowered)


def _says_more(older: str, now: Sentence) -> bool:
    """True when *older* says something that *now* does not touch.

    A clause of its own that shares less with *now* than another clause does; or a place, when all
    that is new in *now* are times and numbers.
    """
    parts = (part for each in sentences(older[:MOST_CHARS]) for part in _CLAUSE.split(each))
    clauses = [_read(part) for part in parts if part.strip()]
    touched = [_held(each.content, now.content) + _matter(each, now) for each in clauses]
    most = max(touched, default=0)
    for clause, held in zip(clauses, touched, strict=True):
        own = any(not _held({word}, now.content) for word in clause.content)
        if held < most and (own or _is_number(clause)):
            return True
    places = {match[1] for clause in clauses for match in _PLACE.finditer(clause.lowered)}
    places = {place for place in places if _says_what(place) and not _held({place}, now.content)}
    known = {word for clause in clauses for word in clause.content}
    named = [word for word in now.content if not _held({word}, known)]
    timed = any(word[0].isdigit() for word in now.tokens)
    return bool(places) and timed and len(named) <= 1


def _says_when_too(then: Sentence, now: Sentence) -> bool:
    """True when *then* holds a day or a number, and *now* none."""
    timed = [any(_is_time(word) for word in each.tokens) for each in (then, now)]
    return timed == [True, False]


def _is_time(word: str) -> bool:
    return word[0].isdigit() or word in _DAYS


def _is_number(clause: Sentence) -> bool:
    """True for "is 71": a number and nothing that it is a number of."""
    return not clause.content and any(word[0].isdigit() for word in clause.tokens)


def _held(some: Collection[str], others: Collection[str]) -> int:
    """How many of *some* have a form among *others*."""
    return sum(any(same_word(word, other) for other in others) for word in some)


def _turned(then: Sentence, now: Sentence, shared: Pairs) -> bool:
    """True when both hold the same content words, two at least, in another order."""
    if len(shared) < 2:
        return False
    mine, theirs = ({pair[side] for pair in shared} for side in (0, 1))
    one = [word for word in then.tokens if word in then.content]
    two = [word for word in now.tokens if word in now.content]
    kept = [word for word in one if word in mine]
    held = [word for word in two if word in theirs]
    if len(kept) < 2 or len(kept) != len(held):
        return False
    if len(one) + len(two) - 2 * len(kept) > max(1, len(kept) // 2):
        return False
    if _passive(then) != _passive(now):
        return False
    if len(kept) == 2 and _adjacent(then, kept) != _adjacent(now, held):
        return False
    if len(kept) > 2 and _is_rotated(kept, held) and not _compares(then, now):
        return False
    return any(not same_word(a, b) for a, b in zip(kept, held, strict=True))


def _adjacent(sentence: Sentence, pair: Sequence[str]) -> bool:
    """True for "the Kahoot account", which is no reversal of "the account at Kahoot"."""
    return tuple(pair) in set(itertools.pairwise(sentence.tokens))


def _compares(then: Sentence, now: Sentence) -> bool:
    """True when both put one thing before another: "A over B"."""
    return bool(set(then.tokens) & set(now.tokens) & lexicon.COMPARING)


def _passive(sentence: Sentence) -> bool:
    return _BY.search(sentence.lowered) is not None


def _is_rotated(a: Sequence[str], b: Sequence[str]) -> bool:
    """True when a phrase only moved to the other end: "in May Ann left", "Ann left in May"."""
    return any(
        all(same_word(x, y) for x, y in zip((*a[at:], *a[:at]), b, strict=True))
        for at in range(1, len(a))
    )


def _substituted(a: Sentence, b: Sentence) -> bool:
    """True when the same frame holds other words: "top drawer" and "bottom drawer"."""
    if set(a.tokens) & _DAYS != set(b.tokens) & _DAYS:
        return True
    mine = any(not _held({word}, b.content) for word in a.content)
    theirs = any(not _held({word}, a.content) for word in b.content)
    frame = SequenceMatcher(None, a.tokens, b.tokens, autojunk=False)
    return mine and theirs and frame.ratio() >= SAME_FRAME


def _for_a_while(now: Sentence, fresh: frozenset[str]) -> bool:
    """True when *now* speaks of today or this week, after which *then* holds again."""
    if not lexicon.TEMPORARY.search(now.lowered) or lexicon.LASTING.search(now.lowered):
        return False
    return not fresh & _COMPLETE or lexicon.BRIEF.search(now.lowered) is not None


def _matter(then: Sentence, now: Sentence) -> bool:
    """True when both are of the speaker and of one matter (home, work, partner), in other words."""
    spoken = lexicon.SPEAKER.search(then.lowered) and lexicon.SPEAKER.search(now.lowered)
    return bool(spoken) and any(
        state.search(then.lowered) and turn.search(now.lowered) for state, turn in lexicon.MATTERS
    )


def _revalued(then: Sentence, now: Sentence) -> bool:
    """True when *now* gives the subject of *then* another value of the same attribute."""
    one, two = then.value, now.value
    if one is None or two is None or not one.subject or one.subject != two.subject:
        return False
    if one.attribute != two.attribute or same_word(one.word, two.word):
        return False
    return not _adds(then, now) and not lexicon.PAST.search(then.lowered)


def _remeasured(then: Sentence, now: Sentence, shared: Pairs) -> bool:
    """True when *now* repeats what *then* is about, with another number of the same unit."""
    if len({word for word, _ in shared}) < len(then.content) or then.reports or _adds(then, now):
        return False
    if _days(then) != _days(now) or _different_things(then, now, shared):
        return False
    one, two = _measures(then), _measures(now)
    return any(two.get(unit, number) != number for unit, number in one.items())


def _measures(sentence: Sentence) -> dict[str, str]:
    """The numbers of a sentence, by the word that follows each."""
    return {
        unit: number
        for number, unit in itertools.pairwise(sentence.tokens)
        if number[0].isdigit() and unit[0].isalpha() and unit not in lexicon.STOP | _DAYS
    }


def _days(sentence: Sentence) -> set[str]:
    return {word.rstrip("s") for word in sentence.tokens} & _DAYS


def _shared(then: Sentence, now: Sentence) -> Pairs:
    """The content words of *then*, each with its form in *now*."""
    return [
        (word, other)
        for word in sorted(then.content)
        for other in sorted(now.content)
        if same_word(word, other)
    ]


def _different_things(then: Sentence, now: Sentence, shared: Pairs) -> bool:
    """True when what the sentences share is told apart by its number or by what stands before."""
    for word, other in shared:
        one, two = _numbers(then, word), _numbers(now, other)
        if one and two and not one & two:
            return True
    wished = lexicon.WISHES.search(then.lowered) and lexicon.WISHES.search(now.lowered)
    return not wished and all(_modified_apart(then, now, word, other) for word, other in shared)


def _is_about(cue: str, then: Sentence, now: Sentence, shared: Pairs) -> bool:
    """True when the word of change *cue* is about what the sentences share.

    A verb of change has an object ("changed the strings") or none ("was changed"): the last word of
    an object must be shared. A word of time says nothing of the kind: there a second word, the verb
    or a value of the same sort must be common to both.
    """
    if lexicon.OUTRIGHT.search(cue) or _same_sort(then, now):
        return True
    known = {word for _, word in shared}
    if all(_only_modifies(now, word, known) for word in known):
        return False
    if cue in lexicon.NOW or lexicon.SINCE.search(cue):
        return len({word for word, _ in shared}) > 1 or _same_verb(then, now)
    if " " in cue and _held(set(words(cue)), known):
        return True
    after = now.lowered[now.lowered.find(cue) + len(cue) :]
    if any(_held({match[1]}, known) for match in lexicon.LEAVING.finditer(after)):
        return True
    phrase = lexicon.OBJECT_END.split(after, maxsplit=1)[0]
    nouns = [word.removesuffix("'s") for word in words(phrase) if _says_what(word)]
    object = [word for word in nouns if word not in lexicon.CARRIERS][-1:]
    return not object or _held(object, known) > 0


def _only_modifies(sentence: Sentence, word: str, known: Collection[str]) -> bool:
    """True for "release" in "the release notes are", "wife" in "my wife's mother"."""
    _, owned, rest = sentence.lowered.partition(f"{word}'s ")
    if owned:
        return not _held(set(words(rest)[:2]), known)
    tokens = (*sentence.tokens, "", "")
    if any(
        prefix in ("of", "von") and head in sentence.content and not _held({head}, known)
        for head, prefix, *rest in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
        if word in rest
    ):
        return True
    return any(
        token == word
        and head in sentence.content
        and not _held({head}, known)
        and (after in lexicon.AUXILIARY or after in _CHANGE - lexicon.NOW)
        for token, head, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )


def _same_verb(then: Sentence, now: Sentence) -> bool:
    """True when both say "is", or what the speaker does in *then* is in *now* too."""
    if set(then.tokens) & lexicon.BE and set(now.tokens) & lexicon.BE:
        return True
    first, verb = (*then.tokens, "", "")[:2]
    return first in _SELF and verb in then.content and _held({verb}, now.content) > 0


def _same_sort(then: Sentence, now: Sentence) -> bool:
    """True when both hold a day, a part of the day, a number or a place, and not the same."""
    there, here = (
        {place for place in _PLACE.findall(each.lowered) if _says_what(place)}
        for each in (then, now)
    )
    if there and here and not _held(there, now.tokens) and not _held(here, then.tokens):
        return True
    for sort in (_DAYS, lexicon.DAY_PARTS):
        one, two = ({word.rstrip("s") for word in each.tokens} & sort for each in (then, now))
        if one and two and one != two:
            return True
    one, two = ({word for word in each.tokens if _is_number_word(word)} for each in (then, now))
    return bool(one and two and one != two)


def _is_number_word(word: str) -> bool:
    return word[0].isdigit() or word in lexicon.NUMERALS


def _numbers(sentence: Sentence, word: str) -> set[str]:
    """The numbers or codes right after *word* where it opens the sentence: part of its name."""
    tokens = sentence.tokens
    return {
        after
        for at, (token, after) in enumerate(itertools.pairwise(tokens))
        if token == word and at < 3 and any(char.isdigit() for char in after)
    }


def _modified_apart(then: Sentence, now: Sentence, word: str, other: str) -> bool:
    """True when *word* and *other* have modifiers ("upper bolt") that the other sentence lacks."""
    one, two = _modifiers(then, word), _modifiers(now, other)
    if not one or not two:
        return False
    known = any(same_word(mine, theirs) for mine in one for theirs in now.content)
    return not known and not any(same_word(mine, theirs) for mine in two for theirs in then.content)


def _modifiers(sentence: Sentence, word: str) -> set[str]:
    """The content words that stand right before *word*."""
    tokens = sentence.tokens
    return {
        before
        for before, token in itertools.pairwise(tokens)
        if token == word and before in sentence.content
    }
