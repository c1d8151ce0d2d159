"""One sentence as it is compared: what it is about, its words of change, whom it speaks of."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from memory_core.beliefs import lexicon
from memory_core.beliefs.claims import SPELLED
from memory_core.beliefs.events import happened, past_verbs
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.lexicon import PERSON_VERBS
from memory_core.text.passages import sentences
from memory_core.text.time import timestamps
from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.words import words

MOST_WORDS = 30
"""A longer sentence is a story or a list: what it changes cannot be told from its words."""

MOST_CHARS = 2_000
"""Of a text that is compared; what stands behind that is not looked at."""

DAYS = frozenset(MONTHS) | frozenset(WEEKDAYS)
SELF = frozenset(("i", "we", "ich", "wir", "user"))
CHANGE = frozenset({*lexicon.STRONG, *lexicon.WEAK})
WEAK_ONLY = frozenset(lexicon.WEAK) - frozenset(lexicon.STRONG)
ME = "i"
_LABEL = lazy_pattern(r"(?<=[^\W\d_] )[A-HJ-Z](?![\w'’.-]|\. [a-z])|(?<=[^\W\d_] )[A-HJ-Z](?=\.$)")
_SMALL = (
    "at|in|on|by|from|with|to|as|the|an?|my|our|your|his|her|their|no|not|up|out|off|over|back|away"
    "|down|us|me|it|until|since|all"
)
_CONTRACTED = lazy_pattern(
    r"\b(?!(?:let|that|it|what|who|there|here|how|where|when|why|he|she)')([\w-]{2,30})'s"
    rf"(?= (?:(?:{_SMALL}|now|still|just|already|never|always|really|very|too|also|here|there"
    r"|been|gone|got|had|going|coming|being|having|getting|doing|moving|leaving|starting"
    r"|turning|taking|staying|looking|trying|bought|sold|taken|given|become|begun|grown|heard|kept"
    r"|met|paid|quit|said|seen|sent|taught|told|won|allergic|pregnant)\b(?!')"
    r"|(?:[a-z]{3,20}ed|home|done|left|lost|found|made|come|broken|caught|chosen|stolen|written|ill"
    r"|sick|dead|busy|ready|late|fine|ok|happy|vegan|vegetarian)"
    rf"(?: (?:{_SMALL})\b|[.,;!?]|$)))",
    re.IGNORECASE,
)
"""The "'s" of "Ida's at school", "Ida's moved out" and "Ida's enrolled at ...", with its word."""
_PART = lazy_pattern(r";\s")
_VERSION = lazy_pattern(r"\b[0-9]+(?:\.[0-9]+)+\b")


@dataclass(frozen=True)
class Sentence:
    """One sentence as it is compared.

    Its *text* as written, and *lowered*; *tokens* in order, the words that say of what it is
    (*content*), its words of change (*cues*) and those of them that are past forms of a verb
    (*done*). The rest is read when it is asked for: of most
    pairs of sentences the words alone decide.
    """

    text: str
    lowered: str
    tokens: tuple[str, ...]
    content: frozenset[str]
    cues: frozenset[str]
    done: frozenset[str]

    @cached_property
    def denied(self) -> frozenset[str]:
        """The words that it denies."""
        found = lexicon.NEGATED.finditer(self.lowered)
        return frozenset(match[1] or match[2] for match in found)

    @cached_property
    def asserts(self) -> bool:
        """False for a courtesy, and for what is asked or only thought of."""
        return not (lexicon.COURTESY.search(self.lowered) or self.is_open)

    @cached_property
    def is_open(self) -> bool:
        """True for what is asked or only thought of."""
        return lexicon.UNSURE.search(self.lowered) is not None

    @cached_property
    def reports(self) -> bool:
        """True for what happened."""
        told = self.cues <= lexicon.REPORTS and _reports(self.lowered, self.tokens)
        return told or happened(self.text)

    @cached_property
    def owner(self) -> str:
        """Of whom it speaks: ME, a relative or a name; "" when it does not tell."""
        return _owner(self.text, self.lowered, self.tokens)


@lru_cache(maxsize=4_096)
def read_all(text: str) -> tuple[Sentence, ...]:
    """The sentences of *text* that can be compared; none that is a story or says of no thing."""
    pieces = (part for each in sentences(text[:MOST_CHARS]) for part in _PART.split(each))
    found = (read(piece) for piece in pieces if piece.strip())
    return tuple(each for each in found if each.content and len(each.tokens) <= MOST_WORDS)


def day_of_what_happened(text: str, at: float, now: float) -> tuple[str, ...]:
    """The day of *at*, where *text* tells what happened then and *now* is another day; else ().

    Told once more of another day, it happened twice: "paid the rent". How something is says the
    same on any day.
    """
    day = timestamps.day_of(at)
    other = day != timestamps.day_of(now)
    return (day.isoformat(),) if other and any(map(_tells, read_all(text))) else ()


def _tells(sentence: Sentence) -> bool:
    return sentence.asserts and sentence.reports


def read(text: str) -> Sentence:
    """*text*, one sentence or clause, as it is compared. Linear in its length; never raises."""
    text = spelled_out(text)
    lowered = text.casefold().strip()
    labelled = _LABEL.sub(r"\g<0>0", text)  # "port A" is no article
    tokens = tuple(word.removesuffix("'s") for word in words(labelled))
    cues = {word for word in tokens if word in CHANGE}
    cues |= {match.group() for match in lexicon.PHRASES.finditer(lowered)}
    content = {word for word in tokens if says_what(word)} | {*_VERSION.findall(lowered)}
    done = past_verbs(lowered, tokens)
    said = text.strip(" .!,;")
    content -= done
    return Sentence(said, lowered, tokens, frozenset(content), frozenset(cues | done), done)


def spelled_out(text: str) -> str:
    """*text* with "is" for the "'s" behind a word that owns nothing by it: "Ida's at school"."""
    return _CONTRACTED.sub(r"\1 is", text.replace("’", "'"))


@lru_cache(maxsize=16_384)
def says_what(word: str) -> bool:
    """True for a word that can name a thing: no function word, no time, no plain number."""
    if len(word) < 2 or word in lexicon.STOP or word in CHANGE or word in lexicon.NO_SUBJECT:
        return False
    if word in SPELLED or word.removesuffix("s") in DAYS:
        return False
    return not word[0].isdigit() or "." in word or any(char.isalpha() for char in word)


def is_label(word: str) -> bool:
    """True for what `read` makes of a letter that is a name: "port A", "vitamin D"."""
    return len(word) == 2 and word[0].isalpha() and word[1] == "0"


def _reports(lowered: str, tokens: Sequence[str]) -> bool:
    """True for what happened, or was: "lent 50 euros", but not "is called"."""
    told = any(
        word in lexicon.REPORTS and before not in lexicon.BE
        for before, word in itertools.pairwise(("", *tokens[:5]))
    )
    return told or lexicon.PAST.search(lowered) is not None


def _owner(text: str, lowered: str, tokens: Sequence[str]) -> str:
    """ME when the speaker is a subject or an owner; else a relative or a name that begins."""
    if relative := lexicon.RELATIVE.search(lowered):
        return "" if SELF.intersection(tokens) else relative["who"]
    if SELF.intersection(tokens) or lexicon.MINE.search(lowered):
        return ME
    first, second = (*tokens, "", "")[:2]
    return first if text[:1].isupper() and second in PERSON_VERBS else ""
