"""What two sentences share, and whether a number or a modifier tells it apart."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from memory_core.beliefs import lexicon
from memory_core.beliefs.claims import SPELLED
from memory_core.beliefs.forms import forms_among, same_word
from memory_core.beliefs.sentence import CHANGE, DAYS, SELF, Sentence, is_label, read_all
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.words import is_german, listed, words

_LABEL = lazy_pattern(r"([^:\n]{1,80}):\s")
_PROPER = lazy_pattern(r"(?<=[^.!?:] )[A-ZÄÖÜÉÈÁÓŁŠŽÇ][\w'’-]+")
_CLAUSE_ENDS = lazy_pattern(r"[,;:.!?]")

DATES = WEEKDAYS.keys() | MONTHS.keys()
_WHEREABOUTS = frozenset(
    listed(
        """home here there upstairs downstairs outside inside away back gone out nearby next zuhause
        daheim hier dort da oben unten draußen drinnen weg fort nebenan"""
    )
)
"""Adverbs of place, which stand for a preposition with its noun."""

SAME_FORM = 0.5
"""Share of words in the same order from which two texts are of one form."""

Pairs = Sequence[tuple[str, str]]
"""Words of two sentences that are forms of one."""


def shared_words(then: Sentence, now: Sentence) -> Pairs:
    """The content words of *then*, each with its form in *now*."""
    return [
        (word, other) for word in sorted(then.content) for other in forms_among(word, now.content)
    ]


def held(some: Collection[str], others: Collection[str]) -> int:
    """How many of *some* have a form among *others*."""
    return sum(word in others or bool(forms_among(word, others)) for word in some)


def different_things(then: Sentence, now: Sentence, shared: Pairs) -> bool:
    """True when what the sentences share is told apart by its number or by what stands before."""
    if _subjects_apart(then, now) or _is_anothers(then, now) or _is_anothers(now, then):
        return True
    for word, other in shared:
        one, two = _numbers(then, word), _numbers(now, other)
        if one and two and not one & two:
            return True
        titles = _title(then, word), _title(now, other)
        if all(titles) and titles[0] != titles[1]:
            return True
    return all(
        _modified_apart(then, now, word, other) or _owns_apart(then, now, word, other)
        for word, other in shared
    )


def _owns_apart(then: Sentence, now: Sentence, word: str, other: str) -> bool:
    """True when both speak of what somebody has, and of two things: "Ida's birthday", "Ida's bag".

    Nor is the thing left out the same: "my passport is old, Ida's is fine".
    """
    one, two = (_owned_by(each, name) for each, name in ((then, word), (now, other)))
    if one is None or two is None:
        return False
    return not (held(one, now.tokens) or held(two, then.tokens))


def _owned_by(sentence: Sentence, owner: str) -> set[str] | None:
    """The content words right behind "*owner*'s"; None where nothing is said to be theirs."""
    _, found, rest = f" {sentence.lowered}".partition(f" {owner}'s ")
    if not found:
        return None
    return {word for word in words(rest)[:1] if word in sentence.content}


def labels_apart(older: str, newer: str) -> bool:
    """True for two notes of a series: before their colons stand two numbers or two days.

    "Blood pressure on Monday: 128", "blood pressure on Tuesday: 131".
    """
    one, two = (
        _told_by(match[1]) if (match := _LABEL.match(text)) else None for text in (older, newer)
    )
    return bool(one and two and one != two)


def _told_by(label: str) -> set[str]:
    return {word for word in words(label) if word[0].isdigit() or word in DAYS or word in SPELLED}


def about_one(query: str, older: str, newer: str) -> bool:
    """True when a sentence of each shares a word, and neither number nor modifier tells two things.

    Nor a possessive: Wen's sister is not Wen, whom the *query* names.
    """
    asked = query.casefold()
    return any(_one_thing(asked, one, two) for one in read_all(older) for two in read_all(newer))


def differ_twice(older: str, newer: str) -> bool:
    """True for texts of one form with other words in two places: "left eye: 2.5", "right eye: 3".

    One place holds a value; of two, one tells two things apart. So it is with 199 of 204 such pairs
    without a word of change (tests/bench/told_apart.py).
    """
    frame = SequenceMatcher(None, words(older), words(newer), autojunk=False)
    places = sum(part[0] != "equal" for part in frame.get_opcodes())
    return places > 1 and frame.ratio() >= SAME_FORM


def crossed(older: str, newer: str) -> bool:
    """True for two names in other roles of one clause each: "Ola taught Finn", "Finn paid Ola".

    In German, where every noun has a capital, no name is known.
    """
    one, two = words(older), words(newer)
    if is_german(one) or is_german(two):
        return False
    both = (names(older) | names(newer)) & {*one} & {*two}
    return any(
        _in_a_clause(older, a, b) and _in_a_clause(newer, b, a)
        for a, b in itertools.permutations(both, 2)
    )


def other_complement(older: str, newer: str) -> bool:
    """True when one verb of one subject goes on with a preposition in one text, in one alone.

    "Kofi plays bass" and "Kofi plays in the league" are two matters; "meets on Monday" and "meets
    Tuesdays" name days, "is in the shed" and "is upstairs" places.
    """
    then, now = words(older), words(newer)
    alike = len(
        list(itertools.takewhile(lambda both: both[0] == both[1], zip(then, now, strict=False)))
    )
    if alike < 2 or not _is_verb(then[:alike]):
        return False
    one, two = ([w for w in text[alike:] if w not in lexicon.NOW] for text in (then, now))
    if not one or not two or (one[0] in lexicon.PREPOSITIONS) == (two[0] in lexicon.PREPOSITIONS):
        return False
    return not (_WHEREABOUTS & {one[0], two[0]}) and not (_when(one) and _when(two))


def _is_verb(words: Sequence[str]) -> bool:
    """True when the last of *words*, which begin a text, is its verb, by its form and place."""
    before, last = words[-2:]
    if last in lexicon.VERBS or before in SELF:
        return True
    return last[-1:] in ("s", "t") and before not in lexicon.DETERMINERS | lexicon.PREPOSITIONS


def _when(words: Sequence[str]) -> bool:
    """True for *words* that hold a number, or a day or month."""
    return any(word in DATES or word.isdigit() or word.removesuffix("s") in DATES for word in words)


def _in_a_clause(text: str, first: str, second: str) -> bool:
    """True when *second* follows *first* with no mark between them that ends a clause."""
    rest = text.casefold().partition(first)[2]
    between, found, _ = rest.partition(second)
    return bool(found) and not _CLAUSE_ENDS.search(between)


def names(text: str) -> set[str]:
    """The words of *text* with a capital that begin no sentence, casefolded; no day or month."""
    found = {match[0].casefold() for match in _PROPER.finditer(text)}
    return {name for name in found if name.removesuffix("s") not in DATES}


def share_a_word(older: str, newer: str) -> bool:
    """True when a sentence of each says what it is about with one word, whatever tells it apart."""
    return any(shared_words(one, two) for one in read_all(older) for two in read_all(newer))


def _one_thing(asked: str, then: Sentence, now: Sentence) -> bool:
    shared = shared_words(then, now)
    for word, other in shared:
        if word in asked and (f"{word}'s " in then.lowered) != (f"{other}'s " in now.lowered):
            return False
    return bool(shared) and not different_things(then, now, shared)


def _modified_apart(then: Sentence, now: Sentence, word: str, other: str) -> bool:
    """True when *word* and *other* have modifiers ("upper bolt") that the other sentence lacks."""
    one = modifiers(then, word) | _complement(then, word)
    two = modifiers(now, other) | _complement(now, other)
    if not one or not two:
        return False
    return not held(one, now.content) and not held(two, then.content)


def modifiers(sentence: Sentence, word: str) -> set[str]:
    """The content words that stand right before *word*."""
    tokens = sentence.tokens
    return {
        before
        for before, token in itertools.pairwise(tokens)
        if token == word and before in sentence.content
    }


def _complement(sentence: Sentence, word: str) -> set[str]:
    """The content words that follow *word* after "for" or "of": "the password for the router"."""
    tokens = (*sentence.tokens, "", "", "")
    at = next((at for at, token in enumerate(tokens) if token in lexicon.EXCHANGED), len(tokens))
    return {
        next((each for each in rest if each in sentence.content), "")
        for place, (token, prefix, *rest) in enumerate(
            zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
        )
        if token == word and prefix in lexicon.COMPLEMENTS and (prefix != "for" or place < at)
    } - {""}


def _subjects_apart(then: Sentence, now: Sentence) -> bool:
    """True for "the left door" and "the right door", "week 12" and "week 13" as subjects."""
    one, two = subject(then), subject(now)
    if not one or not two:
        return False
    codes, others = (set(filter(_is_code, each[1:])) for each in (one, two))
    if one[0] == two[0] and codes and others and codes != others:
        return True
    if not same_word(one[-1], two[-1]):
        return False
    mine, theirs = (
        [word for word in a[:-1] if not held({word}, b.tokens)]
        for a, b in ((one, now), (two, then))
    )
    return bool(mine and theirs)


def _is_anothers(one: Sentence, other: Sentence) -> bool:
    """True when *one* speaks of somebody ("Nils") and *other* of what they have ("Nils' sister").

    A pronoun may come back to the owner: "Nils' test was negative, he eats nuts again".
    """
    found = _OWNED.match(other.lowered)
    if (
        found is None
        or found[1] in SELF
        or not lexicon.BACK.isdisjoint(other.tokens)
        or not one.lowered.startswith(f"{found[1]} ")
    ):
        return False
    return not held(set(words(found[2])), one.tokens)


_OWNED = lazy_pattern(r"([\w-]{2,30})(?:'s|(?<=[sxzß])') ((?:[\w-]{1,30} ?){1,2})")


def _title(sentence: Sentence, word: str) -> str:
    """The title right before *word*: "mr"; "" without one."""
    pairs = itertools.pairwise(sentence.tokens)
    return next((a for a, b in pairs if b == word and a in lexicon.TITLES), "")


def _is_code(word: str) -> bool:
    """True for "12", "v2" and "one", which tell two of a kind apart."""
    return word in SPELLED or word in ("one", "eins") or any(char.isdigit() for char in word)


def subject(sentence: Sentence) -> tuple[str, ...]:
    """The words before the first verb, without articles; () for "I" and where none is known."""
    found: list[str] = []
    for token in sentence.tokens[:MOST_OF_SUBJECT]:
        if not found and (token in SELF or token in lexicon.PREPOSITIONS):
            return ()
        if token in SELF:
            break
        if found and (token in lexicon.VERBS or token in CHANGE):
            return tuple(found)
        if token in lexicon.PREPOSITIONS:
            return tuple(found)
        if token in lexicon.DETERMINERS and len(found) > 1:
            return tuple(found[:-1])  # what stands before an object is the verb
        if token not in lexicon.DETERMINERS:
            found.append(token)
    return tuple(found[:2]) if any(map(_is_code, found[1:2])) else ()


MOST_OF_SUBJECT = 7
"""Words among which a subject ends; a longer one is not read."""


def _numbers(sentence: Sentence, word: str) -> set[str]:
    """The numbers or codes right after *word* where it opens the sentence: part of its name.

    Not behind "we use", where the number is what is said ("we use Node 20"). A letter is one
    anywhere ("vitamin D"), but not where it says the place ("in room C").
    """
    tokens = ("", *sentence.tokens)
    return {
        after
        for at, (before, token, after) in enumerate(
            zip(tokens, tokens[1:], tokens[2:], strict=False)
        )
        if token == word
        and _is_code(after)
        and (
            (at < 3 and SELF.isdisjoint(tokens[:at]))
            or (is_label(after) and before not in lexicon.PREPOSITIONS)
        )
    }
