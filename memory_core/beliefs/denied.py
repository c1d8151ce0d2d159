"""What a newer text names as wrong or as over: "on the 14th, not the 12th", "vitest is out".

It names the old value itself, which is surer than any likelihood: where the older text says that
value of the same thing, it is out of date. English and German, by closed classes, but for the words
that say of a thing that it is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from memory_core.beliefs import lexicon
from memory_core.beliefs.claims import NEGATIONS, SPELLED
from memory_core.beliefs.forms import forms_among, same_word
from memory_core.beliefs.restated import is_behind_a_verb, tokens
from memory_core.beliefs.sentence import DAYS, SELF, Sentence, read_all, says_what
from memory_core.beliefs.shared import held, subject
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed

MOST_WORDS = 4
"""Words of a value that is named as wrong, at most."""

_VALUE = r"((?:[^,;:!?()\n]|:(?=\d)){1,60}?)(?=[,;!?()\n]|:(?!\d)|$)"
_RIGHT = lazy_pattern(
    r"(?:(?:^|[,;:.!?()–—]|(?<=\s)-)\s{0,3}(?:(?:and|und|so|also|but|aber|doch) )?|\b(?:and|und) )"
    rf"(?:not|nicht|kein\w{{0,2}}) {_VALUE}"
    r"|\b(?:not|nicht|kein\w{0,2}) ([^,;:!?()\n]{1,60}?),? (?:but|sondern)\b"
    r"|\b(?:instead of|rather than|in place of|statt|anstatt|anstelle von|anstelle) "
    rf"{_VALUE}"
)
"""A value that is named as wrong beside the right one."""
_ONLY = lazy_pattern(
    rf"\b(?:(?:is|are|was|ist|sind|war) (?:not|nicht|kein\w{{0,2}})|(?:is|are|was)n't) {_VALUE}"
)
"""One that is named as wrong alone."""
_SOME = r"((?:[^\s,;:!?()]{1,40} ){0,3}?[^\s,;:!?()]{1,40})"
_FEW = r"(?:[^\s,;:.!?()]{1,40} )"
_STOPS = r"(?=[,;:!?()]|\.(?:\s|$)|$)"
_MOVED = (
    r"(?:moved|switched|migrated|changed|went|gone|converted|ported|transferred|relocated|shifted"
    r"|transitioned|renamed|bumped|upgraded|downgraded|raised|lowered|increased|reduced|dropped"
    r"|cut|extended|shortened|moving|switching|migrating|changing|going|upgrading)"
)
_SHIFTED = lazy_pattern(
    rf"\b(?:{_MOVED}|postponed|rescheduled|pushed|brought forward)\b|\b(?:ver|um|vor|an|er)?(?:ge)?"
    r"(?:schoben|legt|zogen|ändert|wechselt|hoben|höht|senkt|stiegen|kürzt|längert)\b"
)
_REPLACED = lazy_pattern(
    rf"\b{_MOVED} {_FEW}{{0,5}}?from {_SOME} (?:on)?to\b"
    rf"|\bvon {_SOME} (?:auf|zu|nach) {_FEW}{{1,4}}?(?:um|ge|über|auf)?(?:ge\w{{2,20}}t|gestiegen"
    r"|gezogen|gegangen|gehoben|migriert|portiert)\b"
    r"|\b(?:swapped|traded|exchanged|ditched|dropped|scrapped|dumped|switched)(?: out)?"
    rf" {_SOME} for\b"
    rf"|\b(?:threw|kicked|ripped|tossed|chucked|took) out {_SOME}(?:(?= for\b)|{_STOPS})"
    rf"|\breplac(?:ed|es|ing) {_SOME} (?:with|by)\b"
    rf"|\b{_SOME} (?:durch|gegen) {_FEW}{{1,4}}?(?:ersetzt|(?:aus|ein)?getauscht)\b"
)
"""A value that is named with what took its place."""
_OVER = lazy_pattern(
    rf"(?:^|[,;:.!?–-] |\b(?:and|but|so|und|aber) ){_SOME}"
    r"(?: (?:is|are|was|were|got|gets|has been|have been|ist|sind|wurden?|wird|hat sich)|'s)"
    r" (?:(?:\w{2,12}ly|now|already|just|jetzt|endlich|leider|inzwischen|nun|damit) )?"
    r"(?:deprecated|obsolete|retired|archived|discontinued|cancel\w{0,2}ed|scrapped|dropped|history"
    r"|removed|reverted|rolled back|replaced|superseded|dissolved|no more|hinfällig|abgesagt"
    r"|abgeschafft|eingestellt|abgeschaltet|gekündigt|ersetzt|abgelöst|erledigt|aufgelöst"
    r"|(?:shut|switched|turned|taken) (?:down|off)|decommissioned"
    r"|(?:geschichte|(?<=[^\W_] )(?:out|dead|gone|closed|raus|tot|weg|geschlossen))"
    rf"(?:(?= (?:in|and|now|here|und)\b)|{_STOPS}))\b"
    rf"|\b(?:no more|goodbye|bye|tschüss|schluss mit) {_SOME}{_STOPS}"
    rf"|(?:^|[,;:.!?–-] )no {_SOME} please\b"
)
"""A value that is named as over."""
_NEEDED = (
    r"(?:used|in use|needed|valid|supported|available|responsible|in charge|there|around|zuständig"
    r"|gültig|nötig|in betrieb|im einsatz|in gebrauch|da|dabei|verfügbar)"
)
_VERB = r"[^\W\d_]{2,20}"
_AT = r"(?:(?:at|in|on|with|from|via|through|to|by|bei|mit|in|auf|über|von|zu|am|im|zum|zur) )"
_NO_LONGER = lazy_pattern(
    rf"(?:^|[,;:.!?–-] |\b(?:and|but|so|und|aber) ){_SOME} (?:is|are|ist|sind)"
    rf"(?:(?: no longer| nicht mehr) {_NEEDED}|(?:n't| not) {_NEEDED} any ?more)\b"
    rf"|(?:^|[,;:.!?–-] |\b(?:and|but|so|und|aber) ){_SOME} (?:haben|habe|nutzen|nutze|nehmen"
    rf"|nehme|brauchen|brauche|verwenden|verwende) (?:wir|ich) nicht mehr\b"
    rf"|\bno longer {_VERB} {_AT}?{_SOME}{_STOPS}"
    rf"|(?:n't|\bnot) {_VERB} {_AT}?{_SOME}(?: for {_FEW}{{0,2}}\w+)? any ?more\b"
    rf"|\bnicht mehr {_AT}{_SOME}(?: (?:ge\w+|\w+en))?{_STOPS}"
    rf"|\b(?:left|quit|cancell?ed) {_SOME}(?:(?= for\b)|{_STOPS})"
)
"""One of which it is said that it is used, or done, no longer."""
_ENDED = (_REPLACED, _OVER, _NO_LONGER)
_ENDS = lazy_pattern(
    r"(?<=[^\W_]{3})\.(?:\s|$)|\s[–—-]\s|\b(?:but|and|so|as|because|since|for|when|if|that|which|who|like|sondern"
    r"|und|aber|weil|da|denn|wie|wenn|dass|anymore|any ?more|any longer|mehr|at all)\b"
)
_OPENS = frozenset(
    listed(
        """sure yet only just even so too very because to if when until unless before after always
        all every much many enough really going gonna doing able allowed nur erst mal so sehr
        sicher weil wenn bis immer alle alles ganz viel mehr zu dass ob allein einmal"""
    )
)
"""Words with which no value begins: they say how or when it is not so."""

_BESIDE = frozenset(
    listed(
        """by near behind under below above beside beneath opposite between against past neben
        hinter unter zwischen gegenüber"""
    )
)
"""What stands before a thing that only tells where another one is."""

_USES = SELF | frozenset(listed("use prefer nutze nimm verwende"))
"""With what a value is told of what the speaker does, or wants done."""

_Contrast = tuple[Sentence, tuple[str, ...], str, bool]
"""A sentence, the words of a value that it names as wrong or over, how it says so, and whether the
right one stands beside it."""


def names_as_wrong(older: str, newer: str) -> str:
    """The words by which *newer* names as wrong what *older* says of the same thing; "" for none.

    Linear in the product of their sentences; never raises.
    """
    found = _found(older, newer)
    return found[0] if found else ""


def is_sure(older: str, newer: str) -> bool:
    """True where *newer* says nothing else but the right value in place of that one."""
    found = _found(older, newer)
    return found is not None and found[1]


@lru_cache(maxsize=1_024)
def names_as_over(older: str, newer: str) -> str:
    """The words by which *newer* says that a value of *older* is over or replaced; "" for none.

    It names that value alone ("vitest is out"), or with what took its place ("moved from webpack to
    Vite"). Linear in the product of their sentences; never raises.
    """
    ends = [each for each in _contrasts(newer, _ENDED) if not _is_denied(*each[::2])]
    for then in _affirmed(older) if ends else ():
        said = tokens(then.text)
        for _, wrong, words, _ in ends:
            place = _place(said, wrong)
            if place >= 0 and not then.reports and _is_a_value(then, said, place):
                return words
    return ""


@lru_cache(maxsize=1_024)
def _found(older: str, newer: str) -> tuple[str, bool] | None:
    contrasts = _contrasts(newer, (_RIGHT, _ONLY))
    for then in _affirmed(older) if contrasts else ():
        said = tokens(then.text)
        for now, wrong, words, both in contrasts:
            place = _place(said, wrong)
            if place < 0 or all(_among(w, wrong) or not _among(w, said) for w in now.content):
                continue
            behind = _is_behind_its_subject(said[:place])
            if not behind and not _says_all(now, said, wrong):
                continue
            fresh = [w for w in tokens(now.text) if _tells(w) and not _among(w, (*said, *wrong))]
            another = not frozenset(fresh).isdisjoint(subject(now))
            return words, both and not another and len(fresh) <= len(wrong)
    return None


def says_moved(text: str) -> bool:
    """True when *text* says that something was moved, raised or changed."""
    return _SHIFTED.search(text.casefold()) is not None


def gives_as_value(text: str, word: str) -> bool:
    """True when *text* gives *word* as the value of something: behind its verb, colon or name."""
    for each in read_all(text):
        said = tokens(each.text)
        place = next((at for at, other in enumerate(said) if _is_form(other, word)), -1)
        if place >= 0 and _is_a_value(each, said, place):
            return True
    return False


def _affirmed(text: str) -> Iterator[Sentence]:
    """The sentences of *text* that say how something is, and not how it is not."""
    for each in read_all(text):
        if each.asserts and NEGATIONS.isdisjoint(tokens(each.text)):
            yield each


@lru_cache(maxsize=1_024)
def _contrasts(text: str, patterns: tuple[re.Pattern[str], ...]) -> tuple[_Contrast, ...]:
    """The values that *text* names in the way of one of *patterns*."""
    return tuple(
        (now, value, said, pattern is _RIGHT)
        for now in read_all(text)
        if now.asserts
        for pattern in patterns
        for value, said in _values(pattern, now.lowered)
    )


def _values(pattern: re.Pattern[str], lowered: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each value that *pattern* finds, and the words by which it is named as wrong."""
    for match in pattern.finditer(lowered):
        begin = match.start(match.lastindex or 0)
        phrase = _ENDS.split(lowered[begin : match.end(match.lastindex or 0)], maxsplit=1)[0]
        said = tokens(phrase)
        if not said or said[0] in _OPENS or len(said) > 2 * MOST_WORDS:
            continue
        value = tuple(_plain(word) for word in said if _tells(word))
        if value and len(value) <= MOST_WORDS:
            end = match.end() if pattern in _ENDED else begin + len(phrase)
            yield value, lowered[match.start() : end].strip(" ,;:.!?()–—-")


def _tells(word: str) -> bool:
    """True for a number, a day or a word that can name a thing."""
    return word[0].isdigit() or word in SPELLED or word.removesuffix("s") in DAYS or says_what(word)


def _plain(word: str) -> str:
    """*word* without the ending of an ordinal number, and numerals in digits."""
    if word[0].isdigit():
        return word.removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
    return SPELLED.get(word, word)


def _among(word: str, some: Sequence[str]) -> bool:
    word = _plain(word)
    return any(word == _plain(other) for other in some) or bool(forms_among(word, frozenset(some)))


def _place(said: Sequence[str], wrong: Sequence[str]) -> int:
    """Where in *said* the words of the value *wrong* begin, together; -1 for nowhere."""
    plain = [_plain(word) for word in said]
    places = [
        next((at for at, word in enumerate(plain) if _is_form(word, each)), -1) for each in wrong
    ]
    return -1 if max(places) - min(places) >= 2 * MOST_WORDS else min(places)


def _is_form(word: str, other: str) -> bool:
    """True for two forms of one word, and not for a name that only begins with it."""
    return word == other or (abs(len(word) - len(other)) < 4 and same_word(word, other))


def _is_behind_its_subject(before: Sequence[str]) -> bool:
    return is_behind_a_verb(before) or any(_tells(word) for word in before)


def _is_denied(now: Sentence, said: str) -> bool:
    """True for "we haven't moved from Graz to Bruck", where *said* is what follows the denial."""
    before = tokens(now.lowered.partition(said)[0])
    return not NEGATIONS.isdisjoint(before)


def _is_a_value(then: Sentence, said: Sequence[str], place: int) -> bool:
    """True where the words at *place* of *then*, *said*, are what it says, and not of what.

    They stand behind a verb or a colon or, in a note with neither, behind a name.
    """
    before = [word for word in said[:place] if word not in lexicon.DETERMINERS]
    if not before or (before[-1] in _BESIDE and said[place - 1] != before[-1]):
        return False  # "hangs by the fuse box"
    if before[0] in _USES:
        return True
    if said[place] in tokens(then.text.partition(":")[2]):
        return True
    if held([said[place]], subject(then)):
        return False
    if is_behind_a_verb(said[:place]):
        return True
    return not is_behind_a_verb(said) and any(map(_tells, before))


def _says_all(now: Sentence, said: Sequence[str], wrong: Sequence[str]) -> bool:
    """True when *now* speaks of all that is *said* of *wrong*: "Ann, not Ben, coaches us"."""
    told = [word for word in said if _tells(word) and not _among(word, wrong)]
    return all(_among(word, now.tokens) for word in told)
