"""Whether a newer text puts an older one in doubt: words of change about the same thing.

No rule reads every sentence, so this is a finding and never a decision: the older text *may* be out
of date. Two sentences are compared. Either the newer one turns the words of the older one round
("A over B", "B over A"), or five things come together: a word of change that the older sentence
does not have; a content word that both share and that is rare in the store; nothing that tells the
two things apart (another number or another modifier of the shared word); an older sentence that
states something rather than reports what happened; a newer one that speaks of more than today.

Measured on labelled pairs (docs/internals/evaluation.md): English and German, no model.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from memory_core.relations.claims import same_word
from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.words import STOPWORDS, listed, words

ORDER = "order"
"""The reason of a newer sentence that has the same words in another order."""

MOST_WORDS = 30
"""A longer sentence is a story or a list: what it changes cannot be told from its words."""

MOST_CHARS = 2_000
"""Of a text that is compared; what stands behind that is not looked at."""

COVER, WEAK_COVER = 0.25, 0.4
"""Share of the content words of one of the sentences that the other must hold; more is asked for
where all words of change are weak ones. Chosen on the labelled pairs so that no true pair of them
is doubted and 3 % of 788 turns of free conversation are."""

SAME_FRAME = 0.5
"""Share of their words that two texts have in the same order when they differ by a few words."""

_STRONG = listed(
    """now nowadays anymore longer moved relocated switched changed replaced replaces replacing
    renamed rebranded postponed slipped rescheduled delayed shifted instead dropping quitting
    cancelled canceled closed sold traded swapped exchanged upgraded downgraded raised lowered
    increased decreased extended shortened reduced bumped doubled halved retired divorced separated
    died outgrown outgrew actually correction rewritten rewrote ported enrolled tired became
    migrated returned hired promoted transferred resigned fired expired abandoned ditched scrapped
    removed disabled decommissioned merged converted succeeded inherits appointed elected deprecated
    discontinued unsubscribed adopted prefers favours favors relaunched reorganised reorganized
    resettled rerouted reassigned revoked withdrawn withdrew restored reinstated adjusted revised
    updated amended corrected overhauled refactored repainted remarried engaged graduated sobered
    transitioned onboarded offboarded sunset superseded obsolete outdated

    jetzt nun inzwischen mittlerweile nunmehr seit seitdem verschoben verlegt vorverlegt umgezogen
    gezogen gewechselt wechselt umgestiegen abgeschaltet verkauft gekündigt aufgehört erhöht gesenkt
    angehoben gekürzt verlängert verkürzt statt stattdessen abgeschafft ersetzt umbenannt geändert
    künftig eigentlich korrektur beendet gestorben getrennt geschieden übernommen übernimmt
    eingestellt umgestellt abbestellt abgemeldet angefangen begonnen geworden lieber angepasst
    aktualisiert zurückgekehrt pensioniert befördert versetzt abgelöst umgebaut umgeschrieben
    gestrichen aufgegeben storniert abgesagt umgebucht"""
)
_WEAK = listed(
    """went gone took taken takes since back over again new newer rather settled brought given
    passed left started starts start changing change changes stopped stop stops stopping quit
    dropped drop closes finally pushed cut become becomes split joined turned turns switching
    switch moving move moves ended ends decided handed put gave got

    mehr doch wieder erst neu neue neuer neues neuen neuem sondern"""
)
_CHANGE = frozenset({*_STRONG, *_WEAK})
_WEAK_ONLY = frozenset(_WEAK)
_PHRASES = re.compile(
    r"\b(?:no more|not any ?more|from now on|as of (?:now|today|this|next)|these days|in favou?r of"
    r"|down to|in charge|broke up|signed up|going forward|for good|gave up|given up|giving up"
    r"|took over|taken over|takes over|handed over|used to be|is gone|are gone|is over"
    r"|ab sofort|von nun an|in zukunft|ab jetzt|nicht mehr|nicht länger|kein\w{0,2} \w+ mehr)\b"
)
_COMPLETE = frozenset(
    word
    for word in (*_STRONG, "left", "quit", "started", "dropped", "joined", "stopped", "ended")
    if re.search(r"(?:ed|en|old|ied|it|eft|ote|gt|gen|elt|cht|rt|det|ickt|zt)$", word)
)
"""Words of a change that is complete: "today" beside them is when it happened, not how long."""

_TEMPORARY = re.compile(
    r"\b(?:today|tonight|tomorrow|this (?:once|time|week|weekend|morning|afternoon|evening|month"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|until (?!further)\w+|for now"
    r"|for the (?:moment|time being)|temporar\w+|exceptionally"
    r"|for (?:a|one|two|three|the next) (?:days?|weeks?|months?|few \w+)|while \w+"
    r"|heute|morgen|ausnahmsweise|vorübergehend|diese (?:woche|nacht)|dieses wochenende"
    r"|diesen (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|monat)"
    r"|bis (?:morgen|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)|fürs erste"
    r"|zurzeit|momentan|solange|während)\b"
)
_BRIEF = re.compile(
    r"\b(?:just|only|nur|ausnahmsweise|exceptionally|temporar\w+|until|bis|while)\b"
)
_LASTING = re.compile(r"\b(?:as of|since|from|ab|seit) (?:today|this|heute|diese\w*)\b")
_UNSURE = re.compile(
    r"\?|\b(?:if|would|might|maybe|perhaps|could|thinking (?:of|about)|considering|wonder\w*|wish"
    r"|hope|wenn|falls|vielleicht|könnte\w*|würde\w*|überlege\w*)\b"
)
_DENIED = re.compile(
    r"\b(?:won't|will not|not|don't|never|can't|didn't|wouldn't)(?: \w+){0,2}"
    r" (?:quit|giv\w+|stop\w*|chang\w+|drop\w*|mov\w+|left|leave|switch\w*|clos\w+|sold|end)\b"
)
_COURTESY = re.compile(
    r"^(?:thanks|thank you|wow|hey|hi|hello|yeah|yep|absolutely|sure|oh|aww?|that's|glad|bye"
    r"|good luck|congrat\w*|no worries|great|awesome|cool|you're|you|keep|danke|hallo|hi)\b"
)
_REPORTS = frozenset(
    listed(
        """bought ran met read saw went visited reviewed interviewed weighed arrived lasted won lost
        finished watched attended paid wrote cooked baked planted flew drove told asked called sent
        received found celebrated fixed shipped released reached scored hiked climbed made
        kaufte traf las sah ging besuchte kam gewann verlor bezahlte schrieb rief"""
    )
)
"""Verbs of what happened once: nothing that comes later ends it."""

_NO_SUBJECT = frozenset(
    listed(
        """day days week weeks month months year years hour hours minute minutes euro euros dollar
        dollars pound pounds percent clock uhr tag tage tagen woche wochen monat monate jahr jahre
        stunde stunden minuten user users nutzer nutzerin people thing things time times
        monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag
        freitag samstag sonntag january february march april may june july august september october
        november december januar februar märz mai juni juli oktober dezember morning afternoon
        evening night weekend today please bitte always only really very much many lot one two"""
    )
)
"""Content words that say when or how much, not of what something is said."""

_DAYS = frozenset(MONTHS) | frozenset(WEEKDAYS)

_GERMAN = frozenset(
    listed(
        """der die das den dem des ein eine einen einem einer eines und oder aber ich du er sie es
        wir ihr mich mir dich dir uns euch ihn ihm ihnen mein meine meinen meinem meiner meines dein
        unser unsere unseren unserem unserer sein seine seinen ihre ihren ist sind war waren bin
        bist hat habe haben hatte hatten wird werden wurde wurden worden kann können muss müssen
        soll will möchte zu zum zur in im an am auf aus bei beim mit nach von vom vor über unter für
        um als wie so nicht kein keine keinen auch nur noch schon sehr da dann dass weil wenn ob was
        wer wo man sich selbst hier dort alle jeden jede jeder jedes dieser diese dieses etwa"""
    )
)
_STOP = (
    STOPWORDS | _GERMAN | frozenset(listed("its it's i'm i've we've they've his her their ours"))
)

_BY = re.compile(r"\b(?:was|were|is|are|been|wurden?|wird|werden)\b.* (?:by|von|durch) ")
_SENTENCE = re.compile(r"(?<=[.!?;])(?<![0-9]\.)\s+|\n+")
_VERSION = re.compile(r"\b[0-9]+(?:\.[0-9]+)+\b")
_PLACE = re.compile(
    r"\b(?:in|at|im|bei|auf|with|mit) (?:the |der |dem |den |a |my |our )?([^\W\d_]\w+)"
)

Rare = Callable[[str], bool]
"""True for a word that few memories hold: only such a one says what a sentence is about."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as it is compared: its *tokens* in order, its *content* and its *cues*."""

    lowered: str
    tokens: tuple[str, ...]
    content: frozenset[str]
    cues: frozenset[str]


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
    """That a text may be out of date: *reason* is the words of change, or ORDER.

    *partial*: the older text says more than what the newer one touches, and that still holds.
    """

    reason: str
    partial: bool


def signals_change(text: str) -> bool:
    """True when *text* holds a word of change at all; the rest need not be compared."""
    return any(sentence.cues for sentence in _sentences(text))


def change(older: str, newer: str, rare: Rare) -> Found | None:
    """How *newer* may put *older* out of date; None when it does not.

    The first pair of sentences decides. Linear in the product of their numbers; never raises.
    """
    for now in _sentences(newer):
        for then in _sentences(older):
            if reason := _compared(then, now, rare):
                return Found(reason, partial=_says_more(older, now))
    return None


def repeats(a: str, b: str) -> bool:
    """False when the words of two texts set them apart, however near their vectors are.

    A word of change in only one of them, another order, or other words in the same places.
    """
    one, two = _sentences(a), _sentences(b)
    cues, others = ({cue for each in some for cue in each.cues} for some in (one, two))
    if cues != others or turned_round(a, b):
        return False
    return not any(_substituted(then, now) for then in one for now in two)


def turned_round(older: str, newer: str) -> bool:
    """True when a sentence of *newer* has the content words of one of *older* in another order."""
    return any(_turned(then, now) for now in _sentences(newer) for then in _sentences(older))


@lru_cache(maxsize=4_096)
def _sentences(text: str) -> tuple[Sentence, ...]:
    pieces = _SENTENCE.split(text[:MOST_CHARS])
    found = (_read(piece) for piece in pieces if piece.strip())
    return tuple(each for each in found if each.content and len(each.tokens) <= MOST_WORDS)


def _read(text: str) -> Sentence:
    lowered = text.casefold().replace("’", "'").strip()
    tokens = tuple(word.removesuffix("'s") for word in words(lowered))
    cues = {word for word in tokens if word in _CHANGE}
    cues |= {match.group() for match in _PHRASES.finditer(lowered)}
    content = {word for word in tokens if _says_what(word)} | {*_VERSION.findall(lowered)}
    return Sentence(lowered, tokens, frozenset(content), frozenset(cues))


def _says_what(word: str) -> bool:
    """True for a word that can name a thing: no function word, no time, no plain number."""
    if len(word) < 2 or word in _STOP or word in _CHANGE or word in _NO_SUBJECT:
        return False
    return not word[0].isdigit() or "." in word or any(char.isalpha() for char in word)


def _compared(then: Sentence, now: Sentence, rare: Rare) -> str:
    if _COURTESY.search(now.lowered) or _COURTESY.search(then.lowered):
        return ""
    if _UNSURE.search(now.lowered) or _UNSURE.search(then.lowered):
        return ""
    if _turned(then, now):
        return ORDER
    fresh = now.cues - then.cues
    if not fresh or _DENIED.search(now.lowered) or _for_a_while(now, fresh):
        return ""
    if _has_moved(then, now):
        return ", ".join(sorted(fresh))
    shared = [pair for pair in _shared(then, now) if rare(pair[0]) and rare(pair[1])]
    if not shared or _reports(then) or _different_things(then, now, shared):
        return ""
    here = len({word for word, _ in shared}) / len(then.content)
    there = len({word for _, word in shared}) / len(now.content)
    least = WEAK_COVER if fresh <= _WEAK_ONLY else COVER
    return ", ".join(sorted(fresh)) if max(here, there) >= least else ""


_CLAUSE = re.compile(r"[.!?;,]\s+|\n+|\b(?:and|but|while|und|aber)\b")


def _says_more(older: str, now: Sentence) -> bool:
    """True when *older* says something that *now* does not touch.

    A clause of its own that shares less with *now* than another clause does; or a place, when all
    that is new in *now* are times and numbers.
    """
    clauses = [_read(clause) for clause in _CLAUSE.split(older[:MOST_CHARS]) if clause.strip()]
    touched = [_held(clause.content, now.content) for clause in clauses]
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


def _is_number(clause: Sentence) -> bool:
    """True for "is 71": a number and nothing that it is a number of."""
    return not clause.content and any(word[0].isdigit() for word in clause.tokens)


def _held(some: Collection[str], others: Collection[str]) -> int:
    """How many of *some* have a form among *others*."""
    return sum(any(same_word(word, other) for other in others) for word in some)


def _turned(then: Sentence, now: Sentence) -> bool:
    """True when both hold the same content words, two at least, in another order."""
    one = [word for word in then.tokens if word in then.content]
    two = [word for word in now.tokens if word in now.content]
    kept = [word for word in one if any(same_word(word, other) for other in two)]
    held = [word for word in two if any(same_word(word, other) for other in one)]
    if len(kept) < 2 or len(kept) != len(held):
        return False
    if len(one) + len(two) - 2 * len(kept) > max(1, len(kept) // 2):
        return False
    if _passive(then) != _passive(now) or (len(kept) > 2 and _is_rotated(kept, held)):
        return False
    return any(not same_word(a, b) for a, b in zip(kept, held, strict=True))


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
    if not _TEMPORARY.search(now.lowered) or _LASTING.search(now.lowered):
        return False
    return not fresh & _COMPLETE or _BRIEF.search(now.lowered) is not None


_MYSELF = frozenset(listed("i we ich wir user i'm we're i've we've nutzer"))
_LIVES = re.compile(r"\b(?:live|lives|living|wohnen?|wohnt|leben?|lebt) (?:in|near|at|bei)\b")
_MOVED = re.compile(r"\b(?:moved|relocated) (?:back )?(?:to|into|in)\b|\bnach \w+ (?:um)?gezogen\b")


def _has_moved(then: Sentence, now: Sentence) -> bool:
    """True when one who said where they live says that they moved: no word of it is the same."""
    spoken = [set(each.tokens[:2]) & _MYSELF for each in (then, now)]
    return (
        all(spoken)
        and _LIVES.search(then.lowered) is not None
        and _MOVED.search(now.lowered) is not None
    )


def _reports(then: Sentence) -> bool:
    return not then.cues and any(word in _REPORTS for word in then.tokens[:4])


def _shared(then: Sentence, now: Sentence) -> list[tuple[str, str]]:
    return [
        (word, other)
        for word in sorted(then.content)
        for other in sorted(now.content)
        if same_word(word, other)
    ]


def _different_things(then: Sentence, now: Sentence, shared: list[tuple[str, str]]) -> bool:
    """True when what the sentences share is told apart by its number or by what stands before."""
    for word, other in shared:
        one, two = _numbers(then, word), _numbers(now, other)
        if one and two and not one & two:
            return True
    return all(_modified_apart(then, now, word, other) for word, other in shared)


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
