"""Keywords: the words and phrases that say what a text is about."""

from __future__ import annotations

import re

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.lexicon import CONNECTORS, NOT_NAMES, PERSON_VERBS
from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.words import WORD, is_plain, listed

_ADDRESS = lazy_pattern(r"\b[a-z][a-z0-9+.-]{1,15}://\S{1,2000}", re.IGNORECASE)
_PHRASE_END = lazy_pattern(r"[^\w\s'’-]+|\s-+\s|\n")
_LONGEST_PHRASE = 3


def keywords(text: str, most: int = 8) -> tuple[str, ...]:
    """The *most* telling words and phrases of *text*, lower case, best first, without repeats.

    Rapid keyword extraction (Rose et al. 2010): phrases are runs of content words, a word scores
    its degree over its frequency plus its frequency; phrases of at most three words are kept
    whole. Without stopwords, filler and bare numbers.
    """
    phrases = [
        phrase
        for part in _PHRASE_END.split(_ADDRESS.sub(" . ", text[:20_000]))
        for phrase in _phrases(part)
    ]
    frequency: dict[str, int] = {}
    degree: dict[str, int] = {}
    for phrase in phrases:
        for word in phrase:
            frequency[word] = frequency.get(word, 0) + 1
            degree[word] = degree.get(word, 0) + len(phrase)
    scores: dict[str, float] = {}
    for phrase in phrases:
        total = sum(degree[word] / frequency[word] + frequency[word] for word in phrase)
        scores.setdefault(" ".join(phrase), total)
    chosen: list[str] = []
    for name in sorted(scores, key=lambda name: -scores[name]):
        if len(chosen) >= most:
            break
        if not any(f" {name} " in f" {longer} " for longer in chosen):
            chosen.append(name)
    return tuple(chosen)


def _phrases(part: str) -> list[tuple[str, ...]]:
    phrases: list[tuple[str, ...]] = []
    run: list[str] = []
    for raw in [*WORD.findall(part.casefold().replace("’", "'")), ""]:
        word = raw.removesuffix("'s")
        if 1 < len(word) <= 30 and not word.isdigit() and not is_plain(word) and not is_plain(raw):
            run.append(word)
            continue
        phrases += [
            tuple(run[i : i + _LONGEST_PHRASE]) for i in range(0, len(run), _LONGEST_PHRASE)
        ]
        run = []
    return phrases


_DETERMINERS = frozenset(
    listed(
        """a an the my your his her its our their this that these those me him us them it some any
        der die das den dem des ein eine einen einem einer mein meine meinen unser unsere unseren
        sein seine seinen ihr ihre ihren kein keine keinen"""
    )
)
_AFTER_VERB = _DETERMINERS | frozenset(listed("when because since if while wenn weil dass nicht"))
_SUBJECTS = frozenset(listed("i you he she it we they ich du er es wir who"))
_NO_NOUN = ("ing", "ed", "ly", "ous", "ful", "able")
_NO_NAME = frozenset(
    listed(
        """new old big small little long short good bad better best great nice first second third
        last next free whole same other own full half early late lower higher left right way
        thing things stuff people guy guys bit lot kind sort part place time times day days week
        weeks month months year years morning afternoon evening night weekend today tomorrow

        neu neue neuen neuer neues alt alte alten groß kleine kleinen gut gute besser ding dinge
        sache sachen leute zeit tag tage woche wochen monat monate jahr jahre morgen abend heute
        wochenende seite teil art weise"""
    )
)
"""Words that tell of no text what it is about."""


def nouns(text: str, most: int = 4) -> tuple[str, ...]:
    """The first *most* nouns of *text*, as written, without repeats; by rules, so not all of them.

    A noun is the last word of a run of content words. A word right before a determiner or after a
    pronoun is a verb ("watered the ferns"), and so is one between a name and whatever follows.
    """
    found: dict[str, str] = {}
    for part in _PHRASE_END.split(_ADDRESS.sub(" . ", text[:20_000])):
        run: list[str] = []
        before = ""
        for word in [*WORD.findall(part), ""]:
            bare = word.replace("’", "'").removesuffix("'s")
            plain = is_plain(bare.casefold()) or bare.casefold() in CONNECTORS
            if bare and not plain and not bare[0].isdigit():
                run.append(bare)
                continue
            if word.casefold() in _AFTER_VERB:
                run = run[:-1]
            noun = _head(run[1:] if before in _SUBJECTS else run)
            if noun:
                found.setdefault(noun.casefold(), noun)
            run, before = [], word.casefold()
    return tuple(found.values())[:most]


def _head(run: list[str]) -> str:
    """The noun that *run* ends with; "" when it is a verb, a name with its verb, or nothing."""
    while run and (
        run[-1].casefold() in PERSON_VERBS
        or run[-1].casefold() in _NO_NAME
        or run[-1].endswith(_NO_NOUN)
    ):
        run = run[:-1]
    named = len(run) == 2 and run[0][0].isupper() and run[0].casefold() not in NOT_NAMES
    if named and run[1].islower():
        return ""  # "Mara sails", "Klara kommt"
    noun = run[-1] if run else ""
    ordinary = noun.casefold() in MONTHS or noun.casefold() in WEEKDAYS or noun.isupper()
    return "" if len(noun) < 3 or ordinary else noun
